"""Matches as arrays, the input of every kernel of a rating system.

A replay makes them from a `History` (`History.arrays`, numpy arrays).  A live system makes them from the one match that
it rates (`one_match`, lists), and calls the same kernel as plain Python.  So both rate a match alike.

An array is empty if its values are unknown for every match.  In an array that is not empty, NaN stands for an unknown
number, and -1 for no player, no squad or no name.

Kernels of two teams share plain functions, which numba compiles with them.  Match m is between the teams 2m and 2m + 1.
A record is the object that a live system holds, or a row of an array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from equipoise.core.model import PlayerId, is_bot
from equipoise.ratings.system import Match

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "list[float] | NDArray[np.float64]"
    Ints: TypeAlias = "list[int] | NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint32]"

BOT = -1
"""A bot's number in `Lineup.members`."""


class Lineup(NamedTuple):
    """The s players of t teams on their sides when the matches went live, for predictions."""

    starts: Ints
    """Shape (t + 1,): where each team's lineup begins."""
    members: Ints
    """Shape (s,): the players' numbers; -1 for a bot."""
    skill_at_start: Floats
    """Shape (s,): `Match.skill_at_start`."""


class MatchArrays(NamedTuple):
    """m matches of t teams with p participants, in the order they are rated.

    Kernels read them and change none.
    """

    matches: Ints
    """Shape (m + 1,): where each match's teams begin."""
    teams: Ints
    """Shape (t + 1,): where each team's participants begin."""
    members: Ints
    """Shape (p,): the participants' numbers."""
    ranks: Ints
    """Shape (t,): place of each team, lower is better, equal is a draw."""
    started_at: Floats
    """Shape (m,): seconds since the epoch; never empty."""
    lineup: Lineup
    fraction_played: Floats
    """Shape (p,): `Match.fraction_played`; unknown counts as 1."""
    weight: Floats
    """Shape (m,): `Match.weight`; empty counts as 1."""


def one_match(match: Match) -> tuple[MatchArrays, list[PlayerId]]:
    """A match as a history of one, and the ids of its players by number.

    Participants are numbered from 0 in the order of the teams; players who are only in the lineup follow.

    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> arrays, players = one_match(Match(teams=((ann, bob), (cid,)), lineup=((bob,), (PlayerId("bot:1"),))))
    >>> players, arrays.teams, arrays.members, arrays.lineup.starts, arrays.lineup.members
    (['ann', 'bob', 'cid'], [0, 2, 3], [0, 1, 2], [0, 1, 2], [1, -1])
    """
    # A live round is rated between two rounds: what is empty stays an empty list, and kernels test its length alone.
    players, fractions = list(chain.from_iterable(match.teams)), match.fraction_played
    bare = numbered(*map(len, match.teams))
    shares = [fractions.get(player, math.nan) for player in players] if fractions else []
    # Without a lineup a bot among the participants is found here too, so that `refuse_bots` need not look again.
    if match.lineup or any(map(is_bot, players)):
        lineup, players = _numbered_after(players, match)
    else:
        lineup = _with_skills(bare, players, match) if match.skill_at_start else bare
    arrays = MatchArrays(
        [0, len(match.teams)],
        bare.starts,
        bare.members,
        list(match.ranks),
        [time_of(match)],
        lineup,
        shares,
        [match.weight],
    )
    return arrays, players


def lineup_of(match: Match) -> Lineup:
    """The lineup of a match to predict, whose players are numbered in order, bots like all others.

    A prediction reads no more of a match, and this takes a third of the time of `one_match`.
    """
    sides = match.lineup or match.teams
    lineup = numbered(*map(len, sides))
    return _with_skills(lineup, chain.from_iterable(sides), match) if match.skill_at_start else lineup


def time_of(match: Match) -> float:
    """When the match went live, seconds since the epoch, as kernels have it: NaN if unknown."""
    return math.nan if match.started_at is None else match.started_at


@lru_cache(maxsize=1024)
def numbered(*sizes: int) -> Lineup:
    """Teams of these sizes, all of whose players are numbered in order; no skill at start is known.

    The lists are shared by all matches of these sizes, so nothing may change them.

    >>> numbered(2, 1)
    Lineup(starts=[0, 2, 3], members=[0, 1, 2], skill_at_start=[])
    """
    starts = list(accumulate(sizes, initial=0))
    return Lineup(starts, list(range(starts[-1])), [])


def _with_skills(lineup: Lineup, seats: Iterable[PlayerId], match: Match) -> Lineup:
    return lineup._replace(skill_at_start=[match.skill_at_start.get(player, math.nan) for player in seats])


def _numbered_after(participants: list[PlayerId], match: Match) -> tuple[Lineup, list[PlayerId]]:
    """The lineup if it has bots or differs from the participants, and all players by number."""
    numbers = {player: number for number, player in enumerate(participants)}
    seats = list(chain.from_iterable(match.predicted_lineup))
    members = [BOT if is_bot(player) else numbers.setdefault(player, len(numbers)) for player in seats]
    starts = numbered(*map(len, match.predicted_lineup)).starts
    lineup = Lineup(starts, members, [])
    return (_with_skills(lineup, seats, match) if match.skill_at_start else lineup), list(numbers)


LIMIT = 1_000_000.0
"""Points: a rating is never set beyond this, and held here where it would go beyond."""


def result(rank: int, other: int) -> float:
    """The score by two ranks: 1, 0.5 or 0.  Without a branch, which the processor would mispredict half the time.

    >>> result(0, 1), result(2, 2), result(1, 0)
    (1.0, 0.5, 0.0)
    """
    return 0.5 + 0.5 * (rank < other) - 0.5 * (rank > other)


def within_limit(rating: float) -> float:
    """The rating, clipped to ±`LIMIT`."""
    return rating if abs(rating) <= LIMIT else math.copysign(LIMIT, rating)


def fraction_played_at(place: int, fraction_played: Floats) -> float:
    """The fraction of the match that a participant played; 1 where unknown."""
    return 1.0 * fraction_played[place] if len(fraction_played) > 0 and not math.isnan(fraction_played[place]) else 1.0


def lineup_sums(match: int, lineup: Lineup, records: Any, initial: float) -> tuple[float, float]:
    """Sums of both lineups: of each player the skill at start if known, else the rating; `initial` for a bot."""
    starts, members, skills = lineup
    a, snapshot, first, second = 2 * match, len(skills) > 0, 0.0, 0.0
    middle = starts[a + 1]
    for place in range(starts[a], starts[a + 2]):
        number = members[place]
        rating = records[number].rating if number >= 0 else initial
        # A bot's skill at start counts as well, if a program gave one.
        if snapshot and not math.isnan(skills[place]):
            rating = skills[place]
        if place < middle:
            first += rating
        else:
            second += rating
    return first, second
