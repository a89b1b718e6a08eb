"""Measures of a simulation: each rated round while it runs, and the summary at its end.

The field names of `Summary` and its parts are those of `equipoise lab simulate --json`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations, pairwise
from statistics import fmean

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.lab.simulation.fairness import Fairness
from equipoise.lab.simulation.population import Kind, Person
from equipoise.ratings.history import Floats
from equipoise.ratings.quality import Estimate, Pair, Quality, assess, mean


@dataclass(frozen=True, slots=True)
class Again:
    """How often two who were on one side once are on one side another time."""

    share: float
    chance: float
    """How often any two are."""


@dataclass(slots=True)
class Together:
    """How often two players meet on one side again, against chance.

    A round with sides of a and b players has C(a, 2) + C(b, 2) pairs on one side with any teams: how often *all* pairs
    meet says nothing. What players complain of is that it is the same ones. So the measure is, of two players who were
    on one side in one round, how often they are on one side in another round that both play. By chance that is as often
    as any pair is.

    >>> together = Together()
    >>> together.count("ab", "cde")
    >>> together.count("ab", "cde")
    >>> together.again()
    Again(share=1.0, chance=0.4)
    """

    _met: Counter[frozenset[Hashable]] = field(default_factory=Counter)
    _together: Counter[frozenset[Hashable]] = field(default_factory=Counter)
    """Rounds on either side, and on one side, by pair."""

    def count(self, a: Sequence[Hashable], b: Sequence[Hashable]) -> None:
        """Add a round; one against one has no pairs and counts for nothing."""
        if max(len(a), len(b)) < 2:
            return
        self._met.update(map(frozenset, combinations((*a, *b), 2)))
        self._together.update(frozenset(pair) for side in (a, b) for pair in combinations(side, 2))

    def again(self) -> Again | None:
        """Over all pairs of rounds; None where no two players were on one side who met in another round."""
        met = [(self._together[pair], rounds) for pair, rounds in self._met.items() if rounds > 1]
        # Of a pair with n rounds, m on one side: each of the m has n − 1 others, of which m − 1 are on one side.
        others = sum(m * (n - 1) for m, n in met)
        if not others:
            return None
        chance = sum(m for m, _ in met) / sum(n for _, n in met)
        return Again(sum(m * (m - 1) for m, _ in met) / others, chance)


POINTS = 20
"""Points of every curve over time."""
NEARLY = 0.9
"""Fraction of the final order from which the order counts as found …"""
LOOKS = 3
"""… if the mean of so many points in a row has it too."""


class Teams(Enum):
    """How a round's teams came about in its freeze."""

    KEPT = "kept"
    """They are those of the round before, but for players who left or joined a side."""
    EQUALISED = "equalised"
    """Arena: players who sat out came in, others gave way, and as few as possible changed side."""
    MOVED = "moved"
    """The sides were too uneven: as few players as possible changed side."""
    SCRAMBLED = "scrambled"
    """A scramble or arena's duel made the teams."""


@dataclass(frozen=True, slots=True)
class RatedRound:
    """One rated round; probabilities and scores are those of side A."""

    predicted: float
    """Chance by the ratings before the round."""
    score: float
    true: float
    """Chance by the hidden skills of the lineup."""
    random: float
    """The favourite's probability in random teams of the same people."""
    teams: Teams = Teams.KEPT
    reassigned: float = 0.0
    """The fraction of its players whom a split put on the other side before it."""
    number: int = 0
    """Its place in the run, from 1."""
    expected: float | None = None
    """The favourite's true probability that the system expects, with all that it does not know; None: as predicted."""

    @property
    def favourite(self) -> float:
        """The true win probability of the side that was more likely to win."""
        return max(self.true, 1 - self.true)

    @property
    def expected_favourite(self) -> float:
        """The probability that the system expects of the side that is the true favourite."""
        return max(self.predicted, 1 - self.predicted) if self.expected is None else self.expected


@dataclass(frozen=True, slots=True)
class Point:
    """Means over the rounds since the last point, and the order found at this point."""

    round: int
    found: float
    """Spearman's correlation of rated and true skill over the present population; 1: the true order."""
    brier: float
    log_loss: float
    overconfidence: Estimate | None
    """None: every prediction was even."""
    favourite: float
    random: float


PERIODS = (0, 100, 250, 500, 1000)
"""Ends of the periods over which a new pool is followed."""


@dataclass(frozen=True, slots=True)
class Period:
    """The rounds after `after`, up to `to` in the run."""

    after: int
    to: int
    rounds: int
    favourite: float | None
    """The favourite's true probability, the mean; None: no round was rated."""


