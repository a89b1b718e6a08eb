"""Inference of the performances in a match: expectation propagation (EP) on one joint Gaussian.

Before the match the performances are independent Gaussians.  Every site (see `factor_graph`) is about one linear form
d of them.  A count above zero is Gaussian: conditioning the joint on it once is exact.  Any other site is replaced by
the Gaussian that gives d the mean and variance it has under the observation itself, computed in the cavity: the joint
without the site.  A single such site is exact at once; several depend on each other, so EP repeats until none of them
moves.  A site changes the joint by a rank-1 update, which costs n²: cheap enough to keep the exact joint of a
match instead of a message for each edge of the graph.  Minka, Cleven & Zaykov 2018 (MSR-TR-2018-8), (5) to (13).

A quit is not log-concave, so its Gaussian may be poor where the order of the teams cuts nearly the same d.  Between
two teams `correct_quits` therefore ends with the moments under that cut, integrated numerically.

Plain functions, also compiled by numba.  The first `variables` performances of the graph are in use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.ratings.parts.truncated_gaussian import above, cdf, hazard, pdf, within
from equipoise.ratings.trueskill2.factor_graph import (
    DEATHS,
    DRAWN,
    KILLS,
    LEAST_REMAINDER,
    NO_DEATHS,
    NO_KILLS,
    QUIT,
    WON,
    FactorGraph,
    add_exact_sites,
    add_order_sites,
    add_player_sites,
    reset_joint,
)
from equipoise.ratings.trueskill2.params import (
    DEATH_OPPONENT,
    DEATH_OWN,
    DEATH_VARIANCE,
    KILL_OPPONENT,
    KILL_OWN,
    KILL_VARIANCE,
    MARGIN,
    QUIT_MARGIN,
    QUIT_RELATED,
    QUIT_UNRELATED,
    QUIT_VARIANCE,
)

if TYPE_CHECKING:
    from equipoise.ratings.parts.match_arrays import Ints
    from equipoise.ratings.trueskill2.params import Row


CONVERGED = 1e-9
"""EP has converged when no site, in one iteration, moves d by more than this part of d's deviation without it."""
MOST_ITERATIONS = 500
DAMPED_FROM, DAMPING = 10, 0.5
"""From this iteration on, a site moves only this fraction of the way to its new value."""


def infer(
    graph: FactorGraph, variables: int, ranks: Ints, first: int, teams: int, completed: bool, c: Row
) -> tuple[int, bool]:
    """Fill `joint_mean` and `covariance` from `ranks[first:]` and all else that is observed.

    `completed`: whether staying to the end is an observation too, as in the normalised model of (13).  Returns the
    number of sites, and whether EP converged within `MOST_ITERATIONS`.
    """
    reset_joint(graph, variables, ranks, first, teams)
    exact = add_exact_sites(graph, variables, c)
    sites = add_player_sites(graph, variables, exact, completed, c)
    sites = add_order_sites(graph, variables, sites, ranks, first, teams, c)
    # Once each: a Gaussian observation is exact whatever the other sites are.
    for site in range(exact):
        mean, variance = project_site(graph, variables, site, c)
        condition(graph, variables, mean, variance, graph.precision[site], graph.shift[site])
    convergence = run_ep(graph, variables, exact, sites, c)
    if teams == 2:
        correct_quits(graph, variables, exact, sites, c)
    return sites, convergence


def run_ep(graph: FactorGraph, variables: int, exact: int, sites: int, c: Row) -> bool:
    """Update the sites from `exact` on until none moves; returns whether EP converged."""
    for iteration in range(MOST_ITERATIONS):
        change, step = 0.0, 1.0 if iteration < DAMPED_FROM else DAMPING
        for site in range(exact, sites):
            change = max(change, update_site(graph, variables, site, step, c))
        # A single site that is no Gaussian is exact after one update: nothing changes its cavity.
        if change < CONVERGED or sites - exact == 1:
            return True
    return False


