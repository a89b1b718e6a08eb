"""NS2's time weights, in published vectors and beyond them, and the median of the last lengths."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from equipoise.ratings.ns2.time_weights import (
    decay_in_vectors,
    decayed,
    decayed_in_vectors,
    replace_ordered,
    replace_ordered_in_vectors,
    time_weight,
)
from equipoise.ratings.system import Span
from tests.ratings.ns2.samples import ns2, whole
from tests.ratings.samples import people


def test_powers_made_in_vectors_are_right():
    for halvings in (0.0, 1e-18, 1e-9, 0.3, 1.0, 2.5, 17.0, 64.0):
        assert decay_in_vectors(halvings) == pytest.approx(2.0**-halvings, rel=1e-12, abs=0)
        assert decayed_in_vectors(halvings) == pytest.approx(decayed(halvings), rel=1e-12, abs=0)
    assert decay_in_vectors(0.0) == 1.0
    assert decayed_in_vectors(0.0) == decayed(0.0) == 0.0
    assert [decayed(halvings) for halvings in (1.0, 2.0)] == pytest.approx([0.5, 0.75])


@pytest.mark.parametrize(("start", "end"), [(7.3, 7.3), (-9.0, -1.0), (-1.0, 0.0), (600.1, 700.0), (600.0, 600.0)])
def test_a_stretch_without_time_in_the_match_weighs_exactly_nothing(start, end):
    assert time_weight(start, end, 600.0, 2.0 / 1200.0) == 0.0


@pytest.mark.parametrize("seconds", [5e-324, 1e-300, 1.7e308])
def test_lengths_that_no_round_has_overflow_nothing(seconds):
    system = ns2()
    system.restore_shared("lengths", [seconds])
    rated = system.rate(replace(whole(1, 1), spans={people(1)[0]: (Span(0, 0, 600),)}))
    assert all(math.isfinite(change.after) for change in rated.changes)


@pytest.mark.parametrize("way", [replace_ordered, replace_ordered_in_vectors])
def test_the_last_lengths_stay_in_order(way):
    rng = random.Random(1)
    window = [math.inf] * 9
    ordered = list(window)
    for number in range(500):
        oldest, newest = window[number % 9], float(rng.randrange(12))
        window[number % 9] = newest
        way(oldest, newest, ordered)
        assert ordered == sorted(window)
