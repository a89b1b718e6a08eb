"""TrueSkill Through Time over a whole history: every skill at every match, given all matches before and after it.

A player's skill at each of their matches is a node.  Two nodes in a row are tied by the drift between the matches.  A
node holds three messages about its skill: `forward`, what all earlier matches say; `backward`, what all later ones say;
`likelihood`, what the match itself says, by expectation propagation.  All are Gaussians as precision and as precision
times mean, so that messages multiply by addition (Dangauthier, Herbrich, Minka & Graepel 2007, section 3).

Sweeps go forward and back over the matches until no message moves; the first one forward is the online system.  A match
is inferred again only while it is stale, that is after a message to one of its nodes has moved.  So an appended match
costs only the recomputation of what it affects.

These are plain functions that numba can compile.  `nodes` and `records` are record arrays with the fields of `Node` and
`GaussianSkill`, modified in place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts.compiling import compiled as compiled_with
from equipoise.ratings.parts.team_order import LEAST, Teams, learn, log_evidence
from equipoise.ratings.trueskill.formulas import GaussianConstants, drift

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_NODE = -1


@dataclass(slots=True)
class Node:
    """A player's skill at one match."""

    owner: int
    """Number of the match."""
    earlier: int
    """The player's previous node, or `NO_NODE`."""
    later: int
    """The player's next node, or `NO_NODE`."""
    widening: float
    """Variance that the skill gained since the earlier node."""
    fraction_played: float
    """Fraction of the match that the player played."""
    forward: float
    """A precision, as are `backward` and `likelihood`; each shift is a precision times a mean."""
    forward_shift: float
    backward: float
    backward_shift: float
    likelihood: float
    likelihood_shift: float


class Graph(NamedTuple):
    """m matches of t teams, and a node for each of p participants."""

    matches: NDArray[np.int64]
    """Shape (m + 1,): where each match's teams begin."""
    teams: NDArray[np.int64]
    """Shape (t + 1,): where each team's nodes begin."""
    ranks: NDArray[np.int32]
    """Shape (t,): `Match.ranks`."""
    nodes: NDArray[np.void]
    """Shape (p,): a `Node` per participant; messages are modified in place."""
    stale: NDArray[np.bool_]
    """Shape (m,): whether the match must be inferred again; modified in place."""


class Appearances(NamedTuple):
    """The players of p nodes and the times of m matches, with the state of n players."""

    members: NDArray[np.int32]
    """Shape (p,): the player's number."""
    started_at: NDArray[np.float64]
    """Shape (m,): seconds since the epoch, NaN where unknown."""
    records: NDArray[np.void]
    """Shape (n,): rounds and last time played; modified in place."""
    last: NDArray[np.int64]
    """Shape (n,): the player's last node, or `NO_NODE`; modified in place."""


class SmoothingConstants(NamedTuple):
    """The parameters as the sweeps read them."""

    noise: float
    """β²: variance of one performance about the skill."""
    unit: float
    """Draw margin of one player (`team_order.margin_of`)."""
    spread: float
    """σ₀/2: bounds how far a deviation moves, which is this times the relative change of its precision at most."""
    tolerance: float
    """Messages that move a mean or a deviation by no more than this, in units of skill, are not passed on."""


def link_nodes(begin: int, graph: Graph, appearances: Appearances, c: GaussianConstants) -> None:
    """Link the nodes of the matches from `begin` on to their players' previous nodes."""
    members, started_at, records, last = appearances
    matches, teams, _, nodes, _ = graph
    for match in range(begin, len(matches) - 1):
        for place in range(teams[matches[match]], teams[matches[match + 1]]):
            number = members[place]
            p = records[number]
            # Before the record moves on: the drift is by the time since the last match.
            start_node(place, last[number], nodes, drift(p, started_at[match], c), c)
            nodes[place].owner = match
            p.rounds += 1
            if started_at[match] > p.last_played:
                p.last_played = started_at[match]
            last[number] = place


