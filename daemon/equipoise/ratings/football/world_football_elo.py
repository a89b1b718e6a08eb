"""World Football Elo Ratings (eloratings.net): importance of the match, goal difference, home advantage.

Formulas, sources and decisions: docs/ratings/football.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from equipoise.ratings.football.system import HOME, Football, Kind, Outcome, constants, order
from equipoise.ratings.parameters import one_of, ranged
from equipoise.ratings.parts.points import PointsParams, Record
from equipoise.ratings.parts.two_teams import LIMIT

OTHERS = 30.0
IMPORTANCE: Final[Mapping[Kind, float]] = dict.fromkeys(Kind, OTHERS) | {
    Kind.WORLD_CUP: 60.0,
    Kind.WORLD_CUP_KNOCK_OUT: 60.0,
    Kind.WORLD_CUP_QUARTER_FINAL_ON: 60.0,
    Kind.CONTINENTAL: 50.0,
    Kind.CONTINENTAL_KNOCK_OUT: 50.0,
    Kind.CONTINENTAL_QUARTER_FINAL_ON: 50.0,
    Kind.QUALIFIER: 40.0,
    Kind.CONTINENTAL_QUALIFIER: 40.0,
    Kind.FRIENDLY: 20.0,
    Kind.FRIENDLY_OUTSIDE_WINDOW: 20.0,
}
"""K, points."""


@dataclass(frozen=True, slots=True)
class WorldFootballEloParams(PointsParams):
    """Parameters of the World Football Elo Ratings."""

    initial: float = ranged(1500.0, -LIMIT, LIMIT)
    """Points: a new team's rating (our choice; the site's beginnings are not published)."""
    home: float = ranged(100.0, -LIMIT, LIMIT)
    """Points that the home team is better by."""
    rounding: Literal["whole", "none"] = one_of("whole", "none")
    """Points exchanged are rounded to whole ones, as on the site, or kept as they are."""


class WorldFootballElo(Football[WorldFootballEloParams, Record]):
    """World Football Elo; a shoot-out counts as a draw."""

    name = "world_football_elo"
    parameters = WorldFootballEloParams
    importance: ClassVar[Mapping[Kind, float]] = IMPORTANCE

    def __init__(self, params: WorldFootballEloParams) -> None:
        whole = params.rounding == "whole"
        super().__init__(params, constants(params.initial, 400.0 / math.log(10.0), whole=whole), HOME, params.home)

    def newcomer(self) -> Record:
        """The record of a team without matches."""
        return Record(self.constants.initial)

    def outcome(self, goals: int, other: int, winner: int) -> Outcome:
        """G, by the goal difference, and W, the result."""
        score = 0.5 + 0.5 * order(goals, other)
        return Outcome(goal_factor(abs(goals - other)), score, 1.0 - score)


def goal_factor(difference: int) -> float:
    """G: 1, 3/2 for two goals, (11 + N)/8 for more."""
    if difference <= 1:
        return 1.0
    return 1.5 if difference == 2 else (11.0 + difference) / 8.0
