"""What a quit says of a player, given how the match ended: two facts about nearly the same thing in a small match.

Between two teams the order is a cut of one difference D.  Taking it as Gaussian while d, by how much a quitter was
ahead of his opponents, is judged would be wrong by a tenth of β in a duel.  So d's mean and variance are taken under
the cut itself, summed over D.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.ratings.parts.truncated_gaussian import cdf, hazard, pdf

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.factor_graph import Row

INTERVALS = 64
"""Simpson's rule over what the cut leaves of D."""

WIDTH_BELOW, WIDTH_ABOVE = 6.0, 12.0
"""Deviations of D that are summed over; beyond a cut in the tail, `WIDTH_ABOVE` over how far out it is."""

QUIT_MARGIN, QUIT_VARIANCE, QUIT_UNRELATED, QUIT_RELATED = range(12, 16)
"""Where a parameter stands in a row."""


def quit_chance(mean: float, variance: float, c: Row) -> float:
    """(12) and (13): p_u + (1 - p_u)·p_r·Φ(u), u = (m_q - d)/√v_q, of a Gaussian d."""
    u = (c[QUIT_MARGIN] - mean) / math.sqrt(c[QUIT_VARIANCE] + variance)
    return c[QUIT_UNRELATED] + (1.0 - c[QUIT_UNRELATED]) * c[QUIT_RELATED] * cdf(u)


def quit_derivatives(left: bool, mean: float, variance: float, c: Row) -> tuple[float, float]:
    """Of the log of that, or of what is missing to 1 for who stayed, by the mean of d: the first and the second."""
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


def quit_within(
    mean: float, variance: float, other: float, spread: float, shared: float, low: float, high: float, c: Row
) -> tuple[float, float]:
    """Mean and variance of d, of a quitter, with D cut to low and high.

    Before the cut and the quit d is N(mean, variance), D is N(other, spread), and `shared` is their covariance.
    """
    low, high = reach(other, math.sqrt(spread), low, high)
    nearest = min(max(other, low), high)
    lever = shared / spread
    rest = max(variance - lever * shared, 0.0)
    mass = first = second = 0.0
    for point in range(INTERVALS + 1):
        z = low + (high - low) * point / INTERVALS
        m = mean + lever * (z - other)
        slope, curvature = quit_derivatives(True, m, rest, c)
        weight = 1.0 if point in (0, INTERVALS) else 2.0 + 2.0 * (point % 2)
        weight *= math.exp(-0.5 * (z - nearest) * (z + nearest - 2.0 * other) / spread) * quit_chance(m, rest, c)
        moved = m + rest * slope - mean
        mass += weight
        first += weight * moved
        second += weight * (moved * moved + rest + rest * rest * curvature)
    first /= mass
    return mean + first, second / mass - first * first


def reach(mean: float, deviation: float, low: float, high: float) -> tuple[float, float]:
    """What of a cut's interval has any mass."""
    from_below = max(low, mean - WIDTH_BELOW * deviation)
    if low > mean:
        out = (low - mean) / deviation
        return low, min(high, low + deviation * min(WIDTH_BELOW, WIDTH_ABOVE / (1.0 + out)))
    if high < mean:
        out = (mean - high) / deviation
        return max(low, high - deviation * min(WIDTH_BELOW, WIDTH_ABOVE / (1.0 + out))), high
    return from_below, min(high, mean + WIDTH_BELOW * deviation)
