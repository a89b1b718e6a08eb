"""SynElo once more, from the formulas F1 to F5 of docs/ratings.md, without looking at the daemon's.

Everything is computed anew for every round: no sums are carried along, so nothing here can go wrong in the way in which
a fast implementation can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

EXCESS = 0.10


@dataclass(frozen=True)
class Parameters:
    """The parameters of a pool, by the names of its configuration; R_0 is `initial`."""

    initial: int = 1000
    floor: int = 100
    shadow_rounds: int = 50
    shadow_cap: int = 2200
    k_max: int = 12
    k_factor_min: float = 2.0
    k_factor_max: float = 72.0
    window: int = 500
    velocity_weight: float = 0.25
    excess_weight: float = 0.25
    volatility_weight: float = 0.5
    compression: float = 400.0

    @property
    def theta(self) -> float:
        """F1: Θ from the largest team size.

        >>> Parameters(k_max=12).theta
        2400.0
        """
        return 400.0 * math.floor(median(range(1, self.k_max + 1)))


@dataclass
class Player:
    """A rating, and what the convergence score looks back on: (rating after, prediction, score), oldest first."""

    rating: float
    rounds: int = 0
    past: list[tuple[float, float, float]] = field(default_factory=list)
    had: set[float] = field(default_factory=set)
    """Every rating after a round."""


@dataclass(frozen=True)
class Change:
    """What a round does to a participant."""

    player: str
    side: str
    before: float
    after: float
    prediction: float
    score: float
    rounds: int
    visible: bool


def win_probability(difference: float, theta: float) -> float:
    """F1, of the side whose sum is larger by `difference`."""
    if difference < 0:
        return 1.0 - win_probability(-difference, theta)
    return 1.0 / (1.0 + math.exp(-difference / theta))


def convergence(past: Sequence[tuple[float, float, float]], p: Parameters) -> float:
    """F3 from a window of rounds; 1 with fewer than two."""
    count, half = len(past), len(past) // 2
    if count < 2:
        return 1.0
    ratings = [after for after, _, _ in past]
    mean = math.fsum(ratings) / count
    velocity = abs(math.fsum(ratings[count - half :]) - math.fsum(ratings[:half])) / half / p.k_factor_max
    excess = abs(math.fsum(score - expected for _, expected, score in past)) / count / EXCESS
    volatility = math.sqrt(math.fsum((rating - mean) ** 2 for rating in ratings) / count) / p.k_factor_max
    return min(1.0, p.velocity_weight * velocity + p.excess_weight * excess + p.volatility_weight * volatility)


def k_factor(player: Player, p: Parameters) -> float:
    """F4 and F5."""
    gauss = math.exp(-((player.rating - p.initial) ** 2) / (2.0 * p.compression**2))
    return p.k_factor_min + (p.k_factor_max - p.k_factor_min) * convergence(player.past, p) * gauss


class Population:
    """The players of a pool, as its rounds so far have made them."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.players: dict[str, Player] = {}

    def rating(self, player: str) -> float:
        """A bot's and a stranger's is the initial one."""
        known = self.players.get(player)
        return known.rating if known else float(self.parameters.initial)

    def ever(self, player: str, rating: float) -> bool:
        """Whether a player had this rating at some time."""
        known = self.players.get(player)
        return rating == self.parameters.initial or (known is not None and rating in known.had)

    def predict(self, lineup: Mapping[str, Sequence[str]], skill_at_start: Mapping[str, float]) -> float:
        """F1 for side `a` by the sums of the lineups; `skill_at_start` is used where it is known."""
        sums = {
            side: math.fsum(skill_at_start.get(each, self.rating(each)) for each in players)
            for side, players in lineup.items()
        }
        return win_probability(sums["a"] - sums["b"], self.parameters.theta)

    def rate(self, prediction: float, teams: Mapping[str, Sequence[str]], score: float) -> dict[str, Change]:
        """F2 for every participant; `prediction` and `score` are those of side `a`."""
        changes = {}
        for side, players in teams.items():
            expected, got = (prediction, score) if side == "a" else (1.0 - prediction, 1.0 - score)
            for name in players:
                changes[name] = self._rate(name, side, expected, got)
        return changes

    def _rate(self, name: str, side: str, expected: float, score: float) -> Change:
        p = self.parameters
        player = self.players.setdefault(name, Player(float(p.initial)))
        before = player.rating
        # Python rounds half to even, which is banker's rounding.
        player.rating = float(max(p.floor, round(before + k_factor(player, p) * (score - expected))))
        player.rounds += 1
        if player.rounds == p.shadow_rounds:
            player.rating = min(player.rating, float(p.shadow_cap))
        player.past = [*player.past, (player.rating, expected, score)][-p.window :]
        player.had.add(player.rating)
        visible = player.rounds >= p.shadow_rounds
        return Change(name, side, before, player.rating, expected, score, player.rounds, visible)
