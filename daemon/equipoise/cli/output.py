"""What commands put out: tables, JSON, charts and pages, and a bar while they work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.options import FAILED, stop

if TYPE_CHECKING:
    from rich.progress import Progress

    from equipoise.lab.svg import Chart
    from equipoise.lab.tables import Sheet


def json_text(value: object, *, indent: int | None = 2, ascii_only: bool = True) -> str:
    """Plain data as JSON; what JSON has no word for ends the command."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    except ValueError:
        stop("a number is infinite or none at all, which JSON cannot say", FAILED)


def progress() -> Progress:
    """A bar on standard error that is gone afterwards, and only on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def show(sheets: Sequence[Sheet]) -> None:
    """Tables on the terminal."""
    for sheet in sheets:
        lines = [sheet.head, *sheet.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(sheet.head))]
        click.echo(click.style(sheet.title, bold=True))
        for line in lines:
            cells = [
                cell.ljust(width) if place < sheet.texts else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ]
            click.echo("  ".join(cells).rstrip())
        click.echo(f"{sheet.note}\n" if sheet.note else "")


def draw(path: Path, charts: Sequence[Chart]) -> None:
    """One SVG file."""
    from equipoise.lab.svg import picture

    path.write_text(picture(charts), encoding="utf-8")


def report(path: Path, title: str, introduction: str, sheets: Sequence[Sheet], charts: Sequence[Chart]) -> None:
    """One HTML file."""
    from equipoise.lab.page import page

    path.write_text(page(title, introduction, sheets, charts), encoding="utf-8")
