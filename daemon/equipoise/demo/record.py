"""The evening's statistics: the words for them, one entry per round, and the closing table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, TypeAlias

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table

from equipoise.core.model import PlayerId
from equipoise.core.phrases import Text
from equipoise.demo.daemon import POOL, Client

Names = Mapping[PlayerId, str]
Odds = tuple[float | None, float | None, str]
"""Side A's win probability before and after, and words on the map's part in it."""
UPSET = 0.45
"""A side that wins with a lower probability wins against the odds."""


@dataclass(frozen=True, slots=True)
class Teams:
    """Players on both sides and on none, and side A's win probability as predicted (None while a side is empty)."""

    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...]
    chance: float | None

    def moved_to(self, other: Teams) -> int:
        """How many players changed from one side to the other."""
        return len({*self.a} & {*other.b}) + len({*self.b} & {*other.a})


def english(text: Text, names: Names) -> str:
    """A phrase as the game shows it.

    >>> from equipoise.core.phrases import Phrase
    >>> ann = PlayerId("76561197960265729")
    >>> english(Text(Phrase.RANK, (f"@{ann}", "2", "11", "1204", "7-0-5")), {ann: "Ann"})
    'Ann: rank 2 of 11, ladder points 1204, won-drawn-lost 7-0-5.'
    """

    def argument(arg: str | Text) -> str:
        if isinstance(arg, Text):
            return english(arg, names)
        return names.get(PlayerId(arg[1:]), arg) if arg.startswith("@") else arg

    return Text(text.phrase, tuple(map(argument, text.args))).english


def listed(ids: Iterable[PlayerId], names: Names) -> str:
    """Names as a sentence lists them.

    >>> listed([PlayerId("1"), PlayerId("2"), PlayerId("3")], {"1": "Ann", "2": "Bob", "3": "Cid"})
    'Ann, Bob and Cid'
    """
    *rest, last = [names[player] for player in ids] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last


def percent(chance: float | None) -> str:
    """A probability as players read it; a dash for none.

    >>> percent(0.517)
    '52 %'
    """
    return "–" if chance is None else f"{100 * chance:.0f} %"


@dataclass(frozen=True, slots=True)
class Played:
    """One round: side A's win probability as predicted from the ratings and by true skill, and how it ended."""

    predicted: float
    true: float
    random: float
    """The value of `stronger` with random teams of the same people."""
    score: float
    """Score of side A: 1, 0 or, drawn, 0.5."""

    @property
    def favourite(self) -> float:
        """Predicted win probability of the side that was predicted to win."""
        return max(self.predicted, 1 - self.predicted)

    @property
    def favourite_score(self) -> float:
        """Score of the side that was predicted to win."""
        return self.score if self.predicted >= 0.5 else 1 - self.score

    @property
    def stronger(self) -> float:
        """True win probability of the side that was truly stronger; 0.5 is an even round."""
        return max(self.true, 1 - self.true)


@dataclass(slots=True)
class Record:
    """Counts, and series with one entry per round."""

    rounds: list[Played] = field(default_factory=list)
    fidelity: list[float] = field(default_factory=list)
    """Rank correlation of ratings and true skill after each round."""
    by_ratings: list[float] = field(default_factory=list)
    """The value of `stronger` in each round with the sides whose sums of shown ratings are closest; TF2 only."""
    scrambles: int = 0
    moved: int = 0
    """Players who changed sides in scrambles."""
    benched: int = 0
    gaps: int = 0
    """Players moved in the middle of a round."""
    refused: int = 0
    restarts: int = 0
    delivered: int = 0
    """Rounds that the ring held while the daemon was dead, and that were stored later."""

    def expected(self) -> tuple[float, float]:
        """How many rounds the favourites were predicted to win, and how many they won; a draw is half a win.

        >>> Record([Played(0.75, 0.5, 0.5, score=1.0), Played(0.25, 0.5, 0.5, score=1.0)]).expected()
        (1.5, 1.0)
        """
        return sum(entry.favourite for entry in self.rounds), sum(entry.favourite_score for entry in self.rounds)

    def evenness(self, last: int) -> tuple[float, float]:
        """Mean of `stronger` and of `random` over the last rounds; 0.5 before the first round."""
        rounds = self.rounds[-last:]
        if not rounds:
            return 0.5, 0.5
        return fmean(entry.stronger for entry in rounds), fmean(entry.random for entry in rounds)

    @property
    def half(self) -> int:
        """How many rounds the second half of the evening has."""
        return (len(self.rounds) + 1) // 2


DECISIONS = 1000
"""The most that the decision log returns in one answer."""
Figure: TypeAlias = tuple[str, str, str]
"""A name, a value, and what it means."""
Steps: TypeAlias = tuple[tuple[str, str], ...]
"""A command or a folder, and what it is for."""


@dataclass(frozen=True, slots=True)
class Summary(ABC):
    """An evening in numbers. The fields are those of `--json`."""

    steps: ClassVar[Steps]
    """Commands and pages for after the demo."""

    @abstractmethod
    def rows(self) -> list[Figure]:
        """The lines of the table that closes the demo, top to bottom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EveningSummary(Summary):
    """The numbers of every evening that ends; those of the daemon come from its admin interface."""

    rounds: int
    stored: int
    """Rounds that the daemon reported as stored, those that began again among them."""
    favourite_before: float
    """Win probability of the favourite before a scramble or shuffle, the mean over the daemon's log."""
    favourite_after: float
    moved: int
    moved_in_rounds: int
    refused_switches: int
    rank_correlation: float
    """Spearman's ρ of ratings and true skill."""
    stronger_side: float
    """True win probability of the stronger side, the mean over the second half of the rounds; 0.5 is even."""
    random_teams: float
    """The same, had the same people been on random teams."""
    favourites_expected: float
    favourites_won: float
    """A draw is half a win."""
    brier: float
    restarts_survived: int
    rounds_delivered_late: int


async def shared_numbers(
    record: Record, stored: int, client: Client, log: Sequence[Mapping[str, Any]], kind: str
) -> dict[str, Any]:
    """Return the fields of `EveningSummary`; `kind` is that of decisions that make teams anew."""
    quality = (await client.ask(f"/v1/admin/pools/{POOL}/quality"))["quality"]
    before, after = favourites(log, kind)
    chance, won = record.expected()
    stronger, random = record.evenness(record.half)
    return {
        "rounds": len(record.rounds),
        "stored": stored,
        "favourite_before": before,
        "favourite_after": after,
        "moved": record.moved,
        "moved_in_rounds": record.gaps,
        "refused_switches": record.refused,
        "rank_correlation": record.fidelity[-1],
        "stronger_side": stronger,
        "random_teams": random,
        "favourites_expected": chance,
        "favourites_won": won,
        "brier": quality["brier"]["value"],
        "restarts_survived": record.restarts,
        "rounds_delivered_late": record.delivered,
    }


def favourites(log: Sequence[Mapping[str, Any]], kind: str) -> tuple[float, float]:
    """The favourite's win probability before and after decisions of a kind, means over the daemon's log."""

    def mean(when: str) -> float:
        odds = [entry["detail"].get(when) for entry in log if entry["kind"] == kind]
        chances = [odd for odd in odds if odd is not None]
        return fmean(max(odd, 1 - odd) for odd in chances) if chances else 0.5

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