def project_site(graph: FactorGraph, variables: int, site: int, c: Row) -> tuple[float, float]:
    """Fill `coefficient` and `cross_covariance` with the site's d; returns the mean and the variance of d."""
    kind, subject = graph.kind[site], graph.subject[site]
    if kind >= WON:
        better, worse = graph.order[subject], graph.order[subject + 1]
        for variable in range(variables):
            team, share = graph.team[variable], graph.fraction_played[variable]
            graph.coefficient[variable] = share if team == better else -share if team == worse else 0.0
    else:
        own, opponent = own_and_opponent_weights(kind, c)
        fill_opponent_weights(graph, variables, subject, opponent)
        graph.coefficient[subject] = own
    return project(graph, variables)


def own_and_opponent_weights(kind: int, c: Row) -> tuple[float, float]:
    """Weights in d of a player's own performance and of that of their opponents."""
    if kind in (KILLS, NO_KILLS):
        return c[KILL_OWN], c[KILL_OPPONENT]
    if kind in (DEATHS, NO_DEATHS):
        return c[DEATH_OWN], c[DEATH_OPPONENT]
    return 1.0, -1.0


def fill_opponent_weights(graph: FactorGraph, variables: int, subject: int, weight: float) -> None:
    """(10) and (11): `coefficient` of a player's opponents, each by fraction played over the presence opposing them."""
    for variable in range(variables):
        team = graph.team[variable]
        opposes = team != graph.team[subject]
        graph.coefficient[variable] = (
            weight * graph.fraction_played[variable] * graph.opponent_scale[team] if opposes else 0.0
        )


def project(graph: FactorGraph, variables: int) -> tuple[float, float]:
    """Fill `cross_covariance` from `coefficient`; returns the mean and the variance of d."""
    for variable in range(variables):
        graph.cross_covariance[variable] = 0.0
    for variable in range(variables):
        weight = graph.coefficient[variable]
        if weight != 0.0:
            row = variable * variables
            for second in range(variables):
                graph.cross_covariance[second] += weight * graph.covariance[row + second]
    mean = variance = 0.0
    for variable in range(variables):
        mean += graph.coefficient[variable] * graph.joint_mean[variable]
        variance += graph.coefficient[variable] * graph.cross_covariance[variable]
    return mean, variance


def condition(graph: FactorGraph, variables: int, mean: float, variance: float, precision: float, shift: float) -> None:
    """Multiply the joint by a Gaussian factor of the d that was projected last.

    Mean and variance are those of d before it.  A negative precision takes a factor out again.
    """
    # Sherman-Morrison: covariance - cov·covᵀ · precision/(1 + precision·variance).
    left = 1.0 + precision * variance
    gain, loss = (shift - precision * mean) / left, precision / left
    for variable in range(variables):
        graph.joint_mean[variable] += gain * graph.cross_covariance[variable]
        row, part = variable * variables, loss * graph.cross_covariance[variable]
        for second in range(variables):
            graph.covariance[row + second] -= part * graph.cross_covariance[second]


def fixes_difference(graph: FactorGraph, site: int, c: Row) -> bool:
    """Whether the site is a draw without a margin, which says that d is 0."""
    return graph.kind[site] == DRAWN and c[MARGIN] <= 0.0


