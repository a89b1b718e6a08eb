"""TrueSkill (Herbrich, Minka & Graepel, NIPS 2006): any number of teams, draws, partial play.

TrueSkill Through Time (Dangauthier, Herbrich, Minka & Graepel, NIPS 2007) has skills that change with time.  A live
system runs the forward pass of the model, match after match, which knows a player from the past alone; `fit` estimates
every skill by a whole history.

Formulas, and what the sources leave open: docs/ratings/trueskill.md, docs/ratings/trueskill_through_time.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.parameters import DAY, Params, count_of, number_of, ranged
from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays, lineup_of, one_match, time_of
from equipoise.ratings.parts.player_table import PlayerTable, refuse_bots
from equipoise.ratings.parts.team_order import Teams, draw_unit, margin_of, quality
from equipoise.ratings.parts.truncated_gaussian import pdf
from equipoise.ratings.system import ANYWHERE, Change, Match, Rated, SkillContext, WinProbabilities
from equipoise.ratings.trueskill import formulas as kernel
from equipoise.ratings.trueskill.formulas import GaussianAnswers, GaussianConstants, GaussianSkill, shown

LIMIT = 1e6
"""Largest absolute mean and largest deviation that a parameter or a seed may set, in units of skill."""


@dataclass(frozen=True)
class PriorParams(Params):
    """Parameters of a new player's skill and of performances.

    Tuning tries parameters in the order of their fields.  A dataclass has those of its last base first: the parameters
    of a system's dynamics, in a class between this one and `GaussianParams`, come after β.
    """

    mu: float = ranged(25.0, -LIMIT, LIMIT)
    """μ₀, mean of a new player's skill."""
    sigma: float = ranged(25.0 / 3.0, 0.001, LIMIT)
    """σ₀, deviation of a new player's skill."""
    beta: float = ranged(25.0 / 6.0, 0.001, LIMIT)
    """β, deviation of one performance about the skill."""


@dataclass(frozen=True)
class DrawParams(PriorParams):
    """Parameters of draws."""

    draw_probability: float = ranged(0.1, 0, 0.99)
    """Fraction of matches between equals that are drawn; sets the margin ε."""


@dataclass(frozen=True)
class SkillParams(PriorParams):
    """Parameters of every Gaussian system, in units of skill; defaults as in TrueSkill's first implementation."""

    confidence: float = ranged(3.0, 0, 100)
    """k, deviations: the shown rating is μ - k·σ."""
    shadow_rounds: int = ranged(0, 0, 100_000)
    """Rounds before a rating is shown; none, since μ - k·σ starts low by itself."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated round before a player is flagged."""

    def constants(self) -> GaussianConstants:
        """The parameters as the formulas read them, for a skill that never changes and matches without draws."""
        return GaussianConstants(
            mean=self.mu,
            variance=self.sigma**2,
            noise=self.beta**2,
            unit=0.0,
            confidence=self.confidence,
            tau2=0.0,
            gamma2=0.0,
            unknown=0.0,
        )


@dataclass(frozen=True)
class GaussianParams(SkillParams, DrawParams):
    """Parameters of every TrueSkill."""

    def constants(self) -> GaussianConstants:
        """The parameters as the formulas read them, with the margin of draws."""
        return super().constants()._replace(unit=draw_unit(self.draw_probability, self.beta))


P = TypeVar("P", bound=SkillParams)