@dataclass(frozen=True, slots=True)
class Group:
    """Results of one kind of people."""

    kind: Kind
    people: int
    won: float
    """Fraction won of all their rounds."""
    won_honestly: float | None
    """Fraction won of the rounds they did not throw; None if they threw all."""
    won_thrown: float | None
    """Fraction won of the rounds they threw; None if they threw none."""
    rated: float
    """Mean rank by the system among all people, 0 lowest to 1 highest."""
    true: float
    """Mean rank by hidden skill."""


@dataclass(frozen=True, slots=True)
class Bench:
    """How evenly the bench was shared; only arena has a bench."""

    share: float
    """Fraction of all player-rounds that were sat out."""
    apart: float
    """Most minus fewest times among those who stayed for a whole map, the mean over maps."""


@dataclass(frozen=True, slots=True)
class Between:
    """Rounds between scrambles, whose teams come from the round before."""

    rounds: int
    even: Estimate
    """Fraction predicted within 45 to 55 %, both included."""
    worst: float
    """The highest win probability that was predicted for a side."""
    favourite: float
    """The favourite's true win probability, the mean."""
    reassigned: float
    """Players whom splits put on the other side, per player-round."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a simulation; measures of quality and balance are those of its second half."""

    rounds: int
    rated: int
    points: tuple[Point, ...]
    found: float | None
    """Mean of the points of the last quarter; None where there are none."""
    found_after: int | None
    """Rounds until nearly that order was found; None: never."""
    quality: Quality | None
    """Quality of the system's predictions; None when no round of the second half was rated."""
    overconfidence: Estimate | None
    reachable: float | None
    """Brier score of predictions by the hidden skills."""
    favourite: float | None
    random: float | None
    expected_favourite: float | None
    """The favourite's probability that the system expected: its prediction, spread by what it did not know."""
    periods: tuple[Period, ...]
    """Periods that the whole run reached."""
    again: Again | None
    """Over the whole run; None where no two players met twice."""
    between: Between | None
    """All rounds between scrambles; None when every round of the second half was scrambled or not rated."""
    equalised: Between | None
    """Those of them whose sides were made equal anew; None without such rounds."""
    assigned: float
    """Players whom splits put on the other side, per player-round."""
    moved: float
    """Players whom autobalance moved, per player-round."""
    bench: Bench | None
    groups: tuple[Group, ...]
    fairness: Fairness
    """Fairness as players notice it, over the whole run."""


@dataclass(slots=True)
class BenchTurns:
    """One map's bench: in how many rounds each player was on the server, and in how many they sat out."""

    here: Counter[PlayerId] = field(default_factory=Counter)
    benched: Counter[PlayerId] = field(default_factory=Counter)
    rounds: int = 0

    def count(self, here: Iterable[PlayerId], benched: Iterable[PlayerId]) -> None:
        """Count a round with the people on the server and those on the bench."""
        self.rounds += 1
        # Of a mapping a Counter would add the values.
        self.here.update(iter(here))
        self.benched.update(iter(benched))

    def apart(self) -> int | None:
        """Most minus fewest times among those who were here in every round; None when there was none."""
        turns = [self.benched[player] for player, rounds in self.here.items() if rounds == self.rounds]
        return max(turns) - min(turns) if turns else None


def bench_sharing(maps: Sequence[BenchTurns]) -> Bench | None:
    """The bench over all maps; None when no player ever sat out."""
    rounds_here = sum(turns.here.total() for turns in maps)
    bench_turns = sum(turns.benched.total() for turns in maps)
    apart = [spread for turns in maps if (spread := turns.apart()) is not None]
    return Bench(bench_turns / rounds_here, fmean(apart)) if bench_turns and apart else None


def point(number: int, found: float, played: Sequence[RatedRound]) -> Point:
    """The means of one round or more."""
    measures = quality(played)
    assert measures is not None, "a point is of one round or more"
    return Point(
        number,
        found,
        measures.brier.value,
        measures.log_loss.value,
        overconfidence(played),
        fmean(entry.favourite for entry in played),
        fmean(entry.random for entry in played),
    )


def periods(played: Sequence[RatedRound], rounds: int) -> tuple[Period, ...]:
    """The favourite's true probability in each period that begins within so many rounds.

    >>> early, late = RatedRound(0.5, 1.0, 0.4, 0.7, number=100), RatedRound(0.5, 1.0, 0.7, 0.7, number=101)
    >>> [(one.after, one.to, one.favourite) for one in periods([early, late], rounds=150)]
    [(0, 100, 0.6), (100, 150, 0.7)]
    """
    stages = []
    for after, to in pairwise(PERIODS):
        inside = [entry.favourite for entry in played if after < entry.number <= to]
        if after < rounds:
            stages.append(Period(after, min(to, rounds), len(inside), fmean(inside) if inside else None))
    return tuple(stages)


