"""The people of the evening: how good they truly are, which nobody is told, and who wins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from equipoise.core.model import STEAM_ID_BASE, PlayerId, Side

_NAMES = """
Anya Argo Bix Bram Cleo Dash Fenn Flint Hazel Ivo Juno Kite Lumi Mara Moss Nils Orla Otto Pike Quill Rook Ruby Sable
Soren Tarn Tove Vex Wren Yuki Zed
"""
NAMES = tuple(_NAMES.split())
SMURF = "newbie"
MOST = len(NAMES) + 1
"""Players, the smurf among them."""

MEAN = 1000.0
WEAKEST = 200.0
"""A little above the floor of ratings, which nobody can be seen to be below."""
SPREAD = 500.0
"""Standard deviation of true skill, points: of two teams of five the better one often has 80 %."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who plays; `skill` is the truth in rating points, which the daemon has to find out."""

    id: PlayerId
    name: str
    skill: float


def cast(rng: Random, count: int) -> tuple[Person, ...]:
    """So many regulars of all strengths; the last one is the smurf: unknown, and better than anybody."""
    names = rng.sample(NAMES, count - 1)
    people = [
        _person(number, name, max(WEAKEST, MEAN + SPREAD * rng.gauss(0, 1))) for number, name in enumerate(names, 1)
    ]
    best = max(person.skill for person in people)
    return (*people, _person(count, SMURF, best + SPREAD / 2))


def _person(number: int, name: str, skill: float) -> Person:
    return Person(PlayerId(str(STEAM_ID_BASE + 1000 + number)), name, skill)


def chance(red: Iterable[float], blu: Iterable[float], theta: float) -> float:
    """RED's win probability: the logistic, base e, of the difference of two sums on the scale `theta` (points)."""
    return 1.0 / (1.0 + math.exp((math.fsum(blu) - math.fsum(red)) / theta))


def random_odds(rng: Random, skills: Sequence[float], red: int, theta: float, samples: int = 100) -> float:
    """How often the stronger side would win, the mean over random teams of the same people, `red` of them on RED."""
    shuffled = (rng.sample(skills, len(skills)) for _ in range(samples))
    chances = [chance(order[:red], order[red:], theta) for order in shuffled]
    return fmean(max(one, 1 - one) for one in chances)


def draw(rng: Random, red: Iterable[float], blu: Iterable[float], theta: float) -> Side:
    """Who wins a round between people of these true skills."""
    return Side.A if rng.random() < chance(red, blu, theta) else Side.B
