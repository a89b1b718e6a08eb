"""What every kernel of two teams asks about a match, as plain functions that numba can compile with it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from equipoise.ratings.parts.match_arrays import Floats

LIMIT = 1_000_000.0
"""No rating is set, or goes, beyond this, points."""


def result(rank: int, other: int) -> float:
    """1, 0.5 or 0; without a branch, which half the time would be guessed wrong."""
    return 0.5 + 0.5 * (rank < other) - 0.5 * (rank > other)


def within_limit(rating: float) -> float:
    """A rating, or what it is held at where it would go beyond `LIMIT`."""
    return rating if abs(rating) <= LIMIT else math.copysign(LIMIT, rating)


def fraction_played_at(place: int, fraction_played: Floats) -> float:
    """The part of the match that a participant played; 1 where unknown."""
    return 1.0 * fraction_played[place] if len(fraction_played) > 0 and not math.isnan(fraction_played[place]) else 1.0


def lineup_sum(
    first: int,
    last: int,
    lineup_members: NDArray[np.int32],
    skill_at_start: NDArray[np.float64],
    records: NDArray[np.void],
    initial: float,
) -> float:
    """Ratings of everybody at the doors as he stood there, added up; negative numbers are bots."""
    total = 0.0
    for seat in range(first, last):
        if len(skill_at_start) > 0 and not math.isnan(skill_at_start[seat]):
            total += skill_at_start[seat]
        elif lineup_members[seat] < 0:
            total += initial
        else:
            total += records[lineup_members[seat]].rating
    return total
