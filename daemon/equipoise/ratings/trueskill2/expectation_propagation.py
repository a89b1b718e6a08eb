"""What a match says of its players' performances: TrueSkill 2's factors on one joint Gaussian.

Before the match the performances of all seats are independent Gaussians.  Every fact is a site on one linear form d
of them: a count, a quit, which of two teams next to each other in the order did better.  A count above zero is
Gaussian and is absorbed once, exactly.  The others are absorbed as the Gaussian that moves d's mean and variance to
those the fact gives it (expectation propagation); with one of them that is exact, with more it is repeated until
none moves.  Minka, Cleven & Zaykov 2018 (MSR-TR-2018-8), equations (5) to (13).

Plain functions that numba compiles as they stand (`compiled_kernel`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.ratings.parts.truncated_gaussian import above, within
from equipoise.ratings.trueskill2.factor_graph import (
    DEATH_OPPONENT,
    DEATH_OWN,
    DEATH_VARIANCE,
    DEATHS,
    DRAWN,
    KILL_OPPONENT,
    KILL_OWN,
    KILL_VARIANCE,
    KILLS,
    MARGIN,
    NO_DEATHS,
    NO_KILLS,
    QUIT,
    RIGID,
    WON,
    Scene,
    begin,
    enter_counts,
    enter_rest,
    enter_teams,
)
from equipoise.ratings.trueskill2.quits import quit_derivatives, quit_within

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.factor_graph import Ints, Row

UNMOVED = 1e-9
"""Sites have converged when none moves d, in a round, by more than this part of the deviation it would have."""
MOST_ROUNDS = 500
DAMPED_FROM, DAMPING = 10, 0.5
"""From this round on, sites go only so far towards where they should be."""


def infer(scene: Scene, seats: int, ranks: Ints, first: int, teams: int, completed: bool, c: Row) -> tuple[int, bool]:
    """Fill `posterior` and `covariance` from the ranks at `first` and all else that is known.

    `completed`: that somebody stayed is a fact too, as in the normalised model of (13).  Returns the number of sites,
    and whether they had converged after `MOST_ROUNDS`.
    """
    begin(scene, seats, ranks, first, teams)
    exact = enter_counts(scene, seats, c)
    sites = enter_teams(scene, seats, enter_rest(scene, seats, exact, completed, c), ranks, first, teams, c)
    for site in range(exact):
        mean, variance = aim(scene, seats, site, c)
        absorb(scene, seats, mean, variance, scene.precision[site], scene.shift[site])
    converged = settle(scene, seats, exact, sites, c)
    if teams == 2:
        correct_quits(scene, seats, exact, sites, c)
    return sites, converged


def settle(scene: Scene, seats: int, exact: int, sites: int, c: Row) -> bool:
    """Renew all sites from `exact` on until none moves; one alone is right at once."""
    for turn in range(MOST_ROUNDS):
        moved, step = 0.0, 1.0 if turn < DAMPED_FROM else DAMPING
        for site in range(exact, sites):
            moved = max(moved, renew(scene, seats, site, step, c))
        if moved < UNMOVED or sites - exact == 1:
            return True
    return False


def aim(scene: Scene, seats: int, site: int, c: Row) -> tuple[float, float]:
    """Fill `form` and `pull` with the site's d; returns its mean and variance."""
    kind, who = scene.kind[site], scene.who[site]
    if kind >= WON:
        better, worse = scene.order[who], scene.order[who + 1]
        for seat in range(seats):
            team = scene.team[seat]
            scene.form[seat] = (
                scene.fraction_played[seat]
                if team == better
                else -scene.fraction_played[seat]
                if team == worse
                else 0.0
            )
    else:
        own, opponent = weights(kind, c)
        face(scene, seats, who, opponent)
        scene.form[who] = own
    return project(scene, seats)


def weights(kind: int, c: Row) -> tuple[float, float]:
    """Of a player's own performance and of his opponents' in d."""
    if kind in (KILLS, NO_KILLS):
        return c[KILL_OWN], c[KILL_OPPONENT]
    if kind in (DEATHS, NO_DEATHS):
        return c[DEATH_OWN], c[DEATH_OPPONENT]
    return 1.0, -1.0


def face(scene: Scene, seats: int, who: int, weight: float) -> None:
    """(10) and (11): `form` is a seat's opponents, each with his share over the presence that opposes him."""
    for seat in range(seats):
        team = scene.team[seat]
        opposes = team != scene.team[who]
        scene.form[seat] = weight * scene.fraction_played[seat] * scene.facing[team] if opposes else 0.0


def project(scene: Scene, seats: int) -> tuple[float, float]:
    """Fill `pull` from `form`; mean and variance of d."""
    for seat in range(seats):
        scene.pull[seat] = 0.0
    for seat in range(seats):
        weight = scene.form[seat]
        if weight != 0.0:
            row = seat * seats
            for other in range(seats):
                scene.pull[other] += weight * scene.covariance[row + other]
    mean = variance = 0.0
    for seat in range(seats):
        mean += scene.form[seat] * scene.posterior[seat]
        variance += scene.form[seat] * scene.pull[seat]
    return mean, variance


def absorb(scene: Scene, seats: int, mean: float, variance: float, precision: float, shift: float) -> None:
    """Take into the joint what is said of d, that `aim` was just called for, beyond what it knows already."""
    left = 1.0 + precision * variance
    gain, loss = (shift - precision * mean) / left, precision / left
    for seat in range(seats):
        scene.posterior[seat] += gain * scene.pull[seat]
        row, part = seat * seats, loss * scene.pull[seat]
        for other in range(seats):
            scene.covariance[row + other] -= part * scene.pull[other]


def pinned_at(scene: Scene, site: int, c: Row) -> bool:
    """Whether it is a draw without a margin: that d is 0."""
    return scene.kind[site] == DRAWN and c[MARGIN] <= 0.0


