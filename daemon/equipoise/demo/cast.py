"""The people of the evening: their names, their true skills, and the results drawn from these.

Skill is in rating points, as the daemon rates: two sides whose sums differ by `theta` points win and lose e to 1.
"""

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
"""A little above the floor of ratings: no rating could show a lower skill."""
SPREAD = 500.0
"""Standard deviation of true skill, points: of two random teams of five the better one often has an 80 % chance."""


@dataclass(frozen=True, slots=True)
class Character:
    """A player. `skill` is hidden from the daemon, which has to estimate it from results."""

    id: PlayerId
    name: str
    skill: float


def cast(rng: Random, count: int) -> tuple[Character, ...]:
    """Draw `count` people; the last one is the smurf: a new account, and better than all the others."""
    names = rng.sample(NAMES, count - 1)
    regulars = [
        _character(number, name, max(WEAKEST, MEAN + SPREAD * rng.gauss(0, 1))) for number, name in enumerate(names, 1)
    ]
    best = max(character.skill for character in regulars)
    return (*regulars, _character(count, SMURF, best + SPREAD / 2))


def _character(number: int, name: str, skill: float) -> Character:
    return Character(account(number), name, skill)


def account(number: int) -> PlayerId:
    """The account of the person with this number."""
    return PlayerId(str(STEAM_ID_BASE + 1000 + number))


def theta(team_size: int) -> float:
    """Scale of the pool's logistic, points, as the daemon derives it from `k_max`: 400·⌊median{1..k_max}⌋."""
    return 400.0 * ((team_size + 1) // 2)


def win_probability(red: Iterable[float], blu: Iterable[float], theta: float) -> float:
    """Probability that RED wins: the logistic of the difference of both sums, `theta` being its scale in points.

    >>> round(win_probability([1500, 700], [1000], theta=1200), 3)
    0.731
    """
    return 1.0 / (1.0 + math.exp((math.fsum(blu) - math.fsum(red)) / theta))


def random_favourite(rng: Random, skills: Sequence[float], red: int, theta: float, samples: int = 100) -> float:
    """Win probability of the stronger side, the mean over random teams of the same people, `red` of them on RED."""
    orders = (rng.sample(skills, len(skills)) for _ in range(samples))
    probabilities = [win_probability(order[:red], order[red:], theta) for order in orders]
    return fmean(max(chance, 1 - chance) for chance in probabilities)


def draw_winner(rng: Random, red: Iterable[float], blu: Iterable[float], theta: float) -> Side:
    """Draw the winner of a round between people of these skills."""
    return Side.A if rng.random() < win_probability(red, blu, theta) else Side.B
