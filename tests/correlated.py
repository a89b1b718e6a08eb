"""A system whose errors are correlated, as one Gaussian that the test gives: what splits by mean and variance need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist, fmean
from typing import Any

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.ratings.system import ANYWHERE, Covariance, Match, Rated, SkillContext, System, WinProbabilities

PER_LOG_ODDS = 2400.0
DRAWN = [NormalDist().inv_cdf((n + 0.5) / 60) for n in range(60)]


@dataclass(frozen=True)
class Nothing:
    """It has no parameters."""


class Gaussian(System[Nothing]):
    """Players of given skills, in points, and the factors of their covariance; bots are known."""

    name = "gaussian"
    parameters = Nothing
    correlated = True

    def __init__(
        self,
        skills: Mapping[PlayerId, float],
        factors: Mapping[PlayerId, Sequence[float]],
        head_count: float = 0.0,
    ) -> None:
        super().__init__(Nothing())
        self.skills_of, self.factors, self.head_count = skills, factors, head_count

    @classmethod
    def random(cls, random: Random, players: Iterable[PlayerId], head_count: float = 0.0) -> Gaussian:
        """Skills 600 points apart, known to very different degrees."""
        humans = [player for player in players if not is_bot(player)]
        known = random.choice((0.0, 0.1, 0.5, 1.0))
        return cls(
            {player: random.gauss(1000.0, 600.0) for player in humans},
            {player: [random.gauss(0.0, 600.0 * known / 4) for _ in range(8)] for player in humans},
            head_count,
        )

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        return self.skills_of.get(player, 1000.0)

    def covariance(self, players: Sequence[PlayerId], context: SkillContext = ANYWHERE) -> Covariance:
        rows = [self.factors.get(player, ()) for player in players]
        return [[sum(a * b for a, b in zip(one, other, strict=False)) for other in rows] for one in rows]

    def gap(self, probability: float, size: int) -> float:
        return 4 * PER_LOG_ODDS * probability

    def even(self, on_a: int, on_b: int) -> float:
        """The difference of the sums at which so many against so many is even."""
        return 1000.0 * (on_a - on_b) - self.head_count * math.log(on_a / on_b)

    def difference_at(self, probability: float, match: Match) -> float:
        return self.even(*map(len, match.teams)) + PER_LOG_ODDS * math.log(probability / (1 - probability))

    def predict(self, match: Match) -> WinProbabilities:
        a, b = match.predicted_lineup
        signs = [1] * len(a) + [-1] * len(b)
        rows = self.covariance((*a, *b))
        variance = sum(
            x * y * value for x, row in zip(signs, rows, strict=True) for y, value in zip(signs, row, strict=True)
        )
        mean = sum(map(self.skill, a)) - sum(map(self.skill, b)) - self.difference_at(0.5, match)
        spread = math.sqrt(max(0.0, variance))
        p = fmean(1 / (1 + math.exp(-(mean + spread * z) / PER_LOG_ODDS)) for z in DRAWN)
        return WinProbabilities((p, 1 - p))

    def rate(self, match: Match) -> Rated:
        raise NotImplementedError

    def uncertainty(self, player: PlayerId) -> float:
        return 0.0

    def summary(self, player: PlayerId) -> PlayerSummary:
        return PlayerSummary(player, self.skill(player))

    def seed(self, player: PlayerId, **skill: float) -> None:
        raise NotImplementedError

    def state(self, player: PlayerId) -> Any:
        raise NotImplementedError

    def restore(self, player: PlayerId, state: Any, history: Any = ()) -> None:
        raise NotImplementedError

    def forget(self, player: PlayerId) -> None:
        raise NotImplementedError

    def __contains__(self, player: PlayerId) -> bool:
        return player in self.skills_of
