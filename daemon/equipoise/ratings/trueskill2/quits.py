"""Inference from a quit together with the order of the teams, two observations that are nearly the same in a duel.

A player leaves when d, by how much they are ahead of their opponents, falls below m_q, or for other reasons, (12) and
(13) of Minka, Cleven & Zaykov 2018.  Between two teams the order cuts one difference D.  Taking that cut as a Gaussian
while d is judged would be wrong by a tenth of β in a duel, where d is D or -D.  So the mean and the variance of d are
computed under the cut itself: given D, d is Gaussian and a quit has a closed form; over D they are summed by Simpson's
rule.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.ratings.parts.truncated_gaussian import cdf, hazard, pdf
from equipoise.ratings.trueskill2.params import QUIT_MARGIN, QUIT_RELATED, QUIT_UNRELATED, QUIT_VARIANCE

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.params import Row

INTERVALS = 64
"""Intervals of Simpson's rule over the part of D's range that the cut leaves."""

WIDTH_BELOW, WIDTH_ABOVE = 6.0, 12.0
"""Width of the integration range in deviations of D; for a cut t deviations out, `WIDTH_ABOVE`/t beyond it."""


def quit_probability(mean: float, variance: float, c: Row) -> float:
    """(12) and (13): p_u + (1 - p_u)·p_r·Φ(u), u = (m_q - d)/√v_q, averaged over d ~ N(mean, variance)."""
    u = (c[QUIT_MARGIN] - mean) / math.sqrt(c[QUIT_VARIANCE] + variance)
    return c[QUIT_UNRELATED] + (1.0 - c[QUIT_UNRELATED]) * c[QUIT_RELATED] * cdf(u)


def quit_derivatives(left: bool, mean: float, variance: float, c: Row) -> tuple[float, float]:
    """First and second derivative, by the mean of d, of the log probability that a player left, or that they stayed."""
    deviation = math.sqrt(c[QUIT_VARIANCE] + variance)
    u = (c[QUIT_MARGIN] - mean) / deviation
    unrelated, related = c[QUIT_UNRELATED], c[QUIT_RELATED]
    if left:
        related *= 1.0 - unrelated
        ratio = hazard(-u) if unrelated == 0.0 else related * pdf(u) / (unrelated + related * cdf(u))
        slope = -ratio / deviation
    else:
        ratio = hazard(u) if related == 1.0 else related * pdf(u) / (1.0 - related * cdf(u))
        slope = ratio / deviation
    return slope, u * slope / deviation - slope * slope


def quit_moments_in_cut(
    mean: float, variance: float, other: float, spread: float, covariance: float, low: float, high: float, c: Row
) -> tuple[float, float]:
    """Mean and variance of a quitter's d, with D between low and high.

    Before the cut and the quit d is N(mean, variance) and D is N(other, spread), with this covariance.
    """
    low, high = integration_range(other, math.sqrt(spread), low, high)
    nearest = min(max(other, low), high)
    lever = covariance / spread
    rest = max(variance - lever * covariance, 0.0)
    mass = first = second = 0.0
    for point in range(INTERVALS + 1):
        z = low + (high - low) * point / INTERVALS
        m = mean + lever * (z - other)
        slope, curvature = quit_derivatives(True, m, rest, c)
        weight = 1.0 if point in (0, INTERVALS) else 2.0 + 2.0 * (point % 2)
        # The density of D at z over that at the nearest point to its mean: far out, densities themselves are 0.
        weight *= math.exp(-0.5 * (z - nearest) * (z + nearest - 2.0 * other) / spread) * quit_probability(m, rest, c)
        moved = m + rest * slope - mean
        mass += weight
        first += weight * moved
        second += weight * (moved * moved + rest + rest * rest * curvature)
    first /= mass
    return mean + first, second / mass - first * first


def integration_range(mean: float, deviation: float, low: float, high: float) -> tuple[float, float]:
    """The part of a cut, from low to high, that holds all but a negligible part of the mass of N(mean, deviation²).

    >>> integration_range(0.0, 1.0, low=-math.inf, high=math.inf)
    (-6.0, 6.0)
    >>> integration_range(0.0, 1.0, low=5.0, high=math.inf)
    (5.0, 7.0)
    """
    from_below = max(low, mean - WIDTH_BELOW * deviation)
    if low > mean:
        out = (low - mean) / deviation
        return low, min(high, low + deviation * min(WIDTH_BELOW, WIDTH_ABOVE / (1.0 + out)))
    if high < mean:
        out = (mean - high) / deviation
        return max(low, high - deviation * min(WIDTH_BELOW, WIDTH_ABOVE / (1.0 + out))), high
    return from_below, min(high, mean + WIDTH_BELOW * deviation)
