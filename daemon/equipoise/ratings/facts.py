"""Numbers that are told of a player, by an admin or by the store, checked before a system believes them."""

from __future__ import annotations

import math

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError


def number_of(player: PlayerId, name: str, value: object, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number from low to high, or a `RatingError` that names whose what it is not."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
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
