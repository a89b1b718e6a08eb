"""Sums of values in points."""

from __future__ import annotations

import math
from collections.abc import Collection


def total(values: Collection[float]) -> float:
    """The sum: exact for whole numbers, else correctly rounded.

    >>> total([1, 2]), total([0.1] * 10)
    (3, 1.0)
    """
    whole = sum(values)
    return whole if isinstance(whole, int) else math.fsum(values)
