"""Teams as independent Gaussian performances: probabilities of their order, and inference from an observed order.

A team performs N(mean, variance), the sums over its players.  Of two teams that are neighbours in the ranking, one
beats the other by more than a margin, or they draw within it (Herbrich, Minka & Graepel 2006, sections 2 and 3).  What
the order says of a team are the first two derivatives of its log probability by the team's mean, `slope` and
`curvature`.  A Gaussian part of the performance, with weight a and variance s, needs no more: its mean moves by
a·s·slope and its variance by a²·s²·curvature.

For two teams both are exact, in closed form.  For more the links between neighbours make a chain, and expectation
propagation goes down and up the chain until no link moves (`learn`).  The chances of more than two teams are integrated
numerically (`expect`), because the probabilities that messages give to all orders do not add up to 1.

These are plain functions that numba can compile; `Teams` is of lists or of arrays.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts.truncated_gaussian import above, beyond, cdf, log_cdf, log_within, pdf, quantile, within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "MutableSequence[float] | NDArray[np.float64]"
    Ints: TypeAlias = "MutableSequence[int] | NDArray[np.int64]"
    Ranks: TypeAlias = "Sequence[int] | NDArray[np.int32] | NDArray[np.int64] | NDArray[np.uint32]"

SETTLED = 1e-10
"""Expectation propagation has converged when no v or w moves by more than this part in a sweep."""

MOST_SWEEPS = 10_000

LEAST = 1e-12
"""The least fraction of a variance that a cut leaves: a draw without a margin would leave nothing."""

KNOWN = 1e-18
"""A performance with at most this variance counts as known: a team without players, or all of fraction 0."""

EDGE = 1e-9
"""If two known performances are closer than this, relatively, no team can be ranked between them."""

REACH = 8.0
"""Deviations from a mean beyond which the probability mass is neglected."""

NODES = (0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717)
WEIGHTS = (0.2955242247147529, 0.2692667193099964, 0.2190863625159820, 0.1494513491505806, 0.0666713443086881)
"""Weights of the ten-point Gauss-Legendre rule on -1 to 1, for its five points above 0."""

PIECE = 1.5
"""Deviations, of the team that has the smallest one there, over which that rule is applied."""


class Teams(NamedTuple):
    """The teams of one match, and working arrays; all of shape (teams,) and modified in place.  Unit: of skill."""

    order: Ints
    """The teams from best to worst; filled by `learn` for three teams or more."""
    observed: Ints
    """Flag of each link, numbered by its upper place: 0 if its two teams are not compared; filled like `order`."""
    mean: Floats
    """Mean of each team's performance; `variance` is its variance."""
    variance: Floats
    size: Floats
    """Number of players."""
    wins: Floats
    """Filled by `expect`: the probability that the team is first alone."""
    slope: Floats
    """Filled by `learn`: first derivative of the log probability of the order by `mean`; `curvature` the second."""
    curvature: Floats
    down_precision: Floats
    """The rest is for three teams or more.  By place: the message of the link to the place above, as precision and as
    precision times mean."""
    down_shift: Floats
    up_precision: Floats
    """Message of the link to the place below."""
    up_shift: Floats
    v: Floats
    """`truncated_gaussian`'s v of each link, and w."""
    w: Floats

    @classmethod
    def of(cls, count: int) -> Teams:
        """Working arrays for `count` teams, as lists of zeros."""
        return cls([0] * count, [0] * count, *([0.0] * count for _ in range(12)))

    @classmethod
    def to_predict(cls, count: int) -> Teams:
        """Return `of` with only the arrays that `expect` reads and fills, which takes a third of the time."""
        mean: list[float] = [0.0] * count
        none: list[float] = []
        return cls(none, none, mean, mean.copy(), mean.copy(), mean.copy(), *(none,) * 8)  # type: ignore[arg-type]


def draw_unit(draw_probability: float, beta: float) -> float:
    """The draw margin of one player, in units of skill: β·Φ⁻¹((1 + p)/2) (Herbrich et al. 2006, section 4).

    >>> round(draw_unit(0.1, 25 / 6), 6)
    0.523589
    """
    return beta * quantile((draw_probability + 1.0) / 2.0) if draw_probability else 0.0


def margin_of(size: float, unit: float) -> float:
    """The draw margin ε = √n·`unit` among n players, of all teams that are compared.

    >>> round(margin_of(2.0, draw_unit(0.1, 25 / 6)), 6)
    0.740467
    """
    return unit * math.sqrt(size)


def above_margin(difference: float, margin: float, variance: float) -> float:
    """The probability that N(difference, variance) is above a margin."""
    if variance > 0.0:
        return cdf((difference - margin) / math.sqrt(variance))
    return 0.5 if difference == margin else 1.0 if difference > margin else 0.0


