"""One half's classes: all differences Σ(A) − Σ(B) that some a of its players on A and b on B can make.

The half's values are whole, ascending, and not negative. The least difference of class (a, b) puts the a lowest
on A and the b highest on B; the class's bitset counts from there, so its lowest and its highest bit are set and
nothing else is stored. Adding a value x to the i values before it, r[0] ≤ … ≤ r[i-1], gives

    S'(a, b) = S(a, b-1)  |  ( S(a, b)  |  S(a-1, b) << (x - r[a-1]) ) << (x - r[i-b])

where x goes to B, to the bench or to A; the shifts are how far the least difference of the class moves. As
S(b, a) holds the negatives of S(a, b), its bits are those of S(a, b) in reverse: only a ≥ b is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from equipoise.solver.bitset import UNBOUNDED, mirrored
from equipoise.solver.budget import Budget

IDLE_SPAN = 4000
"""The span, in bits, at which a class's bit operations take as long as handling the class at all."""

HALVES = 2

Class = tuple[int, int]
"""Players on A and on B."""

Layer = list[list[int]]
"""`layer[a][b + 1]` is the bitset of class (a, b), 0 where it is not wanted. Column 0, for b = -1, is always 0."""


class Window(NamedTuple):
    """The classes of a whole half that are wanted; bounds are inclusive."""

    players_max: int
    """Players on either side."""
    surplus_max: int
    """By which one side outnumbers the other."""
    total_min: int = 0
    """Players on both sides together."""
    drift_max: int = UNBOUNDED
    """By which one side outnumbers the other at any time, among the values placed so far."""

    @classmethod
    def around(cls, classes: Sequence[Class]) -> Window:
        """The smallest window that contains all these classes."""
        return cls(
            players_max=max((max(a, b) for a, b in classes), default=0),
            surplus_max=max((abs(a - b) for a, b in classes), default=0),
            total_min=min((a + b for a, b in classes), default=0),
        )

    def surplus(self, left: int) -> int:
        """The most by which one side may outnumber the other while `left` values are still to come."""
        return min(self.surplus_max + left, self.drift_max)


class Half:
    """One half's values, and its classes after 0, 1, … all of them."""

    def __init__(self, values: Sequence[int]) -> None:
        self.values = values
        self.lowest = [0, *accumulate(values)]
        """The sums of the 0, 1, 2, … lowest values."""
        self.highest = [0, *accumulate(reversed(values))]
        self.layers: list[Layer] = []
        self.work = 0
        """About the work of one operation on each class that is wanted, in bits."""
        self._classes = 0
        self._mirrors: dict[Class, int] = {}

    def least(self, a: int, b: int) -> int:
        """The least difference in class (a, b), which is bit 0 of its bitset."""
        return self.lowest[a] - self.highest[b]

    def span(self, a: int, b: int) -> int:
        """The greatest difference in class (a, b) less the least: the highest bit of its bitset."""
        return self.highest[a] + self.highest[b] - self.lowest[a] - self.lowest[b]

    def sweep(self, window: Window, budget: Budget) -> None:
        """Compute the classes that the window wants."""
        self._mirrors.clear()
        self.layers, self._classes, held = [[[0, 1]]], 1, 0
        for placed in range(1, len(self.values) + 1):
            # A row more than before; the span of the fullest class is the longest, and twice the average.
            classes = self._classes + placed // 2 + 1
            bits = classes * self._span(placed, placed // 2, placed // 2) // 2
            self.work, held = classes * IDLE_SPAN + bits, held + bits
            budget.spend(self.work, HALVES * held)
            self.layers.append(self._extended(placed, window))

    def _extended(self, placed: int, window: Window) -> Layer:
        before, left, value = self.layers[-1], len(self.values) - placed, self.values[placed - 1]
        surplus, total = window.surplus(left), window.total_min - left
        raised = [value - other for other in self.values[: placed - 1]]
        to_a, to_bench = [0, *raised, 0], [0, *reversed(raised), 0]
        rows, fewer, self._classes = [], [0], 0
        for a in range(min(window.players_max, placed, (placed + surplus) // 2) + 1):
            same = before[a] if a < len(before) else [0] * (a + 2)
            low, end = max(0, a - surplus, total - a), min(a, placed - a) + 1
            by_a = fewer[low + 1 : end + 1]
            if low <= a < end:
                by_a.append(mirrored(same[a], self._span(placed - 1, a, a - 1)) if same[a] else 0)
            sources = zip(same[low:end], same[low + 1 : end + 1], by_a, to_bench[low:end], strict=True)
            # The classes (a, b) from b = `low` on, each from those where x goes to B, to the bench and to A.
            row = [to_b | (idle | on_a << to_a[a]) << shift for to_b, idle, on_a, shift in sources]
            self._classes += len(row)
            rows.append([0] * (low + 1) + row + [0] * (a + 1 - low - len(row)))
            fewer = same
        return rows

    def reach(self, a: int, b: int) -> int:
        """The bitset of class (a, b) of the whole half; 0 where it was not wanted."""
        classes = self.layers[-1]
        if max(a, b) >= len(classes):
            return 0
        if a >= b:
            return classes[a][b + 1]
        if (a, b) not in self._mirrors:
            self._mirrors[a, b] = mirrored(classes[b][a + 1], self.span(a, b))
        return self._mirrors[a, b]

    def trace(self, a: int, b: int, position: int) -> list[int]:
        """One way to make the difference of a bit of class (a, b): the place of each value, 1 (A), -1 (B) or 0 (bench).

        Runs through the layers backwards; at each step the bit must come from one of the three terms of the recurrence.
        """
        places, side = [0] * len(self.values), 1
        if a < b:
            a, b, side, position = b, a, -1, self.span(a, b) - position
        for last in range(len(self.values) - 1, -1, -1):
            if self._holds(last, a, b - 1, position):
                places[last], b = -side, b - 1
                continue
            if 0 < b <= last:
                position -= self.values[last] - self.values[last - b]
            if self._holds(last, a, b, position):
                continue
            position -= self.values[last] - self.values[a - 1]
            places[last], a = side, a - 1
            if a < b:
                a, b, side, position = b, a, -side, self._span(last, a, b) - position
        return places

    def _span(self, placed: int, a: int, b: int) -> int:
        """The span of class (a, b) of the first `placed` values."""
        sums = self.lowest
        return 2 * sums[placed] - sums[placed - a] - sums[placed - b] - sums[a] - sums[b]

    def _holds(self, placed: int, a: int, b: int, position: int) -> bool:
        """The class (a, b) of the first `placed` values has the position's bit."""
        layer = self.layers[placed]
        return a < len(layer) and b <= a and bool(layer[a][b + 1] >> position & 1)