def update_site(graph: FactorGraph, variables: int, site: int, step: float, c: Row) -> float:
    """Update a site in its cavity by a fraction `step`; returns how far d moved, in deviations of d in the cavity."""
    mean, variance = project_site(graph, variables, site, c)
    precision, shift = graph.precision[site], graph.shift[site]
    rest = 1.0 - precision * variance
    is_order = graph.kind[site] >= WON
    if variance <= 0.0 or (is_order and graph.most_precision[site] == 0.0):
        return 0.0
    if precision > 0.0 and fixes_difference(graph, site, c):  # A fixed difference does not depend on the other sites.
        return 0.0
    if rest <= LEAST_REMAINDER:  # The cavity is improper: wait until the other sites have moved.
        return 1.0
    cavity_mean, cavity_variance = (mean - shift * variance) / rest, variance / rest
    slope, curvature = site_derivatives(graph, site, cavity_mean, cavity_variance, c)
    new_precision, new_shift = message(cavity_mean, cavity_variance, slope, curvature)
    if new_precision < 0.0:  # A quit may leave d less sure.  Then it moves d's mean only: other cavities stay proper.
        new_precision, new_shift = 0.0, slope
    # Both are scaled, so that the factor keeps its mean.
    if is_order and new_precision > graph.most_precision[site]:
        new_precision, new_shift = (
            graph.most_precision[site],
            new_shift * graph.most_precision[site] / new_precision,
        )
    more_precision, more_shift = step * (new_precision - precision), step * (new_shift - shift)
    left = 1.0 + more_precision * variance
    if left <= LEAST_REMAINDER:
        return 1.0
    condition(graph, variables, mean, variance, more_precision, more_shift)
    graph.precision[site], graph.shift[site] = precision + more_precision, shift + more_shift
    # d moves by variance·(Δshift - Δprecision·mean)/left; in deviations of the cavity, √(variance/rest), that is this.
    mean_moved = abs(more_shift - more_precision * mean) * math.sqrt(variance * rest)
    return max(mean_moved, abs(more_precision) * variance * rest) / left


def correct_quits(graph: FactorGraph, variables: int, exact: int, sites: int, c: Row) -> None:
    """Give d of every quit between two teams its exact mean and variance; the last site is the order."""
    for site in range(exact, sites - 1):
        if graph.kind[site] == QUIT:
            graph.target_mean[site], graph.target_variance[site] = quit_moments(graph, variables, site, sites - 1, c)
    for site in range(exact, sites - 1):
        target = graph.target_variance[site]
        if graph.kind[site] == QUIT and target > 0.0:
            mean, variance = project_site(graph, variables, site, c)
            precision, shift = 1.0 / target - 1.0 / variance, graph.target_mean[site] / target - mean / variance
            condition(graph, variables, mean, variance, precision, shift)


def quit_moments(graph: FactorGraph, variables: int, site: int, order: int, c: Row) -> tuple[float, float]:
    """Mean and variance of a quitter's d under the quit and the cut by the order; variance 0 where there are none."""
    difference, spread = project_site(graph, variables, order, c)
    mean, variance = project_site(graph, variables, site, c)
    covariance = 0.0
    for variable in range(variables):
        # `cross_covariance` is that of the quit's d; with the order's coefficients it gives the covariance of both
        # differences.
        share, better = graph.fraction_played[variable], graph.team[variable] == graph.order[0]
        covariance += graph.cross_covariance[variable] * (share if better else -share)
    if 1.0 - graph.precision[site] * variance <= LEAST_REMAINDER:
        return 0.0, 0.0
    # First the quit's own message is taken out, then the order's: what is left is the cavity of both.
    difference, spread, mean, variance, covariance = without_message(
        difference, spread, mean, variance, covariance, graph.precision[site], graph.shift[site]
    )
    improper = 1.0 - graph.precision[order] * spread <= LEAST_REMAINDER
    if graph.most_precision[order] == 0.0 or fixes_difference(graph, order, c) or improper:
        return 0.0, 0.0
    mean, variance, difference, spread, covariance = without_message(
        mean, variance, difference, spread, covariance, graph.precision[order], graph.shift[order]
    )
    # The cut by the order itself, in place of its Gaussian.
    drawn = graph.kind[order] == DRAWN
    low, high = (-c[MARGIN], c[MARGIN]) if drawn else (c[MARGIN], math.inf)
    return quit_moments_in_cut(mean, variance, difference, spread, covariance, low, high, c)


def without_message(
    mean: float, variance: float, other: float, spread: float, covariance: float, precision: float, shift: float
) -> tuple[float, float, float, float, float]:
    """Two Gaussian variables before a message about the second: mean, variance, mean, variance, covariance.

    A standard normal and one that is the same variable, before a message of precision 1/2 about 0:

    >>> without_message(0.0, 1.0, 0.0, 1.0, 1.0, precision=0.5, shift=0.0)
    (0.0, 2.0, 0.0, 2.0, 2.0)
    """
    rest = 1.0 - precision * spread
    cavity = (precision * other - shift) / rest
    return (
        mean + covariance * cavity,
        variance + covariance * covariance * precision / rest,
        other + spread * cavity,
        spread / rest,
        covariance / rest,
    )


