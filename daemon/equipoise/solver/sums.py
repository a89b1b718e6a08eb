"""Sums of values as they were given."""

from __future__ import annotations

import math
from collections.abc import Collection


def total(values: Collection[float]) -> float:
    """Exact for whole numbers, correctly rounded for the rest."""
    whole = sum(values)
    return whole if isinstance(whole, int) else math.fsum(values)
