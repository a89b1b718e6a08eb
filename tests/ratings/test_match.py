"""The words of the interface: matches, scores, probabilities, who must be held."""

from __future__ import annotations

import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create
from equipoise.ratings.base import Match, WinProbabilities, ranks_of
from tests.ratings.samples import people

ANN, BOB, CID, DAN = people(4)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"teams": ((ANN,),)}, "two teams"),
        ({"teams": ((ANN,), (BOB, ANN))}, f"{ANN}: named twice"),
        ({"teams": ((ANN,), (BOB,)), "doors": ((ANN, CID), (CID,))}, f"{CID}: named twice"),
        ({"teams": ((ANN,), (BOB,)), "ranks": (0, 1, 2)}, "ranks: 3 given for 2"),
        ({"teams": ((ANN,), (BOB,)), "doors": ((ANN,),)}, "doors: 1 given for 2"),
    ],
)
def test_a_match_that_no_system_could_read_is_refused(facts, reason):
    with pytest.raises(RatingError, match=reason):
        Match(**facts)


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
    match = Match(teams=((ANN,), (BOB,)), doors=((ANN, bot), (CID,)))
    assert create("synelo").needs(match) == {ANN, BOB, CID}


def test_win_draw_and_loss_have_ranks_and_nothing_else_does():
    assert [ranks_of(outcome) for outcome in (1.0, 0.5, 0.0)] == [(0, 1), (0, 0), (1, 0)]
    with pytest.raises(RatingError):
        ranks_of(0.7)
