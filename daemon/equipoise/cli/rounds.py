"""Rounds that are stored."""

from __future__ import annotations

import click


@click.group("round")
def round() -> None:
    """Rounds that are stored."""
