"""Numbers that are told of a match or a player, checked before a system believes them."""

from __future__ import annotations

import math
import sys
from typing import Final, TypeGuard

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError

DAY: Final = 86_400.0
"""Seconds."""

NEVER: Final = -math.inf
"""In place of a time, seconds since 1970, that is not known or has yet to come."""

FARTHEST: Final = 1e12
"""Seconds: no time is farther from 1970, and no match is longer; some 30,000 years."""

MOST: Final = 1e9
"""No other number of a match is larger: of such ones no sum, square or product leaves what a float can be."""


def is_number(value: object, low: float = -sys.float_info.max, high: float = sys.float_info.max) -> TypeGuard[float]:
    """Whether it is a finite number from low to high; true and false are none."""
    plain = type(value) is float or (isinstance(value, int | float) and not isinstance(value, bool))
    return plain and low <= value <= high  # type: ignore[operator]  # plain: it is one


def number_of(player: PlayerId, name: str, value: object, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number from low to high, or a `RatingError` that names whose what it is not."""
    if not is_number(value):
        raise RatingError(f"{player}: {name} {value!r} is not a number")
    if not low <= value <= high:
        raise RatingError(f"{player}: {name} {value:g} is not from {low:g} to {high:g}")
    return float(value)


def count_of(player: PlayerId, name: str, value: object) -> int:
    """A whole number from 0 on, likewise."""
    number = number_of(player, name, value)
    if number < 0 or number % 1:
        raise RatingError(f"{player}: {name} {value!r} is not a count")
    return int(number)


def known_time(time: float) -> float | None:
    """Seconds since 1970, None in place of `NEVER`."""
    return None if time == NEVER else time
