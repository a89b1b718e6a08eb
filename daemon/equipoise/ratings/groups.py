"""Calibration by group of players: by the size of their squad, their experience, and their last outcome.

A system may be right on average and wrong about a kind of player: squads that play better than the sum of their people,
newcomers who are better than their first rating, winners who stay.  By such differences Minka, Cleven & Zaykov (2018)
found what TrueSkill 2 should model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from equipoise.ratings.quality import Estimate

By = Literal["squad", "experience", "last"]

LARGEST = 6
"""Squads of so many players or more are one group."""
STAGES = (10, 50, 200)
"""Numbers of rounds at which a player passes into the next group of experience."""
OUTCOMES = {0.0: "lost", 0.5: "drew", 1.0: "won"}


class Seat(NamedTuple):
    """One player's part in one round."""

    round: int
    """The same number for all players of a round."""
    predicted: float
    """Score predicted for the player's side."""
    score: float
    squad: int
    """Players of their squad on their side; 1: they came alone."""
    rounds: int
    """Rounds that they had been rated for before."""
    last: float | None
    """Score of their round before; None: unknown, or this is their first."""


@dataclass(frozen=True, slots=True)
class Group:
    """Predictions and scores of the players of one group, each of whom counts once in each of their rounds."""

    by: By
    """The division: `squad`, `experience` or `last`."""
    name: str
    """The name of the group in its division."""
    rounds: int
    """In which somebody of the group played."""
    players: int
    """Players of the group, summed over these rounds."""
    predicted: float
    """Mean score predicted for their sides."""
    scored: float
    """Mean score of their sides."""
    difference: Estimate
    """Scored minus predicted; above 0 they are better than the system knows. Players of one round share its luck, so
    the standard error counts rounds, not players."""


def groups(seats: Iterable[Seat]) -> tuple[Group, ...]:
    """Compare predictions and scores group by group; a division of which all are in one group is left out.

    >>> pair = [Seat(1, 0.6, 1.0, 2, 30, 0.0)] * 2 + [Seat(1, 0.4, 0.0, 1, 0, None)]
    >>> [(one.by, one.name, one.players, round(one.difference.value, 2)) for one in groups(pair)]
    [('squad', 'alone', 1, -0.4), ('squad', '2', 2, 0.4), ('experience', '0 to 9', 1, -0.4), \
('experience', '10 to 49', 2, 0.4), ('last', 'first round', 1, -0.4), ('last', 'lost', 2, 0.4)]
    """
    every = tuple(seats)
    found = []
    for by, place, names in _DIVISIONS:
        sums: dict[int, dict[int, list[float]]] = {}
        for seat in every:
            if (number := place(seat)) is None:
                continue
            of_round = sums.setdefault(number, {}).setdefault(seat.round, [0, 0.0, 0.0])
            of_round[0] += 1
            of_round[1] += seat.predicted
            of_round[2] += seat.score
        if len(sums) > 1:
            found += [_group(by, names[number], list(each.values())) for number, each in sorted(sums.items())]
    return tuple(found)


def _group(by: By, name: str, rounds: list[list[float]]) -> Group:
    """From each round's number of players and sums of predictions and scores."""
    players = int(sum(count for count, _, _ in rounds))
    predicted = math.fsum(each[1] for each in rounds) / players
    scored = math.fsum(each[2] for each in rounds) / players
    difference, error = scored - predicted, None
    if len(rounds) > 1:
        squares = math.fsum((score - guess - count * difference) ** 2 for count, guess, score in rounds)
        error = math.sqrt(squares * len(rounds) / (len(rounds) - 1)) / players
    return Group(by, name, len(rounds), players, predicted, scored, Estimate(difference, error))


def _squad(seat: Seat) -> int:
    return min(seat.squad, LARGEST) - 1


def _experience(seat: Seat) -> int:
    return sum(seat.rounds >= stage for stage in STAGES)


def _last(seat: Seat) -> int | None:
    """Unknown after rounds that are not there any more."""
    if seat.last is None:
        return None if seat.rounds else 0
    return 1 + list(OUTCOMES).index(seat.last)


_DIVISIONS: tuple[tuple[By, Callable[[Seat], int | None], tuple[str, ...]], ...] = (
    ("squad", _squad, ("alone", *map(str, range(2, LARGEST)), f"{LARGEST} or more")),
    (
        "experience",
        _experience,
        (*(f"{low} to {high - 1}" for low, high in zip((0, *STAGES), STAGES, strict=False)), f"{STAGES[-1]} or more"),
    ),
    ("last", _last, ("first round", *OUTCOMES.values())),
)
