"""The posterior of the difference D of two sides after a result, by quadrature in one dimension.

D is Gaussian before the result. The likelihood is logistic(D)^a · logistic(-D)^b: a win has a = weight and b = 0, a
defeat the reverse, a draw a = b = weight · `draw_weight`. It is log-concave, so the posterior has one mode and
its tails fall at least as fast as the Gaussian's.

The trapezoidal rule is exact to rounding once its step is small beside the width of the posterior and beside π, the
distance of the logistic's nearest pole from the real line: the error falls as exp(-2π·π/step).

Plain functions that numba compiles.
"""

from __future__ import annotations

import math

STEP = 0.7
"""Log-odds: the widest step; exp(-2π²/0.7) is 6e-13."""

PARTS = 20
"""Steps to either side of the mode, at least, if the density were as narrow everywhere as it is there."""

MOST_NODES = 4000
"""The most steps: enough for a standard deviation of 150."""

DROP = 36.0
"""Integrals end where the density is e^-36 of its maximum."""


def logistic(x: float) -> float:
    """1 / (1 + e^-x), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)


def log_logistic(x: float) -> float:
    """The logarithm of `logistic`, with full relative precision in the tails."""
    return x - math.log1p(math.exp(x)) if x < 0.0 else 0.0 - math.log1p(math.exp(-x))


def exponents(score: float, weight: float, draw_weight: float) -> tuple[float, float]:
    """a and b of the likelihood of a score: 1, 0.5 or 0."""
    if score == 0.5:
        return weight * draw_weight, weight * draw_weight
    return weight * score, weight * (1.0 - score)


def expected(mean: float, variance: float) -> float:
    """E[logistic(D)] for D ~ N(mean, variance)."""
    if variance <= 0.0:
        return logistic(mean)
    reach = math.sqrt(2.0 * DROP * variance)
    steps = count_steps(2.0 * reach, reach)
    step, total, sum_of_weights = 2.0 * reach / steps, 0.0, 0.0
    for node in range(steps + 1):
        away = node * step - reach
        weight = math.exp(-0.5 * away * away / variance)
        total += weight * logistic(mean + away)
        sum_of_weights += weight
    # By the sum of the weights, not the integral's constant: an even mean gives a half to the last bit.
    return total / sum_of_weights


def count_steps(length: float, narrow: float) -> int:
    """The number of steps that an integral takes; `narrow`: how far it would reach from a mode without tails."""
    return int(min(float(MOST_NODES), math.ceil(length / min(STEP, narrow / PARTS))))


def find_mode(mean: float, variance: float, a: float, b: float) -> float:
    """Return the mode of the posterior density, to a thousandth of its width: the integral does not depend on it."""
    # The slope of the log likelihood is between -b and a, so the mode is no farther from the mean than these times the
    # variance.
    low, high = mean - variance * b, mean + variance * a
    # Both begin at the mean.
    mode = 0.5 * (low + high) if a == b else mean
    for _ in range(200):
        won = logistic(mode)
        slope = (mean - mode) / variance + a * (1.0 - won) - b * won
        curvature = 1.0 / variance + (a + b) * won * (1.0 - won)
        if slope > 0.0:
            low = mode
        else:
            high = mode
        step = slope / curvature
        if abs(step) * math.sqrt(curvature) < 1e-3 or low >= high:
            break
        mode += step
        # Newton's step left the bracket: bisect.
        if not low < mode < high:
            mode = 0.5 * (low + high)
    return mode


def log_density(d: float, mean: float, variance: float, a: float, b: float) -> float:
    """The logarithm of prior times likelihood at D = d, without the prior's constant factor."""
    # log(logistic(-d)) = log(logistic(d)) - d.
    return (a + b) * log_logistic(d) - b * d - 0.5 * (d - mean) * (d - mean) / variance


def find_end(mode: float, first: float, most: float, mean: float, variance: float, a: float, b: float) -> float:
    """How far from the mode the density has fallen by `DROP`; `first` carries the direction, `most` bounds it."""
    top, away = log_density(mode, mean, variance, a, b), first
    while abs(away) < most and top - log_density(mode + away, mean, variance, a, b) < DROP:
        # Outwards by steps that grow: the tails differ in width, and the likelihood makes one of them short.
        away *= 1.3
    return away


def posterior(mean: float, variance: float, a: float, b: float) -> tuple[float, float, float]:
    """Mean and variance of D after the result, and the logarithm of the result's likelihood before it.

    The variance must be above 0, and is never more than before: the likelihood is log-concave.
    """
    if a == 0.0 and b == 0.0:
        return mean, variance, 0.0
    mode = find_mode(mean, variance, a, b)
    won = logistic(mode)
    narrow = math.sqrt(2.0 * DROP / (1.0 / variance + (a + b) * won * (1.0 - won)))
    most = math.sqrt(2.0 * DROP * variance)
    low = find_end(mode, -narrow, most, mean, variance, a, b)
    high = find_end(mode, narrow, most, mean, variance, a, b)
    steps = count_steps(high - low, narrow)
    step, top = (high - low) / steps, log_density(mode, mean, variance, a, b)
    total = first = second = 0.0
    for node in range(steps + 1):
        away = low + node * step
        d = mode + away  # `log_density` in place: it is called for each node
        density = math.exp((a + b) * log_logistic(d) - b * d - 0.5 * (d - mean) * (d - mean) / variance - top)
        total += density
        first += density * away
        second += density * away * away
    # About the mode, so that a posterior far from 0 loses no digits.
    shift = first / total
    left = min(variance, max(0.0, second / total - shift * shift))
    return mode + shift, left, top + math.log(total * step / math.sqrt(2.0 * math.pi * variance))
