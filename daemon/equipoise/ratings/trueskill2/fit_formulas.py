"""TrueSkill 2 over a whole history: sweeps of EP forward and backward through all matches.

A sweep forward takes each match in the cavity of all others as they are known so far, and passes on what is known of
each part to its next match; without likelihoods from an earlier sweep it is online rating.  A sweep backward does the
same from the last match on, and adds up the gradient of the log evidence.  Repeated until no skill moves, this is the
paper's "batch" inference (Minka, Cleven & Zaykov 2018, section 3).

At a fixed point of EP the evidence does not change with the messages to first order.  So its derivative by a parameter
is the sum, over all factors that contain it, of the derivative of the factor's normaliser with the messages held fixed
(section 4).  Each function of the gradient adds what one kind of factor says to `g`, a row of derivatives with the
columns of a row of parameters; most need only the first and second derivative of a log normaliser by a mean, since by a
variance it is half of (second + first²).

Here (13) is normalised: that a player stayed to the end is an observation.

Plain functions, also compiled by numba; `own` and `base` are the messages of the players' own parts and of
their bases, `skill` (shape (p,), β) is each participant's mean skill at the match by all messages.

Messages along a player's own part in a mode, or along their base skill, through all matches they took part in.

Each participation is a node of a chain: the part drifts from one to the next, and each match has a likelihood for it.
So three Gaussian messages meet at a participation: forward, from earlier matches (mean and variance); backward, from
later ones (precision and shift, because after the last match its precision is 0); and the likelihood of the match (also
precision and shift).  The cavity of a match is forward times backward; the posterior is all three.  This is Kalman
filtering and smoothing, with likelihoods that EP makes Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parameters import NEVER
from equipoise.ratings.parts.match_arrays import MatchArrays
from equipoise.ratings.parts.team_order import combined
from equipoise.ratings.parts.truncated_gaussian import cdf, edges
from equipoise.ratings.trueskill2.expectation_propagation import (
    fill_opponent_weights,
    infer,
    message,
    performance_derivatives,
    project_site,
    site_derivatives,
)
from equipoise.ratings.trueskill2.factor_graph import KILLS, NO_KILLS, QUIT, WON, FactorGraph
from equipoise.ratings.trueskill2.formulas import (
    TrueSkill2Arrays,
    add_observations,
    add_performance,
    bots_of,
    experience_gain,
    minutes_between,
    squad_offset_of,
)
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
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Floats
    from equipoise.ratings.trueskill2.params import Row

    Table: TypeAlias = NDArray[np.float64]
    from equipoise.ratings.parts.match_arrays import Ints


class Messages(NamedTuple):
    """The messages along n chains (own parts, or bases) with p participations in all; modified in place."""

    before: Ints
    """Shape (p,): number of earlier participations in the chain, filled by `receive_forward`."""
    gap: Floats
    """Shape (p,): minutes since the previous participation, filled by `receive_forward`."""
    mean: Floats
    """Shape (p,): mean of the forward message; `variance` is its variance."""
    variance: Floats
    later_precision: Floats
    """Shape (p,): precision of the backward message; `later_shift` is its shift."""
    later_shift: Floats
    precision: Floats
    """Shape (p,): precision of the match's likelihood; `shift` is its shift."""
    shift: Floats
    start_mean: Floats
    """Shape (n,), as are all that follow: mean the chain was seeded with, or NaN; `start_variance` likewise."""
    start_variance: Floats
    forward_mean: Floats
    """Mean of the forward message after the latest participation; `forward_variance` is its variance."""
    forward_variance: Floats
    backward_precision: Floats
    """Precision of the backward message before that participation; `backward_shift` is its shift."""
    backward_shift: Floats
    seen: Ints
    """Number of participations so far in a forward sweep."""
    last: Floats
    """Time of the latest participation, seconds since the epoch; `NEVER` if none."""


def reset_messages(messages: Messages) -> None:
    """Reset the state of all chains for a forward sweep."""
    for chain in range(len(messages.seen)):
        messages.seen[chain], messages.last[chain] = 0, NEVER


def receive_forward(
    place: int, chain: int, now: float, mean: float, variance: float, drift: float, messages: Messages
) -> None:
    """The forward message reaches a participation; N(mean, variance) is the prior of a first one without a seed.

    `drift` is the variance gained each minute.
    """
    # Kept for the backward sweep, which meets the participations without their times.
    messages.before[place], messages.gap[place] = messages.seen[chain], minutes_between(messages.last[chain], now)
    messages.seen[chain] += 1
    if now > messages.last[chain]:
        messages.last[chain] = now
    if messages.before[place] > 0:
        messages.mean[place] = messages.forward_mean[chain]
        messages.variance[place] = messages.forward_variance[chain] + drift * messages.gap[place]
    else:
        seed, spread = messages.start_mean[chain], messages.start_variance[chain]
        messages.mean[place] = mean if math.isnan(seed) else seed
        messages.variance[place] = variance if math.isnan(spread) else spread


