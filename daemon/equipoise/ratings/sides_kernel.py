"""What every kernel of two teams asks about a match, as plain functions that numba can compile with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIMIT = 1_000_000.0
"""No rating is set, or goes, beyond this, points."""


def result(rank: int, other: int) -> float:
    """1, 0.5 or 0; without a branch, which half the time would be guessed wrong."""
    return 0.5 + 0.5 * (rank < other) - 0.5 * (rank > other)


def within_limit(rating: float) -> float:
    """A rating, or what it is held at where it would go beyond `LIMIT`."""
    return rating if abs(rating) <= LIMIT else math.copysign(LIMIT, rating)


def share_at(place: int, share: NDArray[np.float64]) -> float:
    """The part of the match that a participant played; 1 where unknown."""
    return 1.0 * share[place] if len(share) > 0 and not math.isnan(share[place]) else 1.0


def sum_at_doors(
    first: int,
    last: int,
    seated: NDArray[np.int32],
    standing: NDArray[np.float64],
    records: NDArray[np.void],
    initial: float,
) -> float:
    """Ratings of everybody at the doors as he stood there, added up; negative numbers are bots."""
    total = 0.0
    for seat in range(first, last):
        if len(standing) > 0 and not math.isnan(standing[seat]):
            total += standing[seat]
        elif seated[seat] < 0:
            total += initial
        else:
            total += records[seated[seat]].rating
    return total
