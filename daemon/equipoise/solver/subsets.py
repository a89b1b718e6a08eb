"""Every sum that some `count` of a list of numbers can have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from equipoise.solver.memory import CAP_BITS, MemoryExceeded


class Subsets:
    """Bitsets of the sums of 0, 1, … `most` numbers, after 0, 1, … all numbers.

    Sums count from the smallest number, taken once for each number in the sum, in steps of `factor`, which must
    divide all differences between numbers.
    """

    def __init__(self, numbers: Sequence[int], most: int, factor: int = 1) -> None:
        self.smallest, self.factor = min(numbers, default=0), factor
        self.steps = [(number - self.smallest) // factor for number in numbers]
        needed = len(numbers) * most * (most + 1) * max(self.steps, default=0)
        if needed > CAP_BITS:
            raise MemoryExceeded(needed)
        self.layers = [[1] + [0] * most]
        for step in self.steps:
            before = self.layers[-1]
            self.layers.append([1, *(left | taken << step for taken, left in pairwise(before))])

    def reach(self, count: int) -> int:
        """The bitset of the sums of `count` numbers."""
        return self.layers[-1][count]

    def low(self, count: int) -> int:
        """The sum that bit 0 stands for."""
        return count * self.smallest

    def nearest(self, count: int, total: int) -> list[int]:
        """The one or two positions whose sums of `count` numbers are nearest to a total."""
        bits, wanted = self.reach(count), (total - self.low(count)) // self.factor
        above = bits >> max(0, wanted + 1)
        below = bits & ((1 << max(0, wanted + 1)) - 1)
        found = [below.bit_length() - 1] if below else []
        if above:
            found.append(max(0, wanted + 1) + (above & -above).bit_length() - 1)
        distances = [abs(self.low(count) + position * self.factor - total) for position in found]
        return [found[i] for i, distance in enumerate(distances) if distance == min(distances)]

    def any(self, count: int, position: int) -> list[int]:
        """Indices of `count` numbers with the sum at a set bit."""
        return self.cheapest(count, position, [0] * len(self.steps))[1]

    def cheapest(self, count: int, position: int, costs: Sequence[int]) -> tuple[int, list[int]]:
        """The least sum of costs, which must ascend with the numbers' order, and the indices that have it.

        Depth first from the most costly, who is rather left than taken; a branch ends where the cheapest of those
        still to come would not improve on the best.
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
