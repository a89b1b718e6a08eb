"""Quality measures against hand-computed values."""

from __future__ import annotations

import math

import pytest

from equipoise.errors import RatingError
from equipoise.ratings.quality import accuracy, assess

ROUNDS = [(0.5, 1.0), (0.5, 0.0), (0.8, 1.0), (0.8, 0.0), (0.25, 0.5)]


def test_no_rounds_have_no_quality():
    assert assess([]) is None


def test_the_brier_score_is_the_mean_squared_error_with_its_standard_error():
    terms = [0.25, 0.25, 0.04, 0.64, 0.0625]
    mean = sum(terms) / 5
    deviation = math.sqrt(sum((term - mean) ** 2 for term in terms) / 4)
    quality = assess(ROUNDS)
    assert quality.rounds == 5
    assert quality.brier.value == pytest.approx(0.2485)
    assert quality.brier.error == pytest.approx(deviation / math.sqrt(5))


def test_log_loss_is_in_nats_and_a_draw_is_half_of_each():
    draw = -0.5 * math.log(0.25) - 0.5 * math.log(0.75)
    expected = (2 * math.log(2) - math.log(0.8) - math.log(0.2) + draw) / 5
    assert assess(ROUNDS).log_loss.value == pytest.approx(expected)


def test_an_upset_of_a_certainty_costs_much_but_not_everything():
    for pair in ((1.0, 0.0), (0.0, 1.0)):
        assert assess([pair]).log_loss.value == pytest.approx(-math.log(1e-12), rel=1e-4)
    assert assess([(1.0, 1.0), (0.0, 0.0)]).log_loss.value == pytest.approx(0.0, abs=1e-11)


def test_even_rounds_are_those_from_45_to_55_percent():
    pairs = [(predicted, 1.0) for predicted in (0.449, 0.45, 0.5, 0.55, 0.551)]
    assert assess(pairs).even.value == pytest.approx(3 / 5)


def test_where_the_unevenness_is_known_even_rounds_are_those_where_it_is_small():
    pairs = [(0.5, 1.0), (0.5, 1.0), (0.56, 1.0), (0.5, 1.0), (0.56, 1.0)]
    assert assess(pairs, [0.2, 0.05, 0.05, None, None]).even.value == pytest.approx(3 / 5)


def test_calibration_compares_mean_prediction_and_mean_score_of_each_bin_that_has_rounds():
    bins = assess(ROUNDS).calibration
    assert [(b.low, b.high, b.rounds, b.predicted, b.scored.value) for b in bins] == [
        (0.2, 0.3, 1, 0.25, 0.5),
        (0.5, 0.6, 2, 0.5, 0.5),
        (0.8, 0.9, 2, 0.8, 0.5),
    ]
    assert [b.scored.error for b in bins] == [None, pytest.approx(0.5), pytest.approx(0.5)]


def test_certainty_falls_into_the_last_bin():
    assert [(b.low, b.rounds) for b in assess([(1.0, 1.0), (0.95, 1.0), (0.0, 0.0)]).calibration] == [
        (0.0, 1),
        (0.9, 2),
    ]


def test_the_calibration_error_weights_bins_by_their_rounds():
    assert assess(ROUNDS).calibration_error == pytest.approx((0.25 + 2 * 0.0 + 2 * 0.3) / 5)


@pytest.mark.parametrize("pair", [(1.01, 1.0), (0.5, -0.5), (math.nan, 1.0)])
def test_numbers_that_are_no_probabilities_are_refused(pair):
    with pytest.raises(RatingError, match="is not from 0 to 1"):
        assess([pair])


def test_accuracy_leaves_draws_out_and_halves_even_predictions() -> None:
    found = accuracy([(0.9, 1.0), (0.2, 1.0), (0.5, 0.0), (0.7, 0.5), (0.4, 0.0)])
    assert found is not None
    assert found.value == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    assert accuracy([(0.9, 0.5)]) is None
