"""People of hidden skill and the rounds they play, in random teams or in the teams that a rating system makes.

Skill is in log-odds: the difference of the two sides' sums is the log-odds that the first side wins, as in
`equipoise lab simulate`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.model import STEAM_ID_BASE, PlayerId
from equipoise.lab.simulation.measures import spearman
from equipoise.ratings.history import Floats, History, Numbers
from equipoise.ratings.quality import logistic
from equipoise.ratings.system import Match, System, ranks_of
from equipoise.solver import best_split

PEOPLE = 60
SPREAD = 0.25
"""Standard deviation of skill, the default of `equipoise lab simulate`."""
THROW = 2.0
"""Log-odds that a thrower costs their side, as there."""
TOLERANCE = 0.01
"""Win probability by which a split may miss the optimum, the default of the rules."""

Throwing = Callable[[int, Collection[int]], Collection[int]]
"""Given a round's number and its players, the players who throw it."""


def crowd(rng: np.random.Generator, people: int = PEOPLE, spread: float = SPREAD) -> Floats:
    """Skills of all people; they sum to 0."""
    skills: Floats = rng.normal(0, spread, people)
    return skills - float(skills.mean())


def player(number: int) -> PlayerId:
    """The SteamID64 of a person, by their number from 0."""
    return PlayerId(str(STEAM_ID_BASE + 1 + number))


def true_order(system: System[Any], skills: Floats) -> float:
    """Spearman's correlation of skill as the system has it and hidden skill."""
    return spearman([system.skill(player(number)) for number in range(len(skills))], list(skills))


def random_rounds(skills: Floats, rounds: int, size: int, rng: np.random.Generator) -> History:
    """Random people in random teams, without draws."""
    seats = np.argsort(rng.random((rounds, len(skills))), axis=1)[:, : 2 * size].astype(np.int32)
    lost = (rng.random(rounds) >= chances(skills, seats)).astype(np.int32)
    return history_of(len(skills), seats, lost)


def chances(skills: Floats, seats: Numbers) -> Floats:
    """True chance of the first side of each round; `seats` of shape (rounds, both sides)."""
    size = seats.shape[1] // 2
    return logistic(skills[seats[:, :size]].sum(axis=1) - skills[seats[:, size:]].sum(axis=1))


def miss(predicted: Floats, true: Floats) -> float:
    """Mean squared error of predictions against true probabilities: the Brier score's excess over the best possible."""
    return float(np.mean((predicted - true) ** 2))


def history_of(people: int, seats: Numbers, lost: Numbers) -> History:
    """Return the rounds of so many people; `lost` is 1 where the first side lost."""
    rounds, both = seats.shape
    return History(
        players=tuple(player(number) for number in range(people)),
        matches=2 * np.arange(rounds + 1),
        teams=both // 2 * np.arange(2 * rounds + 1),
        members=seats.ravel(),
        ranks=np.stack([lost, 1 - lost], axis=1).ravel(),
        started_at=np.arange(0.0, 180.0 * rounds, 180.0),
    )


@dataclass(frozen=True, slots=True)
class Round:
    """One round in balanced teams."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    predicted: float
    """The system's probability that A wins."""
    true: float
    """The same by hidden skill, if no player throws the round."""
    score: float
    thrown: Collection[int]

    def won(self, number: int) -> float | None:
        """A player's score in the round; None if they did not play."""
        return self._of(number, self.score)

    def chance(self, number: int) -> float | None:
        """The true win probability of a player's side; None if they did not play."""
        return self._of(number, self.true)

    def _of(self, number: int, first: float) -> float | None:
        if number in self.a:
            return first
        return 1.0 - first if number in self.b else None


def balanced_rounds(
    system: System[Any],
    skills: Floats,
    rounds: int,
    size: int,
    rng: np.random.Generator,
    throwing: Throwing = lambda number, here: (),
) -> Iterator[Round]:
    """Random people in the teams that the real solver makes of the system's skills; every round is rated."""
    for number in range(rounds):
        here = rng.permutation(len(skills))[: 2 * size].tolist()
        luck = rng.random()  # drawn here, so that the same seed brings the same people and luck to every system
        played = _play(system, skills, here, luck, throwing(number, set(here)))
        teams = tuple(map(player, played.a)), tuple(map(player, played.b))
        system.rate(Match(teams, ranks_of(played.score), started_at=180.0 * number))
        yield played


def _play(system: System[Any], skills: Floats, here: Sequence[int], luck: float, thrown: Collection[int]) -> Round:
    size = len(here) // 2
    rated = [system.skill(player(number)) for number in here]
    split = best_split(rated, sizes=(size, size), tolerance=system.gap(TOLERANCE, size))
    a, b = (tuple(here[index] for index in side) for side in (split.a, split.b))
    odds = float(skills[list(a)].sum() - skills[list(b)].sum())
    lost = THROW * (len(set(a) & set(thrown)) - len(set(b) & set(thrown)))
    predicted = system.predict(Match((tuple(map(player, a)), tuple(map(player, b))))).expected(0)
    true, now = logistic(np.array([odds, odds - lost])).tolist()
    return Round(a, b, predicted, true, float(luck < now), thrown)
