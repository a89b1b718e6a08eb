"""Matches, scores, probabilities, and which players a match needs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.system import Counts, Match, Span, WinProbabilities, ranks_of
from tests.ratings.samples import NUMBERS, people

ANN, BOB, CID, DAN = people(4)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"teams": ((ANN,),)}, "two teams"),
        ({"teams": ((ANN,), (BOB, ANN))}, f"{ANN}: named twice"),
        ({"teams": ((ANN,), (BOB,)), "lineup": ((ANN, CID), (CID,))}, f"{CID}: named twice"),
        ({"teams": ((ANN, BOB), (CID,)), "squads": ((ANN, BOB), (CID, ANN))}, f"{ANN}: named twice in its squads"),
        ({"teams": ((ANN,), (BOB,)), "ranks": (0, 1, 2)}, "ranks: 3 given for 2"),
        ({"teams": ((ANN,), (BOB,)), "lineup": ((ANN,),)}, "lineup: 1 given for 2"),
        ({"teams": ((ANN,), (BOB,)), "points": (1.0,)}, "points: 1 given for 2"),
        ({"teams": ((ANN,), (BOB,)), "sides": ("home",)}, "sides: 1 given for 2"),
        *(
            ({"teams": ((ANN,), (BOB,)), "spans": {BOB: spans}}, f"{BOB}: {reason}")
            for spans, reason in (
                ((Span(2, 0, 60),), "no stretch"),
                ((Span(1, 60, 0),), "no stretch"),
                ((Span(1, math.nan, 60),), "no stretch"),
                ((Span(1, 0, None),), "no stretch of a match: team 1, 0 to None s"),
                ((Span(1, 0, 60, "commander"),), "no stretch of a match: .*'commander'"),
                ((Span(1, 30, 90), Span(1, 0, 60)), "plays twice at 30 s: their spans overlap"),
            )
        ),
    ],
)
def test_a_match_that_no_system_could_read_is_refused(facts, reason):
    with pytest.raises(RatingError, match=reason):
        Match(**facts)


def with_number(name: str, value: Any) -> Match:
    """A duel with one optional number set."""
    facts: dict[str, Any] = {name: value}
    if name == "points":
        facts = {name: (0.0, value)}
    elif name in ("fraction_played", "skill_at_start"):
        facts = {name: {BOB: value}}
    elif name in ("kills", "deaths", "assists"):
        facts = {"counts": {BOB: Counts(**{"kills": 0, "deaths": 0, name: value})}}
    return Match(teams=((ANN,), (BOB,)), ranks=(0, 1), **facts)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_a_match_go_from_somewhere_to_somewhere(name: str) -> None:
    low, high = NUMBERS[name]
    for value in (low, high, int(high)):
        with_number(name, value)
    beyond = [math.nextafter(low, -math.inf), math.nextafter(high, math.inf), 10**400]
    for value in [*beyond, math.nan, math.inf, -math.inf, True, "1", [1]]:
        with pytest.raises(RatingError, match=name):
            with_number(name, value)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_largest_and_the_least_numbers_leave_everything_finite(name: str) -> None:
    """Ratings and probabilities stay finite, and the state can be stored and restored."""
    football = {"points": (2.0, 1.0), "mode": "friendly"} if not create(name).live else {"seconds": 600.0}
    for fact, value in [(fact, value) for fact, values in NUMBERS.items() for value in values]:
        if fact == "points" and not create(name).live:
            continue
        match = replace(with_number(fact, value), **{f: v for f, v in football.items() if f != fact})
        system = create(name)
        for _ in range(3):
            rated = system.rate(match)
            assert all(math.isfinite(each.after) for each in rated.changes), (fact, value)
            assert sum(rated.prediction.wins) + rated.prediction.draw == pytest.approx(1), (fact, value)
        past = [(each.after, each.expected, each.score) for each in rated.changes if each.player == ANN] * 3
        create(name).restore(ANN, json.loads(json.dumps(system.state(ANN), allow_nan=False)), past)


@pytest.mark.parametrize(
    ("ranks", "scores"),
    [
        ((0, 1), [1, 0]),
        ((1, 0), [0, 1]),
        ((0, 0), [0.5, 0.5]),
        ((3, 1, 2), [0, 1, 0]),
        ((1, 1, 2, 1), [1 / 3, 1 / 3, 0, 1 / 3]),
    ],
)
def test_first_place_scores_one_and_is_shared_alike(ranks, scores):
    match = Match(teams=tuple((player,) for player in people(len(ranks))), ranks=ranks)
    assert [match.score(team) for team in range(len(ranks))] == scores


def test_an_expected_score_shares_the_draw_as_the_score_does():
    prediction = WinProbabilities((0.5, 0.3), draw=0.2)
    assert [prediction.expected(team) for team in range(2)] == [pytest.approx(0.6), pytest.approx(0.4)]


def test_every_human_named_must_be_held_and_no_bot():
    bot = PlayerId("bot:2")
    match = Match(teams=((ANN,), (BOB,)), lineup=((ANN, bot), (CID,)))
    assert create("synelo").needs(match) == {ANN, BOB, CID}


def test_win_draw_and_loss_have_ranks_and_nothing_else_does():
    assert [ranks_of(outcome) for outcome in (1.0, 0.5, 0.0)] == [(0, 1), (0, 0), (1, 0)]
    with pytest.raises(RatingError):
        ranks_of(0.7)
