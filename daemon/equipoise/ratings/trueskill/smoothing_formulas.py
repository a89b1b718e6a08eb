"""TrueSkill Through Time's sweeps over a whole history, as plain functions that numba can compile.

A player's skill at each of his matches is a node; two in a row are tied by the drift between them.  A node holds
three messages about that skill: `forward`, what all before says; `backward`, what all after says; `likelihood`, what
the match itself says, by expectation propagation.  All are Gaussians as precision and precision times mean
(Dangauthier, Herbrich, Minka & Graepel 2007, section 3).  A match is inferred again only when it is stale, because a
message to one of its nodes has moved: an appended match costs what it changes, not what was before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts import gaussian_formulas as belief_kernel
from equipoise.ratings.parts.compiling import compiled as compiled_with
from equipoise.ratings.parts.gaussian_formulas import drift
from equipoise.ratings.parts.team_order import LEAST, Teams, learn, log_evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOBODY = -1
"""No such node."""


@dataclass(slots=True)
class Node:
    """A player's skill at one match; in a sweep a record of an array."""

    owner: int
    """The match."""
    earlier: int
    """His node before, or `NOBODY`."""
    later: int
    widening: float
    """Variance that his skill gained since the earlier one."""
    fraction_played: float
    """Of the match."""
    forward: float
    """Precision; each shift is a precision times a mean."""
    forward_shift: float
    backward: float
    backward_shift: float
    likelihood: float
    likelihood_shift: float


class Graph(NamedTuple):
    """The matches of a history, and a node for each participant."""

    matches: NDArray[np.int64]
    teams: NDArray[np.int64]
    ranks: NDArray[np.int32]
    nodes: NDArray[np.void]
    """Messages are modified in place."""
    stale: NDArray[np.bool_]
    """By match: to be inferred.  Modified in place."""


class Cast(NamedTuple):
    """Who plays, and when."""

    members: NDArray[np.int32]
    """By node: a player's number."""
    started_at: NDArray[np.float64]
    """By match; `NEVER` where unknown."""
    records: NDArray[np.void]
    """By player: `GaussianSkill`."""
    last: NDArray[np.int64]
    """By player: his last node, or `NOBODY`."""


class Constants(NamedTuple):
    """The parameters as the formulas read them."""

    noise: float
    """β²."""
    unit: float
    """Draw margin of one player (`teams.margin_of`)."""
    spread: float
    """Half of σ₀: a deviation below σ₀ moves by less than this times the part that its precision moves by."""
    tolerance: float
    """Messages are passed on that move a mean or a deviation by more than this, in units of skill."""


def link(begin: int, graph: Graph, cast: Cast, c: belief_kernel.Constants) -> None:
    """Tie the nodes of the matches from `begin` on to their players' last ones; modifies the cast."""
    members, started_at, records, last = cast
    matches, bounds, _, nodes, _ = graph
    for match in range(begin, len(matches) - 1):
        for place in range(bounds[matches[match]], bounds[matches[match + 1]]):
            number = members[place]
            tie(place, last[number], nodes, drift(records[number], started_at[match], c), c)
            nodes[place].owner = match
            records[number].rounds += 1
            records[number].last_played = max(records[number].last_played, started_at[match])
            last[number] = place


def tie(place: int, earlier: int, nodes: NDArray[np.void], widening: float, c: belief_kernel.Constants) -> None:
    """Make a node the one after an earlier one, or a newcomer's first."""
    p = nodes[place]
    p.earlier, p.later, p.widening = earlier, NOBODY, widening
    p.backward = p.backward_shift = p.likelihood = p.likelihood_shift = 0.0
    precision, shift = 1.0 / c.variance, c.mean / c.variance
    if earlier != NOBODY:
        parent = nodes[earlier]
        parent.later = place
        precision, shift = parent.forward + parent.likelihood, parent.forward_shift + parent.likelihood_shift
    through = 1.0 + widening * precision
    p.forward, p.forward_shift = precision / through, shift / through


def gather(match: int, graph: Graph, room: Teams, c: Constants) -> int:
    """Fill the teams by what is known of their players without the match itself; returns how many teams."""
    _, bounds, _, nodes, _ = graph
    first = graph.matches[match]
    count = int(graph.matches[match + 1] - first)
    for team in range(count):
        mean = variance = 0.0
        begin, end = bounds[first + team], bounds[first + team + 1]
        for place in range(begin, end):
            p = nodes[place]
            own = 1.0 / (p.forward + p.backward)
            mean += p.fraction_played * own * (p.forward_shift + p.backward_shift)
            variance += p.fraction_played * p.fraction_played * (own + c.noise)
        room.mean[team], room.variance[team], room.size[team] = mean, variance, end - begin
    return count


def infer(match: int, graph: Graph, room: Teams, c: Constants) -> float:
    """Renew what a match says of its players, and tell their nodes before and after; returns how far those moved."""
    _, bounds, ranks, nodes, stale = graph
    first = graph.matches[match]
    count = gather(match, graph, room, c)
    learn(room, ranks, first, count, c.unit)
    moved = 0.0
    for team in range(count):
        for place in range(bounds[first + team], bounds[first + team + 1]):
            p = nodes[place]
            conclude(p, room.slope[team], room.curvature[team])
            if p.later != NOBODY:
                moved = max(moved, tell_later(p, nodes[p.later], stale, c))
            if p.earlier != NOBODY:
                moved = max(moved, tell_earlier(p, nodes[p.earlier], stale, c))
    return moved


