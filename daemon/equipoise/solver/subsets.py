"""All sums of a fixed number of numbers, as bitsets, and the cheapest numbers that make a sum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from equipoise.solver.budget import Budget, Spent
from equipoise.solver.classes import IDLE_SPAN
from equipoise.solver.exchange import TRADE_WORK
from equipoise.solver.ticks import COARSEST

SET_BITS, PATH_BITS = 1 << 9, 1 << 12
"""Memory of a set besides its bits, and of a way that was tried, in bits."""
BLOCK = 1 << 8
"""So many ways are tried before the budget is asked."""


class Chosen(NamedTuple):
    """What some numbers cost, which they are, and whether it is proven that none with the same sum cost less."""

    cost: int
    indices: list[int]
    proven: bool


def most_ticks(count: int, most: int, budget: Budget) -> int:
    """The most that `count` numbers may span so that the sums of up to `most` of them fit the budget."""
    bits = min(budget.memory, max(0.0, budget.share(1 / 4).work - budget.meter.done))
    return max(COARSEST, int(bits // max(1, count * most * (most + 1))))


class Subsets:
    """Bitsets of the sums of `fewest` to `most` numbers, after 0, 1, … all numbers; no others are kept.

    Bit i of the sums of c numbers stands for the least of them + i · factor; `factor` must divide all differences
    between numbers.

    >>> two = Subsets([3, 5, 9], 2, 2, 1, Budget())
    >>> [two.low(2) + i for i in range(two.reach(2).bit_length()) if two.reach(2) >> i & 1]
    [8, 12, 14]
    """

    def __init__(self, numbers: Sequence[int], fewest: int, most: int, factor: int, budget: Budget) -> None:
        self.numbers, self.factor, self.budget, total = numbers, factor, budget, len(numbers)
        lowest, highest = (accumulate(sorted(numbers, reverse=high)) for high in (False, True))
        bits = sum((high - low) // factor for low, high, _ in zip(lowest, highest, range(most), strict=False))
        self.held = total * (bits + (most + 1) * SET_BITS)
        budget.spend(total * (bits + (most + 1) * IDLE_SPAN), self.held)
        layer, least = [1] + [0] * most, [0] * (most + 1)
        self.layers, self.lows = [layer], [least]
        for placed, number in enumerate(numbers, start=1):
            before, lows, layer, least = layer, least, [0] * (most + 1), [0] * (most + 1)
            for count in range(max(0, fewest - total + placed), min(most, placed) + 1):
                left, low = before[count], lows[count]
                if count and (taken := before[count - 1]):
                    more = lows[count - 1] + number
                    if not left:
                        left, low = taken, more
                    elif more >= low:
                        left |= taken << (more - low) // factor
                    else:
                        left, low = left << (low - more) // factor | taken, more
                layer[count], least[count] = left, low
            self.layers.append(layer)
            self.lows.append(least)

    def reach(self, count: int) -> int:
        """The bitset of the sums of `count` numbers."""
        return self.layers[-1][count]

    def low(self, count: int) -> int:
        """The sum of `count` numbers that bit 0 stands for."""
        return self.lows[-1][count]

    def nearest(self, count: int, total: int) -> list[int]:
        """The one or two sums of `count` numbers that are nearest to `total`."""
        bits, low = self.reach(count), self.low(count)
        first_above = min(bits.bit_length(), max(0, (total - low) // self.factor + 1))
        above, below = bits >> first_above, bits & (1 << first_above) - 1
        found = [below.bit_length() - 1] if below else []
        if above:
            found.append(first_above + (above & -above).bit_length() - 1)
        sums = [low + position * self.factor for position in found]
        least = min(abs(each - total) for each in sums)
        return [each for each in sums if abs(each - total) == least]

    def any(self, count: int, total: int) -> list[int]:
        """Indices of some `count` numbers with this sum."""
        return self.cheapest(count, total, [0] * len(self.numbers)).indices

    def cheapest(self, count: int, total: int, costs: Sequence[int]) -> Chosen:
        """The `count` numbers with this sum that cost least, as far as the budget suffices to find them.

        `costs` must ascend with the numbers. The search is depth first from the most costly number, trying first to
        leave it out; a branch ends when even the cheapest of the remaining numbers would not improve on the best.
        """
        cheapest, step = [0, *accumulate(costs)], IDLE_SPAN + self.reach(count).bit_length()
        best, chosen = sum(costs) + 1, list[int]()
        seen: dict[tuple[int, int, int], int] = {}
        branches = [(len(costs), count, total, 0, list[int]())]
        while branches:
            placed, missing, at, spent, taken = branches.pop()
            if spent + cheapest[missing] >= best or seen.get((placed, missing, at), best) <= spent:
                continue
            if not missing:
                best, chosen = spent, taken
                continue
            if chosen and not len(seen) % BLOCK:
                # The first way through is found without a search: the sets lead there.
                try:
                    self.budget.spend(BLOCK * step, self.held + (len(seen) + BLOCK) * PATH_BITS)
                except Spent:
                    return Chosen(best, chosen, proven=False)
            seen[placed, missing, at] = spent
            last = placed - 1
            before, more = at - self.numbers[last], spent + costs[last]
            if more + cheapest[missing - 1] < best and self._holds(last, missing - 1, before):
                branches.append((last, missing - 1, before, more, [*taken, last]))
            if self._holds(last, missing, at):
                branches.append((last, missing, at, spent, taken))
        return Chosen(best, chosen, proven=True)

    def _holds(self, placed: int, count: int, total: int) -> bool:
        bits, above = self.layers[placed][count], total - self.lows[placed][count]
        return bool(bits) and above >= 0 and bool(bits >> above // self.factor & 1)


def exchanged(numbers: Sequence[int], count: int, total: int, costs: Sequence[int], budget: Budget) -> list[int]:
    """Indices of `count` numbers with a sum near the total, where the budget does not suffice for sets.

    The first ones, after the best exchange of one of them for another, again and again until none helps.
    """
    chosen = list(range(count))

    def score(swap: tuple[int, int]) -> tuple[int, int]:
        out, into = swap
        return abs(off - numbers[out] + numbers[into]), costs[into] - costs[out]

    try:
        while chosen and (others := sorted(set(range(len(numbers))) - set(chosen))):
            off = sum(numbers[i] for i in chosen) - total
            budget.spend(len(chosen) * len(others) * TRADE_WORK)
            out, into = min(((i, j) for i in chosen for j in others), key=score)
            if score((out, into)) >= (abs(off), 0):
                break
            chosen[chosen.index(out)] = into
    except Spent:
        pass
    return chosen