def start_node(place: int, earlier: int, nodes: NDArray[np.void], widening: float, c: GaussianConstants) -> None:
    """Initialise a node as the successor of an earlier one or as a newcomer's first, without a likelihood yet."""
    node = nodes[place]
    node.earlier, node.later, node.widening = earlier, NO_NODE, widening
    node.backward = node.backward_shift = node.likelihood = node.likelihood_shift = 0.0
    # Not widened by a first match's drift alone: `widening` is added below, as for everyone.
    precision, shift = 1.0 / c.variance, c.mean / c.variance
    if earlier != NO_NODE:
        before = nodes[earlier]
        before.later = place
        precision, shift = before.forward + before.likelihood, before.forward_shift + before.likelihood_shift
    through = 1.0 + widening * precision
    node.forward, node.forward_shift = precision / through, shift / through


def sum_teams(match: int, graph: Graph, sides: Teams, c: SmoothingConstants) -> int:
    """Fill the teams from their players' cavities, without this match's likelihood; returns the number of teams."""
    _, teams, _, nodes, _ = graph
    first = graph.matches[match]
    count = int(graph.matches[match + 1] - first)
    for team in range(count):
        mean = variance = 0.0
        begin, end = teams[first + team], teams[first + team + 1]
        for place in range(begin, end):
            node = nodes[place]
            # The cavity: what is known without this match's own likelihood.
            own = 1.0 / (node.forward + node.backward)
            mean += node.fraction_played * own * (node.forward_shift + node.backward_shift)
            variance += node.fraction_played * node.fraction_played * (own + c.noise)
        sides.mean[team], sides.variance[team], sides.size[team] = mean, variance, end - begin
    return count


def infer_match(match: int, graph: Graph, sides: Teams, c: SmoothingConstants) -> float:
    """Update what a match says of its players, and the messages to their nodes before and after.

    Returns how far the farthest of those messages moved.
    """
    _, teams, ranks, nodes, stale = graph
    first = graph.matches[match]
    count = sum_teams(match, graph, sides, c)
    learn(sides, ranks, first, count, c.unit)
    change = 0.0
    for team in range(count):
        for place in range(teams[first + team], teams[first + team + 1]):
            node = nodes[place]
            update_likelihood(node, sides.slope[team], sides.curvature[team])
            if node.later != NO_NODE:
                change = max(change, send_forward(node, nodes[node.later], stale, c))
            if node.earlier != NO_NODE:
                change = max(change, send_backward(node, nodes[node.earlier], stale, c))
    return change


def update_likelihood(node: Node, slope: float, curvature: float) -> None:
    """Set a node's likelihood from its team's slope and curvature (`team_order`)."""
    precision, fraction = node.forward + node.backward, node.fraction_played
    mean, cut = (node.forward_shift + node.backward_shift) / precision, -fraction * fraction * curvature
    # The likelihood is what turns the cavity into the posterior; `cut` is a precision in units of the team's curvature.
    left = max(1.0 - cut / precision, LEAST)
    node.likelihood, node.likelihood_shift = cut / left, (fraction * slope + cut * mean) / left


def send_forward(node: Node, later: Node, stale: NDArray[np.bool_], c: SmoothingConstants) -> float:
    """Send the forward message to a player's next node; returns how far it moved it, 0 if within the tolerance."""
    precision, shift = node.forward + node.likelihood, node.forward_shift + node.likelihood_shift
    through = 1.0 + later.widening * precision
    precision, shift = precision / through, shift / through
    change = movement(later, precision - later.forward, shift - later.forward_shift, c)
    if change <= c.tolerance:
        return 0.0
    later.forward, later.forward_shift = precision, shift
    stale[later.owner] = True
    return change


def send_backward(node: Node, earlier: Node, stale: NDArray[np.bool_], c: SmoothingConstants) -> float:
    """Send the backward message to a player's previous node; returns as `send_forward` does."""
    precision, shift = node.backward + node.likelihood, node.backward_shift + node.likelihood_shift
    through = 1.0 + node.widening * precision
    precision, shift = precision / through, shift / through
    change = movement(earlier, precision - earlier.backward, shift - earlier.backward_shift, c)
    if change <= c.tolerance:
        return 0.0
    earlier.backward, earlier.backward_shift = precision, shift
    stale[earlier.owner] = True
    return change


