"""The figures that the demo shows are what they say."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from equipoise.demo.record import Played, Record, rank_correlation


def test_the_rank_correlation_is_that_of_a_textbook_example() -> None:
    # Spearman's ρ = 1 - 6 Σd² / (n (n² - 1)), d = 1, 0, -1, 1, -1: Σd² = 4, n = 5.
    assert rank_correlation([10, 20, 30, 40, 50], [2.1, 1.0, 4.0, 3.0, 5.0]) == pytest.approx(0.8)


def test_only_the_order_matters_to_the_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3, 40], [0.1, 0.2, 0.3, 0.31]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3, 40], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert rank_correlation([1000, 1000, 1000], [1, 2, 3]) == 0.0


def test_equal_ratings_share_their_mean_rank() -> None:
    rng = Random(2)
    xs, ys = ([rng.randrange(6) for _ in range(40)] for _ in range(2))

    def ranks(values: list[int]) -> list[float]:
        return [sum(other < one for other in values) + sum(other == one for other in values) / 2 for one in values]

    assert rank_correlation(xs, ys) == pytest.approx(np.corrcoef(ranks(xs), ranks(ys))[0, 1])


def test_favourites_and_fairness_are_counted_for_whichever_side_is_ahead() -> None:
    rounds = [Played(0.7, 0.9, 0.8, True), Played(0.4, 0.3, 0.8, True), Played(0.2, 0.5, 0.6, False)]
    record = Record(rounds=rounds)

    expected, won = record.expected()

    assert expected == pytest.approx(0.7 + 0.6 + 0.8)
    assert won == 2
    assert record.fairness(20) == pytest.approx(((0.9 + 0.7 + 0.5) / 3, 2.2 / 3))
    assert record.fairness(1) == pytest.approx((0.5, 0.6))
    assert Record().fairness(20) == (0.5, 0.5)