def conclude(p: Node, slope: float, curvature: float) -> None:
    """Renew the likelihood of a node; slope and curvature are the team's (`teams`)."""
    precision = p.forward + p.backward
    mean, cut = (p.forward_shift + p.backward_shift) / precision, -p.fraction_played * p.fraction_played * curvature
    left = max(1.0 - cut / precision, LEAST)
    p.likelihood, p.likelihood_shift = cut / left, (p.fraction_played * slope + cut * mean) / left


def tell_later(p: Node, heir: Node, stale: NDArray[np.bool_], c: Constants) -> float:
    """Pass a node on to the same player's next one; returns how far that moved, 0 if not by the tolerance."""
    precision, shift = p.forward + p.likelihood, p.forward_shift + p.likelihood_shift
    through = 1.0 + heir.widening * precision
    precision, shift = precision / through, shift / through
    moved = distance(heir, precision - heir.forward, shift - heir.forward_shift, c)
    if moved <= c.tolerance:
        return 0.0
    heir.forward, heir.forward_shift = precision, shift
    stale[heir.owner] = True
    return moved


def tell_earlier(p: Node, parent: Node, stale: NDArray[np.bool_], c: Constants) -> float:
    """Pass a node back to the same player's last one; otherwise as `tell_later`."""
    precision, shift = p.backward + p.likelihood, p.backward_shift + p.likelihood_shift
    through = 1.0 + p.widening * precision
    precision, shift = precision / through, shift / through
    moved = distance(parent, precision - parent.backward, shift - parent.backward_shift, c)
    if moved <= c.tolerance:
        return 0.0
    parent.backward, parent.backward_shift = precision, shift
    stale[parent.owner] = True
    return moved


def distance(p: Node, precision: float, shift: float, c: Constants) -> float:
    """How far so much more precision and shift moves a node's mean, or its deviation if that is farther."""
    total = p.forward + p.backward
    mean = (p.forward_shift + p.backward_shift) / total
    return max(abs(shift - precision * mean), c.spread * abs(precision)) / total


def level(graph: Graph, c: Constants) -> None:
    """Move everybody by as much as all newcomers together are off their prior.

    Where sides are even, matches do not say how good all players are, only their prior does: at the end their first
    skills have its mean, all in all.  Sweeps come by that more slowly than by anything else, by a hundred times.
    """
    nodes, stale = graph.nodes, graph.stale
    total, newcomers = 0.0, 0
    for place in range(len(nodes)):
        p = nodes[place]
        if p.earlier == NOBODY:
            shift = p.forward_shift + p.backward_shift + p.likelihood_shift
            total += p.forward_shift / p.forward - shift / (p.forward + p.backward + p.likelihood)
            newcomers += 1
    away = total / max(newcomers, 1)
    if abs(away) <= c.tolerance:
        return
    for place in range(len(nodes)):
        p = nodes[place]
        p.backward_shift += p.backward * away
        p.likelihood_shift += p.likelihood * away
        if p.earlier == NOBODY:
            stale[p.owner] = True
        else:
            p.forward_shift += p.forward * away


def settle(graph: Graph, room: Teams, most: int, even: bool, c: Constants) -> tuple[int, float]:
    """Sweep to and fro over the stale matches until there are none; returns sweeps and the last one's movement.

    No more than `most` sweeps; the movement is 0 if it has converged.  `even`: no side of any match is larger.
    """
    count, moved = len(graph.stale), 0.0
    for sweeps in range(most):
        moved, inferred = 0.0, False
        for step in range(count):
            match = step if sweeps % 2 == 0 else count - 1 - step
            if graph.stale[match]:
                graph.stale[match], inferred = False, True
                moved = max(moved, infer(match, graph, room, c))
        if not inferred:
            return sweeps, 0.0
        if even and sweeps % 2 == 1:
            level(graph, c)
    return most, moved


def evidence(graph: Graph, room: Teams, c: Constants) -> float:
    """Sum over matches of the log probability of their ranks, each given all the others."""
    total = 0.0
    for match in range(len(graph.stale)):
        count = gather(match, graph, room, c)
        total += log_evidence(room, graph.ranks, graph.matches[match], count, c.unit)
    return total


Link: TypeAlias = Callable[[int, Graph, Cast, belief_kernel.Constants], None]
Settle: TypeAlias = Callable[[Graph, Teams, int, bool, Constants], tuple[int, float]]
Evidence: TypeAlias = Callable[[Graph, Teams, Constants], float]


class Kernels(NamedTuple):
    """What works on a graph."""

    link: Link
    settle: Settle
    evidence: Evidence


INLINE = (conclude, tell_later, tell_earlier, distance)


def build(*, compiled: bool) -> Kernels:
    """The functions as they stand here, or compiled with their callees."""
    if not compiled:
        return Kernels(link, settle, evidence)
    return Kernels(
        link=compiled_with(link, inline=(drift, tie)),
        settle=compiled_with(settle, inline=INLINE),
        evidence=compiled_with(evidence, inline=INLINE),
    )
