"""Changes of the present teams: who crosses from the larger side, and the exact trade-off between moves and balance.

A player of skill r on their side and of skill s on the other turns D = Σ(their side) − Σ(the other) into D − (r + s) by
crossing. So every question here is one about sums of subsets, and `Subsets` holds the sums of all subsets of each size
as bitsets:

- `transfer`: the best m players to move are those whose sum of r + s is nearest to D. They are chosen jointly:
  repeating the best single move was worse in 2,507 of 3,000 cases. SynElo's formula F11 drops the sign of D, which is
  wrong when the larger side is the weaker one.
- `fewest_moves`: the subsets that leave each side are independent of each other. For s moves one way and t the other,
  the best result is where the sums of s players of A and those of t players of B come nearest.
- `new_teams`: the same, where so many have to leave each side.

`greedy_swaps` is the method of the NS2 source, where an operator wants its rules, and for comparison: it swaps the best
pair again and again. It is near the frontier, and dominated by it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count, product
from typing import NamedTuple

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver.bitsets import (
    EXHAUSTED,
    IDLE_SPAN,
    JOIN_WORK,
    TRADE_WORK,
    UNBOUNDED,
    Budget,
    Spent,
    coincidence,
    nearest,
    search_work,
)
from equipoise.solver.problem import COARSEST, NO_GAP, SUMS, Gap, Ticks, total

SET_BITS, PATH_BITS = 1 << 9, 1 << 12
"""Memory of a set besides its bits, and of a path of the search for the cheapest, in bits."""
BLOCK = 1 << 8
"""The number of paths that are tried before the budget is asked."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The players who move from the larger side to the smaller, and the signed difference (larger − smaller) after."""

    moved: tuple[int, ...]
    """Indices into the larger side."""
    difference: float
    cost: int = 0
    error_bound: float = 0.0
    optimal: bool = True
    """Proven, as for an assignment."""
    gap: Gap = NO_GAP
    """The most by which the best is better, the cost as a bench cost; where it is optimal, only what rounding hides."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A change of the present teams: the teams after it, and the players who changed side."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    moved: tuple[int, ...]
    difference: float
    error_bound: float = 0.0

    @property
    def moves(self) -> int:
        """The number of players who change side."""
        return len(self.moved)

    @property
    def imbalance(self) -> float:
        """|Σ(A) − Σ(B)| after the change."""
        return abs(self.difference)


@dataclass(frozen=True, slots=True)
class Frontier:
    """The changes that no other change beats: each has more moves and less imbalance than the one before."""

    steps: tuple[Rebalance, ...]
    target: float = 0
    optimal: bool = True
    """Proven. Otherwise the budget has ended the search: more moves may leave less, and if there is one step alone, as
    many others may, too."""

    def with_moves(self, most: int) -> Rebalance:
        """Return the least imbalance with at most `most` moves; if the sizes need more, the fewest possible."""
        return next((step for step in reversed(self.steps) if step.moves <= most), self.steps[0])

    def within(self, points: float) -> Rebalance:
        """Return the fewest moves that come within `points` of the target; the nearest when none does."""
        return next((s for s in self.steps if abs(s.difference - self.target) <= points), self.steps[-1])


def transfer(
    larger: Sequence[float],
    smaller: Sequence[float],
    movable: Collection[int],
    m: int,
    costs: Sequence[int] | None = None,
    *,
    larger_there: Sequence[float] | None = None,
    resolution: float | None = None,
    budget: Budget | None = None,
) -> Transfer:
    """Return the `m` movable players of the larger side whose move leaves the least |difference|.

    Values are in points, per player, on their present side; `larger_there` holds the values of the larger side's
    players on the smaller side, where they differ. `movable` are indices into `larger`. `costs`, one per player of
    `larger`, decide between sets that leave the same |difference|: the least sum wins. A transfer that the budget does
    not suffice to prove is not `optimal`; its `gap` says how far off it may be.

    >>> transfer([1200, 1000, 1100, 900], [1500, 1600], [0, 1, 2, 3], 1).moved
    (3,)
    """
    size_after, budget = larger if larger_there is None else larger_there, budget or Budget()
    if len(size_after) != len(larger) or (costs is not None and len(costs) != len(larger)):
        raise SplitError(f"the larger side's {len(larger)} players need as many values there and costs")
    if not all(0 <= i < len(larger) for i in movable):
        raise SplitError(f"a movable player is not one of the larger side's 0 to {len(larger) - 1}")
    if not 0 < m <= len(set(movable)):
        raise SplitError(f"{m} players must move, but {len(set(movable))} are movable")
    # Cheapest first, as `Subsets.cheapest` needs them.
    candidates = sorted(set(movable), key=lambda i: 0 if costs is None else costs[i])
    difference = total(larger) - total(smaller)
    weights = [larger[i] + size_after[i] for i in candidates]
    ticks = Ticks.of(weights, None, difference, resolution, most_ticks(len(candidates), m, budget), SUMS)
    prices = [0 if costs is None else costs[i] for i in candidates]
    choice, least, proven = _chosen(ticks, m, prices, budget)
    players, cost = tuple(sorted(candidates[i] for i in choice)), sum(prices[i] for i in choice)
    rest = difference - total([larger[i] + size_after[i] for i in players])
    lack = (abs(sum(ticks.a[i] for i in choice) - ticks.target) - least) / ticks.per_point
    # Prices ascend with the candidates, so the first m bound what any choice costs.
    gap = Gap(lack + ticks.hidden(m), 0 if proven else cost - sum(prices[:m]))
    # m + 1 numbers are rounded: the weights of those who move, and the difference itself.
    return Transfer(players, rest, cost, ticks.error_bound(m + 1), proven, gap)


def _chosen(ticks: Ticks, m: int, prices: Sequence[int], budget: Budget) -> tuple[Sequence[int], int, bool]:
    """Return the indices of the players who move, a lower bound on the rest in ticks, and whether they are proven."""
    # Sums of m weights are multiples of it apart. All equal gives 0: then there is one sum, and any factor will do.
    factor = math.gcd(*(weight - ticks.a[0] for weight in ticks.a)) or 1
    try:
        subsets = Subsets(ticks.a, m, m, factor, budget)
        choices = [subsets.cheapest(m, sum_, prices) for sum_ in subsets.nearest(m, ticks.target)]
    except EXHAUSTED:
        ends = sorted(ticks.a)
        # Without sets: no m weights have a sum outside of that of the least and that of the greatest.
        least = max(0, sum(ends[:m]) - ticks.target, ticks.target - sum(ends[-m:]))
        return exchanged(ticks.a, m, ticks.target, prices, budget), least, False
    # Above the target or below it, as near: the cheaper one, and of equal cost the one with the lower indices.
    best = min(choices)
    rest = abs(sum(ticks.a[i] for i in best.indices) - ticks.target)
    return best.indices, rest, all(choice.proven for choice in choices)


class PresentTeams(NamedTuple):
    """The present teams as indices, and each player's skill on either side."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    skill_a: Sequence[float]
    skill_b: Sequence[float]

    @property
    def difference(self) -> float:
        """Σ(A) − Σ(B) of the present teams, each value that of the side its player is on."""
        return total([self.skill_a[i] for i in self.a]) - total([self.skill_b[i] for i in self.b])

    def after(self, moved: Collection[int]) -> PresentTeams:
        """Return the teams after these players have changed side."""
        a = [i for i in self.a if i not in moved] + [i for i in self.b if i in moved]
        b = [i for i in self.b if i not in moved] + [i for i in self.a if i in moved]
        return self._replace(a=tuple(sorted(a)), b=tuple(sorted(b)))

    @classmethod
    def of(
        cls, values: Sequence[float], current: Sequence[Side | None], values_b: Sequence[float] | None
    ) -> PresentTeams:
        """Return the teams of the players who have a side; `SplitError` when none has or the lengths differ."""
        if len(current) != len(values):
            raise SplitError(f"{len(current)} present sides for {len(values)} players")
        if values_b is not None and len(values_b) != len(values):
            raise SplitError(f"{len(values)} values on side A, but {len(values_b)} on side B")
        a = tuple(i for i, side in enumerate(current) if side is Side.A)
        b = tuple(i for i, side in enumerate(current) if side is Side.B)
        if not a and not b:
            raise SplitError("nobody is on a side")
        return cls(a, b, values, values if values_b is None else values_b)


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
    """Return every change of the present teams that no other one beats in both moves and |Σ(A) − Σ(B) − target|.

    The sizes after it differ by at most one. Players without a side stay without one; `movable` are the players who may
    change side, by default all. `values_b`: values on side B, where they differ. `SplitError` when too few are
    movable to even out the sizes.

    >>> frontier = fewest_moves([9, 7, 2, 1], [Side.A, Side.A, Side.B, Side.B])
    >>> [(step.moves, step.moved, step.imbalance) for step in frontier.steps]
    [(0, (), 13), (2, (0, 2), 1)]
    """
    teams = PresentTeams.of(values, current, values_b)
    movable = range(len(values)) if movable is None else movable
    return MoveSearch(teams, target, movable, resolution, budget or Budget()).frontier()


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
    """Return the teams nearest to the target that at least `each_way` players leave on each side, and as many do not.

    So neither the present teams nor their mirror image come out. Among teams that are as near the fewest players move.
    Side A has `size_a` players then. Players who `came` stay where they are now, and do not count as moved or as
    staying. `SplitError` when there are no such teams.

    >>> new_teams([9, 7, 2, 1], [Side.A, Side.B, Side.B, Side.A], 1, size_a=2).moved
    (0, 1)
    """
    teams = PresentTeams.of(values, current, values_b)
    movable = {*range(len(values))} if movable is None else movable
    # As many have to stay as have to leave, so each side has an upper bound, too.
    stand = tuple(sum(i not in came for i in side) for side in (teams.a, teams.b))
    leave = range(each_way, stand[0] - each_way + 1), range(each_way, stand[1] - each_way + 1)
    movable = [i for i in movable if i not in came]
    return MoveSearch(teams, target, movable, None, budget or Budget(), leave, [size_a]).frontier().steps[-1]