def message(mean: float, variance: float, slope: float, curvature: float) -> tuple[float, float]:
    """The Gaussian factor, as precision and shift, with which N(mean, variance) gets the moments of an observation.

    `slope` and `curvature` are the derivatives by the mean of the observation's log probability.  Seeing 2 with a
    noise of 3 on N(0, 1) has the slope (2 - 0)/(1 + 3) and the curvature -1/(1 + 3):

    >>> precision, shift = message(0.0, 1.0, slope=0.5, curvature=-0.25)
    >>> 1 / precision, shift / precision
    (3.0, 2.0)
    """
    left = max(1.0 + variance * curvature, LEAST_REMAINDER)
    return -curvature / left, (slope - mean * curvature) / left


def site_derivatives(graph: FactorGraph, site: int, mean: float, variance: float, c: Row) -> tuple[float, float]:
    """First and second derivative, by the mean of d ~ N(mean, variance), of the log probability of what was seen."""
    kind, subject = graph.kind[site], graph.subject[site]
    if kind >= WON:
        deviation = math.sqrt(variance)
        t, margin = mean / deviation, c[MARGIN] / deviation
        v, w = within(t, margin) if kind == DRAWN else above(t, margin)
        return v / deviation, -w / variance
    if kind >= QUIT:
        return quit_derivatives(kind == QUIT, mean, variance, c)
    noise = c[KILL_VARIANCE if kind in (KILLS, NO_KILLS) else DEATH_VARIANCE] / graph.minutes[subject]
    if kind <= DEATHS:
        count = graph.kills[subject] if kind == KILLS else graph.deaths[subject]
        return (count / graph.minutes[subject] - mean) / (variance + noise), -1.0 / (variance + noise)
    deviation = math.sqrt(variance + noise)
    v, w = above(-mean / deviation, 0.0)
    return -v / deviation, -w / (variance + noise)


def performance_derivatives(graph: FactorGraph, variables: int, variable: int) -> tuple[float, float]:
    """First and second derivative, by a performance's mean before the match, of the log evidence of the match."""
    variance = graph.variance[variable]
    change = graph.joint_mean[variable] - graph.mean[variable]
    return change / variance, (graph.covariance[variable * variables + variable] - variance) / (variance * variance)


# A quit and the order of the teams are two observations that are nearly the same in a duel.  A player leaves when d,
# by how much they are ahead of their opponents, falls below m_q, or for other reasons: (12) and (13) of the paper.
# Between two teams the order cuts one difference D.  Taking that cut as a Gaussian while d is judged would be wrong by
# a tenth of β in a duel, where d is D or -D.  So the mean and the variance of d are computed under the cut itself:
# given D, d is Gaussian and a quit has a closed form; over D they are summed by Simpson's rule.

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
    unrelated_rate, related_rate = c[QUIT_UNRELATED], c[QUIT_RELATED]
    if left:
        related_rate *= 1.0 - unrelated_rate
        ratio = (
            # With no other reasons to leave it is φ/Φ, which is 0/0 far out; `hazard` is not.
            hazard(-u) if unrelated_rate == 0.0 else related_rate * pdf(u) / (unrelated_rate + related_rate * cdf(u))
        )
        slope = -ratio / deviation
    else:
        ratio = hazard(u) if related_rate == 1.0 else related_rate * pdf(u) / (1.0 - related_rate * cdf(u))
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
        # Simpson: 1 4 2 4 … 2 4 1. The common factor cancels against `mass`.
        weight = 1.0 if point in (0, INTERVALS) else 2.0 + 2.0 * (point % 2)
        # The density of D at z over that at the nearest point to its mean: far out, densities themselves are 0.
        weight *= math.exp(-0.5 * (z - nearest) * (z + nearest - 2.0 * other) / spread) * quit_probability(m, rest, c)
        # Moments about the mean before: their squares do not cancel.
        change = m + rest * slope - mean
        mass += weight
        first += weight * change
        second += weight * (change * change + rest + rest * rest * curvature)
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
