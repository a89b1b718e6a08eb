"""All sums of a fixed number of numbers, as bitsets, and the cheapest numbers that make a sum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from equipoise.solver.budget import MEMORY


def most_ticks(count: int, most: int) -> int:
    """The most that `count` numbers may span so that the sums of up to `most` of them fit the memory of a solve."""
    return MEMORY // max(1, count * most * (most + 1))


class Subsets:
    """Bitsets of the sums of 0, 1, … `most` numbers, after 0, 1, … all numbers.

    Bit i of the sums of c numbers stands for c · smallest + i · factor; `factor` must divide all differences between
    numbers.

    >>> two = Subsets([3, 5, 9], most=2)
    >>> [two.low(2) + i for i in range(two.reach(2).bit_length()) if two.reach(2) >> i & 1]
    [8, 12, 14]
    """

    def __init__(self, numbers: Sequence[int], most: int, factor: int = 1) -> None:
        self.smallest, self.factor = min(numbers, default=0), factor
        self.steps = [(number - self.smallest) // factor for number in numbers]
        self.layers = [[1] + [0] * most]
        for step in self.steps:
            before = self.layers[-1]
            self.layers.append([1, *(left | taken << step for taken, left in pairwise(before))])

    def reach(self, count: int) -> int:
        """The bitset of the sums of `count` numbers."""
        return self.layers[-1][count]

    def low(self, count: int) -> int:
        """The sum of `count` numbers that bit 0 stands for."""
        return count * self.smallest

    def nearest(self, count: int, total: int) -> list[int]:
        """The one or two positions whose sums of `count` numbers are nearest to `total`."""
        bits, wanted = self.reach(count), (total - self.low(count)) // self.factor
        above = bits >> max(0, wanted + 1)
        below = bits & ((1 << max(0, wanted + 1)) - 1)
        found = [below.bit_length() - 1] if below else []
        if above:
            found.append(max(0, wanted + 1) + (above & -above).bit_length() - 1)
        distances = [abs(self.low(count) + position * self.factor - total) for position in found]
        return [found[i] for i, distance in enumerate(distances) if distance == min(distances)]

    def any(self, count: int, position: int) -> list[int]:
        """Indices of some `count` numbers whose sum is at this position."""
        return self.cheapest(count, position, [0] * len(self.steps))[1]

    def cheapest(self, count: int, position: int, costs: Sequence[int]) -> tuple[int, list[int]]:
        """The least sum of costs of `count` numbers whose sum is at this position, and their indices.

        `costs` must ascend with the numbers. The search is depth first from the most costly number, trying first to
        leave it out; a branch ends when even the cheapest of the remaining numbers would not improve on the best.
        """
        cheapest = [0, *accumulate(costs)]
        best, chosen = sum(costs) + 1, list[int]()
        seen: dict[tuple[int, int, int], int] = {}
        branches = [(len(costs), count, position, 0, list[int]())]
        while branches:
            placed, missing, at, spent, taken = branches.pop()
            if spent + cheapest[missing] >= best or seen.get((placed, missing, at), best) <= spent:
                continue
            seen[placed, missing, at] = spent
            if not missing:
                best, chosen = spent, taken
                continue
            last = placed - 1
            before, more = at - self.steps[last], spent + costs[last]
            if more + cheapest[missing - 1] < best and self._holds(last, missing - 1, before):
                branches.append((last, missing - 1, before, more, [*taken, last]))
            if self._holds(last, missing, at):
                branches.append((last, missing, at, spent, taken))
        return best, chosen

    def _holds(self, placed: int, count: int, position: int) -> bool:
        return position >= 0 and bool(self.layers[placed][count] >> position & 1)
