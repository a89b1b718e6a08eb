"""Fairness as players notice it, beside the favourite's mean chance: one average hides who loses all evening.

- *Scrambles* that were due: whether anybody changed side, how many who stood together stand together again, and the
  chance that players read.
- *Evenings*: a player's evening counts from ten rounds on. It is lost if they won at most a third of it.
- *Runs*: rounds in a row on one map with the same side beyond a limit.
- *Moves*: what each player had to bear in an hour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, groupby
from statistics import fmean, pstdev
from typing import NamedTuple

from equipoise.core.model import PlayerId, Side, is_even

LIMITS = (0.60, 0.65, 0.70)
RUN = 3
"""Rounds in a row that players speak of."""
LEAST_ROUNDS = 10
"""Rounds of a player's evening that counts."""
LOST = 1 / 3
"""Fraction of its rounds that a lost evening has won, at most."""
KNOWN_FROM = 10
"""The round of the run from which on a server's teams are to be even."""
HALF_AN_HOUR = 1800.0
FORCED = ("autobalance", "too_uneven")
"""Causes for which a player changes side alone: neither by new teams nor by the bench of arena."""


class Chances(NamedTuple):
    """Predicted and true chances of a rated round; probabilities are those of side A."""

    stated: float
    true: float
    """Chance by the hidden skills of the lineup."""
    interval: tuple[float, float] | None = None
    """80 % of the true probabilities are said to lie within such intervals; None where no uncertainty is known."""
    map: int = 1
    """Number of the map in the run."""
    number: int = 1
    """Number of the round in the run."""
    teams: float = 0.5
    """Predicted chance of the players alone, at equal numbers: a split makes up for neither map nor head count."""


class Moved(NamedTuple):
    """A player changed side."""

    player: PlayerId
    cause: str
    """`autobalance`, or the purpose of the split."""
    at: float
    """On the game's clock, in seconds."""


@dataclass(frozen=True, slots=True)
class Scrambled:
    """A scramble that was due and was carried out, also where it moved nobody."""

    before: Mapping[PlayerId, Side]
    """Who stood on a side before it, and after it."""
    after: Mapping[PlayerId, Side]
    chance: float | None
    """The chance that players read."""

    @property
    def moved(self) -> bool:
        """Somebody changed from one side to the other."""
        return any(self.after.get(player, side) is not side for player, side in self.before.items())

    @property
    def together(self) -> float | None:
        """Fraction who stand on one side again, of pairs who stood on one side before it and play after it.

        >>> a, b = dict.fromkeys("abc", Side.A), dict.fromkeys("def", Side.B)
        >>> round(Scrambled(a | b, a | b | {"c": Side.B, "d": Side.A}, 0.5).together, 2)  # ab and ef of six pairs
        0.33
        """
        stay = [(side, self.after[player]) for player, side in self.before.items() if player in self.after]
        pairs = [first[1] is second[1] for first, second in combinations(stay, 2) if first[0] is second[0]]
        return fmean(pairs) if pairs else None


@dataclass(slots=True)
class Evening:
    """One player's evening."""

    rounds: int = 0
    won: float = 0.0
    """Rounds won; a draw counts half."""
    chances: float = 0.0
    """Sum of the true chances of their sides."""

    def count(self, chance: float, score: float) -> None:
        """Add a round."""
        self.rounds, self.won, self.chances = self.rounds + 1, self.won + score, self.chances + chance


@dataclass(frozen=True, slots=True)
class Scrambles:
    """Scrambles that were due, of sides of two players or more."""

    count: int
    nobody: float
    """Fraction that put nobody on the other side."""
    together: float
    """Fraction of pairs on one side before who stand on one side again; the mean over scrambles."""
    uneven: float
    """Fraction whose chance, as players read it, was not within 45 to 55 %."""


@dataclass(frozen=True, slots=True)
class Evenings:
    """Evenings of single players of ten rounds or more."""

    count: int
    lost: float
    """Fraction in which the player won at most a third of their rounds."""
    coin: float
    """The same if every round had been a coin's throw."""
    spread: float
    """Standard deviation of a player's mean true chance over an evening."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """Rounds in which one side's chance was beyond a limit, as fractions of all rounds."""

    limit: float
    stated: float
    true: float
    stated_runs: float
    """Those in runs of three or more, on one map and with the same side beyond the limit."""
    true_runs: float
    teams: float
    """Those stated beyond it by the players alone."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Changes of side that players did not ask for, per player and hour on the server."""

    all: float
    by_cause: Mapping[str, float]
    most: int
    """How often a single player was moved within half an hour, at most, by autobalance or because of uneven sides."""


@dataclass(frozen=True, slots=True)
class Fairness:
    """Fairness as players notice it; None where there was nothing of the kind."""

    scrambles: Scrambles | None
    evenings: Evenings | None
    beyond: tuple[Beyond, ...]
    """Runs by limit; empty when no round was rated."""
    moves: Moves | None
    covered: float | None
    """Fraction of rounds whose true chance lies within the 80 % interval that was stated; None: none was."""
    covered_late: float | None
    """The same over the second half of them."""
    even: float | None
    """Fraction of rounds stated within 45 to 55 %, from round 10 on."""
    even_teams: float | None
    """The same by the players alone."""


