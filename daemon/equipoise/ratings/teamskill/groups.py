"""Sub-teams as units that a rating system rates as if they were players: what TeamSkill is made of.

A group's rating is held per member, so that it is on the scale of a single player's: the skill of a group of k is
k times it.  Its prior is a player's: k·μ₀ and, of its skill, k·σ₀².
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, Final

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.elo.system import Elo
from equipoise.ratings.glicko.arrays import GlickoPlayer
from equipoise.ratings.glicko.system import Glicko
from equipoise.ratings.parts.gaussian_formulas import GaussianSkill
from equipoise.ratings.parts.players import PlayerTable
from equipoise.ratings.parts.points import Record
from equipoise.ratings.parts.team_order import Teams, expect
from equipoise.ratings.system import Match, WinProbabilities
from equipoise.ratings.trueskill.system import TrueSkill

MOST_GROUPS: Final = 5000
"""Of one size in one team."""

AND: Final = "+"
"""Between the members in the id of a group of two and more; a group of one is its player."""

_ESCAPED: Final = (("%", "%25"), (AND, "%2B"))
"""What stands there for these in a member's id."""

UNTOLD: Final[Mapping[str, Any]] = {"counts": {}, "spans": {}, "squads": (), "quits": frozenset(), "skill_at_start": {}}
"""What is told of players and of nobody else."""


class GroupTrueSkill(TrueSkill):
    """TrueSkill of overlapping groups: a team of K is K times the mean of them, in variance too.

    So it is as sure of a team as if its groups were K/k that have nobody in common.
    """

    def predict(self, match: Match) -> WinProbabilities:
        """As TrueSkill, of the scaled means."""
        teams = super().performances(
            replace(match, teams=match.predicted_lineup, ranks=(), lineup=(), fraction_played={})
        )
        for team, side in enumerate(match.predicted_lineup):
            teams.mean[team] += sum(match.skill_at_start[p] - self.skill(p) for p in side if p in match.skill_at_start)
            _scale(teams, team, side)
        draw = expect(teams, len(match.teams), self.constants.unit)
        return WinProbabilities(tuple(teams.wins), draw)

    def performances(self, match: Match) -> Teams:
        """As TrueSkill, of the scaled means."""
        teams = super().performances(match)
        for team, side in enumerate(match.teams):
            _scale(teams, team, side)
        return teams


@dataclass(frozen=True, slots=True)
class Base:
    """What rates players, what rates groups, and what is held of a player who is so good and so well known."""

    create: Callable[..., PlayerTable[Any, Any]]
    create_for_groups: Callable[..., PlayerTable[Any, Any]]
    record: Callable[[float, float], object]
    """Of a mean and a variance."""


BASES: Final[Mapping[str, Base]] = {
    "elo": Base(Elo.create, Elo.create, lambda mean, variance: Record(mean)),
    "glicko": Base(Glicko.create, Glicko.create, lambda mean, variance: GlickoPlayer(mean, variance=variance)),
    "trueskill": Base(TrueSkill.create, GroupTrueSkill.create, GaussianSkill),
}


def groups_of(side: Collection[PlayerId], size: int) -> tuple[PlayerId, ...]:
    """All groups of a size; the same people make the same group in any order."""
    everybody = sorted(side)
    if size == 1:
        return tuple(everybody)
    return tuple(PlayerId(AND.join(group)) for group in combinations(map(escaped, everybody), size))


def escaped(player: PlayerId) -> str:
    """As the id of his groups has him."""
    text: str = player
    for plain, instead in _ESCAPED:
        text = text.replace(plain, instead)
    return text


def members_of(group: str) -> list[PlayerId]:
    """Of two and more, by its id; the order is that of the id."""
    members = group.split(AND)
    if "%" in group:
        for plain, instead in reversed(_ESCAPED):
            members = [member.replace(instead, plain) for member in members]
    return [PlayerId(member) for member in members]


def parts_of(group: PlayerId) -> tuple[PlayerId, ...]:
    """The groups of one less that are in one of two and more."""
    everybody = members_of(group)
    return groups_of(everybody, len(everybody) - 1)


def in_groups(match: Match, size: int) -> Match:
    """The match as one of groups; each has the share of who played least, and nothing is told of it besides."""
    if size == 1:
        return match
    for side in (*match.teams, *match.predicted_lineup):
        if comb(len(side), size) > MOST_GROUPS:
            raise RatingError(f"{len(side)} players make more than {MOST_GROUPS} groups of {size}")
    teams = tuple(groups_of(side, size) for side in match.teams)
    lineup = tuple(groups_of(side, size) for side in match.predicted_lineup)
    fraction_played = {group: _least(match, group) for side in teams for group in side} if match.fraction_played else {}
    return replace(match, teams=teams, lineup=lineup, fraction_played=fraction_played, **UNTOLD)


def coefficient(people: int, size: int) -> float:
    """What the sum of the skills of all groups of a size counts: (k-1)!(K-k)!/(K-1)!."""
    return people / (size * comb(people, size))


def _scale(teams: Teams, team: int, side: tuple[PlayerId, ...]) -> None:
    """Each group, of two and more, is worth K/(number of groups) players."""
    size = len({member for group in side for member in group.split(AND)})
    side_skills = size / len(side) if side else 1.0
    teams.mean[team] *= side_skills
    teams.variance[team] *= side_skills
    teams.size[team] = float(size)


def _least(match: Match, group: PlayerId) -> float:
    return min(match.fraction_played.get(member, 1.0) for member in members_of(group))
