"""What the kernels of two teams have in common, as plain functions that numba compiles with them.

Match m is between the teams 2m and 2m + 1.  A record is the object that a live system holds, or a row of an array.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from equipoise.ratings.parts.match_arrays import Lineup

if TYPE_CHECKING:
    from equipoise.ratings.parts.match_arrays import Floats

LIMIT = 1_000_000.0
"""Points: a rating is never set beyond this, and held here where it would go beyond."""


def result(rank: int, other: int) -> float:
    """The score by two ranks: 1, 0.5 or 0.  Without a branch, which the processor would mispredict half the time.

    >>> result(0, 1), result(2, 2), result(1, 0)
    (1.0, 0.5, 0.0)
    """
    return 0.5 + 0.5 * (rank < other) - 0.5 * (rank > other)


def within_limit(rating: float) -> float:
    """The rating, clipped to ±`LIMIT`."""
    return rating if abs(rating) <= LIMIT else math.copysign(LIMIT, rating)


def fraction_played_at(place: int, fraction_played: Floats) -> float:
    """The fraction of the match that a participant played; 1 where unknown."""
    return 1.0 * fraction_played[place] if len(fraction_played) > 0 and not math.isnan(fraction_played[place]) else 1.0


def lineup_sums(match: int, lineup: Lineup, records: Any, initial: float) -> tuple[float, float]:
    """Sums of both lineups: of each player the skill at start if known, else the rating; `initial` for a bot."""
    starts, members, skills = lineup
    a, known, first, other = 2 * match, len(skills) > 0, 0.0, 0.0
    middle = starts[a + 1]
    for place in range(starts[a], starts[a + 2]):
        number = members[place]
        rating = records[number].rating if number >= 0 else initial
        if known and not math.isnan(skills[place]):
            rating = skills[place]
        if place < middle:
            first += rating
        else:
            other += rating
    return first, other
