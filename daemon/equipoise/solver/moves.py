"""The least change of the present teams: the exact trade-off between moves and balance.

The subsets that leave each side are independent of each other: for s moves one way and t the other, the best result
is where the bitset of the sums of s players of A and that of t players of B come nearest. The NS2 source swaps
pairs greedily instead; `greedy_swaps` does that, where an operator wants its rules, and for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from typing import NamedTuple

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver.bitset import UNBOUNDED, coincidence, nearest, search_work
from equipoise.solver.budget import EXHAUSTED, Budget
from equipoise.solver.constrained import JOIN_WORK
from equipoise.solver.model import Rebalance
from equipoise.solver.subsets import Subsets, exchanged, most_ticks
from equipoise.solver.sums import total
from equipoise.solver.ticks import SUMS, Ticks


class Teams(NamedTuple):
    """The present teams as indices, and each player's skill on either side."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    skill_a: Sequence[float]
    skill_b: Sequence[float]

    @property
    def difference(self) -> float:
        """Σ(A) − Σ(B) of the present teams, each value that of the side its player is on."""
        return total([self.skill_a[i] for i in self.a]) - total([self.skill_b[i] for i in self.b])

    def after(self, moved: Collection[int]) -> Teams:
        """The teams after these players have changed side."""
        a = [i for i in self.a if i not in moved] + [i for i in self.b if i in moved]
        b = [i for i in self.b if i not in moved] + [i for i in self.a if i in moved]
        return self._replace(a=tuple(sorted(a)), b=tuple(sorted(b)))

    @classmethod
    def of(cls, values: Sequence[float], current: Sequence[Side | None], values_b: Sequence[float] | None) -> Teams:
        """The teams of the players who have a side; `SplitError` when none has or the lengths differ."""
        if len(current) != len(values):
            raise SplitError(f"{len(current)} present sides for {len(values)} players")
        if values_b is not None and len(values_b) != len(values):
            raise SplitError(f"{len(values)} values on side A, but {len(values_b)} on side B")
        a = tuple(i for i, side in enumerate(current) if side is Side.A)
        b = tuple(i for i, side in enumerate(current) if side is Side.B)
        if not a and not b:
            raise SplitError("nobody is on a side")
        return cls(a, b, values, values if values_b is None else values_b)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The changes that no other change beats: each has more moves and less imbalance than the one before."""

    steps: tuple[Rebalance, ...]
    target: float = 0
    optimal: bool = True
    """Proven. Otherwise the budget has ended the search: more moves may leave less, and if there is one step alone, as
    many others may, too."""

    def with_moves(self, most: int) -> Rebalance:
        """The least imbalance with at most `most` moves; if the sizes need more, the fewest that even them out."""
        return next((step for step in reversed(self.steps) if step.moves <= most), self.steps[0])

    def within(self, points: float) -> Rebalance:
        """The fewest moves that come within `points` of the target; the nearest when none does."""
        return next((s for s in self.steps if abs(s.difference - self.target) <= points), self.steps[-1])


def fewest_moves(
    values: Sequence[float],
    current: Sequence[Side | None],
    *,
    values_b: Sequence[float] | None = None,
    target: float = 0,
    movable: Collection[int] | None = None,
    resolution: float | None = None,
    budget: Budget | None = None,
) -> Frontier:
    """Every change of the present teams that no other one beats in both moves and |Σ(A) − Σ(B) − target|.

    The sizes after it differ by at most one. Players without a side stay without one; `movable` are those who may
    change side, by default all. `values_b`: values on side B, where they differ. `SplitError` when too few are
    movable to even out the sizes.

    >>> frontier = fewest_moves([9, 7, 2, 1], [Side.A, Side.A, Side.B, Side.B])
    >>> [(step.moves, step.moved, step.imbalance) for step in frontier.steps]
    [(0, (), 13), (2, (0, 2), 1)]
    """
    teams = Teams.of(values, current, values_b)
    movable = range(len(values)) if movable is None else movable
    return Trades(teams, target, movable, resolution, budget or Budget()).frontier()


def new_teams(
    values: Sequence[float],
    current: Sequence[Side | None],
    each_way: int,
    *,
    size_a: int,
    values_b: Sequence[float] | None = None,
    target: float = 0,
    movable: Collection[int] | None = None,
    came: Collection[int] = (),
    budget: Budget | None = None,
) -> Rebalance:
    """The teams nearest to the target that at least `each_way` players leave on each side, and as many do not leave.

    So neither the present teams nor their mirror image come out. Of those that are as near the fewest players move.
    Side A has `size_a` players then. Those who `came` stay where they are now, and nobody counts them as moved or as
    staying. `SplitError` when there are no such teams.

    >>> new_teams([9, 7, 2, 1], [Side.A, Side.B, Side.B, Side.A], 1, size_a=2).moved
    (0, 1)
    """
    teams = Teams.of(values, current, values_b)
    movable = {*range(len(values))} if movable is None else movable
    stand = tuple(sum(i not in came for i in side) for side in (teams.a, teams.b))
    leave = range(each_way, stand[0] - each_way + 1), range(each_way, stand[1] - each_way + 1)
    movable = [i for i in movable if i not in came]
    return Trades(teams, target, movable, None, budget or Budget(), leave, [size_a]).frontier().steps[-1]


class Trades:
    """The subsets of each side that may move, by their size."""

    def __init__(
        self,
        teams: Teams,
        target: float,
        movable: Collection[int],
        resolution: float | None,
        budget: Budget,
        leave: tuple[range, range] | None = None,
        sizes_a: Collection[int] | None = None,
    ) -> None:
        self.teams, self.aim, self.budget = teams, target, budget
        self.leave = leave
        """How many may leave A and B; None: however many."""
        players = len(teams.a) + len(teams.b)
        self.sizes_a = (players // 2, players - players // 2) if sizes_a is None else sizes_a
        self.from_a = [i for i in teams.a if i in movable]
        self.from_b = [i for i in teams.b if i in movable]
        self.allowed = self._by_moves()
        weights = [teams.skill_a[i] + teams.skill_b[i] for i in (*self.from_a, *self.from_b)]
        most = max(len(self.from_a), len(self.from_b))
        widest = most_ticks(2 * most, most, budget)
        self.ticks = Ticks.of(weights or [0], None, teams.difference - target, resolution, widest, SUMS)
        numbers, self.target, count = self.ticks.a[: len(weights)], self.ticks.target, len(self.from_a)
        self.numbers = numbers[:count], numbers[count:]

    def frontier(self) -> Frontier:
        """The best change for each number of moves that improves on fewer."""
        steps = list[Rebalance]()
        try:
            steps.extend(self._steps())
        except EXHAUSTED:
            return Frontier(tuple(steps) or (self._first(),), self.aim, optimal=False)
        return Frontier(tuple(steps), self.aim)

    def _steps(self) -> Iterator[Rebalance]:
        both, (own, other) = [*self.numbers[0], *self.numbers[1]], self.numbers
        offsets = {(out - back) * both[0] - self.target for trades in self.allowed for out, back in trades if both}
        factor = math.gcd(*(number - both[0] for number in both), *offsets) or 1
        pairs = [pair for trades in self.allowed for pair in trades]
        outs, backs = ({pair[side] for pair in pairs} for side in (0, 1))
        self.out = Subsets(own, min(outs), max(outs), factor, self.budget)
        self.back = Subsets(
            other, min(backs), max(backs), factor, replace(self.budget, memory=self.budget.memory - self.out.held)
        )
        best = UNBOUNDED
        for trades in self.allowed:
            found = None
            for out, back in trades:
                sets = self._sets(out, back, factor)
                self.budget.spend(JOIN_WORK + sets[0].bit_length() + sets[1].bit_length())
                distance = nearest(*sets, 0, best)
                if distance < best:
                    self.budget.spend(search_work(*sets[:2]))
                    best, found = distance, (out, back, sets)
            if found is not None:
                out, back, sets = found
                leaving, coming = coincidence(*sets, best)
                yield self._rebalance(
                    self.out.any(out, self.out.low(out) + leaving * factor),
                    self.back.any(back, self.back.low(back) + coming * factor),
                )
            if best == 0:
                return

    def _first(self) -> Rebalance:
        """The fewest moves that even out the sizes, with an exchange or two; one side alone makes them."""
        out, back = self.allowed[0][0]
        leaving = exchanged(self.numbers[0], out, self.target, [0] * len(self.from_a), self.budget)
        coming = exchanged(self.numbers[1], back, -self.target, [0] * len(self.from_b), self.budget)
        return self._rebalance(leaving, coming)

    def _by_moves(self) -> list[list[tuple[int, int]]]:
        """The numbers of players who may leave A and B so that the sizes are right, fewest moves first."""
        allowed: dict[int, list[tuple[int, int]]] = {}
        for out, back in product(range(len(self.from_a) + 1), range(len(self.from_b) + 1)):
            leave = self.leave is None or (out in self.leave[0] and back in self.leave[1])
            if leave and len(self.teams.a) - out + back in self.sizes_a:
                allowed.setdefault(out + back, []).append((out, back))
        if not allowed:
            raise SplitError("too few players are movable to even out the sides")
        return [allowed[moves] for moves in sorted(allowed)]

    def _sets(self, out: int, back: int, factor: int) -> tuple[int, int, int]:
        shift = (self.out.low(out) - self.back.low(back) - self.target) // factor
        return self.out.reach(out), self.back.reach(back), shift

    def _rebalance(self, leaving: Sequence[int], coming: Sequence[int]) -> Rebalance:
        moved = [self.from_a[i] for i in leaving] + [self.from_b[i] for i in coming]
        after = self.teams.after(moved)
        return Rebalance(
            after.a, after.b, tuple(sorted(moved)), after.difference, self.ticks.error_bound(len(moved) + 1)
        )


def greedy_swaps(
    values: Sequence[float],
    current: Sequence[Side | None],
    *,
    values_b: Sequence[float] | None = None,
    target: float = 0,
    stay: Collection[int] = (),
    most: int | None = None,
) -> Rebalance:
    """NS2's method: swap the pair that leaves the least |Σ(A) − Σ(B) − target|, until none lessens it. Not exact.

    Those who `stay` are in no pair; `most` is how many swaps there are at most.

    >>> greedy_swaps([9, 7, 2, 1], [Side.A, Side.A, Side.B, Side.B]).moved
    (0, 2)
    """

    def off(teams: Teams) -> float:
        return abs(teams.difference - target)

    present = teams = Teams.of(values, current, values_b)
    for _ in count() if most is None else range(most):
        pairs = ((one, other) for one, other in product(teams.a, teams.b) if one not in stay and other not in stay)
        best = min(map(teams.after, pairs), key=off, default=teams)
        if off(best) >= off(teams):
            break
        teams = best
    moved = tuple(sorted(set(present.a) ^ set(teams.a)))
    return Rebalance(teams.a, teams.b, moved, teams.difference)