def expect(teams: Teams, count: int, unit: float) -> float:
    """Fill `wins`; returns the probability of a shared first place.  Closed form for two teams, else quadrature."""
    if count == 2:
        margin = margin_of(teams.size[0] + teams.size[1], unit)
        difference, variance = teams.mean[0] - teams.mean[1], teams.variance[0] + teams.variance[1]
        teams.wins[0], teams.wins[1], draw = expect_of_two(difference, variance, margin)
        return draw
    total = 0.0
    for team in range(count):
        teams.wins[team] = chance(teams, team, count, unit)
        total += teams.wins[team]
    # Quadrature may add up to a little more than 1, and without a margin to a little less: then the chances are scaled
    # to it, and nothing is left for a draw.
    if unit > 0.0 and total <= 1.0:
        return 1.0 - total
    for team in range(count):
        teams.wins[team] /= total
    return 0.0


def expect_of_two(difference: float, variance: float, margin: float) -> tuple[float, float, float]:
    """The probabilities that the first team wins, that the second wins, and that they draw."""
    if variance > 0.0:
        deviation = math.sqrt(variance)
        t, edge = difference / deviation, margin / deviation
        first, second = cdf(t - edge), cdf(-t - edge)
    else:
        first, second = above_margin(difference, margin, 0.0), above_margin(-difference, margin, 0.0)
    return first, second, max(0.0, 1.0 - first - second) if margin > 0.0 else 0.0


def chance(teams: Teams, team: int, count: int, unit: float) -> float:
    """The probability that a team beats all others by the margin, integrated piece by piece over its performance.

    Below the first piece some other team is surely not beaten; a piece is short where the chance to beat one is steep.
    """
    mean, deviation = teams.mean[team], math.sqrt(teams.variance[team])
    if teams.variance[team] <= KNOWN:
        return beats_all(teams, team, mean, count, unit)
    z, total = -REACH, 0.0
    for rival in range(count):
        if rival != team:
            edge, width = edge_of(teams, team, rival, unit)
            z = max(z, edge - REACH * width)
    while z < REACH:
        # Gauss-Legendre is exact for smooth pieces: a rival who is known well makes a step of the integrand, and needs
        # short ones.
        piece = PIECE
        for rival in range(count):
            if rival != team:
                edge, width = edge_of(teams, team, rival, unit)
                if z < edge + REACH * width:
                    piece = min(piece, PIECE * width)
        half = 0.5 * min(piece, REACH - z)
        for number in range(len(NODES)):
            for at in (z + half * (1.0 - NODES[number]), z + half * (1.0 + NODES[number])):
                beaten = beats_all(teams, team, mean + at * deviation, count, unit)
                total += half * WEIGHTS[number] * pdf(at) * beaten
        z += 2.0 * half
    return total


def edge_of(teams: Teams, team: int, other: int, unit: float) -> tuple[float, float]:
    """Return the performance that just beats another team on average, and the transition's width, in deviations."""
    deviation = math.sqrt(teams.variance[team])
    margin = margin_of(teams.size[team] + teams.size[other], unit)
    width = max(math.sqrt(teams.variance[other]) / deviation, LEAST)
    return (teams.mean[other] + margin - teams.mean[team]) / deviation, width


def beats_all(teams: Teams, team: int, performance: float, count: int, unit: float) -> float:
    """The probability that a known performance of one team beats every other team by the margin."""
    beaten = 1.0
    for rival in range(count):
        if rival != team and beaten > 0.0:
            margin = margin_of(teams.size[team] + teams.size[rival], unit)
            beaten *= above_margin(performance - teams.mean[rival], margin, teams.variance[rival])
    return beaten


def learn(teams: Teams, ranks: Ranks, first: int, count: int, unit: float) -> int:
    """Fill `slope` and `curvature` from the ranks at `first`; returns the sweeps taken, 1 where none are needed."""
    if count == 2:
        margin = margin_of(teams.size[0] + teams.size[1], unit)
        difference, variance = teams.mean[0] - teams.mean[1], teams.variance[0] + teams.variance[1]
        # A lower rank is the better one: positive if the first team won.
        ahead = ranks[first + 1] - ranks[first]
        wins, loses, _ = expect_of_two(difference, variance, margin)
        teams.slope[0], teams.curvature[0] = learn_of_two(difference, variance, margin, ahead, wins, loses)
        teams.slope[1], teams.curvature[1] = -teams.slope[0], teams.curvature[0]
        return 1
    sort_by_rank(teams, ranks, first, count)
    compare_neighbours(teams, ranks, first, count, unit)
    sweeps, change = 0, 1.0
    while change > SETTLED and sweeps < MOST_SWEEPS:
        change = sweep(teams, ranks, first, count, unit)
        sweeps += 1
    for place in range(count):
        combine_messages(teams, place)
    return sweeps