def quality(played: Sequence[RatedRound]) -> Quality | None:
    """All measures of the system's predictions; None without rounds."""
    pairs: list[Pair] = [(entry.predicted, entry.score) for entry in played]
    return assess(pairs)


def between_scrambles(played: Sequence[RatedRound], *teams: Teams) -> Between | None:
    """The measures of the rounds with such teams; None when there are none.

    >>> kept = RatedRound(0.58, 1.0, 0.6, 0.7)
    >>> equalised = RatedRound(0.51, 1.0, 0.6, 0.7, Teams.EQUALISED, reassigned=0.25)
    >>> found = between_scrambles([kept, equalised], Teams.EQUALISED)
    >>> found.rounds, found.even.value, found.worst, found.reassigned
    (1, 1.0, 0.51, 0.25)
    """
    kept = [entry for entry in played if entry.teams in teams]
    measures = quality(kept)
    if measures is None:
        return None
    return Between(
        rounds=len(kept),
        even=measures.even,
        worst=max(max(entry.predicted, 1 - entry.predicted) for entry in kept),
        favourite=fmean(entry.favourite for entry in kept),
        reassigned=fmean(entry.reassigned for entry in kept),
    )


def overconfidence(played: Sequence[RatedRound]) -> Estimate | None:
    """Return the expected score of the system's favourites minus their score; None if every prediction was even.

    >>> found = overconfidence([RatedRound(0.75, 1.0, 0.5, 0.5), RatedRound(0.25, 1.0, 0.5, 0.5)])
    >>> found.value  # both favourites were expected to score 0.75; one of them won
    0.25
    """
    signs = [(math.copysign(1.0, entry.predicted - 0.5), entry) for entry in played if entry.predicted != 0.5]
    return mean([sign * (entry.predicted - entry.score) for sign, entry in signs]) if signs else None


def order(points: Sequence[Point], rounds: int) -> tuple[float | None, int | None]:
    """The order found in the last quarter of so many rounds, and the round after which it was nearly found."""
    late = [point.found for point in points if 4 * point.round > 3 * rounds]
    if not late:
        return None, None
    level = fmean(late)
    return level, _reached(points, NEARLY * level) if level > 0 else None


def _reached(points: Sequence[Point], goal: float) -> int | None:
    """The first round at which the point and the mean of it and the next ones reach the goal: luck does not last."""
    # The last points have too few behind them.
    for place, point in enumerate(points[: 1 - LOOKS]):
        if min(point.found, fmean(entry.found for entry in points[place : place + LOOKS])) >= goal:
            return point.round
    return None


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Correlation of ranks, equal values sharing theirs; 0 where either side has only one value.

    >>> round(spearman([10, 20, 30, 40, 50], [2.1, 1.0, 4.0, 3.0, 5.0]), 6)
    0.8
    """
    first, second = ranks(one), ranks(other)
    if len(one) < 2 or not first.std() or not second.std():
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def ranks(values: Sequence[float]) -> Floats:
    """Shape (n,): ranks from 0, the lowest; equal values share their mean rank.

    >>> ranks([3.0, 1.0, 3.0, 2.0]).tolist()
    [2.5, 0.0, 2.5, 1.0]
    """
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    # Of n equal values, the last of which is number e, the mean rank is e - (n + 1)/2, counted from 0.
    middle = np.cumsum(counts) - (counts + 1) / 2
    result: Floats = middle[inverse]
    return result


def groups(people: Sequence[Person], skills: Sequence[float]) -> tuple[Group, ...]:
    """Each kind among all who have played; `skills` are those by the system, in the order of `people`."""
    # Ranks from 0 to 1, also of one person.
    last = max(len(people) - 1, 1)
    rating, true = ranks(skills) / last, ranks([person.skill for person in people]) / last
    kinds = []
    for kind in Kind:
        numbers = [number for number, person in enumerate(people) if person.kind is kind]
        if numbers:
            won = _won([people[number] for number in numbers])
            kinds.append(Group(kind, len(numbers), *won, float(rating[numbers].mean()), float(true[numbers].mean())))
    return tuple(kinds)


def _won(people: Sequence[Person]) -> tuple[float, float | None, float | None]:
    """Fractions won of all their rounds, of the honest ones, and of the thrown ones."""
    rounds, won = sum(entry.rounds for entry in people), sum(entry.won for entry in people)
    thrown, thrown_won = sum(entry.thrown for entry in people), sum(entry.thrown_won for entry in people)
    honestly = (won - thrown_won) / (rounds - thrown) if rounds > thrown else None
    return won / rounds, honestly, thrown_won / thrown if thrown else None
