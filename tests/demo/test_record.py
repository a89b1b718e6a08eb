"""The figures that the demo shows are what they say."""

from __future__ import annotations

import pytest

from equipoise.demo.record import Played, Record


def test_favourites_and_evenness_are_counted_for_whichever_side_is_ahead() -> None:
    rounds = [Played(0.7, 0.9, 0.8, 1.0), Played(0.4, 0.3, 0.8, 1.0), Played(0.2, 0.5, 0.6, 0.5)]
    record = Record(rounds=rounds)

    expected, won = record.expected()

    assert expected == pytest.approx(0.7 + 0.6 + 0.8)
    assert won == 1.5
    assert record.evenness(20) == pytest.approx(((0.9 + 0.7 + 0.5) / 3, 2.2 / 3))
    assert record.evenness(1) == pytest.approx((0.5, 0.6))
    assert Record().evenness(20) == (0.5, 0.5)
