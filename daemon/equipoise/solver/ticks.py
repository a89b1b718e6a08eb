"""Values as whole ticks, which the solver adds up: whole numbers are kept, others are rounded to a fine grid.

Bitsets are as long as the range of the values in ticks, so the grid decides about time and memory. By default a
range spans about `FINE` ticks: the error is far below what ratings mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.errors import SplitError

FINE, COARSE = 1 << 14, 1 << 12
"""Ticks that the range of values spans by default, up to and above `FEW_PLAYERS`."""
FEW_PLAYERS = 40
FINEST = 2.0**40
"""The most ticks per point."""
COARSEST = 1 << 8
"""Values are not rounded to fewer ticks than this."""
REACH = 64
"""Values that span less than this part of the largest have the grid of those that span as much.

A finer one would decide by differences that ratings do not mean, and by the rounding of their sums.
"""
LARGEST = 1e15
"""The largest absolute value that is accepted."""
SUMS = 256 * LARGEST
"""The same for what is made of values: their sums, and what they are worth on both sides together."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """Values on side A and on side B, and the target difference, in whole ticks."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    target: int
    per_point: float
    lossless: bool

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        values_b: Sequence[float] | None = None,
        target: float = 0,
        resolution: float | None = None,
        widest: float = math.inf,
        largest: float = LARGEST,
    ) -> Ticks:
        """Round to `resolution` ticks per point; by default the finest that is still fast, or 1 for whole numbers.

        To fewer where the values would span more than `widest` ticks. None may be larger than `largest`.

        >>> Ticks.of([1500.0, 1200.0]).a, Ticks.of([0.5, 0.25], resolution=4).a
        ((1500, 1200), (2, 1))
        """
        _check_values(values, values_b)
        numbers = [*values, *(values_b or ()), target]
        _check_numbers(numbers, largest)
        per_point = _resolution(numbers, len(values)) if resolution is None else _checked(resolution)
        spread = max(numbers[:-1]) - min(numbers[:-1])
        if spread * per_point > widest:
            per_point = widest / spread
        ticks = [_rounded(number, per_point) for number in numbers]
        count = len(values)
        return cls(
            a=tuple(ticks[:count]),
            b=tuple(ticks[count:-1]) if values_b is not None else tuple(ticks[:count]),
            target=ticks[-1],
            per_point=per_point,
            lossless=all(tick == number * per_point for tick, number in zip(ticks, numbers, strict=True)),
        )

    def error_bound(self, players: int) -> float:
        """The most by which rounding changes a difference between sides of `players` in all, in points.

        Half a tick per player: k/t for k players on each side at t ticks per point.
        """
        return 0.0 if self.lossless else players / (2 * self.per_point)

    def hidden(self, players: int) -> float:
        """The most by which rounding hides that another is nearer: half a tick per player and for the target.

        It may make one nearer than it is and the other farther, so it counts twice.
        """
        return 0.0 if self.lossless else (players + 1) / self.per_point

    def whole(self, points: float) -> float:
        """A distance in points as whole ticks, rounded down; infinity is kept."""
        return points if math.isinf(points) else math.floor(points * self.per_point)


def _check_values(values: Sequence[float], values_b: Sequence[float] | None) -> None:
    if not values:
        raise SplitError("no players to split")
    if values_b is not None and len(values_b) != len(values):
        raise SplitError(f"{len(values)} values on side A, but {len(values_b)} on side B")


def _check_numbers(numbers: Sequence[float], largest: float) -> None:
    for number in numbers:
        if not isinstance(number, int | float) or not -largest <= number <= largest:
            raise SplitError(f"{number!r} is not a number up to {largest:g}")


def _checked(resolution: float) -> float:
    if not 0 < resolution <= FINEST:
        raise SplitError(f"a resolution is a number of ticks per point above 0, not {resolution!r}")
    return resolution


def _resolution(numbers: Sequence[float], count: int) -> float:
    if all(number == int(number) for number in numbers):
        return 1
    values = numbers[:-1]
    spread = max(max(values) - min(values), max(map(abs, numbers)) / REACH)
    budget = FINE if count <= FEW_PLAYERS else COARSE
    return 2.0 ** math.floor(math.log2(budget / max(spread, budget / FINEST)))


def _rounded(number: float, per_point: float) -> int:
    return number if per_point == 1 and isinstance(number, int) else round(number * per_point)
