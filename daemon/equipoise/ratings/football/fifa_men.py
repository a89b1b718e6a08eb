"""The FIFA men's world ranking since 2018 (SUM): shoot-outs count in part, knock-out matches take no points.

Formulas, sources and decisions: docs/ratings/football.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from equipoise.ratings.football.system import HOME, Football, Kind, Outcome, constants, order
from equipoise.ratings.parameters import ranged
from equipoise.ratings.parts.points import PointsParams, Record
from equipoise.ratings.parts.two_teams import LIMIT

FRIENDLY = 10.0
IMPORTANCE: Final[Mapping[Kind, float]] = dict.fromkeys(Kind, FRIENDLY) | {
    Kind.FRIENDLY_OUTSIDE_WINDOW: 5.0,
    Kind.NATIONS_LEAGUE: 15.0,
    Kind.NATIONS_LEAGUE_PLAY_OFF: 25.0,
    Kind.NATIONS_LEAGUE_FINALS: 25.0,
    Kind.QUALIFIER: 25.0,
    Kind.CONTINENTAL_QUALIFIER: 25.0,
    Kind.CONTINENTAL: 35.0,
    Kind.CONTINENTAL_KNOCK_OUT: 35.0,
    Kind.CONTINENTAL_QUARTER_FINAL_ON: 40.0,
    Kind.WORLD_CUP: 50.0,
    Kind.WORLD_CUP_KNOCK_OUT: 50.0,
    Kind.WORLD_CUP_QUARTER_FINAL_ON: 60.0,
}
"""I, points.  Tournaments that FIFA's table does not name are friendlies."""

KNOCK_OUT: Final = frozenset(
    {
        Kind.NATIONS_LEAGUE_FINALS,
        Kind.CONTINENTAL_KNOCK_OUT,
        Kind.CONTINENTAL_QUARTER_FINAL_ON,
        Kind.WORLD_CUP_KNOCK_OUT,
        Kind.WORLD_CUP_QUARTER_FINAL_ON,
    }
)
"""The knock-out stages of final competitions, in which no team loses points."""

SHOOT_OUT_WON, SHOOT_OUT_LOST = 0.75, 0.5


@dataclass(frozen=True, slots=True)
class FifaMenParams(PointsParams):
    """Parameters of the FIFA men's ranking."""

    initial: float = ranged(1000.0, -LIMIT, LIMIT)
    """Points: a new team's rating (our choice; FIFA began with those of its former ranking)."""


class FifaMen(Football[FifaMenParams, Record]):
    """The men's ranking; it has no home advantage."""

    name = "fifa_men"
    parameters = FifaMenParams
    importance: ClassVar[Mapping[Kind, float]] = IMPORTANCE
    protected: ClassVar[frozenset[Kind]] = KNOCK_OUT

    def __init__(self, params: FifaMenParams) -> None:
        super().__init__(params, constants(params.initial, 600.0 / math.log(10.0)), HOME, 0.0)

    def newcomer(self) -> Record:
        """A team at the initial rating."""
        return Record(self.constants.initial)

    def outcome(self, goals: int, other: int, winner: int) -> Outcome:
        """W.  Level goals with a winner are a shoot-out; one after goals that decide the match settled the tie only."""
        if goals == other and winner:
            scores = (SHOOT_OUT_WON, SHOOT_OUT_LOST)
            return Outcome(1.0, *(scores if winner > 0 else reversed(scores)))
        score = 0.5 + 0.5 * order(goals, other)
        return Outcome(1.0, score, 1.0 - score)
