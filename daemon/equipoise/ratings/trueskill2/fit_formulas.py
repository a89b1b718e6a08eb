"""TrueSkill 2 over a whole history: sweeps forward and backward, and the gradient of its parameters.

Each participation has, for his own part in the mode and for the base, three messages: from what came before, from
what comes after, and from the match.  A sweep renews the match's from the other two (expectation propagation; Minka,
Cleven & Zaykov 2018, section 3).  At a fixed point the derivative of the evidence by a parameter is the sum of the
derivatives of each factor's normaliser, its messages held fixed; that is what Rprop follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts import compiling as compiled_kernel
from equipoise.ratings.parts.team_order import combined
from equipoise.ratings.parts.truncated_gaussian import cdf, edges
from equipoise.ratings.trueskill2.expectation_propagation import aim, derivatives, face, infer, message, told
from equipoise.ratings.trueskill2.factor_graph import (
    BETA2,
    DEATH_OWN,
    DEATH_VARIANCE,
    GAMMA2,
    INITIAL,
    KILL_OWN,
    KILL_VARIANCE,
    KILLS,
    MARGIN,
    NO_KILLS,
    QUIT,
    TAU2,
    VARIANCE,
    WON,
    Scene,
)
from equipoise.ratings.trueskill2.formulas import Rounds, bots_at, elapsed, experience_of, take_facts, take_seat
from equipoise.ratings.trueskill2.params import (
    BASE_GAMMA2,
    BASE_TAU2,
    BASE_VARIANCE,
    BASE_WEIGHT,
    BOT,
    EXPERIENCE,
    MATCHES,
    SQUAD,
    SQUADS,
)
from equipoise.ratings.trueskill2.quits import QUIT_MARGIN, QUIT_RELATED, QUIT_UNRELATED, QUIT_VARIANCE
from equipoise.ratings.validation import NEVER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.trueskill2.factor_graph import Floats, Ints, Row

    Table: TypeAlias = NDArray[np.float64]


class Trail(NamedTuple):
    """One kind of part, own or base, through its participations; modified in place."""

    before: Ints
    """Shape (p,): participations before, filled by `arrive`."""
    gap: Floats
    """Shape (p,): minutes since the last one, likewise."""
    mean: Floats
    """Shape (p,): as it comes to the match from before, as is `variance`."""
    variance: Floats
    later_precision: Floats
    """Shape (p,): what comes after says of it, as is `later_shift`."""
    later_shift: Floats
    precision: Floats
    """Shape (p,): what the match says of it, as is `shift`."""
    shift: Floats
    start_mean: Floats
    """By chain or person, as are all that follow: what it was seeded with, else NaN; so is `start_variance`."""
    start_variance: Floats
    ahead_mean: Floats
    """As it goes on to what comes next, as is `ahead_variance`."""
    ahead_variance: Floats
    back_precision: Floats
    """What is said by all that comes after, as is `back_shift`."""
    back_shift: Floats
    seen: Ints
    """Participations so far, of a sweep forward."""
    last: Floats
    """When the last one was."""


def begin_trail(trail: Trail) -> None:
    """Before a sweep forward."""
    for who in range(len(trail.seen)):
        trail.seen[who], trail.last[who] = 0, NEVER


def arrive(place: int, who: int, now: float, mean: float, variance: float, drift: float, trail: Trail) -> None:
    """From before to the match; mean and variance are the prior of a first one that was not seeded."""
    trail.before[place], trail.gap[place] = trail.seen[who], elapsed(trail.last[who], now)
    trail.seen[who] += 1
    if now > trail.last[who]:
        trail.last[who] = now
    if trail.before[place] > 0:
        trail.mean[place] = trail.ahead_mean[who]
        trail.variance[place] = trail.ahead_variance[who] + drift * trail.gap[place]
    else:
        begun, spread = trail.start_mean[who], trail.start_variance[who]
        trail.mean[place] = mean if math.isnan(begun) else begun
        trail.variance[place] = variance if math.isnan(spread) else spread


def go_on(place: int, who: int, gain: float, drift: float, trail: Trail) -> None:
    """From the match to what comes next, with what playing does to it."""
    mean, variance = combined(trail.mean[place], trail.variance[place], trail.precision[place], trail.shift[place])
    trail.ahead_mean[who], trail.ahead_variance[who] = mean + gain, variance + drift


def look_back(place: int, who: int, gain: float, drift: float, trail: Trail) -> None:
    """From what comes after to the match; after the last one nothing does."""
    if trail.before[place] == trail.seen[who] - 1:
        trail.back_precision[who] = trail.back_shift[who] = 0.0
    precision, shift = widened(trail.back_precision[who], trail.back_shift[who], gain, drift)
    trail.later_precision[place], trail.later_shift[place] = precision, shift


def go_back(place: int, who: int, drift: float, trail: Trail) -> None:
    """From the match, and all after it, to what came before."""
    precision = trail.later_precision[place] + trail.precision[place]
    shift = trail.later_shift[place] + trail.shift[place]
    back = widened(precision, shift, 0.0, drift * trail.gap[place])
    trail.back_precision[who], trail.back_shift[who] = back


def widened(precision: float, shift: float, gain: float, drift: float) -> tuple[float, float]:
    """What is said of x + gain + N(0, drift), as said of x."""
    left = 1.0 + precision * drift
    return precision / left, (shift - precision * gain) / left


def alone(place: int, trail: Trail) -> tuple[float, float]:
    """Mean and variance of a part by all but the match itself."""
    return combined(trail.mean[place], trail.variance[place], trail.later_precision[place], trail.later_shift[place])


def sit_down(match: int, rounds: Rounds, own: Trail, base: Trail, scene: Scene, c: Row) -> int:
    """Everybody to the scene, as he is by all but this match; returns how many there are."""
    seats = 0
    for team in range(rounds.matches[match], rounds.matches[match + 1]):
        number = team - rounds.matches[match]
        for place in range(rounds.teams[team], rounds.teams[team + 1]):
            mean, variance = alone(place, own)
            base_mean, base_variance = alone(place, base)
            weight = c[BASE_WEIGHT]
            mean += weight * base_mean + c[SQUAD + min(rounds.squad[place], SQUADS) - 1]
            take_seat(seats, number, mean, variance + weight * weight * base_variance + c[BETA2], scene)
            take_facts(seats, match, place, rounds, scene)
            seats += 1
        for _ in range(bots_at(team, rounds)):
            take_seat(seats, number, c[BOT], c[BETA2], scene)
            seats += 1
    return seats


def hear(place: int, slope: float, curvature: float, trail: Trail) -> None:
    """What the match says of a part; of one it would make less sure, only where its mean goes."""
    mean, variance = alone(place, trail)
    precision, shift = message(mean, variance, slope, curvature)
    if precision < 0.0:
        precision, shift = 0.0, slope
    trail.precision[place], trail.shift[place] = precision, shift


def hear_match(
    match: int, seats: int, rounds: Rounds, own: Trail, base: Trail, skill: Floats, scene: Scene, c: Row
) -> float:
    """Renew what the match says of everybody; how far the farthest skill moved since it was last heard."""
    moved, seat = 0.0, 0
    weight = c[BASE_WEIGHT]
    for team in range(rounds.matches[match], rounds.matches[match + 1]):
        for place in range(rounds.teams[team], rounds.teams[team + 1]):
            slope, curvature = told(scene, seats, seat)
            mean = scene.mean[seat] + (scene.variance[seat] - c[BETA2]) * slope
            moved = max(moved, abs(mean - skill[place]))
            skill[place] = mean
            hear(place, slope, curvature, own)
            hear(place, weight * slope, weight * weight * curvature, base)
            seat += 1
        seat += bots_at(team, rounds)
    return moved


def infer_match(
    match: int, rounds: Rounds, own: Trail, base: Trail, skill: Floats, scene: Scene, c: Row
) -> tuple[int, int, float]:
    """One match between what came before and what comes after; seats, sites and how far a skill moved."""
    first, end = rounds.matches[match], rounds.matches[match + 1]
    seats = sit_down(match, rounds, own, base, scene, c)
    sites, _ = infer(scene, seats, rounds.ranks, first, end - first, True, c)
    return seats, sites, hear_match(match, seats, rounds, own, base, skill, scene, c)


def forward(rounds: Rounds, own: Trail, base: Trail, skill: Floats, scene: Scene, table: Table) -> float:
    """From the first match to the last; how far the farthest skill moved, β."""
    begin_trail(own)
    begin_trail(base)
    farthest = 0.0
    for match in range(len(rounds.row)):
        c, now = table[rounds.row[match]], rounds.started_at[match]
        first, end = rounds.teams[rounds.matches[match]], rounds.teams[rounds.matches[match + 1]]
        for place in range(first, end):
            arrive(place, rounds.chain[place], now, c[INITIAL], c[VARIANCE], c[TAU2], own)
            arrive(place, rounds.person[place], now, 0.0, c[BASE_VARIANCE], c[BASE_TAU2], base)
        _, _, moved = infer_match(match, rounds, own, base, skill, scene, c)
        farthest = max(farthest, moved)
        for place in range(first, end):
            go_on(place, rounds.chain[place], experience_of(own.before[place], c), c[GAMMA2], own)
            go_on(place, rounds.person[place], 0.0, c[BASE_GAMMA2], base)
    return farthest


def backward(
    rounds: Rounds, own: Trail, base: Trail, skill: Floats, scene: Scene, table: Table, gradient: Table
) -> float:
    """From the last match to the first; adds to `gradient`, and returns how far the farthest skill moved."""
    farthest = 0.0
    for match in range(len(rounds.row) - 1, -1, -1):
        c, g = table[rounds.row[match]], gradient[rounds.row[match]]
        first, end = rounds.teams[rounds.matches[match]], rounds.teams[rounds.matches[match + 1]]
        for place in range(first, end):
            look_back(place, rounds.chain[place], experience_of(own.before[place], c), c[GAMMA2], own)
            look_back(place, rounds.person[place], 0.0, c[BASE_GAMMA2], base)
        seats, sites, moved = infer_match(match, rounds, own, base, skill, scene, c)
        farthest = max(farthest, moved)
        for site in range(sites):
            add_site(seats, site, scene, g, c)
        add_seats(match, seats, rounds, base, scene, g, c)
        for place in range(first, end):
            add_own(place, rounds.chain[place], own, g)
            add_base(place, base, g)
            go_back(place, rounds.chain[place], c[TAU2], own)
            go_back(place, rounds.person[place], c[BASE_TAU2], base)
    return farthest


def add_site(seats: int, site: int, scene: Scene, g: Floats, c: Row) -> None:
    """Derivatives of one site's normaliser, by d's distribution without it."""
    mean, variance = aim(scene, seats, site, c)
    precision, shift = scene.precision[site], scene.shift[site]
    rest = 1.0 - precision * variance
    kind, who = scene.kind[site], scene.who[site]
    if rest <= 0.0 or variance <= 0.0 or (kind >= WON and scene.most[site] == 0.0):
        return
    moved = (precision * mean - shift) / rest  # of the joint's mean, per covariance with d
    slope, curvature = derivatives(scene, site, mean + moved * variance, variance / rest, c)
    spread = 0.5 * (curvature + slope * slope)  # the derivative by d's variance
    if kind >= WON:
        g[MARGIN] += margin_slope(kind, mean + moved * variance, variance / rest, slope, c)
    elif kind >= QUIT:
        g[QUIT_MARGIN] -= slope
        g[QUIT_VARIANCE] += spread
        add_quit(kind == QUIT, mean + moved * variance, variance / rest, g, c)
    else:
        kills = kind in (KILLS, NO_KILLS)
        own = KILL_OWN if kills else DEATH_OWN
        g[KILL_VARIANCE if kills else DEATH_VARIANCE] += spread / scene.minutes[who]
        part = slope * moved + 2.0 * spread / rest
        g[own] += slope * scene.posterior[who] + part * scene.pull[who]
        face(scene, seats, who, 1.0)
        for seat in range(seats):
            g[own + 1] += scene.form[seat] * (slope * scene.posterior[seat] + part * scene.pull[seat])


def margin_slope(kind: int, mean: float, variance: float, slope: float, c: Row) -> float:
    """By ε: of a win -d/dm; of a draw the density at both edges over the mass between."""
    if kind == WON:
        return -slope
    deviation = math.sqrt(variance)
    if c[MARGIN] <= 0.0:
        return 0.0
    near, far, mass = edges(mean / deviation, c[MARGIN] / deviation)
    return (near + far) / (mass * deviation)


def add_quit(left: bool, mean: float, variance: float, g: Floats, c: Row) -> None:
    """By p_u and p_r."""
    unrelated, related = c[QUIT_UNRELATED], c[QUIT_RELATED]
    under = cdf((c[QUIT_MARGIN] - mean) / math.sqrt(c[QUIT_VARIANCE] + variance))
    if left:
        quits = max(unrelated + (1.0 - unrelated) * related * under, 1e-300)
        g[QUIT_UNRELATED] += (1.0 - related * under) / quits
        g[QUIT_RELATED] += (1.0 - unrelated) * under / quits
    else:
        g[QUIT_UNRELATED] -= 1.0 / (1.0 - unrelated)
        g[QUIT_RELATED] -= under / max(1.0 - related * under, 1e-300)


def add_seats(match: int, seats: int, rounds: Rounds, base: Trail, scene: Scene, g: Floats, c: Row) -> None:
    """Squad offsets, β², w_d and the bots' skill: by each performance's mean and variance."""
    seat = 0
    for team in range(rounds.matches[match], rounds.matches[match + 1]):
        for place in range(rounds.teams[team], rounds.teams[team + 1]):
            slope, curvature = told(scene, seats, seat)
            mean, variance = alone(place, base)
            g[SQUAD + min(rounds.squad[place], SQUADS) - 1] += slope
            g[BETA2] += 0.5 * (curvature + slope * slope)
            g[BASE_WEIGHT] += slope * mean + (curvature + slope * slope) * c[BASE_WEIGHT] * variance
            seat += 1
        for _ in range(bots_at(team, rounds)):
            slope, curvature = told(scene, seats, seat)
            g[BOT] += slope
            g[BETA2] += 0.5 * (curvature + slope * slope)
            seat += 1


def said(place: int, trail: Trail) -> tuple[float, float]:
    """By the mean and by the variance that a part comes to a match with, of all that the match and later ones say."""
    precision = trail.later_precision[place] + trail.precision[place]
    shift = trail.later_shift[place] + trail.shift[place]
    left = 1.0 + precision * trail.variance[place]
    slope = (shift - precision * trail.mean[place]) / left
    return slope, 0.5 * (slope * slope - precision / left)


def add_own(place: int, chain: int, trail: Trail, g: Floats) -> None:
    """The prior of a first match, as far as it was not seeded; else experience, γ² and τ²."""
    slope, spread = said(place, trail)
    if trail.before[place] == 0:
        g[INITIAL] += slope if math.isnan(trail.start_mean[chain]) else 0.0
        g[VARIANCE] += spread if math.isnan(trail.start_variance[chain]) else 0.0
    else:
        g[EXPERIENCE + min(trail.before[place] - 1, MATCHES)] += slope
        g[GAMMA2] += spread
        g[TAU2] += spread * trail.gap[place]


def add_base(place: int, trail: Trail, g: Floats) -> None:
    """The prior of a first match; else γ² and τ²."""
    _, spread = said(place, trail)
    if trail.before[place] == 0:
        g[BASE_VARIANCE] += spread
    else:
        g[BASE_GAMMA2] += spread
        g[BASE_TAU2] += spread * trail.gap[place]


def sweep_history(
    rounds: Rounds, own: Trail, base: Trail, skill: Floats, scene: Scene, table: Table, gradient: Table, back: bool
) -> float:
    """Forward and, if asked, back again; how far the farthest skill moved."""
    moved = forward(rounds, own, base, skill, scene, table)
    if back:
        moved = max(moved, backward(rounds, own, base, skill, scene, table, gradient))
    return moved


Sweep: TypeAlias = Callable[[Rounds, Trail, Trail, "Floats", Scene, "Table", "Table", bool], float]


def build(*, compiled: bool) -> Sweep:
    """`sweep_history` as it stands here, or compiled."""
    return compiled_kernel.compiled(sweep_history) if compiled else sweep_history
