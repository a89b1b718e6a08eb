"""International football: the kinds of match, what a score line means, and what the three ranking systems share.

All three are Elo (`elo.formulas`): the importance of the match is its weight, and the score line makes the scores.

A team is one player.  A match needs its goals (`Match.points`, extra time included), and they decide it: a winner in
`Match.ranks` of level goals won a shoot-out, and another winner than that by goals won a tie of two legs in one.
`Match.mode` is a kind by its value or a tournament by its name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import ClassVar, Final, NamedTuple, TypeVar

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.elo import formulas as kernel
from equipoise.ratings.elo.family import EloFamily
from equipoise.ratings.parts.match_arrays import MatchArrays
from equipoise.ratings.parts.points import PointsParams, Record
from equipoise.ratings.system import Match, Rated, WinProbabilities

HOME: Final = "home"
"""What the side with the advantage is called; the other one is anything else, and on neutral ground so are both."""

MOST_GOALS = 999


class Kind(Enum):
    """What a match was played for, as finely as any of the systems asks."""

    FRIENDLY = "friendly"
    FRIENDLY_OUTSIDE_WINDOW = "friendly outside window"
    NATIONS_LEAGUE = "nations league"
    NATIONS_LEAGUE_PLAY_OFF = "nations league play-off"
    NATIONS_LEAGUE_FINALS = "nations league finals"
    """Knock-out: semi-finals, third place, final."""
    QUALIFIER = "qualifier"
    """For a world cup, and but for women for a continental championship."""
    CONTINENTAL_QUALIFIER = "continental qualifier"
    OLYMPIC_QUALIFIER = "olympic qualifier"
    CONTINENTAL = "continental"
    CONTINENTAL_KNOCK_OUT = "continental knock-out"
    """Before the quarter-finals."""
    CONTINENTAL_QUARTER_FINAL_ON = "continental quarter-final on"
    WORLD_CUP = "world cup"
    WORLD_CUP_KNOCK_OUT = "world cup knock-out"
    """Before the quarter-finals."""
    WORLD_CUP_QUARTER_FINAL_ON = "world cup quarter-final on"
    OLYMPICS = "olympics"
    OTHER = "other"
    """A tournament that none of the systems names."""


TOURNAMENTS: Final[Mapping[str, Kind]] = {
    "FIFA World Cup": Kind.WORLD_CUP,
    "FIFA World Cup qualification": Kind.QUALIFIER,
    "Friendly": Kind.FRIENDLY,
    "Olympic Games": Kind.OLYMPICS,
    "Olympic Games qualification": Kind.OLYMPIC_QUALIFIER,
    "UEFA Nations League": Kind.NATIONS_LEAGUE,
    "CONCACAF Nations League": Kind.NATIONS_LEAGUE,
    "Confederations Cup": Kind.CONTINENTAL,
}
CONTINENTAL: Final = (
    "UEFA Euro",
    "Copa América",
    "African Cup of Nations",
    "AFC Asian Cup",
    "Gold Cup",
    "CONCACAF Championship",
    "Oceania Nations Cup",
)


@cache
def kind_of(mode: str) -> Kind:
    """A kind by its value, a tournament by its name in the results of martj42; any other name is `OTHER`."""
    if mode in (kind.value for kind in Kind):
        return Kind(mode)
    if mode.removesuffix(" qualification") in CONTINENTAL:
        return Kind.CONTINENTAL_QUALIFIER if mode.endswith(" qualification") else Kind.CONTINENTAL
    return TOURNAMENTS.get(mode, Kind.OTHER)


class Outcome(NamedTuple):
    """What a score line means."""

    factor: float
    """Multiplies the importance of the match."""
    score: float
    """Of the first team."""
    other_score: float


def order(goals: int, other: int) -> int:
    """1 where the first is more, 0 where they are level, -1 where it is less."""
    return (goals > other) - (goals < other)


P = TypeVar("P", bound=PointsParams)
R = TypeVar("R", bound=Record)


class Football(EloFamily[P, R]):
    """Reads teams, ranks, started_at, points, mode and sides."""

    live = False
    importance: ClassVar[Mapping[Kind, float]]
    """Of every kind of match."""
    protected: ClassVar[frozenset[Kind]] = frozenset()
    """The kinds of match in which no team loses points."""

    @abstractmethod
    def outcome(self, goals: int, other: int, winner: int) -> Outcome:
        """What a score line means.  `winner` is by ranks: 1 for the first team, -1 for the other, 0 for neither."""

    def importance_in(self, match: Match) -> float:
        """How much the match counts, points."""
        return self.importance[kind_of(match.mode)]

    def predict(self, match: Match) -> WinProbabilities:
        """By both ratings and who is at home."""
        return super().predict(_bare(match))

    def rate(self, match: Match) -> Rated:
        """The change of both teams."""
        for team in match.teams:
            if len(team) != 1:
                raise RatingError(f"{self.name} rates teams as a whole: one player a side, not {len(team)}")
        return super().rate(_bare(match))

    def terms(self, match: Match) -> kernel.MatchTerms:
        """By the score line, the kind of match and who was at home."""
        _, *scores = self._outcome(match)
        return kernel.MatchTerms(self.leads(match.sides), [], scores, [kind_of(match.mode) in self.protected])

    def learn(self, match: Match, arrays: MatchArrays, records: list[R], wins: list[float], after: list[float]) -> None:
        """By the kernel of Elo; the weight of the match is the system's own."""
        weight = self.importance_in(match) * self._outcome(match).factor
        self.note(match, records)
        super().learn(match, arrays._replace(weight=[weight]), records, wins, after)

    def note(self, match: Match, records: list[R]) -> None:
        """Keep in both records what a match says besides its result, before it is rated."""

    def _outcome(self, match: Match) -> Outcome:
        if not match.points:
            raise RatingError(f"{self.name} needs the goals of {match.teams[0][0]} and {match.teams[1][0]}")
        goals, other = (checked_goals(points) for points in match.points)
        return self.outcome(goals, other, order(match.ranks[1], match.ranks[0]))


def _bare(match: Match) -> Match:
    """Without what football does not read: a team is its own lineup, and plays from beginning to end."""
    extra = match.lineup or match.skill_at_start or match.fraction_played
    return replace(match, lineup=(), skill_at_start={}, fraction_played={}) if extra else match


def checked_goals(points: float) -> int:
    """Goals as a count, or a `RatingError`."""
    if not 0 <= points <= MOST_GOALS or points % 1:
        raise RatingError(f"goals: {points!r} is not a count up to {MOST_GOALS}")
    return int(points)


def constants(initial: float, spread: float, *, whole: bool = False) -> kernel.EloConstants:
    """Elo's, where all else comes with the match."""
    return kernel.EloConstants(
        initial=float(initial),
        gaussian=False,
        spread=spread,
        k=1.0,
        win_factor=1.0,
        loss_factor=1.0,
        newcomer=0.0,
        newcomer_rounds=1.0,
        margin_power=0.0,
        margin_scale=0.0,
        whole=whole,
    )


def pair_of(match: Match) -> tuple[PlayerId, PlayerId]:
    """The two teams."""
    return match.teams[0][0], match.teams[1][0]
