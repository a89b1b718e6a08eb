"""Temperature, sides and maps around any predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings.calibration import NONE, Calibration
from equipoise.ratings.calibration_fit import LEAST, apply, fit, live, orientation, propose, running
from equipoise.ratings.history import Floats, History, scores
from equipoise.ratings.quality import surprises
from equipoise.ratings.system import Match, ranks_of

ANN, BOB = PlayerId("ann"), PlayerId("bob")


def logistic(odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-odds))


def planted(count: int) -> tuple[Floats, History]:
    """Log-odds half as large as they should be, marines favoured by 0.6, one map worth 0.5 more; sides change."""
    rng = np.random.default_rng(3)
    odds = rng.normal(0, 1, count)
    first = rng.integers(0, 2, count)
    place = rng.integers(0, 2, count)
    sign = 1 - 2 * first
    won = rng.random(count) < logistic(2 * odds + sign * (0.6 + 0.5 * place))
    rows = [
        Match(((ANN,), (BOB,)), ranks_of(float(w)), sides=("marines", "aliens")[::s], map=("veil", "tram")[p])
        for w, s, p in zip(won, sign, place, strict=True)
    ]
    return logistic(odds), History.of(rows)


def test_the_fit_is_where_the_penalised_likelihood_is_flat() -> None:
    """Its slope, in each direction by a difference quotient of a loss written anew, with the priors of docs/lab.md."""
    predicted, history = planted(400)
    y = scores(history)
    found = fit(predicted, history, y)
    assert history.side is not None
    start = np.array([found.temperature, *found.sides.values(), *found.maps.values()])
    sign = np.where(history.side[0::2] == 0, 1, -1)
    names = list(found.maps)

    def loss(w: Floats) -> float:
        place = np.array([w[3 + names.index(history.maps[m])] for m in history.map])
        odds = w[0] * np.log(predicted / (1 - predicted)) + sign * (w[1] - w[2] - place)
        p = logistic(odds)
        prior = (w[0] - 1) ** 2 + (w[1] ** 2 + w[2] ** 2) + (w[3] ** 2 + w[4] ** 2) / 0.3**2
        return float(-np.sum(y * np.log(p) + (1 - y) * np.log(1 - p)) + prior / 2)

    for place in range(5):
        step = np.eye(5)[place] * 1e-5
        assert (loss(start + step) - loss(start - step)) / 2e-5 == pytest.approx(0, abs=1e-3)


def test_a_map_that_one_side_always_won_is_worth_a_finite_number() -> None:
    won = Match(((ANN,), (BOB,)), ranks_of(1.0), sides=("marines", "aliens"), map="veil")
    history = History.of([won] * 200)
    found = fit(np.full(200, 0.5), history, scores(history))
    corrected = apply(found, np.full(200, 0.5), history)
    assert 0.9 < corrected[0] < 1


def test_certain_predictions_stay_finite() -> None:
    history = History.of([Match(((ANN,), (BOB,)), ranks_of(score)) for score in (1.0, 0.0) * 50])
    predicted = np.tile([1.0, 1.0], 50)
    corrected = apply(fit(predicted, history, scores(history)), predicted, history)
    assert np.isfinite(corrected).all()


def test_without_sides_and_maps_only_the_temperature_is_fitted() -> None:
    _, history = planted(50)
    bare = replace(history, side=None, sides=(), map=None, maps=())
    found = fit(np.full(50, 0.5), bare, scores(bare))
    assert found == NONE


def test_a_correction_without_known_sides_and_maps_changes_no_prediction() -> None:
    predicted, history = planted(50)
    np.testing.assert_allclose(apply(NONE, predicted, history), predicted, atol=1e-12)


def test_matches_before_the_start_are_not_looked_at() -> None:
    predicted, history = planted(300)
    turned = scores(history)
    turned[:100] = 1 - turned[:100]
    assert fit(predicted, history, turned, 100) == fit(predicted, history, scores(history), 100)


def test_a_running_correction_looks_back_as_far_as_the_first_fit() -> None:
    """Its window is 75 matches, so that what was before match 100 is forgotten at match 200 and not much earlier."""
    predicted, history = planted(300)
    turned = scores(history)
    turned[:100] = 1 - turned[:100]
    now, _ = running(predicted, history, scores(history), 100, 25)
    then, _ = running(predicted, history, turned, 100, 25)
    np.testing.assert_array_equal(then[:100], predicted[:100])
    np.testing.assert_array_equal(then[200:], now[200:])
    assert np.all(then[100:150] != now[100:150])


def test_matches_one_by_one_are_said_as_all_together() -> None:
    predicted, history = planted(60)
    found = fit(predicted, history, scores(history))
    assert history.side is not None
    assert history.map is not None
    sides = [[history.sides[name] for name in pair] for pair in history.side.reshape(-1, 2).tolist()]
    maps = [history.maps[name] for name in history.map.tolist()]
    said = [found.said(p, side, map) for p, side, map in zip(predicted.tolist(), sides, maps, strict=True)]
    np.testing.assert_allclose(said, apply(found, predicted, history), atol=1e-12)
    back = [found.predicted(p, side, map) for p, side, map in zip(said, sides, maps, strict=True)]
    np.testing.assert_allclose(back, predicted, atol=1e-12)


def test_the_side_that_comes_first_in_the_alphabet_has_a_maps_advantage() -> None:
    teams = ((ANN,), (BOB,))
    rows = [Match(teams, (0, 1), sides=sides) for sides in (("marines", "aliens"), ("aliens", "marines"), ("", ""))]
    assert orientation(History.of(rows)).tolist() == [-1, 1, 0]
    assert orientation(History.of(rows[2:])).tolist() == [0]


def test_what_is_proposed_is_judged_by_matches_that_it_was_not_fitted_to() -> None:
    predicted, history = planted(1000)
    good = propose(predicted, history, scores(history))
    assert good is not None
    assert good.is_better
    assert good.calibration.temperature == pytest.approx(2.0, abs=0.3)
    again = propose(predicted, history, scores(history), good.calibration)
    assert again is not None
    assert not again.is_better  # than what is there already
    turned = scores(history)
    turned[700:] = 1 - turned[700:]  # what the first ones say does not hold for the rest
    worse = propose(predicted, history, turned)
    assert worse is not None
    assert not worse.is_better


def test_none_is_proposed_where_the_present_one_is_worse_and_no_other_is_better() -> None:
    predicted, history = planted(1000)
    rng = np.random.default_rng(5)
    as_predicted = (rng.random(1000) < predicted).astype(float)
    once_right = Calibration(temperature=2.5)
    off = propose(predicted, history, as_predicted, once_right)
    assert off is not None
    assert off.calibration == NONE
    assert off.is_better
    as_it_is = propose(predicted, history, as_predicted)
    assert as_it_is is not None
    assert not as_it_is.is_better
    turned = propose(1 - predicted, history, as_predicted, Calibration(temperature=3.0))
    assert turned is not None
    assert turned.calibration == NONE


def test_a_pool_with_few_matches_or_predictions_the_wrong_way_round_is_left_alone() -> None:
    predicted, history = planted(LEAST - 1)
    assert propose(predicted, history, scores(history)) is None
    predicted, history = planted(1000)
    assert propose(1 - predicted, history, scores(history)) is None


def test_a_daemon_calibrates_once_a_week_by_the_matches_before() -> None:
    predicted, history = planted(2000)
    days = replace(history, started_at=np.arange(2000) * 86_400.0 / 50)  # 350 matches a week
    said, last = live(predicted, days, scores(history))
    assert last.temperature == pytest.approx(2.0, abs=0.25)
    week = int(np.flatnonzero(said != predicted)[0])
    assert week in (350, 700, 1050)
    losses = [surprises(each, scores(history))[week:].mean() for each in (said, predicted)]
    assert losses[0] < losses[1] - 0.03
    turned = scores(history)
    turned[1750:] = 1 - turned[1750:]
    np.testing.assert_array_equal(live(predicted, days, turned)[0][:1750], said[:1750])


def test_matches_without_times_are_calibrated_too_as_if_a_week_were_so_many() -> None:
    predicted, history = planted(2000)
    assert np.isnan(history.started_at).all()
    said, last = live(predicted, history, scores(history))
    assert last.temperature == pytest.approx(2.0, abs=0.25)
    assert int(np.flatnonzero(said != predicted)[0]) % LEAST == 0


def test_predictions_that_are_right_are_seldom_changed_and_hardly() -> None:
    """Two standard errors are asked for every week, so chance alone passes now and then: in one pool of eight."""
    _, history = planted(3000)
    bare, changed, costs = replace(history, side=None, map=None), 0, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        predicted = logistic(rng.normal(0, 0.5, 3000))
        said, _ = live(predicted, bare, (rng.random(3000) < predicted).astype(float))
        changed += not np.array_equal(said, predicted)
        costs.append(float(np.mean(surprises(said, predicted) - surprises(predicted, predicted))))
    assert changed <= 5
    assert max(costs) < 0.003  # nats a match
