"""What a simulation measures: round by round while it runs, and the summary at its end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.lab.simulation.population import Kind, Person
from equipoise.ratings.quality import Estimate, Pair, Quality, assess, mean, squared_error, surprise

POINTS = 20
"""Points of every curve."""
NEARLY = 0.9
"""Of the order found at the end: what counts as found."""
LOOKS = 3
"""So many points in a row have it, in the mean."""


@dataclass(frozen=True, slots=True)
class Played:
    """One round that was rated."""

    predicted: float
    score: float
    chance: float
    """That A wins, by the hidden skills of those at the doors."""
    random: float
    """The favourite's chance in random teams of the same people."""

    @property
    def favourite(self) -> float:
        """The favourite's true chance."""
        return max(self.chance, 1 - self.chance)


@dataclass(frozen=True, slots=True)
class Point:
    """Means over the rounds since the last point; `found` is as of now."""

    round: int
    found: float
    """Spearman's correlation of skill as the system has it and true skill, of those who come by; 1: the true order."""
    brier: float
    log_loss: float
    overconfidence: Estimate | None
    """None: every prediction was even."""
    favourite: float
    random: float


@dataclass(frozen=True, slots=True)
class Group:
    """How one kind of people fares."""

    kind: Kind
    people: int
    won: float
    """Share of their rounds."""
    won_honestly: float | None
    """Of those that they did not throw; None: they threw all."""
    won_thrown: float | None
    """Of those that they threw; None: they threw none."""
    rated: float
    """Mean place among everybody by the system, 0 lowest to 1 highest."""
    true: float
    """The same by hidden skill."""


@dataclass(frozen=True, slots=True)
class Bench:
    """How sitting out was shared; arena alone has a bench."""

    share: float
    """Of all player-rounds."""
    apart: float
    """Most less least times, of those who were there for a whole map, in the mean."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A simulation's result; measures of quality and balance are those of its second half."""

    rounds: int
    rated: int
    points: tuple[Point, ...]
    found: float | None
    """Mean of the points of the last quarter; None where there are none."""
    found_after: int | None
    """Rounds until nearly that order was found; None: never."""
    quality: Quality | None
    """Of the system's predictions; None when no round of the second half was rated."""
    overconfidence: Estimate | None
    reachable: float | None
    """Brier score of who knows the hidden skills."""
    favourite: float | None
    random: float | None
    assigned: float
    """Players whom splits put on the other side, per player-round."""
    moved: float
    """Players whom autobalance moved, per player-round."""
    bench: Bench | None
    groups: tuple[Group, ...]


@dataclass(slots=True)
class Turns:
    """One map's bench: how often everybody was there, and sat out."""

    here: dict[PlayerId, int] = field(default_factory=dict)
    benched: dict[PlayerId, int] = field(default_factory=dict)
    rounds: int = 0

    def count(self, here: Iterable[PlayerId], benched: Iterable[PlayerId]) -> None:
        """One more round."""
        self.rounds += 1
        for players, counts in ((here, self.here), (benched, self.benched)):
            for player in players:
                counts[player] = counts.get(player, 0) + 1

    def apart(self) -> int | None:
        """Most less least; None when nobody stayed."""
        stayed = [self.benched.get(player, 0) for player, rounds in self.here.items() if rounds == self.rounds]
        return max(stayed) - min(stayed) if stayed else None


def bench(maps: Sequence[Turns]) -> Bench | None:
    """Over all maps; None when nobody ever sat out."""
    here = sum(sum(turns.here.values()) for turns in maps)
    benched = sum(sum(turns.benched.values()) for turns in maps)
    apart = [spread for turns in maps if (spread := turns.apart()) is not None]
    return Bench(benched / here, fmean(apart)) if benched and apart else None


def point(round: int, found: float, played: Sequence[Played]) -> Point:
    """The means of one round or more."""
    return Point(
        round,
        found,
        fmean(squared_error(one.predicted, one.score) for one in played),
        fmean(surprise(one.predicted, one.score) for one in played),
        overconfidence(played),
        fmean(one.favourite for one in played),
        fmean(one.random for one in played),
    )


def quality(played: Sequence[Played]) -> Quality | None:
    """Of the system's predictions."""
    pairs: list[Pair] = [(one.predicted, one.score) for one in played]
    return assess(pairs)


def overconfidence(played: Sequence[Played]) -> Estimate | None:
    """What the system's favourites were to score, less what they scored; None where every prediction was even."""
    signs = [(math.copysign(1.0, one.predicted - 0.5), one) for one in played if one.predicted != 0.5]
    return mean([sign * (one.predicted - one.score) for sign, one in signs]) if signs else None


def order(points: Sequence[Point], rounds: int) -> tuple[float | None, int | None]:
    """Found in the last quarter of so many rounds, and the round after which that was nearly so."""
    late = [point.found for point in points if 4 * point.round > 3 * rounds]
    if not late:
        return None, None
    found = fmean(late)
    return found, _reached(points, NEARLY * found) if found > 0 else None


def _reached(points: Sequence[Point], goal: float) -> int | None:
    """The first round at which the goal is reached, and in the mean of the next points too: luck does not last."""
    for place, point in enumerate(points[: 1 - LOOKS]):
        if min(point.found, fmean(each.found for each in points[place : place + LOOKS])) >= goal:
            return point.round
    return None


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Correlation of ranks, equal values sharing theirs; 0 where either has one value only."""
    first, second = places(one), places(other)
    if len(one) < 2 or not first.std() or not second.std():
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def places(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Ranks from 0, equal values sharing their mean rank."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return middle[inverse]


def groups(people: Sequence[Person], skills: Sequence[float]) -> tuple[Group, ...]:
    """Everybody who has played, by kind."""
    last = max(len(people) - 1, 1)
    rated, true = places(skills) / last, places([person.skill for person in people]) / last
    found = []
    for kind in Kind:
        numbers = [number for number, person in enumerate(people) if person.kind is kind]
        if numbers:
            shares = _won([people[number] for number in numbers])
            found.append(Group(kind, len(numbers), *shares, float(rated[numbers].mean()), float(true[numbers].mean())))
    return tuple(found)


def _won(people: Sequence[Person]) -> tuple[float, float | None, float | None]:
    """Shares won of all their rounds, of the honest ones, and of the thrown ones."""
    rounds, won = sum(one.rounds for one in people), sum(one.won for one in people)
    thrown, thrown_won = sum(one.thrown for one in people), sum(one.thrown_won for one in people)
    honestly = (won - thrown_won) / (rounds - thrown) if rounds > thrown else None
    return won / rounds, honestly, thrown_won / thrown if thrown else None
