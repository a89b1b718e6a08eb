"""A live match is read as the history of that one match is."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.ratings.history import History
from equipoise.ratings.parts.match_arrays import one_match
from equipoise.ratings.system import Match
from tests.ratings.samples import odd_matches, people

UNKNOWN = {"skill_at_start": math.nan, "fraction_played": math.nan, "weight": 1.0}
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


def test_one_match_is_the_history_of_it():
    for case, match in enumerate(cases()):
        history = History.of([match])
        arrays, players = one_match(match)
        assert tuple(players) == history.players, case
        for name, value in history.arrays()._asdict().items():
            own = getattr(arrays, name)
            own = own if len(own) else np.full(len(value), UNKNOWN.get(name, 0.0))
            value = value if len(value) else np.full(len(own), UNKNOWN.get(name, 0.0))
            np.testing.assert_array_equal(own, value, err_msg=f"{name} of match {case}")


def test_a_bot_in_a_match_without_lineups_is_one_in_the_lineup():
    arrays, players = one_match(Match(teams=((PlayerId("ann"),), (PlayerId("bot:7"),))))
    assert (arrays.lineup_members, arrays.ranks, players) == ([0, -1], [], ["ann", "bot:7"])