def send_forward(place: int, chain: int, gain: float, noise: float, messages: Messages) -> None:
    """The forward message leaves a participation, with the gain and the variance of having played."""
    mean, variance = combined(
        messages.mean[place], messages.variance[place], messages.precision[place], messages.shift[place]
    )
    messages.forward_mean[chain], messages.forward_variance[chain] = mean + gain, variance + noise


def receive_backward(place: int, chain: int, gain: float, noise: float, messages: Messages) -> None:
    """The backward message reaches a participation; the last one of a chain gets none."""
    # Its last participation: what an earlier sweep left in the chain is over.
    if messages.before[place] == messages.seen[chain] - 1:
        messages.backward_precision[chain] = messages.backward_shift[chain] = 0.0
    precision, shift = through_noise(messages.backward_precision[chain], messages.backward_shift[chain], gain, noise)
    messages.later_precision[place], messages.later_shift[place] = precision, shift


def send_backward(place: int, chain: int, drift: float, messages: Messages) -> None:
    """The backward message leaves a participation, with the variance of the time before it."""
    precision = messages.later_precision[place] + messages.precision[place]
    shift = messages.later_shift[place] + messages.shift[place]
    back = through_noise(precision, shift, 0.0, drift * messages.gap[place])
    messages.backward_precision[chain], messages.backward_shift[chain] = back


def through_noise(precision: float, shift: float, gain: float, noise: float) -> tuple[float, float]:
    """A message about x + gain + N(0, noise) as a message about x.

    With x + gain + noise known as N(3, 1), a gain of 2 and a noise of variance 1:

    >>> precision, shift = through_noise(1.0, 3.0, gain=2.0, noise=1.0)
    >>> shift / precision, 1 / precision
    (1.0, 2.0)
    """
    left = 1.0 + precision * noise
    return precision / left, (shift - precision * gain) / left


def cavity(place: int, messages: Messages) -> tuple[float, float]:
    """Mean and variance of a part from all messages except the match's likelihood."""
    return combined(
        messages.mean[place], messages.variance[place], messages.later_precision[place], messages.later_shift[place]
    )


def update_likelihood(place: int, slope: float, curvature: float, messages: Messages) -> None:
    """Set a part's likelihood from derivatives of the match's log evidence by the part's mean in the cavity.

    If the match would increase the variance, only the mean moves: a negative precision could make a cavity improper.
    """
    mean, variance = cavity(place, messages)
    precision, shift = message(mean, variance, slope, curvature)
    if precision < 0.0:
        precision, shift = 0.0, slope
    messages.precision[place], messages.shift[place] = precision, shift


def evidence_derivatives(place: int, messages: Messages) -> tuple[float, float]:
    """Slopes of the log evidence of this match and all later ones by the forward message's mean, and variance."""
    precision = messages.later_precision[place] + messages.precision[place]
    shift = messages.later_shift[place] + messages.shift[place]
    left = 1.0 + precision * messages.variance[place]
    slope = (shift - precision * messages.mean[place]) / left
    return slope, 0.5 * (slope * slope - precision / left)


def add_site_gradient(variables: int, site: int, graph: FactorGraph, g: Floats, c: Row) -> None:
    """Add the slopes by the parameters of one observation: margin, weights and variances of counts, quits."""
    mean, variance = project_site(graph, variables, site, c)
    precision, shift = graph.precision[site], graph.shift[site]
    rest = 1.0 - precision * variance
    kind, subject = graph.kind[site], graph.subject[site]
    if rest <= 0.0 or variance <= 0.0 or (kind >= WON and graph.most_precision[site] == 0.0):
        return
    # Distance of the joint's mean from the cavity's, per covariance with d.
    cavity = (precision * mean - shift) / rest
    slope, curvature = site_derivatives(graph, site, mean + cavity * variance, variance / rest, c)
    by_variance = 0.5 * (curvature + slope * slope)
    if kind >= WON:
        g[MARGIN] += margin_slope(kind, mean + cavity * variance, variance / rest, slope, c)
    elif kind >= QUIT:
        g[QUIT_MARGIN] -= slope
        g[QUIT_VARIANCE] += by_variance
        add_quit_gradient(kind == QUIT, mean + cavity * variance, variance / rest, g, c)
    else:
        is_kills = kind in (KILLS, NO_KILLS)
        own = KILL_OWN if is_kills else DEATH_OWN
        g[KILL_VARIANCE if is_kills else DEATH_VARIANCE] += by_variance / graph.minutes[subject]
        # By a weight wᵢ, in the cavity: the mean of d grows by the performance's mean mᵢ + cavity·covᵢ, its variance by
        # 2·covᵢ/rest.
        part = slope * cavity + 2.0 * by_variance / rest
        g[own] += slope * graph.joint_mean[subject] + part * graph.cross_covariance[subject]
        fill_opponent_weights(graph, variables, subject, 1.0)
        for variable in range(variables):
            by_weight = slope * graph.joint_mean[variable] + part * graph.cross_covariance[variable]
            g[own + 1] += graph.coefficient[variable] * by_weight


