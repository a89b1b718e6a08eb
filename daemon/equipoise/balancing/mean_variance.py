"""Sides that are even, and known to be: a quadratic problem, searched by swaps from many starts; needs numpy.

Skills are known with errors that depend on each other. Of sides whose known difference is small those are better whose
true difference is small, too. So for sides x (1 on A, −1 on B) the cost is

    w · (Σ(A) − Σ(B) − target)² + xᵀΣx        w = `MEAN_WEIGHT`; Σ the covariance of the ratings

As long as errors are independent the variance is the same for all sides, and the exact solver's answer is the best.
With any other covariance this is a quadratic problem in ±1 with fixed counts, which is NP-hard and has no small range
of values that a dynamic programme could use. It is searched, and not proven: 2 of 1,200 problems of 12 players with
every constraint were missed, by 0.00001 of unevenness at most (docs/solver.md has all that was measured).

- Sides are rows of numbers, one per unit: 1 on A, −1 on B. A unit is a player, a group who stay together, or, where
  sides differ in size and either may be the larger one, the places that the smaller side lacks.
- Starts are the sides that the caller gives, the present ones made whole, and others at random. The random numbers are
  a function of the question, so the same question has the same answer.
- Of all swaps of two units the one that lowers the cost most is taken, until none does (`Descent`). Every start is a
  row, so that one step of all starts is a few operations on arrays. The best sides are disturbed and improved again.
- Within a limit of cost the fewest moves are taken, or the least toll of a shuffle: from the present sides over each
  first swap, and from all that was found before.

Long annealing is the yardstick for more players: with what 300 rounds tell of 24 players, 40,000 steps of it are better
by 0.0017 of unevenness at the most.

Who plays is decided before, by the exact solver and the means alone: a newcomer's variance would bench them every time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import shake_128
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.balancing.chances import MEAN_WEIGHT, QUANTILES, expected_distance
from equipoise.core.model import Side
from equipoise.ratings.system import Covariance
from equipoise.solver import Budget, Pin
from equipoise.solver.bitsets import Spent

Numbers = NDArray[np.floating[Any]]
Rows = NDArray[np.floating[Any]]
"""Sides, one a row: 1.0 on A, -1.0 on B for each unit."""

Sides = tuple[int, ...]
"""The side of each player: 1 on A, -1 on B."""
SIGNS: Mapping[Side | None, int] = {Side.A: 1, Side.B: -1, None: 0}
"""The number that stands for a side."""

WORK = 1 << 16
"""Pairs of units, over all starts: the number of starts falls with the square of the number of units."""
FEWEST, MOST = 16, 64
"""Starts."""
HASTY = 8
"""Starts for each of many sides, and where much is known already."""
KICKED = 2
"""Times that the best sides are disturbed and improved again; once where there are as many starts as possible."""
SWAP_WORK = 1 << 6
"""Work of judging one swap of one start, in bits."""
LEAST_GAIN = 1e-9
"""The part of its scale, and of a unit, by which a form must fall: less is rounding."""
STEPS = 16 * np.linspace(0.0, 1.0, 81) ** 2
"""Leads for which unevenness is computed, in log-odds."""


def cost_at(uneven: float, lead: float, variance: float) -> float:
    """Return the cost of sides that are so uneven because their mean difference is larger than this lead; in log-odds.

    >>> round(cost_at(0.231, 0.0, 0.0), 1), cost_at(0.5, 0.0, 1.0)
    (10.0, inf)
    """
    leads = abs(lead) + STEPS
    spread = math.sqrt(max(variance, 0.0)) * np.array(QUANTILES)
    # Increasing with the lead, as `np.interp` needs it. Steps are close together near an even match, where limits lie.
    unevennesses = np.abs(np.tanh((leads[:, None] + spread) / 2)).mean(1) / 2
    return MEAN_WEIGHT * float(np.interp(uneven, unevennesses, leads, right=np.inf)) ** 2 + variance


@dataclass(frozen=True)
class Toll:
    """A second cost of the sides, in whole numbers: the least toll is taken, and then the least cost."""

    per_side: Sequence[tuple[int, int]]
    """For each player the toll of standing on A, and on B."""
    apart: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """The toll of two players on different sides."""


@dataclass(frozen=True)
class QuadraticProblem:
    """Players by number, all of whom play."""

    values: tuple[Sequence[float], Sequence[float]]
    """The value of each player on A, and on B, in points."""
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
    """The present sides, from which moves are counted, 0 for players without one; empty: all are without one."""

    @property
    def moves(self) -> Toll:
        """The number of players who change side, as a toll."""
        return Toll([(int(side < 0), int(side > 0)) for side in self.current or [0] * len(self.values[0])])


@dataclass(frozen=True)
class Form:
    """A quadratic form of sides x: xᵀMx − 2 v·x + constant."""

    matrix: Numbers
    """M, symmetric, units × units."""
    linear: Numbers
    """v, one number per unit."""
    constant: float

    def of(self, rows: Rows) -> Numbers:
        """Return the value of every row."""
        return np.asarray((rows @ self.matrix * rows).sum(1) - 2 * rows @ self.linear + self.constant)

    def flips(self, rows: Rows) -> Numbers:
        """Return by how much the value of every row changes when one unit alone crosses: rows × units."""
        # x − 2·xᵢ·eᵢ instead of x: xᵀMx changes by −4·xᵢ(Mx)ᵢ + 4·Mᵢᵢ, and −2·v·x by 4·xᵢvᵢ.
        return np.asarray(4 * (np.diagonal(self.matrix) - rows * (rows @ self.matrix - self.linear)))

    def swaps(
        self, rows: Rows, into: Numbers, closed: Numbers | float = 0.0, barrier: Numbers | float = 0.0
    ) -> Numbers:
        """Return by how much the value changes when a unit of A and one of B change places: rows × units × units.

        Infinite for the pairs that cannot. `into` is overwritten with the result.
        """
        # Both units cross at once: the sum of their flips, and the cross term 2 · (−2) · 2 · M[i, j]. The second axis
        # is the unit that leaves A, the third the one that leaves B.
        flips = self.flips(rows) + closed
        changes = np.add(np.where(rows < 0, flips, np.inf)[:, None, :], barrier - 8 * self.matrix, out=into)
        changes += np.where(rows > 0, flips, np.inf)[:, :, None]
        return changes

    @property
    def grain(self) -> float:
        """A change that is no more than this is rounding."""
        return LEAST_GAIN * (float(np.abs(self.matrix).sum()) + abs(self.constant) + 1.0)


@dataclass(frozen=True)
class Leaving:
    """The rule that at least so many players leave a side, and that as many of it stay."""

    stand: Numbers
    """For each unit, the number of its players who stand on the side now."""
    side: int
    least: int

    def of(self, rows: Rows) -> Numbers:
        """Return how many leave, for every row."""
        return np.asarray((self.side * rows < 0) @ self.stand)

    @property
    def most(self) -> float:
        """The largest number of players who may leave."""
        return float(self.stand.sum()) - self.least

    def close(self, changes: Numbers, rows: Rows) -> None:
        """Forbid the swaps after which too few leave, or too many, in `changes`, which `Form.swaps` gave."""
        # A swap of unit i on A and unit j on B lets `more` players leave this side: at most a unit's players, so only
        # rows near an end of the range can be brought outside of it.
        leavers, more, reach = self.of(rows), self.side * (self.stand[:, None] - self.stand), self.stand.max()
        ends = np.flatnonzero((leavers < self.least + reach) | (leavers > self.most - reach))
        after = leavers[ends, None, None] + more
        changes[ends] = np.where((after < self.least) | (after > self.most), np.inf, changes[ends])


@dataclass(frozen=True)
class Descent:
    """Best-improvement swaps: first `toll` falls, then `cost`, which never rises above the limit of its row.

    `barrier` is infinite for pairs of units that cannot change places, `closed` for units that stay where they are.
    `capped` may not rise above `cap`.
    """

    cost: Form
    barrier: Numbers
    closed: Numbers
    budget: Budget
    toll: Form | None = None
    capped: Form | None = None
    cap: float = np.inf
    leaving: Sequence[Leaving] = ()
    """Rules that all rows must meet from the start on (`meeting_rules`)."""

    def run(self, starts: Rows, *, limit: float = np.inf, until: float = -np.inf) -> Rows:
        """Return every start after its swaps: a row is done when none helps, or when its cost is at most `until`.

        When the budget is used up, all are.
        """
        rows = starts.copy()
        cost, active = self.cost.of(rows), np.arange(len(rows))
        # Without a grain, rounding could make two sides look better than each other in turn, and the loop would not
        # end.
        least, room = -self.cost.grain, self._room(rows)
        with suppress(Spent):
            while len(active := active[cost[active] > until]):
                self.budget.spend(len(active) * self.barrier.size * SWAP_WORK)
                swap, change, gain = self._best(rows[active], limit - cost[active], room[: len(active)])
                # Rows without a swap that helps are done: later steps have fewer rows.
                helps = gain < least
                active, swap = active[helps], swap[helps]
                cost[active] += change[helps]
                # The pair's number is (unit on A) · units + (unit on B), as `_best` flattens it.
                rows[active, swap // rows.shape[1]] = -1
                rows[active, swap % rows.shape[1]] = 1
        return rows

    def swaps(self, rows: Rows, into: Numbers | None = None) -> Numbers:
        """Return by how much the cost changes with every swap that is allowed; infinite for the others."""
        room = self._room(rows) if into is None else into
        changes = self.cost.swaps(rows, room, self.closed, self.barrier)
        if self.capped is not None:
            # Counts are whole, so half a one more than the cap forgives rounding alone.
            slack = self.cap - self.capped.of(rows) + 0.5
            changes[self.capped.swaps(rows, self._room(rows)) > slack[:, None, None]] = np.inf
        for rule in self.leaving:
            rule.close(changes, rows)
        return changes

    def meeting_rules(self, rows: Rows) -> Rows:
        """Return the rows in which as many leave each side as have to."""
        for rule in self.leaving:
            count = rule.of(rows)
            rows = rows[(count >= rule.least) & (count <= rule.most)]
        return rows

    def _best(self, rows: Rows, slack: Numbers, into: Numbers) -> tuple[NDArray[Any], Numbers, Numbers]:
        """Return of every row the best swap, by how much it changes the cost, and by how much it is better."""
        changes, places = self.swaps(rows, into).reshape(len(rows), -1), np.arange(len(rows))
        if self.toll is None:
            swap = changes.argmin(1)
            change = changes[places, swap]
            return swap, change, change
        # Any toll outweighs all changes of the cost: two flips of at most 4 · (row of M + v), and the cross term.
        heavy = 8 * float(np.abs(self.cost.matrix).sum() + np.abs(self.cost.linear).sum()) + 1.0
        tolls = self.toll.swaps(rows, self._room(rows)).reshape(changes.shape) * heavy
        rank = np.where(changes > slack[:, None], np.inf, changes + tolls)
        swap = rank.argmin(1)
        return swap, changes[places, swap], rank[places, swap]

    def _room(self, rows: Rows) -> Numbers:
        return np.empty((len(rows), *self.barrier.shape))


def distinct(rows: Rows) -> Rows:
    """Return the rows, each once."""
    # In their order, unlike `np.unique`: a tie goes to the row that came first. The shape holds for no rows, too.
    return np.array(list({row.tobytes(): row for row in rows}.values())).reshape(-1, rows.shape[1])


class Draw:
    """Random numbers that are a function of a question. numpy's own would take 2 MB of the daemon's memory."""

    def __init__(self, question: bytes) -> None:
        self._question = shake_128(question)

    def random(self, shape: tuple[int, ...]) -> Numbers:
        """Return uniform numbers from 0 to 1, others each time."""
        self._question.update(b"next")
        # 53 bits, as many as a double's fraction holds: all are below 1.
        drawn = np.frombuffer(self._question.digest(8 * math.prod(shape)), np.uint64) >> np.uint64(11)
        return np.asarray(drawn.reshape(shape) * 2.0**-53)


@dataclass(frozen=True)
class Placing:
    """Starts: units placed on two sides, of which A takes players of this number."""

    weights: Numbers
    """The players of each unit."""
    on_a: int
    fixed: Numbers
    """The side of the units that have no choice; 0 for the others."""
    present_side: Numbers
    """Above 0 for units that are on A, below for B."""
    question: bytes
    """The seed of the random numbers: the same question is answered in the same way when it comes again."""

    @cached_property
    def draw(self) -> Draw:
        """The source of the random numbers."""
        return Draw(self.question)

    @property
    def mirrors(self) -> bool:
        """Whether the sides may be exchanged: they are equally large, and no unit is fixed."""
        return 2 * self.on_a == self.weights.sum() and not self.fixed.any()

    def random(self, count: int) -> Rows:
        """Return so many sides drawn at random; fixed units stand where they must."""
        return self._placed(self._order(count))

    def present(self, count: int) -> Rows:
        """Return the present sides, with as few moves as the sizes need; units on neither are placed at random."""
        # The order adds less than 1/2 to ±1 or 0: present sides decide first, then those who have none, at random.
        return distinct(self._placed(np.sign(self.present_side) + self._order(count)))

    def _order(self, count: int) -> Numbers:
        return np.asarray(self.draw.random((count, len(self.weights))) - 0.5)

    def kicked(self, row: Rows, count: int) -> Rows:
        """Return sides that differ from the given ones by some swaps of single players."""
        rows, single = np.repeat(row[None], count, axis=0), (self.fixed == 0) & (self.weights == 1)
        # Fewer would be undone by the descent at once.
        swaps = max(2, len(row) // 10)
        sides = [np.flatnonzero(single & (row == side)) for side in (1, -1)]
        # Where a side has too few single players the sides stay as they are.
        if min(map(len, sides)) >= swaps:
            for side, units in zip((1, -1), sides, strict=True):
                choice = units[self.draw.random((count, len(units))).argsort(1)[:, :swaps]]
                np.put_along_axis(rows, choice, -side, 1)
        return rows

    def _placed(self, order: Numbers) -> Rows:
        """Return rows in which units that are higher in the order stand on A.

        Units of several players are placed first, while there is room. Rows in which the single ones cannot fill the
        sides are left out.
        """
        rows = np.tile(self.fixed, (len(order), 1))
        room_a = self.on_a - (rows > 0) @ self.weights
        room_b = self.weights.sum() - self.on_a - (rows < 0) @ self.weights
        heavy = np.flatnonzero((self.fixed == 0) & (self.weights > 1))
        for unit in heavy[np.argsort(-self.weights[heavy], kind="stable")]:
            weight = self.weights[unit]
            # Where its order says, if there is room; on A, too, where B has none. If neither has, its room becomes
            # negative, and the row is left out below.
            on_a = ((order[:, unit] > 0) & (room_a >= weight)) | (room_b < weight)
            rows[:, unit] = np.where(on_a, 1.0, -1.0)
            room_a, room_b = room_a - weight * on_a, room_b - weight * ~on_a
        singles = np.flatnonzero((self.fixed == 0) & (self.weights == 1))
        # Sorting the sorting gives each unit's rank; the first `room_a` of them stand on A.
        rank = (-order[:, singles]).argsort(1).argsort(1)
        rows[:, singles] = np.where(rank < room_a[:, None], 1.0, -1.0)
        return np.asarray(rows[(room_a >= 0) & (room_b >= 0)])


class SwapSearch:
    """The search for a problem's best sides, from given ones and others drawn at random.

    `given`: sides, one number for each player. `max_moves`: players who may change side at most, or as few as the sizes
    need. `hasty`: fewer starts, for one of many problems. Rows of results are by unit: `sides` has them by player.
    """

    def __init__(
        self,
        problem: QuadraticProblem,
        given: Sequence[Sequence[int]],
        max_moves: int | None = None,
        hasty: bool = False,
    ) -> None:
        self.problem = problem
        players = len(problem.values[0])
        surplus = 0 if problem.turned is None else abs(problem.sizes[0] - problem.sizes[1])
        group_members = {player for group in problem.groups for player in group}
        units = [*map(list, problem.groups), *([player] for player in range(players) if player not in group_members)]
        # A last unit without players stands for the places that the smaller side lacks: swaps move it like any other.
        self.member = np.zeros((len(units) + bool(surplus), players))
        """units × players: 1 where the player is one of the unit."""
        for number, members in enumerate(units):
            self.member[number, members] = 1.0
        weights = self.member.sum(1)
        weights[len(units) :] = surplus
        self.cost = self._cost(weights, surplus)
        sides = np.zeros(players)
        for player, pin in problem.pins.items():
            sides[player] = {Pin.A: 1.0, Pin.B: -1.0}.get(pin, 0.0)
        pins = np.asarray(np.sign(self.member @ sides))
        moves = self.toll(problem.moves)
        # With the lacking places both sides are as large as the larger one.
        on_a = max(problem.sizes) if surplus else problem.sizes[0]
        self.placing = Placing(weights, on_a, pins, 2 * moves.linear, self.cost.matrix.tobytes())
        # Only units of equally many players change places, so that sizes hold.
        barrier = np.where(weights[:, None] == weights, 0.0, np.inf)
        wall = np.where(pins == 0, 0.0, np.inf)
        self.budget = Budget()
        self.descent = Descent(self.cost, barrier, wall, self.budget)
        self.count = FEWEST if hasty else min(MOST, max(FEWEST, WORK // len(weights) ** 2))
        self._search(given, moves, max_moves)

    def _cost(self, weights: Numbers, lacking: int) -> Form:
        # Values are taken from their mean, so that the squares of large numbers do not hide small ones.
        problem, (size_a, size_b) = self.problem, self.problem.sizes
        on_a, on_b = np.array(problem.values, dtype=float)
        # Σ(A) − Σ(B) = Σ xᵢ(aᵢ + bᵢ)/2 + Σ (aᵢ − bᵢ)/2 for x = 1 on A and −1 on B.
        worth = self.member @ (on_a + on_b) / 2
        target = problem.target
        if problem.turned is not None and lacking:
            # The unit without players that stands for the lacking places is worth what turning the sizes changes.
            larger_a, larger_b = (target, problem.turned)[:: 1 if size_a > size_b else -1]
            target, worth[-1] = (larger_a + larger_b) / 2, (larger_a - larger_b) / 2
        mean = worth.sum() / weights.sum()
        self.worth = worth - mean * weights
        # Taking the mean from each value takes mean · (size_a − size_b) from the difference. With the lacking places
        # sizes are equal, and it takes nothing.
        self.ahead = (on_a - on_b).sum() / 2 - target + (0.0 if lacking else mean * (size_a - size_b))
        self.covariance = self.member @ np.array(problem.covariance, dtype=float) @ self.member.T
        return self._form(MEAN_WEIGHT)

    def _form(self, weight: float) -> Form:
        """Return the cost with this weight of the mean difference's square."""
        mean_square = weight * np.outer(self.worth, self.worth)
        # w · (x·worth + ahead)² + xᵀΣx, multiplied out.
        return Form(self.covariance + mean_square, -weight * self.ahead * self.worth, weight * self.ahead**2)

    def _search(self, given: Sequence[Sequence[int]], moves: Form, max_moves: int | None) -> None:
        rows = np.array([self._units(sides) for sides in given]).reshape(len(given), len(self.member))
        count = self.count
        self.present = np.concatenate([rows, self.placing.present(count)])
        if max_moves is not None:
            # Where sizes need more moves than are allowed, as few as they need.
            cap = max(max_moves, float(moves.of(self.present).min()))
            self.descent = replace(self.descent, capped=moves, cap=cap)
            self.present = self.present[moves.of(self.present) <= cap + 0.5]
        # Few of the random sides, and of those that are disturbed, would keep to a cap on moves.
        starts = self.present if max_moves is not None else np.concatenate([self.present, self.placing.random(count)])
        self.minima = self.descent.run(starts)
        kicks = KICKED if count < MOST else 1
        for _ in range(kicks if max_moves is None else 0):
            start = self.placing.kicked(self.least, max(FEWEST, count // 2))
            self.minima = np.concatenate([self.minima, self.descent.run(start)])

    def _units(self, sides: Sequence[int]) -> Numbers:
        row = np.sign(self.member @ np.array(sides, dtype=float))
        # The unit of lacking places has no players, so its row sums to 0: it stands on the side that has fewer.
        return np.asarray(np.where(row == 0, -np.sign(sum(sides)), row))

    @property
    def least(self) -> Rows:
        """The units' sides with the least cost among all minima."""
        return np.asarray(self.minima[self.cost.of(self.minima).argmin()])

    def cheapest(self, limit: float, toll: Toll) -> Rows:
        """Return the units' sides with the least toll within the limit of cost; of these those with the least cost.

        They are sought from the present sides on, by the swap after which the fewest are likely to follow, and from all
        minima near the least cost.
        """
        form, least = self.toll(toll), self.least
        # Rounding may put the best below any limit that was computed from it.
        limit = max(limit, float(self.cost.of(least[None])[0]) + self.cost.grain)
        nearest = self.descent.run(self._after_one_swap(), until=limit)
        # A mirror image costs the same, and may move fewer.
        mirrors = -self.minima if self.placing.mirrors else self.minima[:0]
        rows = distinct(np.concatenate([self.present, nearest, self.minima, mirrors]))
        if self.descent.capped is not None:
            # A swap of the present sides may be one too many.
            rows = rows[self.descent.capped.of(rows) <= self.descent.cap + 0.5]
        rows = rows[self.cost.of(rows) <= limit]
        rows = rows[np.lexsort((self.cost.of(rows), form.of(rows)))][: max(4, self.count // 8)]
        rows = replace(self.descent, toll=form).run(rows, limit=limit)
        return np.asarray(rows[np.lexsort((self.cost.of(rows), form.of(rows)))[0]])

    def _after_one_swap(self) -> Rows:
        """Return the present sides, and the least costly of the sides that one swap makes of them."""
        changes = self.cost.of(self.present)[:, None, None] + self.descent.swaps(self.present)
        flat = changes.ravel()
        best = np.argpartition(flat, min(self.count, len(flat)) - 1)[: self.count]
        start, first, second = np.unravel_index(best[np.isfinite(flat[best])], changes.shape)
        rows = self.present[start]
        rows[np.arange(len(rows)), first], rows[np.arange(len(rows)), second] = -1, 1
        return np.concatenate([self.present, rows])

    def moving(self, each_way: int, mean_weight: float = MEAN_WEIGHT) -> Rows | None:
        """Return the units' sides with the least cost in which at least so many players leave each side, or None.

        As many at least do not leave it. Of sides with equal cost those with the fewest moves. `mean_weight` replaces
        the weight of the mean: with 1, the expected square, sides are hardly more uneven than any.
        """
        form = self._form(mean_weight)
        stand = [np.array([side == sign for side in self.problem.current], dtype=float) for sign in (1, -1)]
        rules = [Leaving(self.member @ on, side, each_way) for on, side in zip(stand, (1, -1), strict=True)]
        descent = replace(self.descent, cost=form, leaving=rules)
        minima = descent.meeting_rules(self.minima)  # they are minima here, too
        if mean_weight != MEAN_WEIGHT:
            minima = descent.run(minima)
        starts = [self.placing.kicked(row, HASTY) for row in (self.least, self.present[0])]
        starts.append(self.placing.random(HASTY if len(minima) else self.count))
        rows = np.concatenate([minima, descent.run(descent.meeting_rules(np.concatenate(starts)))])
        if not len(rows):
            return None
        best = rows[form.of(rows).argmin()]
        rows = np.concatenate([rows, descent.run(descent.meeting_rules(self.placing.kicked(best, HASTY)))])
        rows = np.concatenate([rows, -rows]) if self.placing.mirrors else rows
        cost = form.of(rows)
        rows = rows[cost <= cost.min() + form.grain]
        return np.asarray(rows[self.toll(self.problem.moves).of(rows).argmin()])

    def toll(self, toll: Toll) -> Form:
        """Return a toll as a form of the units' sides."""
        on_a, on_b = np.array(toll.per_side, dtype=float).T
        apart = np.zeros((len(on_a),) * 2)
        for (first, second), price in toll.apart.items():
            apart[first, second] = apart[second, first] = apart[first, second] - price / 4
        # Two players are apart where xᵢxⱼ = −1: price · (1 − xᵢxⱼ)/2, of which the symmetric matrix has −price/4 twice.
        # A side's toll is (a + b)/2 + xᵢ(a − b)/2.
        matrix = self.member @ apart @ self.member.T
        constant = (on_a.sum() + on_b.sum() + sum(toll.apart.values())) / 2
        return Form(matrix, self.member @ (on_b - on_a) / 4, constant)

    def lead(self, row: Rows) -> float:
        """Return the mean difference from the target, in points."""
        return float(row @ self.worth + self.ahead)

    def variance(self, row: Rows) -> float:
        """Return the variance of the difference, in points squared."""
        return float(row @ self.covariance @ row)

    def sides(self, row: Rows) -> Sides:
        """Return the side of every player."""
        return tuple(int(side) for side in np.rint(row @ self.member))

    def limit(self, tolerance: float, log_odds: float, fair: float | None = None, beyond: float = 0.0) -> float:
        """Return the cost up to which sides are as good as the best: by a tolerance of unevenness, or up to a fair one.

        `log_odds`: the points that are one; `beyond`: in squared points, the variance of all that is not the players'.
        """
        lead = self.lead(self.least) / log_odds
        variance = (self.variance(self.least) + beyond) / log_odds**2
        least = expected_distance(lead, variance)
        # Inside the fair band all sides are good enough; outside of it they may be little worse than the best.
        most = fair if fair is not None and least <= fair else least + tolerance
        return cost_at(most, lead, variance) * log_odds**2 - beyond


def all_evened(values: Sequence[float], covariance: Covariance, given: Sequence[Sequence[int]]) -> list[Sides]:
    """Return each of the given sides improved among the players who play in it, in one descent.

    0 is the bench, and the sides are equally large. Each is also tried from a few sides at random.
    """
    if not given:
        return []
    worth, errors = np.array(values, dtype=float) - np.mean(values), np.array(covariance, dtype=float)
    cost = Form(errors + MEAN_WEIGHT * np.outer(worth, worth), np.zeros_like(worth), 0.0)
    draw = Draw(cost.matrix.tobytes())
    more = max(1, min(HASTY, WORK // len(worth) ** 2 // len(given)) - 1)
    starts = np.repeat(np.array(given, dtype=float)[:, None], 1 + more, axis=1)
    for sides in starts:
        players = np.flatnonzero(sides[0])
        sides[1:, players] = sides[0, players][draw.random((more, len(players))).argsort(1)]
    # A player on the bench is 0 in x: they add nothing to the cost, and no swap has them.
    rows = starts.reshape(-1, len(worth))
    minima = Descent(cost, np.zeros_like(errors), np.zeros_like(worth), Budget()).run(rows)
    best = cost.of(minima).reshape(len(given), -1).argmin(1)
    rows = minima.reshape(starts.shape)[np.arange(len(given)), best]
    return list(map(tuple, rows.astype(int).tolist()))
