"""Predictions measured before each match is rated."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.lab.backtest import backtest, burn_in_of, difference, divided, warm_up
from equipoise.lab.models import Model
from equipoise.lab.reading import read_history
from equipoise.ratings.history import History, scores
from equipoise.ratings.system import Match, ranks_of
from tests.lab import sets

SYNELO = Model("synelo", {"k_max": 1})


def turned(history: History, first: int) -> History:
    """The same with other winners from match `first` on."""
    ann = history.players
    rows = []
    for number in range(len(history)):
        one, two = history.members[2 * number : 2 * number + 2]
        score = scores(history)[number]
        rows.append(
            Match(
                ((ann[one],), (ann[two],)),
                ranks_of(float(score if number < first else 1 - score)),
                started_at=float(history.started_at[number]),
                sides=("home", "away"),
            )
        )
    return History.of(rows)


@pytest.mark.slow
def test_measures_are_those_of_rating_one_match_after_the_other(tmp_path: Path) -> None:
    history = read_history(sets.league(tmp_path, 60), None)
    system, y, predicted = SYNELO.make(), scores(history), []
    for number in range(60):
        teams = tuple((history.players[n],) for n in history.members[2 * number : 2 * number + 2])
        match = Match(teams, ranks_of(float(y[number])), started_at=float(history.started_at[number]))
        predicted.append(system.predict(match).expected(0))
        system.rate(match)
    p, score = np.array(predicted[15:]), y[15:]
    losses = -score * np.log(p) - (1 - score) * np.log(1 - p)
    done = backtest(SYNELO, history, burn_in=0.25)
    assert (done.burn_in, done.quality.rounds) == (15, 45)
    assert done.quality.log_loss.value == pytest.approx(losses.mean())
    assert done.quality.log_loss.error == pytest.approx(losses.std(ddof=1) / math.sqrt(45))
    assert done.quality.brier.value == pytest.approx(((p - score) ** 2).mean())
    assert done.accuracy is not None
    assert done.accuracy.value == pytest.approx(((p > 0.5) == (score == 1)).mean(), abs=0.5 / 45)


def test_differences_are_taken_match_by_match(tmp_path: Path) -> None:
    history = read_history(sets.league(tmp_path, 200), None)
    one, other = backtest(SYNELO, history), backtest(Model("synelo", {"k_max": 1, "k_factor_max": 5.0}), history)
    y = one.scores
    losses = [-y * np.log(p) - (1 - y) * np.log(1 - p) for p in (one.predicted, other.predicted)]
    apart = losses[0] - losses[1]
    less = difference(one, other)
    assert less.log_loss.value == pytest.approx(apart.mean())
    assert less.log_loss.error == pytest.approx(apart.std(ddof=1) / math.sqrt(len(apart)))
    itself = difference(one, one)
    assert (itself.brier.value, itself.brier.error) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("correct", ["burn-in", "running"])
def test_a_correction_improves_predictions_that_know_no_home(correct: str, tmp_path: Path) -> None:
    history = read_history(sets.league(tmp_path, 4000, spread=0.3, home=1.0), None)
    plain, corrected = backtest(SYNELO, history), backtest(SYNELO, history, correct=correct)  # type: ignore[arg-type]
    assert difference(corrected, plain).log_loss.value < -0.05
    assert corrected.correction is not None
    home = corrected.correction.sides["home"] - corrected.correction.sides["away"]
    assert home == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("correct", ["burn-in", "running"])
def test_no_prediction_knows_what_comes_after_it(correct: str, tmp_path: Path) -> None:
    history = read_history(sets.league(tmp_path, 400), None)
    before = backtest(SYNELO, history, burn_in=0.5, correct=correct)  # type: ignore[arg-type]
    after = backtest(SYNELO, turned(history, 300), burn_in=0.5, correct=correct)  # type: ignore[arg-type]
    np.testing.assert_allclose(before.predicted[:100], after.predicted[:100], atol=1e-12)
    assert not np.allclose(before.predicted[100:], after.predicted[100:])


def test_a_burn_in_leaves_matches_on_both_sides(tmp_path: Path) -> None:
    history = read_history(*sets.write(tmp_path))
    assert burn_in_of(history, 0.4) == 1
    for share in (0.01, 0.99):
        with pytest.raises(RatingError, match="leaves nothing"):
            burn_in_of(history, share)
    for share in (0.0, 1.0, math.nan, math.inf):
        with pytest.raises(RatingError, match=f"a burn-in of {share:g} is not between 0 and 1"):
            burn_in_of(history, share)
    assert warm_up(100) == 25


@pytest.mark.slow
def test_a_gap_of_ten_thousand_points_is_measured() -> None:
    ann, bob = PlayerId("ann"), PlayerId("bob")
    history = History.of(
        [Match(((ann,), (bob,)), ranks_of(1.0))] * 2000 + [Match(((ann,), (bob,)), ranks_of(0.0))] * 50
    )
    wild = Model(
        "synelo", {"rounding": "none", "k_factor_min": 5000.0, "k_factor_max": 10000.0, "floor": 0.0, "k_max": 1}
    )
    for correct in (None, "running"):
        loss = backtest(wild, history, correct=correct).quality.log_loss.value  # type: ignore[arg-type]
        assert math.isfinite(loss)


def test_players_are_divided_by_squad_experience_and_last_outcome_counted_from_the_first_match() -> None:
    ann, bob, cid, dan = (PlayerId(name) for name in ("ann", "bob", "cid", "dan"))
    history = History.of(
        [
            Match(((ann, bob), (cid, dan)), ranks_of(1.0)),
            Match(((ann, bob), (cid,)), ranks_of(0.5), squads=((ann, bob),)),
            Match(((cid, dan), (bob,)), ranks_of(0.0), squads=((cid, bob),)),
        ]
    )
    done = backtest(Model("synelo", {"k_max": 1}), history, burn_in=0.3)
    p, q = done.predicted.tolist()
    found = {(each.by, each.name): each for each in divided(done, history)}
    assert {key: (each.rounds, each.players) for key, each in found.items()} == {
        ("squad", "alone"): (2, 4),  # cid and bob came together, but play against each other
        ("squad", "2"): (1, 2),
        ("last", "lost"): (2, 2),
        ("last", "drew"): (1, 2),
        ("last", "won"): (1, 2),
    }
    assert found["squad", "2"].predicted == pytest.approx(p)
    lost = found["last", "lost"]  # cid against ann and bob, then dan beside cid
    assert (lost.predicted, lost.scored) == (pytest.approx((1 - p + q) / 2), 0.25)
    assert found["last", "drew"].scored == 0.5
