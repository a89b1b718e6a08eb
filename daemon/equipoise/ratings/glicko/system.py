"""Glicko: a rating and its deviation, matches of one rating period rated together, doubt that grows with absence.

Formulas, sources and decisions: docs/ratings/glicko.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeVar

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.glicko import formulas as kernel
from equipoise.ratings.glicko.arrays import Constants, Player
from equipoise.ratings.parts.points import PointsParams, PointsSystem, mean
from equipoise.ratings.parts.two_teams import LIMIT
from equipoise.ratings.system import Change, Match, Rated, WinProbabilities, one_of, ranged
from equipoise.ratings.validation import DAY


@dataclass(frozen=True, slots=True)
class PeriodParams(PointsParams):
    """What Glicko and Glicko-2 have in common."""

    initial: float = ranged(1500.0, -LIMIT, LIMIT)
    """r, points: a new player's rating, and a bot's."""
    rd: float = ranged(350.0, 1, 10_000)
    """RD, points: a new player's deviation, and the most that absence makes of anybody's."""
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


class GlickoFamily(PointsSystem[P, Player]):
    """Reads teams, ranks, doors, standing, started_at, share and weight."""

    facts: ClassVar[Mapping[str, tuple[float, float]]] = {**PointsSystem.facts, "rd": (1.0, 10_000.0)}

    def __init__(self, params: P, growth: float, tau: float, volatility: float) -> None:
        super().__init__(params)
        self.volatility = volatility
        self.constants = Constants(
            initial=float(params.initial),
            variance=float(params.rd) ** 2,
            growth=float(growth),
            tau=float(tau),
            frequency=1.0 / (params.period_days * DAY),
            pooled=params.periods == "calendar",
        )

    def newcomer(self) -> Player:
        """At the initial rating and deviation, as his first period will find him."""
        rating, variance, volatility = self.constants.initial, self.constants.variance, self.volatility
        fresh = Player(rating, variance=variance, volatility=volatility)
        fresh.onset_rating, fresh.onset_variance, fresh.onset_volatility = rating, variance, volatility
        return fresh

    def predict(self, match: Match) -> WinProbabilities:
        """Of mean ratings at the doors, with the doubt about both; a draw counts as half a win, so draw is 0."""
        if len(match.teams) != 2:
            raise RatingError(f"{self.name} rates two teams, not {len(match.teams)}")
        at = _time(match)
        (rating, variance), (other, other_variance) = (
            self._seen(side, match.skill_at_start, at) for side in match.predicted_lineup
        )
        first = kernel.expectation(rating - other, kernel.attenuation(variance + other_variance))
        return WinProbabilities((first, 1.0 - first))

    def rate(self, match: Match) -> Rated:
        """The change of each participant, as if his period ended with this match."""
        self.refuse_unreadable(match)
        prediction, at, c = self.predict(match), _time(match), self.constants
        before = {player: self.skill(player) for side in match.teams for player in side}
        for player in before:
            held = self.players.setdefault(player, self.held(player))
            kernel.enter(held, at, kernel.begins(held, kernel.period_of(at, c), c), c)
        own = [self._composite(side) for side in match.teams]
        for team, side in enumerate(match.teams):
            (rating, _), (other, variance) = own[team], own[1 - team]
            g = kernel.attenuation(variance)
            information, surprise = kernel.evidence(rating - other, g, match.score(team))
            for player in side:
                amount = match.weight * match.fraction_played.get(player, 1.0)
                kernel.learn(self.players[player], amount * information, amount * surprise, c)
        changes = (
            self._change(player, team, before[player], prediction.expected(team), match.score(team))
            for team, side in enumerate(match.teams)
            for player in side
        )
        return Rated(prediction, tuple(changes))

    def gap(self, probability: float, size: int) -> float:
        """4/q times the probability between players known well; ratings are averaged, so `size` times that."""
        return size * 4.0 * probability / kernel.Q

    def uncertainty(self, player: PlayerId) -> float:
        """RD in points, after his last match: absence since then is not counted."""
        return math.sqrt(self.held(player).variance)

    def seeded(self, held: Player, facts: Mapping[str, float]) -> Player:
        """With a deviation `rd`; what his period has said of him so far is in it."""
        plain = {fact: value for fact, value in facts.items() if fact != "rd"}
        fresh = replace(held, **plain, information=0.0, surprise=0.0)  # type: ignore[arg-type]
        fresh.variance = facts["rd"] ** 2 if "rd" in facts else held.variance
        fresh.onset_rating, fresh.onset_variance = fresh.rating, fresh.variance
        fresh.onset_volatility = fresh.volatility
        return fresh

    def _seen(
        self, side: tuple[PlayerId, ...], skill_at_start: Mapping[PlayerId, float], at: float
    ) -> tuple[float, float]:
        """Mean rating and mean variance at the doors."""
        held, c = [self.held(player) for player in side], self.constants
        ratings = [skill_at_start.get(player, p.rating) for player, p in zip(side, held, strict=True)]
        variances = [kernel.grown(p, kernel.periods_since(p, at, c), c) for p in held]
        return mean(ratings, c.initial), mean(variances, c.variance)

    def _composite(self, side: tuple[PlayerId, ...]) -> tuple[float, float]:
        """Mean rating and mean variance of the participants as their period found them."""
        held, c = [self.players[player] for player in side], self.constants
        return mean([p.onset_rating for p in held], c.initial), mean([p.onset_variance for p in held], c.variance)

    def _change(self, player: PlayerId, team: int, before: float, expected: float, score: float) -> Change:
        held = self.players[player]
        return Change(player, team, before, held.rating, held.rounds, expected, score)


class Glicko(GlickoFamily[GlickoParams]):
    """Everybody's deviation grows alike."""

    name = "glicko"
    parameters = GlickoParams

    def __init__(self, params: GlickoParams) -> None:
        super().__init__(params, growth=params.c**2, tau=0.0, volatility=0.0)


def _time(match: Match) -> float:
    return math.nan if match.started_at is None else match.started_at
