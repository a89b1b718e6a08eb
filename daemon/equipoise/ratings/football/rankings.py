"""The three rankings of international football: World Football Elo, and FIFA's of men and of women.

World Football Elo (eloratings.net) weighs the goal difference and has a home advantage.  FIFA's men's ranking since
2018 (SUM) counts shoot-outs in part and takes no points in knock-out matches.  FIFA's women's ranking scores by a table
of goals, has a home advantage, and says who is ranked at all.

Formulas, sources and decisions: docs/ratings/football.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.football.system import HOME, Football, Kind, Outcome, constants, kind_of, order, pair_of
from equipoise.ratings.parameters import count_of, known_time, one_of, ranged
from equipoise.ratings.parts.match_arrays import LIMIT
from equipoise.ratings.parts.player_table import checked
from equipoise.ratings.parts.points import PointsParams, PointsSystem, Record
from equipoise.ratings.system import Match, State

OTHERS = 30.0
WORLD_FOOTBALL_IMPORTANCE: Final[Mapping[Kind, float]] = dict.fromkeys(Kind, OTHERS) | {
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
    importance: ClassVar[Mapping[Kind, float]] = WORLD_FOOTBALL_IMPORTANCE

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


FRIENDLY = 10.0
FIFA_MEN_IMPORTANCE: Final[Mapping[Kind, float]] = dict.fromkeys(Kind, FRIENDLY) | {
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
    importance: ClassVar[Mapping[Kind, float]] = FIFA_MEN_IMPORTANCE
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


PER_IMPORTANCE = 15.0
FIFA_WOMEN_IMPORTANCE: Final[Mapping[Kind, float]] = dict.fromkeys(Kind, PER_IMPORTANCE) | {
    Kind.WORLD_CUP: 4 * PER_IMPORTANCE,
    Kind.WORLD_CUP_KNOCK_OUT: 4 * PER_IMPORTANCE,
    Kind.WORLD_CUP_QUARTER_FINAL_ON: 4 * PER_IMPORTANCE,
    Kind.OLYMPICS: 4 * PER_IMPORTANCE,
    Kind.QUALIFIER: 3 * PER_IMPORTANCE,
    Kind.OLYMPIC_QUALIFIER: 3 * PER_IMPORTANCE,
    Kind.CONTINENTAL: 3 * PER_IMPORTANCE,
    Kind.CONTINENTAL_KNOCK_OUT: 3 * PER_IMPORTANCE,
    Kind.CONTINENTAL_QUARTER_FINAL_ON: 3 * PER_IMPORTANCE,
    Kind.CONTINENTAL_QUALIFIER: 2 * PER_IMPORTANCE,
}
"""K = 15·M, points.  Tournaments that FIFA's table does not name are friendlies."""

FRIENDLIES: Final = frozenset(kind for kind in Kind if FIFA_WOMEN_IMPORTANCE[kind] == PER_IMPORTANCE)
NOVEL_FRIENDLIES = 10
"""The first so many friendlies of a pair of teams count double."""

RANKED_AFTER = 5
"""Matches against ranked teams until a team is ranked."""

PERCENTAGES: Final = (
    (47.0, 15.0, 8.0, 4.0, 3.0, 2.0, 1.0),
    (50.0, 16.0, 8.9, 4.8, 3.7, 2.6, 1.5),
    (51.0, 17.0, 9.8, 5.6, 4.4, 3.2, 2.0),
    (52.0, 18.0, 10.7, 6.4, 5.1, 3.8, 2.5),
    (52.5, 19.0, 11.6, 7.2, 5.8, 4.4, 3.0),
    (53.0, 20.0, 12.5, 8.0, 6.5, 5.0, 3.5),
)
"""Score in percent of a team that did not win, by its goals (last row: 5 or more) and the goal difference (6)."""


@dataclass(frozen=True, slots=True)
class FifaWomenParams(PointsParams):
    """Parameters of the FIFA women's ranking."""

    shadow_rounds: int = ranged(RANKED_AFTER, 0, 100_000)
    """Matches against ranked teams until a team is ranked itself."""
    stale_days: float = ranged(548.0, 0, 100_000)
    """Days without a match after which a team is no longer ranked: 18 months."""
    initial: float = ranged(1300.0, -LIMIT, LIMIT)
    """Points: a new team's rating; about the mean of all teams."""
    home: float = ranged(100.0, -LIMIT, LIMIT)
    """H, points that the home team is better by."""
    scale: float = ranged(200.0, 0.001, LIMIT)
    """c, points: scale of the expectation."""


