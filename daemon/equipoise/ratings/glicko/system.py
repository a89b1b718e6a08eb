"""Glicko: a rating and its deviation; the matches of a rating period are rated together; deviations grow with absence.

Glicko-2 adds a volatility for each player, by which their deviation grows.

Formulas, sources and decisions: docs/ratings/glicko.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from equipoise.core.model import PlayerId
from equipoise.ratings.glicko import formulas as kernel
from equipoise.ratings.glicko.formulas import MOST_VOLATILE, GlickoConstants, GlickoPlayer
from equipoise.ratings.parameters import DAY, number_of, one_of, ranged
from equipoise.ratings.parts.match_arrays import LIMIT, Lineup, MatchArrays, time_of
from equipoise.ratings.parts.player_table import Bounds
from equipoise.ratings.parts.points import PointsParams, PointsSystem
from equipoise.ratings.system import ANYWHERE, Match, SkillContext


@dataclass(frozen=True, slots=True)
class PeriodParams(PointsParams):
    """Parameters that Glicko and Glicko-2 have in common."""

    initial: float = ranged(1500.0, -LIMIT, LIMIT)
    """r, points: a new player's rating, and a bot's."""
    rd: float = ranged(350.0, 1, 10_000)
    """RD, points: a new player's deviation, and the largest that absence leads to."""
    period_days: float = ranged(1.0, 1e-6, 100_000)
    """Length of a rating period, days."""
    periods: Literal["calendar", "match"] = one_of("calendar", "match")
    """Matches of the same period since the epoch count as played at once; or each match is a period of its own."""


@dataclass(frozen=True, slots=True)
class GlickoParams(PeriodParams):
    """Parameters of Glicko (Glickman, "The Glicko system")."""

    c: float = ranged(34.6, 0, 10_000)
    """c, points per √period: what absence adds to a deviation; 34.6 leads from 50 to 350 in 100 periods."""


P = TypeVar("P", bound=PeriodParams)


class GlickoFamily(PointsSystem[P, GlickoPlayer]):
    """Reads teams, ranks, lineup, skill_at_start, started_at, fraction_played and weight."""

    compares_means = True
    seeds: ClassVar[Iterable[str]] = (*PointsSystem.seeds, "rd")

    def __init__(self, params: P, growth: float, tau: float, volatility: float) -> None:
        super().__init__(params)
        self.volatility = volatility
        self.constants = GlickoConstants(
            initial=params.initial,
            variance=params.rd**2,
            growth=growth,
            tau=tau,
            frequency=1.0 / (params.period_days * DAY),
            pooled=params.periods == "calendar",
        )

    def newcomer(self) -> GlickoPlayer:
        """A record at the initial rating and deviation, before the player's first period."""
        rating, variance, volatility = self.constants.initial, self.constants.variance, self.volatility
        fresh = GlickoPlayer(rating, variance=variance, volatility=volatility)
        # Their first period begins where they are; without it a prediction before any match would read zeros.
        fresh.onset_rating, fresh.onset_variance, fresh.onset_volatility = rating, variance, volatility
        return fresh

    def chance(self, match: Match, lineup: Lineup, records: list[GlickoPlayer]) -> float:
        """The expected score of the first team, by the lineups' mean ratings and the deviations of both."""
        return kernel.expected_score(0, time_of(match), lineup, records, self.constants)

    def learn(
        self,
        match: Match,
        arrays: MatchArrays,
        records: list[GlickoPlayer],
        wins: list[float],
        after: list[float],
    ) -> None:
        """Rate each participant as if their period ended with this match."""
        kernel.rate_match(0, arrays, records, wins, after, self.constants)

    def gap(self, probability: float, size: int) -> float:
        """4/q·size·probability: the slope between players with small deviations; teams are compared by their mean."""
        return size * 4.0 * probability / kernel.Q

    def uncertainty(self, player: PlayerId) -> float:
        """RD in points after the player's last match; absence since then is not included."""
        return math.sqrt(self.held(player).variance)

    def deviation(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """RD, as `uncertainty`; for bots and players who are not held, a newcomer's."""
        return self.uncertainty(player)

    def seeded(self, player: PlayerId, held: GlickoPlayer, skill: Mapping[str, float]) -> GlickoPlayer:
        """Also accepts `rd`, a deviation in points; it includes the information of the period's matches so far."""
        fresh = super().seeded(player, held, {name: value for name, value in skill.items() if name != "rd"})
        if "rd" in skill:
            fresh.variance = number_of(player, "rd", skill["rd"], 1.0, 10_000.0) ** 2
        fresh.onset_rating, fresh.onset_variance, fresh.onset_volatility = (
            fresh.rating,
            fresh.variance,
            fresh.volatility,
        )
        # A seed is the beginning of a period: matches before it are in the seeded numbers.
        fresh.information = fresh.surprise = 0.0
        return fresh


class Glicko(GlickoFamily[GlickoParams]):
    """Glicko: deviations grow by the same c for all players."""

    name = "glicko"
    parameters = GlickoParams

    def __init__(self, params: GlickoParams) -> None:
        super().__init__(params, growth=params.c**2, tau=0.0, volatility=0.0)


VOLATILE = (1e-100, MOST_VOLATILE)
"""Range of a volatility, whose square must have a finite logarithm."""


@dataclass(frozen=True, slots=True)
class Glicko2Params(PeriodParams):
    """Parameters of Glicko-2 (Glickman, "Example of the Glicko-2 system")."""

    tau: float = ranged(0.5, 0.01, 10)
    """τ: how fast volatilities change; 0.3 to 1.2 are reasonable."""
    volatility: float = ranged(0.06, 1e-6, MOST_VOLATILE)
    """σ: a new player's volatility, in units of 173.7178 points per √period."""


class Glicko2(GlickoFamily[Glicko2Params]):
    """Glicko-2: a player's deviation grows by their own volatility."""

    name = "glicko2"
    parameters = Glicko2Params
    seeds: ClassVar[Iterable[str]] = (*GlickoFamily.seeds, "volatility")
    bounds: ClassVar[Mapping[str, Bounds]] = {"volatility": VOLATILE, "onset_volatility": VOLATILE}

    def __init__(self, params: Glicko2Params) -> None:
        super().__init__(params, growth=0.0, tau=params.tau, volatility=params.volatility)