def log_evidence(teams: Teams, ranks: Ranks, first: int, count: int, unit: float) -> float:
    """Log probability of the ranks at `first`: link after link down the order, each given those above.

    -inf where known performances contradict them.  Exact for two teams.  For more the shape of what is above is taken
    as Gaussian: over all orders of three equals the probabilities add up to 0.9953.
    """
    sort_by_rank(teams, ranks, first, count)
    if compare_neighbours(teams, ranks, first, count, unit):
        return -math.inf
    total = 0.0
    for link in range(count - 1):
        if teams.observed[link] == 0:
            continue
        difference, variance = difference_at(teams, link)
        margin = margin_at(teams, link, unit)
        total += log_mass(difference, variance, margin, drawn_at(teams, ranks, first, link))
        update_link(teams, link, ranks, first, unit)
    return total


def learn_of_two(
    difference: float, variance: float, margin: float, ahead: int, wins: float, loses: float
) -> tuple[float, float]:
    """Slope of the first team, and curvature of both; `ahead` is above 0 if the first won, below if it lost.

    `wins` and `loses` are its chances (`expect_of_two`): the mass that a win leaves is the chance of it.
    """
    if variance <= KNOWN:
        return 0.0, 0.0
    deviation = math.sqrt(variance)
    t, edge = difference / deviation, margin / deviation
    if ahead > 0:
        v, w = beyond(edge - t, wins)
    elif ahead < 0:
        v, w = beyond(edge + t, loses)
        v = -v
    else:
        v, w = within(t, edge)
    return v / deviation, -w / variance


def cut(t: float, margin: float, drawn: bool) -> tuple[float, float]:
    """v and w of a difference that turned out to be above the margin, or within it."""
    if drawn:
        return within(t, margin)
    return above(t, margin)


def log_mass(difference: float, variance: float, margin: float, drawn: bool) -> float:
    """Log probability of what `cut` cuts to."""
    deviation = math.sqrt(variance)
    if drawn:
        return log_within(difference / deviation, margin / deviation)
    return log_cdf((difference - margin) / deviation)


def sort_by_rank(teams: Teams, ranks: Ranks, first: int, count: int) -> None:
    """Sort the teams by rank, equal ones in the order they are given, and clear the messages."""
    for place in range(count):
        free = place
        # Insertion sort: stable, in place, without a call, and a match has few teams.
        while free > 0 and ranks[first + teams.order[free - 1]] > ranks[first + place]:
            teams.order[free] = teams.order[free - 1]
            free -= 1
        teams.order[free] = place
        teams.down_precision[place] = teams.down_shift[place] = 0.0
        teams.up_precision[place] = teams.up_shift[place] = 0.0
        teams.v[place] = teams.w[place] = 0.0
        teams.observed[place] = 1


def compare_neighbours(teams: Teams, ranks: Ranks, first: int, count: int, unit: float) -> bool:
    """Mark the links at which teams are not compared; returns whether known performances contradict the order.

    Between two known performances there is nothing to learn.  Where two of them leave no space for the teams ranked
    between them, neither is compared with those; how those rank among themselves still counts.
    """
    contradiction = False
    outcome, low, high, margins = -1, 0.0, 0.0, 0.0
    for place in range(count):
        if place > 0:
            drawn, margin = drawn_at(teams, ranks, first, place - 1), margin_at(teams, place - 1, unit)
            low, high = (low - margin, high + margin) if drawn else (low + margin, math.inf)
            margins += margin
        team = teams.order[place]
        if teams.variance[team] > KNOWN:
            continue
        if outcome >= 0:
            difference = teams.mean[teams.order[outcome]] - teams.mean[team]
            space = EDGE * (margins + abs(difference)) if place > outcome + 1 else 0.0
            possible = is_possible(difference, low, high, space)
            if place == outcome + 1 or not possible:
                # The first link after the upper known team, and the last one before the lower.
                teams.observed[outcome] = teams.observed[place - 1] = 0
            contradiction = contradiction or not possible
        outcome, low, high, margins = place, 0.0, 0.0, 0.0
    return contradiction


def is_possible(difference: float, low: float, high: float, space: float) -> bool:
    """Whether a difference is at least `space` above `low` and, if `high` is finite, at least `space` below it."""
    if high == math.inf:
        return difference > low + space
    return low + space <= difference <= high - space


def sweep(teams: Teams, ranks: Ranks, first: int, count: int, unit: float) -> float:
    """Update every link down the order and up again; returns how far the farthest moved."""
    change = 0.0
    # Links 0 to n-2 downwards, then n-3 to 0: the last one need not be visited twice.
    for step in range(2 * count - 3):
        change = max(change, update_link(teams, min(step, 2 * count - 4 - step), ranks, first, unit))
    return change


