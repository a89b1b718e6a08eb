"""The proposed scale is the one under which past rounds would have been predicted best."""

from __future__ import annotations

import math
import random

import pytest

from equipoise.ratings.quality import fit_scale, rounds_missing

SCALE = 2400.0


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def rounds(sharpness: float, count: int = 4000, seed: int = 7) -> list[tuple[float, float]]:
    """Predictions whose log-odds are too small by this factor, and outcomes drawn from the truth."""
    draw = random.Random(seed)
    gaps = [draw.gauss(0, 1) for _ in range(count)]
    return [(logistic(gap), float(draw.random() < logistic(sharpness * gap))) for gap in gaps]


def test_no_other_scale_has_a_lower_log_loss() -> None:
    pairs = rounds(1.3)
    found = fit_scale(pairs, SCALE)
    assert found is not None

    def loss(scale: float) -> float:
        factor = SCALE / scale
        right = [logistic(factor * math.log(p / (1 - p)) * (1 if score else -1)) for p, score in pairs]
        return -sum(map(math.log, right)) / len(pairs)

    assert (found.log_loss_before, found.log_loss) == pytest.approx((loss(SCALE), loss(found.scale)))
    assert all(found.log_loss < loss(found.scale * other) for other in (0.9, 0.97, 1.03, 1.1))


def test_one_difference_met_again_and_again_is_fitted_by_the_share_that_its_favourite_won() -> None:
    """Then the fit is a proportion's: log-odds ln 3 of 300 in 400, with variance 1 / (400 · 3/4 · 1/4)."""
    found = fit_scale([(logistic(0.5), 1.0)] * 300 + [(logistic(0.5), 0.0)] * 100, 1000.0)

    assert found is not None
    factor = math.log(3) / 0.5
    assert found.scale == pytest.approx(1000.0 / factor)
    assert found.error == pytest.approx(1000.0 / factor**2 * math.sqrt(1 / 75) / 0.5)


def needed(pairs: list[tuple[float, float]]) -> int:
    found = fit_scale(pairs, SCALE)
    assert found is not None
    return rounds_missing(found, SCALE, len(pairs))


@pytest.mark.slow
def test_a_scale_that_is_right_is_seldom_to_be_changed() -> None:
    """By chance one time in twenty: of 200 between 2 and 20, three standard deviations of the binomial around 10."""
    proposed = sum(needed(rounds(1.0, 500, seed)) == 0 for seed in range(200))
    assert 1 <= proposed <= 20


def test_a_scale_that_is_off_by_a_factor_of_two_is_to_be_changed() -> None:
    assert needed(rounds(2.0)) == needed(rounds(0.5)) == 0


@pytest.mark.parametrize("seed", [3, 4])
def test_the_rounds_that_are_needed_are_as_many_as_tell_if_they_are_like_the_others(seed: int) -> None:
    """The same rounds over and over have the same fit and an error that shrinks with the root of their number."""
    pairs = rounds(1.1, 100, seed)
    times = needed(pairs) / len(pairs) + 1
    assert times > 1
    assert needed(pairs * math.ceil(times)) == 0
    assert needed(pairs * (math.ceil(times) - 1)) > 0


@pytest.mark.parametrize(
    "pairs",
    [
        [(0.7, 0.0), (0.7, 1.0), (0.7, 0.0)],  # favourites lose
        [(0.7, 1.0), (0.2, 0.0)],  # favourites always win
        [(0.5, 1.0), (0.5, 0.0)],  # there are none
        [(0.0, 1.0), (1.0, 0.0)],  # certainties that did not come true
    ],
)
def test_no_scale_is_proposed_where_rounds_do_not_determine_one(pairs: list[tuple[float, float]]) -> None:
    assert fit_scale(pairs, SCALE) is None
