"""Elo: any base and scale or the Gaussian form, margin of victory, side advantage, newcomers that move faster.

`EloFamily` passes a live match to Elo's kernel; the football rankings share it.

Formulas, sources and decisions: docs/ratings/elo.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeVar

from equipoise.core.model import PlayerId
from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.parameters import one_of, ranged
from equipoise.ratings.parts.match_arrays import LIMIT, Lineup, MatchArrays
from equipoise.ratings.parts.points import PointsParams, PointsSystem, Record
from equipoise.ratings.system import Match

P = TypeVar("P", bound=PointsParams)
R = TypeVar("R", bound=Record)


class EloFamily(PointsSystem[P, R]):
    """Systems in which a team is as strong as the mean of its players, who all move by the team's surprise."""

    compares_means = True
    favoured: str
    """The name of the side that has an advantage."""
    advantage: float
    """Points that this side adds to its team's rating."""

    def __init__(self, params: P, constants: kernel.EloConstants, favoured: str, advantage: float) -> None:
        super().__init__(params)
        self.constants = constants
        self.favoured = favoured
        self.advantage = advantage

    def chance(self, match: Match, lineup: Lineup, records: list[R]) -> float:
        """The expected score of the first team, by the mean ratings of the lineups."""
        return kernel.expected_score(0, lineup, self.leads(match.sides), records, self.constants)

    def lead(self, sides: tuple[str, ...]) -> float:
        """Points that the sides give the first team over the second."""
        return self.advantage * ((sides[0] == self.favoured) - (sides[1] == self.favoured)) if sides else 0.0

    def leads(self, sides: tuple[str, ...]) -> list[float]:
        """`MatchTerms.lead` of one match: empty where sides have no names."""
        return [self.lead(sides)] if sides else []

    def gap(self, probability: float, size: int) -> float:
        """Linear, by the curve's slope at an even match, times `size`: teams are compared by their mean rating."""
        # The density of the curve at 0.
        slope = 1.0 / math.sqrt(2.0 * math.pi) if self.constants.gaussian else 0.25
        return size * self.constants.spread * probability / slope

    def uncertainty(self, player: PlayerId) -> float:
        """1/√(1 + rounds), because Elo itself has no measure of it."""
        return 1.0 / math.sqrt(1.0 + self.held(player).rounds)


@dataclass(frozen=True, slots=True)
class EloParams(PointsParams):
    """Parameters of Elo; the defaults are chess, without advantage and margins."""

    initial: float = ranged(1500.0, -LIMIT, LIMIT)
    """Points: a new player's rating, and a bot's."""
    form: Literal["logistic", "gaussian"] = one_of("logistic", "gaussian")
    """The curve of the expectation: 1/(1 + base^(-d/scale)), or Φ(d/(√2·β)) (Herbrich et al. 2006, eq. 1)."""
    base: float = ranged(10.0, 1.001, 1000)
    """Base of the logistic form."""
    scale: float = ranged(400.0, 0.001, LIMIT)
    """Points; in the logistic form, the difference at which the odds are `base` to 1."""
    beta: float = ranged(200.0, 0.001, LIMIT)
    """β, points; in the Gaussian form, the deviation of one performance."""
    k: float = ranged(32.0, 0, LIMIT)
    """K, points: the change after a complete surprise.  The Gaussian form's is α·β·√π; α = 0.07 in chess."""
    win_factor: float = ranged(1.0, 0, 100)
    """Multiplies K for winners, not at a draw.  If it is above `loss_factor`, the sum of all ratings grows."""
    loss_factor: float = ranged(1.0, 0, 100)
    """Multiplies K for losers, not at a draw."""
    newcomer: float = ranged(0.0, 0, 100)
    """K is larger by the factor 1 + this in a player's first round; 0: the same for all players."""
    newcomer_rounds: float = ranged(30.0, 0.1, 100_000)
    """Rounds in which the excess of a newcomer's K falls to 1/e."""
    margin_power: float = ranged(0.0, 0, 10)
    """Multiplies K by (1 + |margin|) to this power; at 0 the margin does not matter."""
    margin_scale: float = ranged(0.0, 0, LIMIT)
    """Points of the game: the score is the logistic of margin over this; 0: the score is 1, 0.5 or 0."""
    margin_log: float = ranged(0.0, 0, 1000)
    """d, thousands of rating points: multiplies K by ln(|margin| + 1) · d/(d + the winner's lead/1000), as
    FiveThirtyEight does with d = 2.2; at 0 it does not."""
    side_advantage: float = ranged(0.0, -LIMIT, LIMIT)
    """Points that the favoured side adds to its team's rating."""
    favoured_side: str = "home"
    """Name in `Match.sides` of the side with the advantage."""

    @property
    def reads_margin(self) -> bool:
        """Whether margins change anything."""
        return any((self.margin_power, self.margin_scale, self.margin_log))

    def constants(self) -> kernel.EloConstants:
        """Elo's parameters for the formulas: the base and the scale become one spread."""
        gaussian = self.form == "gaussian"
        return kernel.EloConstants(
            initial=self.initial,
            gaussian=gaussian,
            spread=math.sqrt(2.0) * self.beta if gaussian else self.scale / math.log(self.base),
            k=self.k,
            win_factor=self.win_factor,
            loss_factor=self.loss_factor,
            newcomer=self.newcomer,
            newcomer_rounds=self.newcomer_rounds,
            margin_power=self.margin_power,
            margin_scale=self.margin_scale,
            margin_log=self.margin_log,
            whole=False,
        )


class Elo(EloFamily[EloParams, Record]):
    """Reads teams, ranks, lineup, skill_at_start, started_at, fraction_played, weight, points and sides."""

    name = "elo"
    parameters = EloParams

    def __init__(self, params: EloParams) -> None:
        super().__init__(params, params.constants(), params.favoured_side, params.side_advantage)

    def newcomer(self) -> Record:
        """A record at the initial rating."""
        return Record(self.constants.initial)

    def learn(
        self, match: Match, arrays: MatchArrays, records: list[Record], wins: list[float], after: list[float]
    ) -> None:
        """Move each participant; the margin is read if the points are known and a margin parameter is set."""
        # An empty array, not a NaN, where margins would change nothing: the kernel then skips them.
        margin = [match.points[0] - match.points[1]] if match.points and self.params.reads_margin else []
        terms = kernel.MatchTerms(self.leads(match.sides), margin, scores=[], protected=[])
        kernel.rate_match(0, arrays, terms, records, wins, after, self.constants)
