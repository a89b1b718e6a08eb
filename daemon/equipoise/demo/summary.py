"""The closing table: the evening in numbers, and what a newcomer does next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table

from equipoise.demo.arena_evening import SERVER
from equipoise.demo.client import Client
from equipoise.demo.daemon import POOL
from equipoise.demo.record import Record
from equipoise.demo.words import percent

DECISIONS = 1000
"""The most that the decision log returns in one answer."""


@dataclass(frozen=True, slots=True)
class EveningSummary:
    """The evening in numbers; those of the daemon come from its admin interface. The fields are those of `--json`."""

    rounds: int
    stored: int
    """Rounds that the daemon reported as stored."""
    scrambles: int
    scrambled_alone: int
    """Of them, by the plugin from its cache, by the daemon's log."""
    favourite_before: float
    """Win probability of the favourite before a scramble, the mean over the daemon's log."""
    favourite_after: float
    moved: int
    benched: int
    moved_in_rounds: int
    refused_switches: int
    rank_correlation: float
    """Spearman's ρ of ratings and true skill."""
    stronger_side: float
    """True win probability of the stronger side, the mean over the second half of the rounds; 0.5 is even."""
    random_teams: float
    """The same, had the same people been on random teams."""
    favourites_expected: float
    favourites_won: int
    brier: float
    restarts_survived: int
    rounds_delivered_late: int


async def summarise(record: Record, stored: int, client: Client) -> EveningSummary:
    """Query the daemon, and add what only the simulation knows. PeerError when the daemon does not answer."""
    quality = (await client.ask(f"/v1/admin/pools/{POOL}/quality"))["quality"]
    log = (await client.ask(f"/v1/admin/decisions?server={SERVER}&limit={DECISIONS}"))["decisions"]
    expected, won = record.expected()
    stronger, random = record.evenness((len(record.rounds) + 1) // 2)
    return EveningSummary(
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
        favourites_won=round(won),
        brier=quality["brier"]["value"],
        restarts_survived=record.restarts,
        rounds_delivered_late=record.delivered,
    )


def _favourite(log: Sequence[Mapping[str, Any]], when: str) -> float:
    odds = [one["detail"][when] for one in log if one["kind"] == "scramble"]
    return fmean(max(red, 1 - red) for red in odds)


def as_json(summary: EveningSummary) -> dict[str, object]:
    """JSON values; floats to six digits."""
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(summary).items()}


def show(summary: EveningSummary, console: Console, kept: Path | None) -> None:
    """Print the closing table, and what to do next."""
    console.print(Group(_table(summary), _next()))
    if kept is not None:
        # Outside the table, so that the line can be copied whole.
        console.print(f"This evening is kept: equipoise serve -c {kept / 'config.toml'}", markup=False, soft_wrap=True)


def _table(summary: EveningSummary) -> Table:
    table = Table(title="The evening", title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_column(style="dim")
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    for row in _rows(summary):
        table.add_row(*row)
    return table


def _rows(summary: EveningSummary) -> list[tuple[str, str, str]]:
    before, after = percent(summary.favourite_before), percent(summary.favourite_after)
    late, alone = summary.rounds_delivered_late, summary.scrambled_alone
    return [
        ("rounds", f"{summary.rounds}", f"{summary.stored} stored and rated"),
        ("scrambles", f"{summary.scrambles}", f"favourite's chance {before} before, {after} after"),
        ("moved by scrambles", f"{summary.moved}", "players who changed sides"),
        ("moved in a round", f"{summary.moved_in_rounds}", f"switches refused: {summary.refused_switches}"),
        ("ratings and true skill", f"{summary.rank_correlation:.2f}", "Spearman's ρ; 1 is the true order"),
        (
            "stronger side, truly",
            percent(summary.stronger_side),
            f"chance to win; {percent(summary.random_teams)} in random teams",
        ),
        ("favourites won", f"{summary.favourites_won}", f"{summary.favourites_expected:.1f} predicted"),
        ("Brier score", f"{summary.brier:.3f}", "of the daemon; a coin has 0.25"),
        (
            "restarts survived",
            f"{summary.restarts_survived}",
            f"rounds delivered late: {late}, scrambled alone: {alone}",
        ),
    ]


STEPS = (
    ("equipoise init", "write a configuration, install the plugin into tf/"),
    ("equipoise init --systemd", "start the daemon too, now and at every boot"),
    ("equipoise doctor", "look for what is wrong, and what to do"),
    ("docs/", "the rules, the protocol, the ratings, operations"),
)


def _next() -> Panel:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold green", no_wrap=True)
    grid.add_column()
    for command, purpose in STEPS:
        grid.add_row(command, purpose)
    return Panel(grid, title="What to do next", title_align="left", border_style="dim")
