"""Sides that are even, and known to be: players who all play, placed by mean and variance of the difference; numpy.

Skills are known with errors that depend on each other. So of sides whose known difference is small those are better
whose true one is, too: the cost is `MEAN_WEIGHT` times the square of the mean difference, and its variance. That is a
quadratic problem. It is solved by swaps from many starts: the answer is good and not proven (docs/solver.md has the
loss that was measured).

Who plays is decided before, by the exact solver and what is known alone: a newcomer's variance benches no player.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from equipoise.balancing.chances import MEAN_WEIGHT
from equipoise.balancing.descent import Descent, Form, Leaving, Numbers, Rows
from equipoise.balancing.starts import Draw, Placing, distinct
from equipoise.ratings.system import Covariance
from equipoise.solver import Budget, Pin

WORK = 1 << 16
"""Pairs of units, over all starts: their number falls with the square of the number of units."""
FEWEST, MOST = 16, 64
"""Starts."""
HASTY = 8
"""Starts for each of many sides, and where much is known already."""
KICKED = 2
"""How often the best sides are disturbed and improved again; once where there are as many starts as there may be."""
QUANTILES = np.array([NormalDist().inv_cdf((n + 0.5) / 100) for n in range(100)])
STEPS = 16 * np.linspace(0.0, 1.0, 81) ** 2
"""Leads for which unevenness is computed, in log-odds."""

Sides = tuple[int, ...]
"""The side of each player: 1 on A, -1 on B."""


def unevenness(lead: float, variance: float) -> float:
    """E|p - 1/2| of a match whose difference has this mean and variance, in log-odds.

    >>> [round(unevenness(*each), 3) for each in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))]
    [0.0, 0.231, 0.175]
    """
    return float(np.abs(np.tanh((lead + math.sqrt(max(variance, 0.0)) * QUANTILES) / 2)).mean() / 2)


def cost_at(uneven: float, lead: float, variance: float) -> float:
    """The cost of sides that are so uneven because their mean difference is larger than this lead; in log-odds.

    >>> round(cost_at(0.231, 0.0, 0.0), 1), cost_at(0.5, 0.0, 1.0)
    (10.0, inf)
    """
    leads = abs(lead) + STEPS
    spread = math.sqrt(max(variance, 0.0)) * QUANTILES
    found = np.abs(np.tanh((leads[:, None] + spread) / 2)).mean(1) / 2
    return MEAN_WEIGHT * float(np.interp(uneven, found, leads, right=np.inf)) ** 2 + variance


@dataclass(frozen=True)
class Toll:
    """What the sides of players cost besides, in whole numbers: the least toll is taken, and then the least cost."""

    per_side: Sequence[tuple[int, int]]
    """Of each player on A, and on B."""
    apart: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Of two players who are on different sides."""


@dataclass(frozen=True)
class Problem:
    """Players by number, all of whom play."""

    values: tuple[Sequence[float], Sequence[float]]
    """Of each in points on A, and on B."""
    covariance: Covariance
    sizes: tuple[int, int]
    target: float = 0.0
    """The difference Σ(A) − Σ(B) at which the match is even."""
    turned: float | None = None
    """The same for the sizes the other way round; None: they stay as they are."""
    pins: Mapping[int, Pin] = field(default_factory=dict)
    """Players whose side is fixed, by `Pin.A` or `Pin.B`."""
    groups: Sequence[Collection[int]] = ()
    """Players who stay together."""
    current: Sequence[int] = ()
    """The present sides, from which moves are counted; empty: none."""

    @property
    def moves(self) -> Toll:
        """The players who change side."""
        return Toll([(int(side < 0), int(side > 0)) for side in self.current or [0] * len(self.values[0])])


