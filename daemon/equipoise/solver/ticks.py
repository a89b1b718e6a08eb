"""Values as whole ticks: what the solver adds up. Whole numbers stay as they are; the rest is rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.errors import SplitError

FINE, COARSE = 1 << 14, 1 << 12
"""Ticks that a pool's range spans by default, up to and above `SMALL_POOL` players."""
SMALL_POOL = 40
FINEST = 2.0**40
"""The most ticks per point."""
LARGEST = 1e15
"""No value is larger, on either side of 0."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """A pool's values on side A and on side B, and the target difference, in whole ticks."""

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
    ) -> Ticks:
        """Round to `resolution` ticks per point; by default the finest that is still fast, or 1 for whole numbers."""
        _check_values(values, values_b)
        numbers = [*values, *(values_b or ()), target]
        _check_numbers(numbers)
        per_point = _resolution(numbers, len(values)) if resolution is None else _checked(resolution)
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
        """The most that rounding changes a difference between sides of so many players together: k/t for k each."""
        return 0.0 if self.lossless else players / (2 * self.per_point)

    def whole(self, points: float) -> float:
        """A distance in points as whole ticks, rounded down; infinity stays."""
        return points if math.isinf(points) else math.floor(points * self.per_point)


def _check_values(values: Sequence[float], values_b: Sequence[float] | None) -> None:
    if not values:
        raise SplitError("no players to split")
    if values_b is not None and len(values_b) != len(values):
        raise SplitError(f"{len(values)} values on side A, but {len(values_b)} on side B")


def _check_numbers(numbers: Sequence[float]) -> None:
    for number in numbers:
        if not isinstance(number, int | float) or not -LARGEST <= number <= LARGEST:
            raise SplitError(f"{number!r} is not a number up to {LARGEST:g}")


def _checked(resolution: float) -> float:
    if not 0 < resolution <= FINEST:
        raise SplitError(f"a resolution is a number of ticks per point above 0, not {resolution!r}")
    return resolution


def _resolution(numbers: Sequence[float], count: int) -> float:
    if all(number == int(number) for number in numbers):
        return 1
    values = numbers[:-1]
    spread = max(values) - min(values)
    budget = FINE if count <= SMALL_POOL else COARSE
    return 2.0 ** math.floor(math.log2(budget / max(spread, budget / FINEST)))


def _rounded(number: float, per_point: float) -> int:
    return number if per_point == 1 and isinstance(number, int) else round(number * per_point)