def margin_slope(kind: int, mean: float, variance: float, slope: float, c: Row) -> float:
    """Return the slope by ε: of a win, minus that by the mean; of a draw, the edges' density over the mass between."""
    if kind == WON:
        return -slope
    deviation = math.sqrt(variance)
    if c[MARGIN] <= 0.0:
        return 0.0
    near, far, mass = edges(mean / deviation, c[MARGIN] / deviation)
    return (near + far) / (mass * deviation)


def add_quit_gradient(left: bool, mean: float, variance: float, g: Floats, c: Row) -> None:
    """Add the slopes by p_u and p_r; d is N(mean, variance) in the cavity."""
    unrelated_rate, related_rate = c[QUIT_UNRELATED], c[QUIT_RELATED]
    under = cdf((c[QUIT_MARGIN] - mean) / math.sqrt(c[QUIT_VARIANCE] + variance))
    if left:
        quits = max(unrelated_rate + (1.0 - unrelated_rate) * related_rate * under, 1e-300)
        g[QUIT_UNRELATED] += (1.0 - related_rate * under) / quits
        g[QUIT_RELATED] += (1.0 - unrelated_rate) * under / quits
    else:
        g[QUIT_UNRELATED] -= 1.0 / (1.0 - unrelated_rate)
        g[QUIT_RELATED] -= under / max(1.0 - related_rate * under, 1e-300)


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
    """Add the slopes by squad offsets, β², w_d and the bots' skill: by each performance's mean and variance."""
    variable = 0
    for team in range(matches.matches[match], matches.matches[match + 1]):
        for place in range(matches.teams[team], matches.teams[team + 1]):
            slope, curvature = performance_derivatives(graph, variables, variable)
            mean, variance = cavity(place, base)
            g[SQUAD + min(facts.squad[place], SQUADS) - 1] += slope
            g[BETA2] += 0.5 * (curvature + slope * slope)
            # The performance's mean has w times the base's mean, its variance w² times the base's variance.
            g[BASE_WEIGHT] += slope * mean + (curvature + slope * slope) * c[BASE_WEIGHT] * variance
            variable += 1
        for _ in range(bots_of(team, matches, facts)):
            slope, curvature = performance_derivatives(graph, variables, variable)
            g[BOT] += slope
            g[BETA2] += 0.5 * (curvature + slope * slope)
            variable += 1


def add_own_gradient(place: int, chain: int, own: Messages, g: Floats) -> None:
    """Add the slopes by the prior, in a first match and as far as it was not seeded; else by experience, γ² and τ²."""
    slope, by_variance = evidence_derivatives(place, own)
    if own.before[place] == 0:
        g[INITIAL] += slope if math.isnan(own.start_mean[chain]) else 0.0
        g[VARIANCE] += by_variance if math.isnan(own.start_variance[chain]) else 0.0
    else:
        g[EXPERIENCE + min(own.before[place] - 1, MATCHES)] += slope
        g[GAMMA2] += by_variance
        g[TAU2] += by_variance * own.gap[place]


def add_base_gradient(place: int, base: Messages, g: Floats) -> None:
    """Add the slopes by the prior, in a first match; else by γ² and τ² of the base."""
    _, by_variance = evidence_derivatives(place, base)
    if base.before[place] == 0:
        g[BASE_VARIANCE] += by_variance
    else:
        g[BASE_GAMMA2] += by_variance
        g[BASE_TAU2] += by_variance * base.gap[place]


def fill_graph_by_cavities(
    match: int, matches: MatchArrays, facts: TrueSkill2Arrays, own: Messages, base: Messages, graph: FactorGraph, c: Row
) -> int:
    """Enter each team's participants in their cavities, then its bots; returns the number of performances."""
    variables = 0
    for team in range(matches.matches[match], matches.matches[match + 1]):
        number = team - matches.matches[match]
        for place in range(matches.teams[team], matches.teams[team + 1]):
            mean, variance = cavity(place, own)
            base_mean, base_variance = cavity(place, base)
            weight = c[BASE_WEIGHT]
            mean += weight * base_mean + squad_offset_of(facts.squad[place], c)
            add_performance(variables, number, mean, variance + weight * weight * base_variance + c[BETA2], graph)
            add_observations(variables, match, place, matches, facts, graph)
            variables += 1
        for _ in range(bots_of(team, matches, facts)):
            add_performance(variables, number, c[BOT], c[BETA2], graph)
            variables += 1
    return variables


