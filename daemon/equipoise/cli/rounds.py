"""Rounds."""

from __future__ import annotations

import click

from equipoise.cli.voiding import void_round


@click.group("round")
def round() -> None:
    """Rounds."""


round.add_command(void_round)
