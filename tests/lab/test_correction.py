"""Temperature, sides and maps around any predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.lab.correction import Correction, fit, running
from equipoise.lab.histories import scores
from equipoise.ratings.history import Floats, History
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


def test_a_fit_recovers_the_planted_temperature_side_and_map() -> None:
    predicted, history = planted(6000)
    found = fit(predicted, history, scores(history))
    assert found.sides is not None
    assert found.maps is not None
    assert found.temperature == pytest.approx(2.0, abs=0.1)
    assert found.maps["tram"] - found.maps["veil"] == pytest.approx(0.5, abs=0.15)
    marines = found.sides["marines"] - found.sides["aliens"]
    assert marines + found.maps["veil"] == pytest.approx(0.6, abs=0.1)


def test_the_fit_is_where_the_penalised_likelihood_is_flat() -> None:
    """Its slope, in each direction by a difference quotient of a loss written anew, with the priors of docs/lab.md."""
    predicted, history = planted(400)
    y = scores(history)
    found = fit(predicted, history, y)
    assert found.sides is not None
    assert found.maps is not None
    assert history.side is not None
    start = np.array([found.temperature, *found.sides.values(), *found.maps.values()])
    sign = np.where(history.side[0::2] == 0, 1, -1)
    names = list(found.maps)

    def loss(w: Floats) -> float:
        place = np.array([w[3 + names.index(history.maps[m])] for m in history.map])
        odds = w[0] * np.log(predicted / (1 - predicted)) + sign * (w[1] - w[2] + place)
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
    corrected = found.apply(np.full(200, 0.5), history)
    assert 0.9 < corrected[0] < 1


def test_certain_predictions_stay_finite() -> None:
    history = History.of([Match(((ANN,), (BOB,)), ranks_of(score)) for score in (1.0, 0.0) * 50])
    predicted = np.tile([1.0, 1.0], 50)
    corrected = fit(predicted, history, scores(history)).apply(predicted, history)
    assert np.isfinite(corrected).all()


def test_without_sides_and_maps_only_the_temperature_is_fitted() -> None:
    _, history = planted(50)
    bare = replace(history, side=None, sides=(), map=None, maps=())
    found = fit(np.full(50, 0.5), bare, scores(bare))
    assert found == Correction(1.0, None, None)


def test_a_correction_without_known_sides_and_maps_changes_no_prediction() -> None:
    predicted, history = planted(50)
    np.testing.assert_allclose(Correction(1.0).apply(predicted, history), predicted, atol=1e-12)


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
