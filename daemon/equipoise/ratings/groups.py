"""Sub-teams as units that a rating system rates as if they were players: what TeamSkill is made of.

A group's rating is held per member, so that it is on the scale of a single player's: the skill of a group of k is
k times it.  Its prior is a player's: k·μ₀ and, of its skill, k·σ₀².
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, Final

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.base import Match, System, WinProbabilities
from equipoise.ratings.elo import Elo
from equipoise.ratings.glicko import Glicko
from equipoise.ratings.teams import Teams, expect
from equipoise.ratings.trueskill import TrueSkill

MOST_GROUPS: Final = 5000
"""Of one size in one team."""

AND: Final = "+"
"""Between the members in a group's id; a group of one is its player."""


class GroupTrueSkill(TrueSkill):
    """TrueSkill of overlapping groups: a team of K is K times the mean of them, in variance too.

    So it is as sure of a team as if its groups were K/k that have nobody in common.
    """

    def predict(self, match: Match) -> WinProbabilities:
        """As TrueSkill, of the scaled means."""
        teams = super().performances(replace(match, teams=match.lineup, ranks=(), doors=(), share={}))
        for team, side in enumerate(match.lineup):
            teams.mean[team] += sum(match.standing[p] - self.skill(p) for p in side if p in match.standing)
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
    """A system that can rate groups, and what its facts are called."""

    create: Callable[..., System[Any]]
    mean: str
    deviation: str | None
    """None: it knows no doubt."""


BASES: Final[Mapping[str, Base]] = {
    "elo": Base(Elo.create, "rating", None),
    "glicko": Base(Glicko.create, "rating", "rd"),
    "trueskill": Base(GroupTrueSkill.create, "mu", "sigma"),
}


def groups_of(side: Collection[PlayerId], size: int) -> tuple[PlayerId, ...]:
    """All groups of a size; the same people make the same group in any order."""
    return tuple(PlayerId(AND.join(group)) for group in combinations(sorted(side), size))


def parts_of(group: PlayerId) -> Iterator[PlayerId]:
    """The groups of one less that are in a group."""
    everybody = group.split(AND)
    if len(everybody) > 1:
        yield from groups_of([PlayerId(member) for member in everybody], len(everybody) - 1)


def members(groups: Collection[PlayerId]) -> int:
    """How many people there are in them."""
    return len({member for group in groups for member in group.split(AND)})


def in_groups(match: Match, size: int) -> Match:
    """The match as one of groups; each has the share of who played least, and nothing is told of it besides."""
    if size == 1:
        return match
    for side in (*match.teams, *match.lineup):
        if comb(len(side), size) > MOST_GROUPS:
            raise RatingError(f"{len(side)} players make more than {MOST_GROUPS} groups of {size}")
    teams = tuple(groups_of(side, size) for side in match.teams)
    doors = tuple(groups_of(side, size) for side in match.lineup)
    share = {group: _least(match, group) for side in teams for group in side} if match.share else {}
    facts = {"counts": {}, "spans": {}, "squads": (), "quits": frozenset[PlayerId](), "standing": {}}
    return replace(match, teams=teams, doors=doors, share=share, **facts)  # type: ignore[arg-type]


def coefficient(people: int, size: int) -> float:
    """What the sum of the skills of all groups of a size counts: (k-1)!(K-k)!/(K-1)!."""
    return people / (size * comb(people, size))


def _scale(teams: Teams, team: int, side: tuple[PlayerId, ...]) -> None:
    """Each group is worth K/(number of groups) players."""
    size = members(side)
    worth = size / len(side) if side else 1.0
    teams.mean[team] *= worth
    teams.variance[team] *= worth
    teams.size[team] = float(size)


def _least(match: Match, group: PlayerId) -> float:
    return min(match.share.get(PlayerId(member), 1.0) for member in group.split(AND))
