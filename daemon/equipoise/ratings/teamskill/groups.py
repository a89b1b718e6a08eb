"""Groups of players as ids, and the systems that rate them live.

A group's rating is held per member, so that it is on the scale of a single player's: the skill of a group of k is
k times it.  Its prior is a player's: k·μ₀ and, of its skill, k·σ₀².
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, count, pairwise
from math import comb
from typing import Any, Final

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.elo.system import Elo
from equipoise.ratings.glicko.system import Glicko
from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays
from equipoise.ratings.parts.player_table import PlayerTable
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.system import Match
from equipoise.ratings.teamskill import formulas as kernel
from equipoise.ratings.teamskill.group_index import AND, MOST_GROUPS, Choices, Numbering, Units, choices_of, list_groups
from equipoise.ratings.trueskill.formulas import GaussianAnswers, GaussianSkill
from equipoise.ratings.trueskill.system import TrueSkill, TrueSkillParams

_ESCAPED: Final = (("%", "%25"), (AND, "%2B"))
"""Characters of a member's id that are escaped in a group's id, and how."""

NOT_NUMBERED: Final = Numbering(0, *(None,) * 5)  # type: ignore[arg-type]
"""Groups that are called by ids need no numbers."""

PLAYERS_ONLY: Final[Mapping[str, Any]] = {
    "counts": {},
    "spans": {},
    "squads": (),
    "quits": frozenset(),
    "skill_at_start": {},
}
"""Fields of `Match` that groups do not have, with their empty values."""


class GroupTrueSkill(TrueSkill):
    """TrueSkill of overlapping groups of one size: a team of K has K times their mean and K times their mean variance.

    So a team is known as well as if it consisted of K/k groups without common players.
    """

    def __init__(self, params: TrueSkillParams, size: int) -> None:
        super().__init__(params)
        self.size = size

    def predict_lineup(self, at: float, lineup: Lineup, records: list[GaussianSkill], sides: Teams) -> float:
        """Fill `sides.wins` by the scaled means; returns the probability of a draw."""
        return kernel.predict_groups(at, lineup, self._people(lineup.starts), records, sides, self.constants)

    def rate_arrays(
        self, arrays: MatchArrays, whole: bool, records: list[GaussianSkill], sides: Teams, answers: GaussianAnswers
    ) -> None:
        """Predict and rate with the scaled means; fills `answers`."""
        people = self._people(arrays.teams), self._people(arrays.lineup.starts)
        kernel.rate_groups(arrays, *people, records, sides, answers, self.constants)

    def _people(self, groups: Any) -> list[int]:
        """Offsets of the players of teams, from those of their groups."""
        return list(accumulate((people_of(end - begin, self.size) for begin, end in pairwise(groups)), initial=0))


@dataclass(frozen=True, slots=True)
class Base:
    """A base system, for players and for groups of a size; `formulas.BASES` has its functions."""

    kind: type[PlayerTable[Any, Any]]
    for_groups: Callable[[PlayerTable[Any, Any], int], PlayerTable[Any, Any]]
    """Makes a system for groups of a size, with the parameters of the one for players."""
    two_teams: bool
    """Whether the base rates matches of two teams only."""


def _alike(system: PlayerTable[Any, Any], size: int) -> PlayerTable[Any, Any]:
    return type(system)(system.params)


BASES: Final[Mapping[str, Base]] = {
    "elo": Base(Elo, _alike, two_teams=True),
    "glicko": Base(Glicko, _alike, two_teams=True),
    "trueskill": Base(TrueSkill, lambda system, size: GroupTrueSkill(system.params, size), two_teams=False),
}


@cache
def people_of(groups: int, size: int) -> int:
    """The size of a team that has this many groups of a size; 0 if it has none.

    >>> people_of(66, 2)
    12
    """
    return next(people for people in count(size) if comb(people, size) >= groups) if groups else 0


@lru_cache(maxsize=64)
def choices_in_team(people: int, largest: int) -> Choices:
    """The choices of up to `largest` in one team."""
    return choices_of([people], largest)


@lru_cache(maxsize=8)  # A round is predicted, rated and stored, and each of these needs the groups of both sides.
def listed(side: tuple[PlayerId, ...], largest: int) -> Units:
    """The ids of the groups of a team by size, independent of the order of its players; not to be changed."""
    members, choices = sorted(side), choices_in_team(len(side), largest)
    rows = choices.rows[len(side)]
    units = Units([[0, 0] for _ in rows], [[""] * room for room in rows], ())
    # Escaped while ids are joined; the groups of one are called by the players' own ids afterwards.
    units.names[1][:], units.starts[1][1] = map(escaped, members), len(members)
    list_groups(units, 0, largest, False, False, NOT_NUMBERED, choices)
    units.names[1][:] = members
    return units


def groups_of(side: Collection[PlayerId], size: int, largest: int = 0) -> list[PlayerId]:
    """The ids of all groups of a size in a team; `largest`: the largest size that will be asked for.

    >>> groups_of([PlayerId("cid"), PlayerId("ann"), PlayerId("bob")], 2)
    ['ann+bob', 'ann+cid', 'bob+cid']
    """
    groups: list[PlayerId] = listed(tuple(side), max(size, largest)).names[size]
    return groups


def escaped(player: PlayerId) -> str:
    """A player's id as it is written in a group's id."""
    text: str = player
    for plain, instead in _ESCAPED:
        text = text.replace(plain, instead)
    return text


def members_of(group: str) -> list[PlayerId]:
    """The members of a group of two and more, in the order of its id."""
    # Before unescaping: a "+" of a member's own id is %2B until then.
    members = group.split(AND)
    if "%" in group:
        for plain, instead in reversed(_ESCAPED):
            members = [member.replace(instead, plain) for member in members]
    return [PlayerId(member) for member in members]


def in_groups(match: Match, size: int, largest: int) -> Match:
    """The match with groups as players; a group's fraction played is its members' least, other facts are dropped."""
    if size == 1:
        return match
    # Both, as a lineup may be larger than its team: its groups predict.
    for side in (*match.teams, *match.predicted_lineup):
        if comb(len(side), size) > MOST_GROUPS:
            raise RatingError(f"{len(side)} players make more than {MOST_GROUPS} groups of {size}")
    teams = tuple(tuple(groups_of(side, size, largest)) for side in match.teams)
    lineup = tuple(tuple(groups_of(side, size, largest)) for side in match.lineup)
    fraction_played = {group: _least(match, group) for side in teams for group in side} if match.fraction_played else {}
    return replace(match, teams=teams, lineup=lineup, fraction_played=fraction_played, **PLAYERS_ONLY)


def coefficient(people: int, size: int) -> float:
    """The weight of the sum of the skills of all groups of a size: (k-1)!(K-k)!/(K-1)!.

    >>> coefficient(5, 2)
    0.25
    """
    return people / (size * comb(people, size))


def _least(match: Match, group: PlayerId) -> float:
    return min(match.fraction_played.get(member, 1.0) for member in members_of(group))
