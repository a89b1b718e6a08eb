"""The end of an evening: its closing table, and what a newcomer does next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table

DECISIONS = 1000
"""The most that the decision log returns in one answer."""
Row: TypeAlias = tuple[str, str, str]
"""What, how much, and what that means."""
Steps: TypeAlias = tuple[tuple[str, str], ...]
"""A command or a folder, and what it is for."""


@dataclass(frozen=True, slots=True)
class Summary(ABC):
    """An evening in numbers. The fields are those of `--json`."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """The lines of the table that closes the demo, top to bottom."""

    @property
    @abstractmethod
    def steps(self) -> Steps:
        """Commands and pages for after the demo."""


def favourites(log: Sequence[Mapping[str, Any]], kind: str) -> tuple[float, float]:
    """The favourite's win probability before and after decisions of a kind, means over the daemon's log."""

    def mean(when: str) -> float:
        odds = [one["detail"].get(when) for one in log if one["kind"] == kind]
        known = [odd for odd in odds if odd is not None]
        return fmean(max(odd, 1 - odd) for odd in known) if known else 0.5

    return mean("before"), mean("after")


def as_json(summary: Summary) -> dict[str, object]:
    """JSON values; floats to six digits."""
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(summary).items()}


def show(summary: Summary, console: Console, kept: Path | None) -> None:
    """Print the closing table, and what to do next."""
    console.print(Group(_table(summary), _next(summary.steps)))
    if kept is not None:
        # Outside the table, so that the line can be copied whole.
        console.print(f"This evening is kept: equipoise serve -c {kept / 'config.toml'}", markup=False, soft_wrap=True)


def _table(summary: Summary) -> Table:
    table = Table(title="The evening", title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_column(style="dim")
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    for row in summary.rows():
        table.add_row(*row)
    return table


def _next(steps: Steps) -> Panel:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold green", no_wrap=True)
    grid.add_column()
    for command, purpose in steps:
        grid.add_row(command, purpose)
    return Panel(grid, title="What to do next", title_align="left", border_style="dim")
