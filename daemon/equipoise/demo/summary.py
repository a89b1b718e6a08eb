"""What the evening came to, and what a newcomer does next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table

from equipoise.demo.client import Client
from equipoise.demo.daemon import POOL, SERVER
from equipoise.demo.record import Record
from equipoise.demo.words import percent

DECISIONS = 1000
"""The most that the decision log gives at once."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The evening in numbers; the daemon's own are asked of its admin interface."""

    rounds: int
    stored: int
    """Rounds that the daemon answered so."""
    scrambles: int
    scrambled_alone: int
    """Of them, by the script from its cache, as the daemon's log has it."""
    favourite_before: float
    """Win probability of whichever side was ahead before a scramble, the mean of those in the daemon's log."""
    favourite_after: float
    moved: int
    benched: int
    moved_in_rounds: int
    refused_switches: int
    rank_correlation: float
    """Spearman's ρ of ratings and true skill."""
    stronger_side: float
    """How often the stronger side truly wins, the mean over the second half of the rounds; 0.5 is fair."""
    random_teams: float
    """The same, had the same people been on random teams."""
    favourites_expected: float
    favourites_won: int
    brier: float
    restarts_survived: int
    rounds_delivered_late: int


async def summarise(record: Record, stored: int, client: Client) -> Summary:
    """Ask the daemon, and add what only the simulation knows. PeerError when the daemon does not answer."""
    quality = (await client.ask(f"/v1/admin/pools/{POOL}/quality"))["quality"]
    log = (await client.ask(f"/v1/admin/decisions?server={SERVER}&limit={DECISIONS}"))["decisions"]
    expected, won = record.expected()
    stronger, random = record.fairness((len(record.rounds) + 1) // 2)
    return Summary(
        rounds=len(record.rounds),
        stored=stored,
        scrambles=record.scrambles,
        scrambled_alone=sum(one["kind"] == "alone" for one in log),
        favourite_before=_favourite(log, "before"),
        favourite_after=_favourite(log, "after"),
        moved=record.moved,
        benched=record.benched,
        moved_in_rounds=record.gaps,
        refused_switches=record.refused,
        rank_correlation=record.fidelity[-1],
        stronger_side=stronger,
        random_teams=random,
        favourites_expected=expected,
        favourites_won=won,
        brier=quality["brier"]["value"],
        restarts_survived=record.restarts,
        rounds_delivered_late=record.delivered,
    )


def _favourite(log: Sequence[Mapping[str, Any]], when: str) -> float:
    odds = [one["detail"][when] for one in log if one["kind"] == "scramble"]
    return fmean(max(red, 1 - red) for red in odds)


def as_json(summary: Summary) -> dict[str, object]:
    """Plain data; floats to six digits."""
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(summary).items()}


def show(summary: Summary, console: Console, kept: Path | None) -> None:
    """The closing table, and what to do next."""
    console.print(Group(_table(summary), _next()))
    if kept is not None:
        # Not in a table: to be copied whole.
        console.print(f"This evening is kept: equipoise serve -c {kept / 'config.toml'}", markup=False, soft_wrap=True)


def _table(summary: Summary) -> Table:
    table = Table(title="The evening", title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_column(style="dim")
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    for row in _rows(summary):
        table.add_row(*row)
    return table


def _rows(summary: Summary) -> list[tuple[str, str, str]]:
    before, after = percent(summary.favourite_before), percent(summary.favourite_after)
    late, alone = summary.rounds_delivered_late, summary.scrambled_alone
    return [
        ("rounds", f"{summary.rounds}", f"{summary.stored} stored and rated"),
        ("scrambles", f"{summary.scrambles}", f"favourite's chance {before} before, {after} after"),
        ("moved by scrambles", f"{summary.moved}", "players who changed sides"),
        ("moved in a round", f"{summary.moved_in_rounds}", f"switches refused: {summary.refused_switches}"),
        ("ratings and true skill", f"{summary.rank_correlation:.2f}", "Spearman's ρ; 1 is the true order"),
        (
            "stronger side truly wins",
            percent(summary.stronger_side),
            f"{percent(summary.random_teams)} in random teams of the same people",
        ),
        ("favourites won", f"{summary.favourites_won}", f"{summary.favourites_expected:.1f} predicted"),
        ("Brier score", f"{summary.brier:.3f}", "of the daemon; 0.25 is a coin"),
        (
            "restarts survived",
            f"{summary.restarts_survived}",
            f"rounds delivered late: {late}, scrambled alone: {alone}",
        ),
    ]


STEPS = (
    ("equipoise init", "write a configuration and secrets (once)"),
    ("equipoise serve", "run the daemon; systemd/ has a unit for it"),
    ("make plugin", "build the zip to unpack into tf/: sourcemod/README.md"),
    ("docs/", "the rules, the protocol, the ratings, operations"),
)


def _next() -> Panel:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold green", no_wrap=True)
    grid.add_column()
    for command, purpose in STEPS:
        grid.add_row(command, purpose)
    return Panel(grid, title="What to do next", title_align="left", border_style="dim")
