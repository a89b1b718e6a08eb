"""The arrays of a live match equal those of a history of that match."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.model import PlayerId, is_bot
from equipoise.ratings.history import History
from equipoise.ratings.parts.match_arrays import MatchArrays, lineup_of, one_match
from equipoise.ratings.system import Match
from tests.ratings.samples import odd_matches, people

UNKNOWN = {"skills": math.nan, "fraction_played": math.nan, "weight": 1.0}
"""What every value is where an array is empty."""


def cases() -> list[Match]:
    """Late joiners, leavers, bots, known and unknown facts; three teams, a team without players, no lineup."""
    rng = random.Random(3)
    matches = [
        replace(match, fraction_played={match.teams[0][0]: rng.random()} if rng.random() < 0.5 else {}, weight=2.0)
        for match in odd_matches(seed=4, count=60, players=12)
    ]
    ann, bob, cid = people(3)
    matches.append(Match(teams=((ann,), (bob,), (cid,)), ranks=(2, 0, 1)))
    matches.append(Match(teams=((ann, bob), ()), ranks=(0, 1), lineup=((), (cid, PlayerId("bot:1"))), started_at=5.0))
    return matches


def flat(arrays: MatchArrays) -> dict[str, Any]:
    """The arrays by name, including those of the lineup."""
    own = arrays._asdict()
    return {**own, "lineup": arrays.lineup.starts, **dict(zip(("seats", "skills"), arrays.lineup[1:], strict=True))}


def same(own: Any, value: Any, name: str, case: int) -> None:
    """Assert that arrays hold the same; an empty one stands for what is unknown everywhere."""
    own = own if len(own) else np.full(len(value), UNKNOWN.get(name, 0.0))
    value = value if len(value) else np.full(len(own), UNKNOWN.get(name, 0.0))
    np.testing.assert_array_equal(own, value, err_msg=f"{name} of match {case}")


def test_one_match_is_the_history_of_it():
    for case, match in enumerate(cases()):
        history = History.of([match])
        arrays, players = one_match(match)
        assert tuple(players) == history.players, case
        own = flat(arrays)
        for name, value in flat(history.arrays()).items():
            same(own[name], value, name, case)


def test_the_lineup_to_predict_is_that_of_the_match_with_bots_numbered_as_players():
    for case, match in enumerate(cases()):
        arrays, players = one_match(match)
        lineup = lineup_of(match)
        seats = [player for side in match.predicted_lineup for player in side]
        bots = [-1 if is_bot(seats[number]) else players.index(seats[number]) for number in lineup.members]
        assert (lineup.starts, bots) == (arrays.lineup.starts, list(arrays.lineup.members)), case
        same(lineup.skill_at_start, arrays.lineup.skill_at_start, "skills", case)


def test_a_bot_in_a_match_without_lineups_is_one_in_the_lineup():
    arrays, players = one_match(Match(teams=((PlayerId("ann"),), (PlayerId("bot:7"),))))
    assert (arrays.lineup.members, arrays.ranks, players) == ([0, -1], [], ["ann", "bot:7"])
