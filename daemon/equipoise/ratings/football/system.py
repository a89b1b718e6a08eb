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
from equipoise.ratings.elo.system import EloFamily
from equipoise.ratings.parts.match_arrays import MatchArrays
from equipoise.ratings.parts.points import PointsParams, Record
from equipoise.ratings.system import Match, Rated, WinProbabilities

HOME: Final = "home"
"""Name of the home team's side.  On neutral ground neither side has this name."""

MOST_GOALS = 999


class Kind(Enum):
    """The competition and stage of a match, as finely as any of the three systems distinguishes them."""

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
    """Knock-out rounds before the quarter-finals."""
    CONTINENTAL_QUARTER_FINAL_ON = "continental quarter-final on"
    WORLD_CUP = "world cup"
    WORLD_CUP_KNOCK_OUT = "world cup knock-out"
    """Knock-out rounds before the quarter-finals."""
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
    """The kind with this value, or that of a tournament by its name in the results of martj42; `OTHER` if unknown."""
    if mode in (kind.value for kind in Kind):
        return Kind(mode)
    if mode.removesuffix(" qualification") in CONTINENTAL:
        return Kind.CONTINENTAL_QUALIFIER if mode.endswith(" qualification") else Kind.CONTINENTAL
    return TOURNAMENTS.get(mode, Kind.OTHER)


class Outcome(NamedTuple):
    """Factor and scores that a score line stands for."""

    factor: float
    """Multiplies the importance of the match."""
    score: float
    """Score of the first team; `other_score` is that of the second, and they need not add up to 1."""
    other_score: float


def order(goals: int, other: int) -> int:
    """1 if `goals` is more than `other`, 0 if they are level, -1 if it is less."""
    return (goals > other) - (goals < other)


P = TypeVar("P", bound=PointsParams)
R = TypeVar("R", bound=Record)


class Football(EloFamily[P, R]):
    """An international ranking; a team is one player.  Reads teams, ranks, started_at, points, mode and sides."""

    live = False
    importance: ClassVar[Mapping[Kind, float]]
    """Importance of every kind of match, points."""
    protected: ClassVar[frozenset[Kind]] = frozenset()
    """The kinds of match in which no team loses points."""

    @abstractmethod
    def outcome(self, goals: int, other: int, winner: int) -> Outcome:
        """Factor and scores of a score line.  `winner` is by ranks: 1 the first team, -1 the second, 0 neither."""

    def importance_in(self, match: Match) -> float:
        """Importance of the match, points."""
        return self.importance[kind_of(match.mode)]

    def predict(self, match: Match) -> WinProbabilities:
        """Predict by both ratings and the home advantage."""
        return super().predict(_bare(match))

    def rate(self, match: Match) -> Rated:
        """Rate a match; raises `RatingError` without goals or for teams of more than one player."""
        for team in match.teams:
            if len(team) != 1:
                raise RatingError(f"{self.name} rates teams as a whole: one player a side, not {len(team)}")
        return super().rate(_bare(match))

    def learn(self, match: Match, arrays: MatchArrays, records: list[R], wins: list[float], after: list[float]) -> None:
        """Rate with Elo's kernel: scores by the score line, and the importance as weight of the match."""
        if not match.points:
            raise RatingError(f"{self.name} needs the goals of {match.teams[0][0]} and {match.teams[1][0]}")
        goals, goals_of_b = map(checked_goals, match.points)
        factor, *scores = self.outcome(goals, goals_of_b, order(match.ranks[1], match.ranks[0]))
        # Before the match is counted: a pair's tenth friendly is still one of the first ten.
        arrays.weight[0] = self.importance_in(match) * factor
        self.note(match, records)
        shields = [kind_of(match.mode) in self.protected]
        terms = kernel.MatchTerms(self.leads(match.sides), [], scores, shields)
        kernel.rate_match(0, arrays, terms, records, wins, after, self.constants)

    def note(self, match: Match, records: list[R]) -> None:
        """Update what a system keeps besides ratings, before the match is rated; here nothing."""


def _bare(match: Match) -> Match:
    """The match without facts that football ignores: the lineup is the teams, and all play to the end."""
    extra = match.lineup or match.skill_at_start or match.fraction_played
    return replace(match, lineup=(), skill_at_start={}, fraction_played={}) if extra else match


def checked_goals(points: float) -> int:
    """Goals as a count, or a `RatingError`."""
    if not 0 <= points <= MOST_GOALS or points % 1:
        raise RatingError(f"goals: {points!r} is not a count up to {MOST_GOALS}")
    return int(points)


def constants(initial: float, spread: float, *, whole: bool = False) -> kernel.EloConstants:
    """Elo's constants for a system whose K and margins come with the match (`MatchTerms`)."""
    return kernel.EloConstants(
        initial=initial,
        gaussian=False,
        spread=spread,
        k=1.0,
        win_factor=1.0,
        loss_factor=1.0,
        newcomer=0.0,
        newcomer_rounds=1.0,
        margin_power=0.0,
        margin_scale=0.0,
        margin_log=0.0,
        whole=whole,
    )


def pair_of(match: Match) -> tuple[PlayerId, PlayerId]:
    """The ids of the two teams."""
    return match.teams[0][0], match.teams[1][0]