@dataclass(slots=True)
class Team(Record):
    """A team's points and its counts of matches."""

    recognised: int = 0
    """Matches against ranked teams."""
    friendlies: dict[PlayerId, int] = field(default_factory=dict)
    """Number of friendlies against each other team."""


class FifaWomen(Football[FifaWomenParams, Team]):
    """A shoot-out counts as a draw.  The scores of a draw need not add up to 1, so the sum of all points changes."""

    name = "fifa_women"
    parameters = FifaWomenParams
    importance: ClassVar[Mapping[Kind, float]] = FIFA_WOMEN_IMPORTANCE
    seeds: ClassVar[Iterable[str]] = (*PointsSystem.seeds, "recognised")

    def __init__(self, params: FifaWomenParams) -> None:
        super().__init__(params, constants(params.initial, 2.0 * params.scale / math.log(10.0)), HOME, params.home)

    def newcomer(self) -> Team:
        """A team at the initial rating, not ranked yet."""
        return Team(self.constants.initial)

    def outcome(self, goals: int, other: int, winner: int) -> Outcome:
        """S_act: a percentage for the team that did not win, the rest for the winner."""
        # By the goals of the team that did not win, which are the fewer ones.
        part = PERCENTAGES[min(goals, other, 5)][min(abs(goals - other), 6)] / 100.0
        if goals == other:
            return Outcome(1.0, part, part)
        return Outcome(1.0, 1.0 - part, part) if goals > other else Outcome(1.0, part, 1.0 - part)

    def importance_in(self, match: Match) -> float:
        """K; a pair's first friendlies count double."""
        return self.importance_of(kind_of(match.mode), *pair_of(match))

    def importance_of(self, kind: Kind, team: PlayerId, other: PlayerId) -> float:
        """K of the next match of two teams."""
        novel = kind in FRIENDLIES and self.held(team).friendlies.get(other, 0) < NOVEL_FRIENDLIES
        return self.importance[kind] * (2.0 if novel else 1.0)

    def ranked(self, team: PlayerId, now: float | None) -> bool:
        """Whether a team is officially ranked, at a time in seconds since the epoch."""
        record = self.held(team)
        active = now is None or not self.stale(known_time(record.last_played), now)
        return record.recognised >= self.params.shadow_rounds and active

    def note(self, match: Match, records: list[Team]) -> None:
        """Count the match for both teams."""
        self.count(kind_of(match.mode), pair_of(match), records, match.started_at)

    def count(self, kind: Kind, teams: tuple[PlayerId, PlayerId], records: list[Team], at: float | None) -> None:
        """Count the match as recognised for a team whose opponent is ranked; for both while no team was ever ranked."""
        # Somebody has to be ranked first, or no match would ever count.
        start = not any(entry.recognised >= self.params.shadow_rounds for entry in self.players.values())
        opponents = teams[1], teams[0]
        # Both teams are judged before either is counted, so the order of the pair does not matter.
        known_opponents = [start or self.ranked(opponent, at) for opponent in opponents]
        friendly = kind in FRIENDLIES
        for record, opponent, counts in zip(records, opponents, known_opponents, strict=True):
            record.recognised += counts
            if at is not None and at > record.last_played:
                record.last_played = at
            if friendly:
                record.friendlies[opponent] = record.friendlies.get(opponent, 0) + 1

    def summary(self, player: PlayerId) -> PlayerSummary:
        """Visible once the team is ranked; `missing` counts matches against ranked teams."""
        record = self.held(player)
        return replace(self.shown(player, record.rating, record.recognised, record.last_played), rounds=record.rounds)

    def state(self, player: PlayerId) -> State:
        """The fields of its record; `friendlies` by the opponent's id."""
        return {**super().state(player), "friendlies": dict(self.held(player).friendlies)}

    def stored(self, player: PlayerId, newcomer: Team, state: State) -> dict[str, Any]:
        """Return the fields as for any record, and `friendlies` as counts by opponent."""
        numbers = dict(state)
        counts = numbers.pop("friendlies")
        if not isinstance(counts, Mapping):
            raise RatingError(f"{player}: friendlies {counts!r} are not counts by opponent")
        friendlies = {
            PlayerId(str(opponent)): count_of(player, "friendlies", count) for opponent, count in counts.items()
        }
        return {**checked(player, newcomer, numbers), "friendlies": friendlies}