def update_link(teams: Teams, link: int, ranks: Ranks, first: int, unit: float) -> float:
    """Update the two messages of one link; returns how far its v or w moved, in parts of one.

    To a team that is N(n, s) without this link, a cut with slope l and curvature -k of the difference is worth the
    precision k/(1 - s·k) and the precision times mean (l + n·k)/(1 - s·k).  It leaves `LEAST` of the variance before
    the match, not of s: otherwise draws without a margin, between known teams, would make each other ever surer.
    """
    if teams.observed[link] == 0:
        return 0.0
    difference, variance = difference_at(teams, link)
    deviation = math.sqrt(variance)
    v, w = cut(difference / deviation, margin_at(teams, link, unit) / deviation, drawn_at(teams, ranks, first, link))
    slope, k = v / deviation, w / variance
    mean, own = without_below(teams, link)
    # What the message leaves of the team's variance; k/left is its precision.
    left = max(1.0 - own * k, LEAST * teams.variance[teams.order[link]] * k)
    teams.up_precision[link], teams.up_shift[link] = k / left, (slope + mean * k) / left
    mean, own = without_above(teams, link + 1)
    left = max(1.0 - own * k, LEAST * teams.variance[teams.order[link + 1]] * k)
    teams.down_precision[link + 1], teams.down_shift[link + 1] = k / left, (mean * k - slope) / left
    # v has no bound, so large ones are compared relatively; w is from 0 to 1.
    change = max(abs(v - teams.v[link]) / (1.0 + abs(v)), abs(w - teams.w[link]))
    teams.v[link], teams.w[link] = v, w
    return change


def difference_at(teams: Teams, link: int) -> tuple[float, float]:
    """Mean and variance of upper less lower team, without what the link itself says."""
    mean, variance = without_below(teams, link)
    other_mean, other_variance = without_above(teams, link + 1)
    return mean - other_mean, variance + other_variance


def without_below(teams: Teams, place: int) -> tuple[float, float]:
    """Mean and variance of the team at a place, by itself and the link above."""
    team = teams.order[place]
    return combined(teams.mean[team], teams.variance[team], teams.down_precision[place], teams.down_shift[place])


def without_above(teams: Teams, place: int) -> tuple[float, float]:
    """Mean and variance of the team at a place, by itself and the link below."""
    team = teams.order[place]
    return combined(teams.mean[team], teams.variance[team], teams.up_precision[place], teams.up_shift[place])


def combined(mean: float, variance: float, precision: float, shift: float) -> tuple[float, float]:
    """A Gaussian times a message of precision and precision times mean; the variance may be 0."""
    # By variances instead of precisions, so that a team of variance 0 needs no special case.
    through = 1.0 + variance * precision
    return (mean + variance * shift) / through, variance / through


def margin_at(teams: Teams, link: int, unit: float) -> float:
    """The draw margin between the two teams of a link."""
    return margin_of(teams.size[teams.order[link]] + teams.size[teams.order[link + 1]], unit)


def drawn_at(teams: Teams, ranks: Ranks, first: int, link: int) -> bool:
    """Whether the two teams of a link drew: they share their place."""
    return bool(ranks[first + teams.order[link]] == ranks[first + teams.order[link + 1]])


def combine_messages(teams: Teams, place: int) -> None:
    """Slope and curvature of a team from the messages of both its links."""
    team = teams.order[place]
    precision = teams.down_precision[place] + teams.up_precision[place]
    shift = teams.down_shift[place] + teams.up_shift[place]
    through = 1.0 + teams.variance[team] * precision
    teams.slope[team] = (shift - teams.mean[team] * precision) / through
    teams.curvature[team] = -precision / through


def quality(teams: Teams, noise: Sequence[float]) -> float:
    """How near to 1 the chance of a draw of all is, against teams known to be equal: 0 to 1.

    The n-team form of Herbrich et al. 2006, section 4: with team variances s and noise b (the part of s that is not
    uncertainty about skill), √(Πb·Σ1/b / (Πs·Σ1/s)) · exp(-Σ(m - m̄)²/2s), where m̄ is the mean weighted by 1/s.
    """
    weight = sum(1.0 / s for s in teams.variance)
    mean = sum(m / s for m, s in zip(teams.mean, teams.variance, strict=True)) / weight
    distance = sum((m - mean) ** 2 / s for m, s in zip(teams.mean, teams.variance, strict=True))
    factor = math.prod(b / s for b, s in zip(noise, teams.variance, strict=True))
    return math.sqrt(factor * sum(1.0 / b for b in noise) / weight) * math.exp(-0.5 * distance)
