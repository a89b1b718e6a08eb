"""Matches as arrays, the input of every kernel of a rating system.

A replay makes them from a `History` (`History.arrays`, numpy arrays).  A live system makes them from the one match that
it rates (`one_match`, lists), and calls the same kernel as plain Python.  So both rate a match alike.

An array is empty if its values are unknown for every match.  In an array that is not empty, NaN stands for an unknown
number, and -1 for no player, no squad or no name.
"""

from __future__ import annotations

import math
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.core.model import PlayerId, is_bot
from equipoise.ratings.system import Match

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "list[float] | NDArray[np.float64]"
    Ints: TypeAlias = "list[int] | NDArray[np.int64] | NDArray[np.int32] | NDArray[np.uint32]"

BOT = -1
"""A bot's number in `MatchArrays.lineup_members`."""


class MatchArrays(NamedTuple):
    """m matches of t teams with p participants and s players in lineups, in the order they are rated.

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
    lineup: Ints
    """Shape (t + 1,): where each team's lineup begins."""
    lineup_members: Ints
    """Shape (s,): the numbers of the players that a prediction is about; -1 for a bot."""
    skill_at_start: Floats
    """Shape (s,): `Match.skill_at_start`."""
    fraction_played: Floats
    """Shape (p,): `Match.fraction_played`; unknown counts as 1."""
    weight: Floats
    """Shape (m,): `Match.weight`; empty counts as 1."""


def one_match(match: Match) -> tuple[MatchArrays, list[PlayerId]]:
    """A match as a history of one, and the ids of its players by number.

    Participants are numbered from 0 in the order of the teams; players who are only in the lineup follow.

    >>> ann, bob, cid = map(PlayerId, ("ann", "bob", "cid"))
    >>> arrays, players = one_match(Match(teams=((ann, bob), (cid,)), lineup=((bob,), (PlayerId("bot:1"),))))
    >>> players, arrays.teams, arrays.members, arrays.lineup, arrays.lineup_members
    (['ann', 'bob', 'cid'], [0, 2, 3], [0, 1, 2], [0, 1, 2], [1, -1])
    """
    players = list(chain.from_iterable(match.teams))
    members, teams = list(range(len(players))), list(accumulate(map(len, match.teams), initial=0))
    if not match.lineup:
        seats, lineup = players, teams
        lineup_members = [BOT if is_bot(player) else number for number, player in enumerate(players)]
    else:
        seats, lineup = list(chain.from_iterable(match.lineup)), list(accumulate(map(len, match.lineup), initial=0))
        numbers = dict(zip(players, members, strict=True))
        for player in seats:
            if player not in numbers and not is_bot(player):
                numbers[player] = len(numbers)
        players, lineup_members = list(numbers), [BOT if is_bot(player) else numbers[player] for player in seats]
    skills, fractions = match.skill_at_start, match.fraction_played
    arrays = MatchArrays(
        [0, len(match.teams)],
        teams,
        members,
        list(match.ranks),
        [math.nan if match.started_at is None else match.started_at],
        lineup,
        lineup_members,
        [skills.get(player, math.nan) for player in seats] if skills else [],
        [fractions.get(player, math.nan) for player in players[: len(members)]] if fractions else [],
        [match.weight],
    )
    return arrays, players