class Search:
    """The search for a problem's best sides, from given ones and others drawn at random; the same for the same problem.

    It is made of units: players who stay together, and the places that the smaller side lacks, if it may be either.
    """

    def __init__(
        self, problem: Problem, given: Sequence[Sequence[int]], max_moves: int | None = None, hasty: bool = False
    ) -> None:
        self.problem = problem
        count = len(problem.values[0])
        lacking = 0 if problem.turned is None else abs(problem.sizes[0] - problem.sizes[1])
        grouped = {player for group in problem.groups for player in group}
        members = [*map(list, problem.groups), *([player] for player in range(count) if player not in grouped)]
        self.member = np.zeros((len(members) + bool(lacking), count))
        for unit, players in enumerate(members):
            self.member[unit, players] = 1.0
        weights = self.member.sum(1)
        weights[len(members) :] = lacking
        self.cost = self._cost(weights, lacking)
        fixed = self._fixed()
        moves = self.toll(problem.moves)
        on_a = max(problem.sizes) if lacking else problem.sizes[0]
        self.placing = Placing(weights, on_a, fixed, 2 * moves.linear, self.cost.matrix.tobytes())
        barrier = np.where(weights[:, None] == weights, 0.0, np.inf)
        closed = np.where(fixed == 0, 0.0, np.inf)
        self.budget = Budget()
        self.descent = Descent(self.cost, barrier, closed, self.budget)
        self.count = FEWEST if hasty else min(MOST, max(FEWEST, WORK // len(weights) ** 2))
        self._search(given, moves, max_moves)

    def _search(self, given: Sequence[Sequence[int]], moves: Form, max_moves: int | None) -> None:
        known = np.array([self._units(sides) for sides in given]).reshape(len(given), len(self.member))
        count = self.count
        self.present = np.concatenate([known, self.placing.present(count)])
        if max_moves is not None:
            cap = max(max_moves, float(moves.of(self.present).min()))
            self.descent = replace(self.descent, capped=moves, cap=cap)
            self.present = self.present[moves.of(self.present) <= cap + 0.5]
        starts = self.present if max_moves is not None else np.concatenate([self.present, self.placing.random(count)])
        self.minima = self.descent.run(starts)
        kicked = KICKED if count < MOST else 1
        for _ in range(kicked if max_moves is None else 0):
            disturbed = self.placing.kicked(self.least, max(FEWEST, count // 2))
            self.minima = np.concatenate([self.minima, self.descent.run(disturbed)])

    @property
    def least(self) -> Rows:
        """The units' sides with the least cost that was found."""
        return np.asarray(self.minima[self.cost.of(self.minima).argmin()])

    def cheapest(self, limit: float, toll: Toll) -> Rows:
        """The units' sides with the least toll that are within the limit of cost; of these those with the least cost.

        They are sought from the present sides on, by the swap after which the fewest are likely to follow, and from all
        that was found near the least cost.
        """
        form, least = self.toll(toll), self.least
        limit = max(limit, float(self.cost.of(least[None])[0]) + self.cost.grain)
        nearest = self.descent.run(self._after_one_swap(), until=limit)
        mirrored = -self.minima if self.placing.mirrors else self.minima[:0]
        rows = distinct(np.concatenate([self.present, nearest, self.minima, mirrored]))
        rows = rows[self.cost.of(rows) <= limit]
        rows = rows[np.lexsort((self.cost.of(rows), form.of(rows)))][: max(4, self.count // 8)]
        rows = replace(self.descent, toll=form).run(rows, limit=limit)
        return np.asarray(rows[np.lexsort((self.cost.of(rows), form.of(rows)))[0]])

    def _after_one_swap(self) -> Rows:
        """The present sides, and those that one swap makes of them: the ones with the least cost."""
        changes = self.cost.of(self.present)[:, None, None] + self.descent.swaps(self.present)
        flat = changes.ravel()
        best = np.argpartition(flat, min(self.count, len(flat)) - 1)[: self.count]
        start, one, other = np.unravel_index(best[np.isfinite(flat[best])], changes.shape)
        rows = self.present[start]
        rows[np.arange(len(rows)), one], rows[np.arange(len(rows)), other] = -1, 1
        return np.concatenate([self.present, rows])

    def moving(self, each_way: int, mean_weight: float = MEAN_WEIGHT) -> Rows | None:
        """The units' sides with the least cost of those in which so many players at least leave each side, or None.

        As many at least do not leave it. Of sides with equal cost those with the fewest moves. With another weight of
        the mean the least cost by that one: with 1, of the expected square, sides are hardly more uneven than any.
        """
        form = self._form(mean_weight)
        stand = [np.array([side == here for side in self.problem.current], dtype=float) for here in (1, -1)]
        counts = [Leaving(self.member @ each, side, each_way) for each, side in zip(stand, (1, -1), strict=True)]
        descent = replace(self.descent, cost=form, leaving=counts)
        minima = descent.left(self.minima)  # they are minima here, too
        if mean_weight != MEAN_WEIGHT:
            minima = descent.run(minima)
        starts = [self.placing.kicked(row, HASTY) for row in (self.least, self.present[0])]
        starts.append(self.placing.random(HASTY if len(minima) else self.count))
        rows = np.concatenate([minima, descent.run(descent.left(np.concatenate(starts)))])
        if not len(rows):
            return None
        best = rows[form.of(rows).argmin()]
        rows = np.concatenate([rows, descent.run(descent.left(self.placing.kicked(best, HASTY)))])
        rows = np.concatenate([rows, -rows]) if self.placing.mirrors else rows
        cost = form.of(rows)
        rows = rows[cost <= cost.min() + form.grain]
        return np.asarray(rows[self.toll(self.problem.moves).of(rows).argmin()])

    def toll(self, toll: Toll) -> Form:
        """A toll as a form of the units' sides."""
        on_a, on_b = np.array(toll.per_side, dtype=float).T
        apart = np.zeros((len(on_a),) * 2)
        for (one, other), price in toll.apart.items():
            apart[one, other] = apart[other, one] = apart[one, other] - price / 4
        matrix = self.member @ apart @ self.member.T
        constant = (on_a.sum() + on_b.sum() + sum(toll.apart.values())) / 2
        return Form(matrix, self.member @ (on_b - on_a) / 4, constant)

    def lead(self, row: Rows) -> float:
        """The mean difference from the target."""
        return float(row @ self.worth + self.ahead)

    def variance(self, row: Rows) -> float:
        """The variance of the difference."""
        return float(row @ self.covariance @ row)

    def sides(self, row: Rows) -> Sides:
        """The side of every player."""
        return tuple(int(side) for side in np.rint(row @ self.member))

    def _units(self, sides: Sequence[int]) -> Numbers:
        row = np.sign(self.member @ np.array(sides, dtype=float))
        return np.asarray(np.where(row == 0, -np.sign(sum(sides)), row))

    def _fixed(self) -> Numbers:
        stand = {Pin.A: 1.0, Pin.B: -1.0}
        fixed = np.zeros(self.member.shape[1])
        for player, pin in self.problem.pins.items():
            fixed[player] = stand.get(pin, 0.0)
        return np.asarray(np.sign(self.member @ fixed))

    def _cost(self, weights: Numbers, lacking: int) -> Form:
        """Values are taken from their mean, so that the squares of large numbers do not hide small ones."""
        problem, (size_a, size_b) = self.problem, self.problem.sizes
        on_a, on_b = np.array(problem.values, dtype=float)
        worth = self.member @ (on_a + on_b) / 2
        target = problem.target
        if problem.turned is not None and lacking:
            larger_a, larger_b = (target, problem.turned)[:: 1 if size_a > size_b else -1]
            target, worth[-1] = (larger_a + larger_b) / 2, (larger_a - larger_b) / 2
        mean = worth.sum() / weights.sum()
        self.worth = worth - mean * weights
        self.ahead = (on_a - on_b).sum() / 2 - target + (0.0 if lacking else mean * (size_a - size_b))
        self.covariance = self.member @ np.array(problem.covariance, dtype=float) @ self.member.T
        return self._form(MEAN_WEIGHT)

    def _form(self, weight: float) -> Form:
        """The cost with this weight of the mean difference's square."""
        mean_square = weight * np.outer(self.worth, self.worth)
        return Form(self.covariance + mean_square, -weight * self.ahead * self.worth, weight * self.ahead**2)


def limit_of(
    search: Search, tolerance: float, log_odds: float, fair: float | None = None, beyond: float = 0.0
) -> float:
    """The cost up to which sides are as good as the best found: by a tolerance of unevenness, or up to a fair one.

    `log_odds`: the points that are one; `beyond`: in squared points, the variance of all that is not the players'.
    """
    lead = search.lead(search.least) / log_odds
    variance = (search.variance(search.least) + beyond) / log_odds**2
    least = unevenness(lead, variance)
    most = fair if fair is not None and least <= fair else least + tolerance
    return cost_at(most, lead, variance) * log_odds**2 - beyond


def all_evened(
    values: Sequence[float], covariance: Covariance, given: Sequence[Sequence[int]]
) -> list[tuple[int, ...]]:
    """Each of the given sides improved among those who play in it; 0 is the bench, and the sides are equally large.

    Each is also tried from a few sides at random. One descent has them all.
    """
    if not given:
        return []
    worth, known = np.array(values, dtype=float) - np.mean(values), np.array(covariance, dtype=float)
    cost = Form(known + MEAN_WEIGHT * np.outer(worth, worth), np.zeros_like(worth), 0.0)
    draw = Draw(cost.matrix.tobytes())
    more = max(1, min(HASTY, WORK // len(worth) ** 2 // len(given)) - 1)
    starts = np.repeat(np.array(given, dtype=float)[:, None], 1 + more, axis=1)
    for sides in starts:
        playing = np.flatnonzero(sides[0])
        order = draw.random((more, len(playing))).argsort(1)
        sides[1:, playing] = np.take_along_axis(sides[1:, playing], order, 1)
    rows = starts.reshape(-1, len(worth))
    found = Descent(cost, np.zeros_like(known), np.zeros_like(worth), Budget()).run(rows)
    best = cost.of(found).reshape(len(given), -1).argmin(1)
    chosen = found.reshape(starts.shape)[np.arange(len(given)), best]
    return [tuple(int(side) for side in row) for row in chosen]