def movement(node: Node, precision: float, shift: float, c: SmoothingConstants) -> float:
    """How far a change of precision and shift moves a node's mean or its deviation, whichever is more."""
    total = node.forward + node.backward
    mean = (node.forward_shift + node.backward_shift) / total
    return max(abs(shift - precision * mean), c.spread * abs(precision)) / total


def shift_level(graph: Graph, c: SmoothingConstants) -> None:
    """Shift all skills by the distance of the players' first skills, on average, from the prior's mean.

    If sides are even, matches do not determine the common level of all players; only the prior does.  At the fixed
    point the average of the first skills is the prior's mean.  Sweeps alone approach it a hundred times more slowly
    than the differences.
    """
    nodes, stale = graph.nodes, graph.stale
    total, newcomers = 0.0, 0
    for place in range(len(nodes)):
        node = nodes[place]
        if node.earlier == NO_NODE:
            shift = node.forward_shift + node.backward_shift + node.likelihood_shift
            total += node.forward_shift / node.forward - shift / (node.forward + node.backward + node.likelihood)
            newcomers += 1
    away = total / max(newcomers, 1)
    if abs(away) <= c.tolerance:
        return
    for place in range(len(nodes)):
        node = nodes[place]
        # A shift is precision times mean: with the mean moved, each message keeps its precision.
        node.backward_shift += node.backward * away
        node.likelihood_shift += node.likelihood * away
        if node.earlier == NO_NODE:
            stale[node.owner] = True
        else:
            node.forward_shift += node.forward * away


def run_sweeps(graph: Graph, sides: Teams, most: int, even: bool, c: SmoothingConstants) -> tuple[int, float]:
    """Sweep forward and back over the stale matches until there are none; returns sweeps and the last one's movement.

    At most `most` sweeps; the movement is 0 on convergence.  `even`: no side of any match is larger, so that
    `shift_level` applies.
    """
    count, change = len(graph.stale), 0.0
    for sweeps in range(most):
        change, work_done = 0.0, False
        for step in range(count):
            # Sweeps in turn run down and up, so that messages travel the whole history in one of them.
            match = step if sweeps % 2 == 0 else count - 1 - step
            if graph.stale[match]:
                graph.stale[match], work_done = False, True
                change = max(change, infer_match(match, graph, sides, c))
        if not work_done:
            return sweeps, 0.0
        # After a backward sweep, which brings the whole history's word to the first skills.
        if even and sweeps % 2 == 1:
            shift_level(graph, c)
    return most, change


def sum_evidence(graph: Graph, sides: Teams, c: SmoothingConstants) -> float:
    """Sum over matches of the log probability of their ranks, each given all the others, in nats."""
    total = 0.0
    for match in range(len(graph.stale)):
        count = sum_teams(match, graph, sides, c)
        total += log_evidence(sides, graph.ranks, graph.matches[match], count, c.unit)
    return total


Link: TypeAlias = Callable[[int, Graph, Appearances, GaussianConstants], None]
Sweeps: TypeAlias = Callable[[Graph, Teams, int, bool, SmoothingConstants], tuple[int, float]]
Evidence: TypeAlias = Callable[[Graph, Teams, SmoothingConstants], float]


class Kernels(NamedTuple):
    """The functions that a `Smoother` runs on a graph, plain or compiled."""

    link: Link
    sweeps: Sweeps
    evidence: Evidence


def build(*, compiled: bool) -> Kernels:
    """The functions of this module, or compiled with their callees."""
    if not compiled:
        return Kernels(link_nodes, run_sweeps, sum_evidence)
    return Kernels(
        link=compiled_with(link_nodes, _nrt=False),
        sweeps=compiled_with(run_sweeps, _nrt=False),
        evidence=compiled_with(sum_evidence, _nrt=False),
    )
