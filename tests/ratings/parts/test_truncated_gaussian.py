"""The normal distribution where it is cut off, against sums over fine grids."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from equipoise.ratings.parts.truncated_gaussian import above, cdf, hazard, log_cdf, log_within, pdf, quantile, within

POINTS = 200_001


def summed(density: np.ndarray, x: np.ndarray) -> tuple[float, float, float]:
    """Mass, mean and variance of an unscaled density, by Simpson's rule."""
    weights = np.ones(len(x))
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    density = density * weights * (x[1] - x[0]) / 3
    mass = density.sum()
    mean = (density * x).sum() / mass
    return mass, mean, (density * (x - mean) ** 2).sum() / mass


def above_by_sums(t: float, margin: float) -> tuple[float, float]:
    """v and w from the density beyond the margin, scaled by that at the margin."""
    a = margin - t
    start = max(0.0, -a - 12)  # nothing is further below the mode
    y = np.linspace(start, max(0.0, -a) + 40.0 / max(a, 1.0), POINTS)
    _, mean, variance = summed(np.exp(-a * y - y * y / 2 - max(-a * v - v * v / 2 for v in (start, max(0.0, -a)))), y)
    return mean + a, 1 - variance


def within_by_sums(t: float, margin: float) -> tuple[float, float]:
    x = np.linspace(-margin, margin, POINTS)
    _, mean, variance = summed(np.exp((x - margin) * abs(t) - x * x / 2), x)
    return math.copysign(mean, t) - t, 1 - variance


@pytest.mark.parametrize("margin", [0.0, 0.1, 1.5])
def test_a_win_cuts_as_a_sum_over_the_tail_says(margin):
    for t in (-300.0, -40.0, -7.0, -4.99, -1.0, 0.0, 0.3, 2.0, 5.0):
        assert above(t, margin) == pytest.approx(above_by_sums(t, margin), rel=1e-8, abs=1e-10), t


@pytest.mark.parametrize("margin", [1e-6, 9.99e-4, 1.01e-3, 0.02, 0.7, 3.0, 20.0])
def test_a_draw_cuts_as_a_sum_over_the_interval_says(margin):
    for t in (-2000.0, -50.0, -6.0, -5.5, -0.4, 0.0, 0.01, 1.0, 4.0, 30.0):
        v, w = within(t, margin)
        expected_v, expected_w = within_by_sums(t, margin)
        assert v == pytest.approx(expected_v, rel=1e-9, abs=1e-9), t
        assert w == pytest.approx(expected_w, abs=1e-9), t
        assert 1 - w == pytest.approx(1 - expected_w, rel=1e-5, abs=1e-12 * (1 + t * t)), t


@pytest.mark.parametrize("t", [-10.0, -6.0, 3.0, 9.0, 10.0, 10.2, 40.0])
def test_a_narrow_draw_leaves_mean_and_variance_to_a_part_in_a_million(t):
    """On both sides of where their series takes over."""
    v, w = within(t, 9.99e-4)
    expected_v, expected_w = within_by_sums(t, 9.99e-4)
    assert t + v == pytest.approx(t + expected_v, rel=1e-6)
    assert 1 - w == pytest.approx(1 - expected_w, rel=1e-6)


def test_a_draw_without_a_margin_pins_the_value():
    assert within(3.0, 0.0) == (-3.0, 1.0)
    assert log_within(3.0, 0.0) == -math.inf


def test_no_gap_is_too_large():
    for gap, margin in itertools.product((1e2, 1e4, 1e6, 1e9, 1e150), (0.0, 1e-5, 0.1, 2.0)):
        for t in (gap, -gap):
            for v, w in (above(t, margin), within(t, margin)):
                assert math.isfinite(v), (t, margin)
                assert 0 <= w <= 1, (t, margin)
        assert above(-gap, margin)[0] == pytest.approx(gap + margin, rel=1e-3), (gap, margin)
        assert above(gap, margin) == (0, 0), (gap, margin)
        assert within(gap, margin)[0] == pytest.approx(margin - gap, rel=1e-3, abs=1), (gap, margin)


@pytest.mark.parametrize("edge", [-5.0, 5.0])
def test_no_step_is_left_where_one_form_takes_over_from_another(edge):
    below, beyond = math.nextafter(edge, -9), math.nextafter(edge, 9)
    assert above(-below, 0.0) == pytest.approx(above(-beyond, 0.0), rel=1e-12)
    assert within(below - 0.5, 0.5) == pytest.approx(within(beyond - 0.5, 0.5), rel=1e-9)
    assert hazard(below) == pytest.approx(hazard(beyond), rel=1e-12)
    assert log_cdf(below) == pytest.approx(log_cdf(beyond), rel=1e-12)


def test_v_and_w_are_the_derivatives_of_the_logarithm_of_the_mass():
    step = 1e-4
    for t in (-8.0, -2.0, 0.4, 3.0):
        for mass, (v, w) in (
            (lambda x: log_cdf(x - 0.3), above(t, 0.3)),
            (lambda x: log_within(x, 0.3), within(t, 0.3)),
        ):
            assert (mass(t + step) - mass(t - step)) / (2 * step) == pytest.approx(v, rel=1e-5)
            assert (mass(t + step) - 2 * mass(t) + mass(t - step)) / step**2 == pytest.approx(-w, rel=1e-4)


@pytest.mark.parametrize("x", [-30.0, -5.0, -1.96, -1e-9, 0.0, 0.5, 4.0, 9.0])
def test_density_and_mass_are_those_of_the_standard_library(x):
    normal = NormalDist()
    assert pdf(x) == pytest.approx(normal.pdf(x), rel=1e-13)
    assert cdf(x) == pytest.approx(normal.cdf(x), rel=1e-9, abs=1e-16)
    assert math.exp(log_cdf(x)) == pytest.approx(cdf(x), rel=1e-12)


def test_a_tail_too_small_for_a_number_has_a_logarithm():
    assert cdf(-40.0) == 0.0
    # Abramowitz & Stegun 26.2.12, five terms
    series = 1 - 1 / 40**2 + 3 / 40**4 - 15 / 40**6 + 105 / 40**8
    assert log_cdf(-40.0) == pytest.approx(-800 - math.log(40 * math.sqrt(2 * math.pi)) + math.log(series), rel=1e-14)


@pytest.mark.parametrize("probability", [1e-300, 1e-12, 0.02, 0.3, 0.5, 0.55, 0.625, 0.999, 1 - 1e-12])
def test_a_quantile_has_the_probability_it_was_asked_for(probability):
    assert quantile(probability) == pytest.approx(NormalDist().inv_cdf(probability), rel=1e-9, abs=1e-15)
