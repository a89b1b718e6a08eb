"""The gradient of the log evidence of a history by TrueSkill 2's parameters.

At a fixed point of EP the evidence does not change with the messages to first order.  So its derivative by a parameter
is the sum, over all factors that contain it, of the derivative of the factor's normaliser with the messages held fixed
(Minka, Cleven & Zaykov 2018, section 4).  Each function adds what one kind of factor says to `g`, a row of derivatives
with the columns of a row of parameters; most need only the first and second derivative of a log normaliser by a mean,
since by a variance it is half of (second + first²).

Plain functions, also compiled by numba.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.ratings.parts.truncated_gaussian import cdf, edges
from equipoise.ratings.trueskill2.expectation_propagation import (
    fill_opponent_weights,
    performance_derivatives,
    project_site,
    site_derivatives,
)
from equipoise.ratings.trueskill2.factor_graph import KILLS, NO_KILLS, QUIT, WON, FactorGraph
from equipoise.ratings.trueskill2.formulas import bots_of
from equipoise.ratings.trueskill2.messages import cavity, evidence_derivatives
from equipoise.ratings.trueskill2.params import (
    BASE_GAMMA2,
    BASE_TAU2,
    BASE_VARIANCE,
    BASE_WEIGHT,
    BETA2,
    BOT,
    DEATH_OWN,
    DEATH_VARIANCE,
    EXPERIENCE,
    GAMMA2,
    INITIAL,
    KILL_OWN,
    KILL_VARIANCE,
    MARGIN,
    MATCHES,
    QUIT_MARGIN,
    QUIT_RELATED,
    QUIT_UNRELATED,
    QUIT_VARIANCE,
    SQUAD,
    SQUADS,
    TAU2,
    VARIANCE,
)

if TYPE_CHECKING:
    from equipoise.ratings.parts.match_arrays import Floats, MatchArrays
    from equipoise.ratings.trueskill2.formulas import TrueSkill2Arrays
    from equipoise.ratings.trueskill2.messages import Messages
    from equipoise.ratings.trueskill2.params import Row


def add_site_gradient(variables: int, site: int, graph: FactorGraph, g: Floats, c: Row) -> None:
    """By the parameters of one observation: margin, weights and variances of counts, quits."""
    mean, variance = project_site(graph, variables, site, c)
    precision, shift = graph.precision[site], graph.shift[site]
    rest = 1.0 - precision * variance
    kind, subject = graph.kind[site], graph.subject[site]
    if rest <= 0.0 or variance <= 0.0 or (kind >= WON and graph.most_precision[site] == 0.0):
        return
    # Distance of the joint's mean from the cavity's, per covariance with d.
    moved = (precision * mean - shift) / rest
    slope, curvature = site_derivatives(graph, site, mean + moved * variance, variance / rest, c)
    by_variance = 0.5 * (curvature + slope * slope)
    if kind >= WON:
        g[MARGIN] += margin_slope(kind, mean + moved * variance, variance / rest, slope, c)
    elif kind >= QUIT:
        g[QUIT_MARGIN] -= slope
        g[QUIT_VARIANCE] += by_variance
        add_quit_gradient(kind == QUIT, mean + moved * variance, variance / rest, g, c)
    else:
        is_kills = kind in (KILLS, NO_KILLS)
        own = KILL_OWN if is_kills else DEATH_OWN
        g[KILL_VARIANCE if is_kills else DEATH_VARIANCE] += by_variance / graph.minutes[subject]
        part = slope * moved + 2.0 * by_variance / rest
        g[own] += slope * graph.joint_mean[subject] + part * graph.cross_covariance[subject]
        fill_opponent_weights(graph, variables, subject, 1.0)
        for variable in range(variables):
            by_weight = slope * graph.joint_mean[variable] + part * graph.cross_covariance[variable]
            g[own + 1] += graph.coefficient[variable] * by_weight


def margin_slope(kind: int, mean: float, variance: float, slope: float, c: Row) -> float:
    """By ε: of a win, minus the slope by the mean; of a draw, the density at both edges over the mass in between."""
    if kind == WON:
        return -slope
    deviation = math.sqrt(variance)
    if c[MARGIN] <= 0.0:
        return 0.0
    near, far, mass = edges(mean / deviation, c[MARGIN] / deviation)
    return (near + far) / (mass * deviation)


def add_quit_gradient(left: bool, mean: float, variance: float, g: Floats, c: Row) -> None:
    """By p_u and p_r; d is N(mean, variance) in the cavity."""
    unrelated, related = c[QUIT_UNRELATED], c[QUIT_RELATED]
    under = cdf((c[QUIT_MARGIN] - mean) / math.sqrt(c[QUIT_VARIANCE] + variance))
    if left:
        quits = max(unrelated + (1.0 - unrelated) * related * under, 1e-300)
        g[QUIT_UNRELATED] += (1.0 - related * under) / quits
        g[QUIT_RELATED] += (1.0 - unrelated) * under / quits
    else:
        g[QUIT_UNRELATED] -= 1.0 / (1.0 - unrelated)
        g[QUIT_RELATED] -= under / max(1.0 - related * under, 1e-300)


def add_performance_gradients(
    match: int,
    variables: int,
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    base: Messages,
    graph: FactorGraph,
    g: Floats,
    c: Row,
) -> None:
    """By squad offsets, β², w_d and the bots' skill: from the mean and the variance of each performance."""
    variable = 0
    for team in range(matches.matches[match], matches.matches[match + 1]):
        for place in range(matches.teams[team], matches.teams[team + 1]):
            slope, curvature = performance_derivatives(graph, variables, variable)
            mean, variance = cavity(place, base)
            g[SQUAD + min(facts.squad[place], SQUADS) - 1] += slope
            g[BETA2] += 0.5 * (curvature + slope * slope)
            g[BASE_WEIGHT] += slope * mean + (curvature + slope * slope) * c[BASE_WEIGHT] * variance
            variable += 1
        for _ in range(bots_of(team, matches, facts)):
            slope, curvature = performance_derivatives(graph, variables, variable)
            g[BOT] += slope
            g[BETA2] += 0.5 * (curvature + slope * slope)
            variable += 1


def add_own_gradient(place: int, chain: int, own: Messages, g: Floats) -> None:
    """By the prior, in a first match and as far as it was not seeded; else by experience, γ² and τ²."""
    slope, by_variance = evidence_derivatives(place, own)
    if own.before[place] == 0:
        g[INITIAL] += slope if math.isnan(own.start_mean[chain]) else 0.0
        g[VARIANCE] += by_variance if math.isnan(own.start_variance[chain]) else 0.0
    else:
        g[EXPERIENCE + min(own.before[place] - 1, MATCHES)] += slope
        g[GAMMA2] += by_variance
        g[TAU2] += by_variance * own.gap[place]


def add_base_gradient(place: int, base: Messages, g: Floats) -> None:
    """By the prior, in a first match; else by γ² and τ² of the base."""
    _, by_variance = evidence_derivatives(place, base)
    if base.before[place] == 0:
        g[BASE_VARIANCE] += by_variance
    else:
        g[BASE_GAMMA2] += by_variance
        g[BASE_TAU2] += by_variance * base.gap[place]