class GaussianSystem(PlayerTable[P, GaussianSkill]):
    """Skill is the mean, uncertainty the deviation σ; the shown rating is the mean less k deviations.

    Read: teams, ranks, lineup, skill_at_start, fraction_played, started_at; everything else is ignored.
    """

    def __init__(self, params: P) -> None:
        super().__init__(params)
        self.constants = params.constants()

    def predict(self, match: Match) -> WinProbabilities:
        """Predict the lineups, assuming that all play to the end; bots count as newcomers."""
        sides, records = Teams.to_predict(len(match.teams)), self.records(match.lineup or match.teams)
        draw = self.predict_lineup(time_of(match), lineup_of(match), records, sides)
        return WinProbabilities(tuple(sides.wins), draw)

    def rate(self, match: Match) -> Rated:
        """Update every participant from the order of the teams."""
        scores = [match.score(team) for team in range(len(match.teams))]
        (arrays, players), c = one_match(match), self.constants
        refuse_bots(match, arrays.lineup)
        records, whole = self.records((players,)), not (match.lineup or match.skill_at_start or match.fraction_played)
        before = [shown(p, c) for p in records[: len(arrays.members)]]
        answers = GaussianAnswers([0.0] * len(scores), [0.0], before.copy())
        self.rate_arrays(arrays, whole, records, Teams.of(len(scores)), answers)
        prediction = WinProbabilities(tuple(answers.wins), answers.draws[0])
        changes, rows = [], zip(records, before, answers.after, strict=False)
        for team, side in enumerate(match.teams):
            chance, score = prediction.expected(team), scores[team]
            for player, (record, old, new) in zip(side, rows, strict=False):
                self.players[player] = record
                changes.append(Change(player, team, old, new, record.rounds, chance, score))
        return Rated(prediction, tuple(changes))

    def predict_lineup(self, at: float, lineup: Lineup, records: list[GaussianSkill], sides: Teams) -> float:
        """Fill `sides.wins` for one match at time `at`; returns the probability of a draw."""
        return kernel.predict_match(0, len(sides.mean), at, lineup, records, sides, self.constants)

    def rate_arrays(
        self, arrays: MatchArrays, whole: bool, records: list[GaussianSkill], sides: Teams, answers: GaussianAnswers
    ) -> None:
        """Predict and rate the one match in `arrays`, with the kernel of the replay."""
        kernel.replay(arrays, whole, records, sides, answers, self.constants)

    def trueskill_quality(self, match: Match) -> float | None:
        """How even a match of these teams and fractions would be, 0 to 1 (`team_order.quality`).

        As in the source, uses the skills after the last match, without the variance they would gain before this one.
        """
        teams, noise = Teams.of(len(match.teams)), [0.0] * len(match.teams)
        for team, side in enumerate(match.teams):
            for player in side:
                record, fraction_played = self.held(player), match.fraction_played.get(player, 1.0)
                teams.mean[team] += fraction_played * record.mu
                teams.variance[team] += fraction_played * fraction_played * (record.variance + self.constants.noise)
                noise[team] += fraction_played * fraction_played * self.constants.noise
        # The formula divides by each team's noise.
        if 0.0 in noise:
            raise RatingError("match quality: one of the teams has no players")
        return quality(teams, noise)

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """μ; for bots and players who are not held, a newcomer's μ₀."""
        return self.held(player).mu

    def gap(self, probability: float, size: int) -> float:
        """Linear, by the slope φ(ε/c)/c at an even match of players with known skill, where c² = 2·size·β²."""
        c = math.sqrt(2.0 * size * self.constants.noise)
        return probability * c / pdf(margin_of(2.0 * size, self.constants.unit) / c)

    def uncertainty(self, player: PlayerId) -> float:
        """σ after the player's last match."""
        return math.sqrt(self.held(player).variance)

    def deviation(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """σ, as `uncertainty`; for bots and players who are not held, a newcomer's σ₀."""
        return self.uncertainty(player)

    def summary(self, player: PlayerId) -> PlayerSummary:
        """The rating μ - k·σ; visible after the shadow rounds."""
        record = self.held(player)
        return self.shown(player, shown(record, self.constants), record.rounds, record.last_played)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """Facts: `mu`, `sigma` and the `rating` as it is shown, in units of skill; `rounds` rated so far.

        A `rating` moves mu and leaves sigma alone.
        """
        for fact in skill:
            if fact not in ("mu", "sigma", "rating", "rounds"):
                raise RatingError(f"{player}: {self.name} has no {fact} to seed, only mu, sigma, rating and rounds")
        record = replace(self.held(player))
        if "mu" in skill:
            record.mu = number_of(player, "mu", skill["mu"], -LIMIT, LIMIT)
        if "sigma" in skill:
            record.variance = number_of(player, "sigma", skill["sigma"], 0.0, LIMIT) ** 2
        if "rating" in skill:
            rating = number_of(player, "rating", skill["rating"], -LIMIT, LIMIT)
            record.mu += rating - shown(record, self.constants)
        record.rounds = count_of(player, "rounds", skill.get("rounds", record.rounds))
        self.players[player] = record

    def newcomer(self) -> GaussianSkill:
        """The record of a new player: N(μ₀, σ₀²), without rounds."""
        return GaussianSkill(self.constants.mean, self.constants.variance)


@dataclass(frozen=True)
class DynamicsParams(PriorParams):
    """Parameters of how skills change between matches."""

    tau: float = ranged(25.0 / 300.0, 0, LIMIT)
    """τ, deviation that the skill gains with every match."""


@dataclass(frozen=True)
class TrueSkillParams(GaussianParams, DynamicsParams):
    """Parameters of TrueSkill."""

    def constants(self) -> GaussianConstants:
        """The Gaussian kernel's parameters, with a drift at each match."""
        return super().constants()._replace(tau2=self.tau**2)


class TrueSkill(GaussianSystem[TrueSkillParams]):
    """TrueSkill: variances grow by τ² before every match, independently of time."""

    name = "trueskill"
    parameters = TrueSkillParams


@dataclass(frozen=True)
class DriftParams(PriorParams):
    """Parameters of how skills change with time."""

    gamma: float = ranged(25.0 / 300.0, 0, LIMIT)
    """γ, deviation that the skill gains in one `period_days`."""
    period_days: float = ranged(1.0, 1e-6, 100_000)
    """Days; where a time is unknown, one such period is taken to have passed."""


@dataclass(frozen=True)
class ThroughTimeParams(GaussianParams, DriftParams):
    """Parameters of TrueSkill Through Time, in units of skill."""

    tolerance: float = ranged(1e-6, 1e-12, 1.0)
    """Units of skill: a fit has converged when no skill at any match moves by more."""
    sweeps: int = ranged(10_000, 1, 10_000_000)
    """Maximum number of sweeps of a fit."""

    def constants(self) -> GaussianConstants:
        """The Gaussian kernel's parameters, with a drift that grows with the time between matches."""
        gamma2 = self.gamma**2
        return super().constants()._replace(gamma2=gamma2 / (self.period_days * DAY), unknown=gamma2)


class TrueSkillThroughTime(GaussianSystem[ThroughTimeParams]):
    """TrueSkill Through Time: variances grow with the time between a player's matches."""

    name = "trueskill_through_time"
    parameters = ThroughTimeParams