def fairness(
    played: Sequence[Chances],
    scrambled: Iterable[Scrambled],
    evenings: Iterable[Evening],
    moved: Sequence[Moved],
    hours: float,
) -> Fairness:
    """The measures of a run; `hours` that players were on the server, all together."""
    hits = [entry.interval[0] <= entry.true <= entry.interval[1] for entry in played if entry.interval is not None]
    late = [entry for entry in played if entry.number >= KNOWN_FROM]
    return Fairness(
        _scrambles(scrambled),
        _evenings(evenings),
        tuple(beyond(played, limit) for limit in LIMITS) if played else (),
        _moves(moved, hours) if hours else None,
        fmean(hits) if hits else None,
        fmean(hits[len(hits) // 2 :]) if hits else None,
        fmean(is_even(entry.stated) for entry in late) if late else None,
        fmean(is_even(entry.teams) for entry in late) if late else None,
    )


def _scrambles(scrambled: Iterable[Scrambled]) -> Scrambles | None:
    # After arena's duel nobody stood beside anybody.
    kept = [entry for entry in scrambled if all(sum(on is side for on in entry.before.values()) > 1 for side in Side)]
    if not kept:
        return None
    together = [part for entry in kept if (part := entry.together) is not None]
    uneven = [not is_even(entry.chance) for entry in kept if entry.chance is not None]
    return Scrambles(
        len(kept), fmean(not entry.moved for entry in kept), fmean(together or [0.0]), fmean(uneven or [False])
    )


def _evenings(evenings: Iterable[Evening]) -> Evenings | None:
    kept = [entry for entry in evenings if entry.rounds >= LEAST_ROUNDS]
    if not kept:
        return None
    lost = fmean(entry.won <= _third(entry.rounds) for entry in kept)
    coin = fmean(_coin(entry.rounds) for entry in kept)
    return Evenings(len(kept), lost, coin, pstdev(entry.chances / entry.rounds for entry in kept))


def _third(rounds: int) -> float:
    """A third of so many rounds, with room for the sum's rounding."""
    return LOST * rounds + 1e-9


@cache
def _coin(rounds: int) -> float:
    """The probability that a coin wins at most a third of so many rounds.

    >>> round(_coin(10), 4)  # 0 to 3 of 10
    0.1719
    """
    return math.fsum(math.comb(rounds, won) / 2**rounds for won in range(int(_third(rounds)) + 1))


def beyond(played: Sequence[Chances], limit: float) -> Beyond:
    """Rounds beyond a limit; `played` holds at least one, in the order of time.

    >>> found = beyond([Chances(0.5, true) for true in (0.7, 0.3, 0.3, 0.3, 0.5)], 0.6)
    >>> found.true, found.true_runs
    (0.8, 0.6)
    """
    share, true = (_in_runs(played, read, limit) for read in (lambda one: one.stated, lambda one: one.true))
    teams = fmean(max(chances.teams, 1 - chances.teams) > limit for chances in played)
    return Beyond(limit, share[0], true[0], share[1], true[1], teams)


def _in_runs(played: Sequence[Chances], read: Callable[[Chances], float], limit: float) -> tuple[float, float]:
    """The fractions of rounds beyond the limit, and in runs of such rounds."""

    def favourite(one: Chances) -> tuple[int, Side | None]:
        chance = read(one)
        return one.map, None if max(chance, 1 - chance) <= limit else Side.A if chance > limit else Side.B

    runs = [(side, len(list(rounds))) for (_, side), rounds in groupby(played, favourite)]
    lengths = [length for side, length in runs if side is not None]
    return sum(lengths) / len(played), sum(length for length in lengths if length >= RUN) / len(played)


def _moves(moved: Sequence[Moved], hours: float) -> Moves:
    causes = sorted({entry.cause for entry in moved})
    by_cause = {cause: sum(entry.cause == cause for entry in moved) / hours for cause in causes}
    return Moves(len(moved) / hours, by_cause, most_within(moved, HALF_AN_HOUR))


def most_within(moved: Sequence[Moved], seconds: float) -> int:
    """How often a single player was moved within so many seconds, at most; moves that new teams brought do not count.

    >>> moves = [Moved(PlayerId("ann"), "autobalance", at) for at in (0.0, 100.0, 250.0)]
    >>> most_within(moves, 200.0), most_within(moves, 250.0)
    (2, 3)
    """
    times: dict[PlayerId, list[float]] = {}
    for entry in moved:
        if entry.cause in FORCED:
            times.setdefault(entry.player, []).append(entry.at)
    return max(
        (sum(at <= moment <= at + seconds for moment in every) for every in times.values() for at in every), default=0
    )