def renew(scene: Scene, seats: int, site: int, step: float, c: Row) -> float:
    """Move a site towards what it should say given all others; how far d moved, in deviations it has without it."""
    mean, variance = aim(scene, seats, site, c)
    precision, shift = scene.precision[site], scene.shift[site]
    rest = 1.0 - precision * variance
    ordered = scene.kind[site] >= WON
    if variance <= 0.0 or (ordered and scene.most[site] == 0.0):
        return 0.0
    if precision > 0.0 and pinned_at(scene, site, c):  # it says the same whatever others do
        return 0.0
    if rest <= RIGID:  # the others say less than nothing of d: wait until they do
        return 1.0
    other_mean, other_variance = (mean - shift * variance) / rest, variance / rest
    slope, curvature = derivatives(scene, site, other_mean, other_variance, c)
    more, further = message(other_mean, other_variance, slope, curvature)
    if more < 0.0:  # of a quit, which may leave d less sure: then only its mean moves, or others have nothing to cut
        more, further = 0.0, slope
    if ordered and more > scene.most[site]:
        more, further = scene.most[site], further * scene.most[site] / more
    more, further = step * (more - precision), step * (further - shift)
    left = 1.0 + more * variance
    if left <= RIGID:
        return 1.0
    absorb(scene, seats, mean, variance, more, further)
    scene.precision[site], scene.shift[site] = precision + more, shift + further
    return max(abs(further - more * mean) * math.sqrt(variance * rest), abs(more) * variance * rest) / left


def correct_quits(scene: Scene, seats: int, exact: int, sites: int, c: Row) -> None:
    """Give d of every quit between two teams the mean and variance it has under the cut itself (`quits`)."""
    for site in range(exact, sites - 1):
        if scene.kind[site] == QUIT:
            scene.wanted[site], scene.width[site] = quit_as_cut(scene, seats, site, sites - 1, c)
    for site in range(exact, sites - 1):
        if scene.kind[site] == QUIT and scene.width[site] > 0.0:
            mean, variance = aim(scene, seats, site, c)
            width = scene.width[site]
            absorb(
                scene, seats, mean, variance, 1.0 / width - 1.0 / variance, scene.wanted[site] / width - mean / variance
            )


def quit_as_cut(scene: Scene, seats: int, site: int, order: int, c: Row) -> tuple[float, float]:
    """Mean and variance of a quitter's d; variance 0 where there is no telling."""
    other, spread = aim(scene, seats, order, c)
    mean, variance = aim(scene, seats, site, c)
    shared = 0.0
    for seat in range(seats):
        shared += scene.pull[seat] * (
            scene.fraction_played[seat] if scene.team[seat] == scene.order[0] else -scene.fraction_played[seat]
        )
    if 1.0 - scene.precision[site] * variance <= RIGID:
        return 0.0, 0.0
    other, spread, mean, variance, shared = without(
        other, spread, mean, variance, shared, scene.precision[site], scene.shift[site]
    )
    if scene.most[order] == 0.0 or pinned_at(scene, order, c) or 1.0 - scene.precision[order] * spread <= RIGID:
        return 0.0, 0.0
    mean, variance, other, spread, shared = without(
        mean, variance, other, spread, shared, scene.precision[order], scene.shift[order]
    )
    drawn = scene.kind[order] == DRAWN
    low, high = (-c[MARGIN], c[MARGIN]) if drawn else (c[MARGIN], math.inf)
    return quit_within(mean, variance, other, spread, shared, low, high, c)


def without(
    mean: float, variance: float, other: float, spread: float, shared: float, precision: float, shift: float
) -> tuple[float, float, float, float, float]:
    """Two Gaussian variables before a message about the other one: mean and variance of each, and the covariance."""
    rest = 1.0 - precision * spread
    moved = (precision * other - shift) / rest
    return (
        mean + shared * moved,
        variance + shared * shared * precision / rest,
        other + spread * moved,
        spread / rest,
        shared / rest,
    )


def message(mean: float, variance: float, slope: float, curvature: float) -> tuple[float, float]:
    """What is said of a Gaussian by derivatives of a log probability by its mean: precision, precision times mean."""
    left = max(1.0 + variance * curvature, RIGID)
    return -curvature / left, (slope - mean * curvature) / left


def derivatives(scene: Scene, site: int, mean: float, variance: float, c: Row) -> tuple[float, float]:
    """First and second derivative, by the mean of d, of the log probability of a site's fact."""
    kind, who = scene.kind[site], scene.who[site]
    if kind >= WON:
        deviation = math.sqrt(variance)
        t, margin = mean / deviation, c[MARGIN] / deviation
        v, w = within(t, margin) if kind == DRAWN else above(t, margin)
        return v / deviation, -w / variance
    if kind >= QUIT:
        return quit_derivatives(kind == QUIT, mean, variance, c)
    noise = c[KILL_VARIANCE if kind in (KILLS, NO_KILLS) else DEATH_VARIANCE] / scene.minutes[who]
    if kind <= DEATHS:
        count = scene.kills[who] if kind == KILLS else scene.deaths[who]
        return (count / scene.minutes[who] - mean) / (variance + noise), -1.0 / (variance + noise)
    deviation = math.sqrt(variance + noise)
    v, w = above(-mean / deviation, 0.0)
    return -v / deviation, -w / (variance + noise)


def told(scene: Scene, seats: int, seat: int) -> tuple[float, float]:
    """First and second derivative of the log probability of all that is known by the mean of a performance."""
    variance = scene.variance[seat]
    moved = scene.posterior[seat] - scene.mean[seat]
    return moved / variance, (scene.covariance[seat * seats + seat] - variance) / (variance * variance)
