"""The proposed scale is the one under which past rounds would have been predicted best."""

from __future__ import annotations

import math
import random

import pytest

from equipoise.ratings.quality import surprise
from equipoise.web.quality import best_sharpness


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def rounds(sharpness: float) -> list[tuple[float, float]]:
    """Predictions whose log-odds are too small by this factor, and outcomes drawn from the truth."""
    draw = random.Random(7)
    gaps = [draw.gauss(0, 1) for _ in range(4000)]
    return [(logistic(gap), float(draw.random() < logistic(sharpness * gap))) for gap in gaps]


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 2.0])
def test_the_factor_by_which_predictions_were_too_timid_is_found(sharpness: float) -> None:
    assert best_sharpness(rounds(sharpness)) == pytest.approx(sharpness, rel=0.1)


def test_no_other_factor_has_a_lower_log_loss() -> None:
    pairs = rounds(1.3)
    found = best_sharpness(pairs)

    def loss(factor: float) -> float:
        return sum(surprise(logistic(factor * math.log(p / (1 - p))), score) for p, score in pairs)

    assert all(loss(found) <= loss(found * other) for other in (0.9, 0.97, 1.03, 1.1))


def test_predictions_of_certainties_do_not_overflow() -> None:
    assert 0.01 <= best_sharpness([(0.0, 1.0), (1.0, 0.0)] * 10) <= 100
