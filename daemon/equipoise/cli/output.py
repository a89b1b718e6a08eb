"""Output of commands: tables, JSON, charts and pages, and a progress bar while they work."""

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
    from equipoise.lab.tables import Table


def json_text(value: object, *, indent: int | None = 2, ascii_only: bool = True) -> str:
    """JSON text; a number that JSON cannot write ends the command."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)
    except ValueError:
        stop("a number is infinite or not a number, which JSON cannot write", FAILED)


def progress() -> Progress:
    """A progress bar on standard error, on terminals only, which disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def show(tables: Sequence[Table]) -> None:
    """Print tables with their titles and notes."""
    from equipoise.cli.tables import print_table

    for table in tables:
        click.echo(click.style(table.title, bold=True))
        print_table(table.head, table.rows, texts=table.texts)
        click.echo(f"{table.note}\n" if table.note else "")


def draw(path: Path, charts: Sequence[Chart]) -> None:
    """Write charts as one SVG file."""
    from equipoise.lab.svg import picture

    _write(path, picture(charts))


def report(path: Path, title: str, introduction: str, tables: Sequence[Table], charts: Sequence[Chart]) -> None:
    """Write tables and charts as one HTML page."""
    from equipoise.lab.tables import page

    _write(path, page(title, introduction, tables, charts))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:  # of a full disk it has no name
        stop(f"{path}: {error.strerror}")