class MoveSearch:
    """The subsets of each side that may move, by their size, and the pairs of sizes in which they meet."""

    def __init__(
        self,
        teams: PresentTeams,
        target: float,
        movable: Collection[int],
        resolution: float | None,
        budget: Budget,
        leave: tuple[range, range] | None = None,
        sizes_a: Collection[int] | None = None,
    ) -> None:
        self.teams, self.aim, self.budget = teams, target, budget
        self.leave = leave
        """The numbers of players who may leave A and B; None: any."""
        players = len(teams.a) + len(teams.b)
        # Of an odd number either side may be the larger one.
        self.sizes_a = (players // 2, players - players // 2) if sizes_a is None else sizes_a
        self.from_a = [i for i in teams.a if i in movable]
        self.from_b = [i for i in teams.b if i in movable]
        self.trades = self._by_moves()
        weights = [teams.skill_a[i] + teams.skill_b[i] for i in (*self.from_a, *self.from_b)]
        most = max(len(self.from_a), len(self.from_b))
        # The subsets of both sides are in memory at once.
        widest = most_ticks(2 * most, most, budget)
        # A value stands in where nobody may move: there are ticks of the target to compute all the same.
        self.ticks = Ticks.of(weights or [0], None, teams.difference - target, resolution, widest, SUMS)
        # In ticks, what the moves have to take from the difference; `aim`, in points, is what they leave of it.
        numbers, self.target, on_a = self.ticks.a[: len(weights)], self.ticks.target, len(self.from_a)
        self.numbers = numbers[:on_a], numbers[on_a:]

    def frontier(self) -> Frontier:
        """Return the best change for each number of moves that improves on fewer."""
        steps = list[Rebalance]()
        try:
            steps.extend(self._steps())
        except EXHAUSTED:
            return Frontier(tuple(steps) or (self._first(),), self.aim, optimal=False)
        return Frontier(tuple(steps), self.aim)

    def _steps(self) -> Iterator[Rebalance]:
        both, (own, opposite) = [*self.numbers[0], *self.numbers[1]], self.numbers
        pairs = [pair for trades in self.trades for pair in trades]
        offsets = {(out - back) * both[0] - self.target for out, back in pairs if both}
        # All sums of either side, and the offset between them, are multiples of the factor apart.
        factor = math.gcd(*(number - both[0] for number in both), *offsets) or 1
        outs, backs = ({pair[side] for pair in pairs} for side in (0, 1))
        self.out = Subsets(own, min(outs), max(outs), factor, self.budget)
        rest = replace(self.budget, memory=self.budget.memory - self.out.held)
        self.back = Subsets(opposite, min(backs), max(backs), factor, rest)
        best = UNBOUNDED
        for trades in self.trades:
            meeting = None
            for out, back in trades:
                shift = (self.out.low(out) - self.back.low(back) - self.target) // factor
                sets = self.out.reach(out), self.back.reach(back), shift
                self.budget.spend(JOIN_WORK + sets[0].bit_length() + sets[1].bit_length())
                distance = nearest(*sets, 0, best)
                if distance < best:
                    self.budget.spend(search_work(*sets[:2]))
                    best, meeting = distance, (out, back, sets)
            if meeting is not None:
                out, back, sets = meeting
                bit_out, bit_back = coincidence(*sets, best)
                yield self._rebalance(
                    self.out.any(out, self.out.low(out) + bit_out * factor),
                    self.back.any(back, self.back.low(back) + bit_back * factor),
                )
            if best == 0:
                return  # more moves cannot be better

    def _first(self) -> Rebalance:
        """Return the fewest moves that even out the sizes, after the exchanges that help, for each side alone."""
        out, back = self.trades[0][0]
        leavers = exchanged(self.numbers[0], out, self.target, [0] * len(self.from_a), self.budget)
        comers = exchanged(self.numbers[1], back, -self.target, [0] * len(self.from_b), self.budget)
        return self._rebalance(leavers, comers)

    def _by_moves(self) -> list[list[tuple[int, int]]]:
        """Return the numbers of players who may leave A and B so that the sizes are right, fewest moves first."""
        by_moves: dict[int, list[tuple[int, int]]] = {}
        for out, back in product(range(len(self.from_a) + 1), range(len(self.from_b) + 1)):
            leave = self.leave is None or (out in self.leave[0] and back in self.leave[1])
            if leave and len(self.teams.a) - out + back in self.sizes_a:
                by_moves.setdefault(out + back, []).append((out, back))
        if not by_moves:
            raise SplitError("too few players are movable to even out the sides")
        return [by_moves[moves] for moves in sorted(by_moves)]

    def _rebalance(self, leavers: Sequence[int], comers: Sequence[int]) -> Rebalance:
        movers = [self.from_a[i] for i in leavers] + [self.from_b[i] for i in comers]
        after = self.teams.after(movers)
        return Rebalance(
            after.a, after.b, tuple(sorted(movers)), after.difference, self.ticks.error_bound(len(movers) + 1)
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
    """Return the teams after swaps of the pair that leaves the least |Σ(A) − Σ(B) − target|, until none lessens it.

    NS2's method; not exact. Players who `stay` are in no pair; `most` is the largest number of swaps.

    >>> greedy_swaps([9, 7, 2, 1], [Side.A, Side.A, Side.B, Side.B]).moved
    (0, 2)
    """

    def off(teams: PresentTeams) -> float:
        return abs(teams.difference - target)

    present = teams = PresentTeams.of(values, current, values_b)
    for _ in count() if most is None else range(most):
        pairs = (
            (player_a, player_b)
            for player_a, player_b in product(teams.a, teams.b)
            if player_a not in stay and player_b not in stay
        )
        best = min(map(teams.after, pairs), key=off, default=teams)
        if off(best) >= off(teams):
            break
        teams = best
    movers = tuple(sorted(set(present.a) ^ set(teams.a)))
    return Rebalance(teams.a, teams.b, movers, teams.difference)


class Choice(NamedTuple):
    """The cost of some numbers, their indices, and whether it is proven that no others with the same sum cost less."""

    cost: int
    indices: list[int]
    proven: bool


def most_ticks(numbers: int, most: int, budget: Budget) -> int:
    """Return the most ticks that so many numbers may span so that the sums of up to `most` of them fit the budget."""
    # A layer per number; in each the sums of 1 to `most` numbers, the c-th with c · ticks bits: most · (most + 1) / 2
    # together. Twice that is counted, for the layer in the making.
    bits = min(budget.memory, max(0.0, budget.share(1 / 4).work - budget.meter.done))
    return max(COARSEST, int(bits // max(1, numbers * most * (most + 1))))


class Subsets:
    """Bitsets of the sums of `fewest` to `most` numbers, after 0, 1, … all numbers; no others are kept.

    Bit i of the sums of c numbers stands for the least of them + i · factor; `factor` must divide all differences
    between numbers.

    >>> two = Subsets([3, 5, 9], 2, 2, 1, Budget())
    >>> [two.low(2) + i for i in range(two.reach(2).bit_length()) if two.reach(2) >> i & 1]
    [8, 12, 14]
    """

    def __init__(self, numbers: Sequence[int], fewest: int, most: int, factor: int, budget: Budget) -> None:
        self.numbers, self.factor, self.budget, length = numbers, factor, budget, len(numbers)
        lowest, highest = (accumulate(sorted(numbers, reverse=high)) for high in (False, True))
        bits = sum((high - low) // factor for low, high, _ in zip(lowest, highest, range(most), strict=False))
        self.held = length * (bits + (most + 1) * SET_BITS)
        budget.spend(length * (bits + (most + 1) * IDLE_SPAN), self.held)
        layer, least = [1] + [0] * most, [0] * (most + 1)
        self.layers, self.lows = [layer], [least]
        for depth, number in enumerate(numbers, start=1):
            before, lows, layer, least = layer, least, [0] * (most + 1), [0] * (most + 1)
            # Fewer than that could not become `fewest` with all numbers still to come.
            for size in range(max(0, fewest - length + depth), min(most, depth) + 1):
                # The sums without this number, and with it; bit 0 is at the lower of their ends.
                sums, low = before[size], lows[size]
                if size and (with_it := before[size - 1]):
                    more = lows[size - 1] + number
                    if not sums:
                        sums, low = with_it, more
                    elif more >= low:
                        sums |= with_it << (more - low) // factor
                    else:
                        sums, low = sums << (low - more) // factor | with_it, more
                layer[size], least[size] = sums, low
            self.layers.append(layer)
            self.lows.append(least)

    def reach(self, size: int) -> int:
        """Return the bitset of the sums of `size` numbers."""
        return self.layers[-1][size]

    def low(self, size: int) -> int:
        """Return the sum of `size` numbers that bit 0 stands for."""
        return self.lows[-1][size]

    def nearest(self, size: int, aim: int) -> list[int]:
        """Return the one or two sums of `size` numbers that are nearest to the aim."""
        bits, low = self.reach(size), self.low(size)
        # Cut to the set: an aim may lie 10¹⁵ points away, and the mask below would be as long.
        first_above = min(bits.bit_length(), max(0, (aim - low) // self.factor + 1))
        above, below = bits >> first_above, bits & (1 << first_above) - 1
        positions = [below.bit_length() - 1] if below else []
        if above:
            positions.append(first_above + (above & -above).bit_length() - 1)
        sums = [low + position * self.factor for position in positions]
        least = min(abs(candidate - aim) for candidate in sums)
        return [candidate for candidate in sums if abs(candidate - aim) == least]

    def any(self, size: int, aim: int) -> list[int]:
        """Return the indices of some `size` numbers with this sum."""
        return self.cheapest(size, aim, [0] * len(self.numbers)).indices

    def cheapest(self, size: int, aim: int, costs: Sequence[int]) -> Choice:
        """Return the `size` numbers with this sum that cost least, as far as the budget suffices to find them.

        `costs` must ascend with the numbers. The search is depth first from the most costly number, trying first to
        leave it out; a branch ends when even the cheapest of the remaining numbers would not improve on the best.
        """
        cheapest, step = [0, *accumulate(costs)], IDLE_SPAN + self.reach(size).bit_length()
        best, choice = sum(costs) + 1, list[int]()
        least_cost: dict[tuple[int, int, int], int] = {}
        branches = [(len(costs), size, aim, 0, list[int]())]
        while branches:
            depth, lack, at, cost, path = branches.pop()
            # A state that was reached before at no higher cost has been searched from already.
            if cost + cheapest[lack] >= best or least_cost.get((depth, lack, at), best) <= cost:
                continue
            if not lack:
                best, choice = cost, path
                continue
            if choice and not len(least_cost) % BLOCK:
                # The first way through is found without a search: the sets lead there.
                try:
                    self.budget.spend(BLOCK * step, self.held + (len(least_cost) + BLOCK) * PATH_BITS)
                except Spent:
                    return Choice(best, choice, proven=False)
            least_cost[depth, lack, at] = cost
            last = depth - 1
            before, more = at - self.numbers[last], cost + costs[last]
            if more + cheapest[lack - 1] < best and self._holds(last, lack - 1, before):
                branches.append((last, lack - 1, before, more, [*path, last]))
            # What is pushed last is tried first.
            if self._holds(last, lack, at):
                branches.append((last, lack, at, cost, path))
        return Choice(best, choice, proven=True)

    def _holds(self, placed: int, size: int, aim: int) -> bool:
        bits, above = self.layers[placed][size], aim - self.lows[placed][size]
        return bool(bits) and above >= 0 and bool(bits >> above // self.factor & 1)


def exchanged(numbers: Sequence[int], size: int, aim: int, costs: Sequence[int], budget: Budget) -> list[int]:
    """Return the indices of `size` numbers with a sum near the aim, where the budget does not suffice for sets.

    The first ones, after the best exchange of one of them for another, again and again until none helps.
    """
    choice = list(range(size))

    def score(swap: tuple[int, int]) -> tuple[int, int]:
        out, into = swap
        return abs(off - numbers[out] + numbers[into]), costs[into] - costs[out]

    try:
        while choice and (others := sorted(set(range(len(numbers))) - set(choice))):
            # `score` reads this `off`.
            off = sum(numbers[i] for i in choice) - aim
            budget.spend(len(choice) * len(others) * TRADE_WORK)
            out, into = min(((i, j) for i in choice for j in others), key=score)
            if score((out, into)) >= (abs(off), 0):
                break
            choice[choice.index(out)] = into
    except Spent:
        pass
    return choice