def update_likelihoods(
    match: int,
    variables: int,
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    own: Messages,
    base: Messages,
    skill: Floats,
    graph: FactorGraph,
    c: Row,
) -> float:
    """Update the likelihoods of all participants of a match; returns the largest movement of a skill, β."""
    change, variable = 0.0, 0
    weight = c[BASE_WEIGHT]
    for team in range(matches.matches[match], matches.matches[match + 1]):
        for place in range(matches.teams[team], matches.teams[team + 1]):
            slope, curvature = performance_derivatives(graph, variables, variable)
            # The skill without this match's noise, squad offset included: only its movement is read.
            mean = graph.mean[variable] + (graph.variance[variable] - c[BETA2]) * slope
            change = max(change, abs(mean - skill[place]))
            skill[place] = mean
            update_likelihood(place, slope, curvature, own)
            # By the chain rule: the performance's mean has w times the base's.
            update_likelihood(place, weight * slope, weight * weight * curvature, base)
            variable += 1
        variable += bots_of(team, matches, facts)
    return change


def infer_match(
    match: int,
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    own: Messages,
    base: Messages,
    skill: Floats,
    graph: FactorGraph,
    c: Row,
) -> tuple[int, int, float]:
    """Infer one match in its cavity; returns its numbers of variables and sites, and the largest movement, β."""
    first, end = matches.matches[match], matches.matches[match + 1]
    variables = fill_graph_by_cavities(match, matches, facts, own, base, graph, c)
    sites, _ = infer(graph, variables, matches.ranks, first, end - first, True, c)
    return variables, sites, update_likelihoods(match, variables, matches, facts, own, base, skill, graph, c)


def sweep_forward(
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    own: Messages,
    base: Messages,
    skill: Floats,
    graph: FactorGraph,
    table: Table,
) -> float:
    """Sweep from the first match to the last; returns the largest movement of a skill, β."""
    reset_messages(own)
    reset_messages(base)
    farthest = 0.0
    for match in range(len(facts.row)):
        c, now = table[facts.row[match]], matches.started_at[match]
        first, end = matches.teams[matches.matches[match]], matches.teams[matches.matches[match + 1]]
        for place in range(first, end):
            receive_forward(place, facts.chain[place], now, c[INITIAL], c[VARIANCE], c[TAU2], own)
            receive_forward(place, matches.members[place], now, 0.0, c[BASE_VARIANCE], c[BASE_TAU2], base)
        _, _, change = infer_match(match, matches, facts, own, base, skill, graph, c)
        farthest = max(farthest, change)
        for place in range(first, end):
            send_forward(place, facts.chain[place], experience_gain(own.before[place], c), c[GAMMA2], own)
            send_forward(place, matches.members[place], 0.0, c[BASE_GAMMA2], base)
    return farthest


def sweep_backward(
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    own: Messages,
    base: Messages,
    skill: Floats,
    graph: FactorGraph,
    table: Table,
    gradients: Table,
) -> float:
    """Sweep from the last match to the first; adds to `gradients`, and returns the largest movement of a skill, β."""
    farthest = 0.0
    for match in range(len(facts.row) - 1, -1, -1):
        c, g = table[facts.row[match]], gradients[facts.row[match]]
        first, end = matches.teams[matches.matches[match]], matches.teams[matches.matches[match + 1]]
        for place in range(first, end):
            receive_backward(place, facts.chain[place], experience_gain(own.before[place], c), c[GAMMA2], own)
            receive_backward(place, matches.members[place], 0.0, c[BASE_GAMMA2], base)
        variables, sites, change = infer_match(match, matches, facts, own, base, skill, graph, c)
        farthest = max(farthest, change)
        for site in range(sites):
            add_site_gradient(variables, site, graph, g, c)
        add_performance_gradients(match, variables, matches, facts, base, graph, g, c)
        for place in range(first, end):
            add_own_gradient(place, facts.chain[place], own, g)
            add_base_gradient(place, base, g)
            send_backward(place, facts.chain[place], c[TAU2], own)
            send_backward(place, matches.members[place], c[BASE_TAU2], base)
    return farthest


def sweep_history(
    matches: MatchArrays,
    facts: TrueSkill2Arrays,
    own: Messages,
    base: Messages,
    skill: Floats,
    graph: FactorGraph,
    table: Table,
    gradients: Table,
    back: bool,
) -> float:
    """Sweep forward and, if `back`, backward too; returns the largest movement of a skill, β."""
    change = sweep_forward(matches, facts, own, base, skill, graph, table)
    if back:
        change = max(change, sweep_backward(matches, facts, own, base, skill, graph, table, gradients))
    return change


Sweep: TypeAlias = Callable[
    [MatchArrays, TrueSkill2Arrays, Messages, Messages, "Floats", FactorGraph, "Table", "Table", bool], float
]
