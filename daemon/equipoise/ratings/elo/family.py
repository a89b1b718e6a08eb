"""Shared by Elo and the football rankings: passing a live match to Elo's kernel."""

from __future__ import annotations

import math
from typing import TypeVar

from equipoise.core.model import PlayerId
from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.parts.match_arrays import Lineup
from equipoise.ratings.parts.points import PointsParams, PointsSystem, Record
from equipoise.ratings.system import Match

P = TypeVar("P", bound=PointsParams)
R = TypeVar("R", bound=Record)


class EloFamily(PointsSystem[P, R]):
    """Systems in which a team is as strong as the mean of its players, who all move by the team's surprise."""

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
        slope = 1.0 / math.sqrt(2.0 * math.pi) if self.constants.gaussian else 0.25
        return size * self.constants.spread * probability / slope

    def uncertainty(self, player: PlayerId) -> float:
        """1/√(1 + rounds), because Elo itself has no measure of it."""
        return 1.0 / math.sqrt(1.0 + self.held(player).rounds)
