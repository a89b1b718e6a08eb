"""Checks of the numbers of a match or a player."""

from __future__ import annotations

import math
import sys
from dataclasses import Field
from typing import Any, Final, TypeGuard

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError

DAY: Final = 86_400.0
"""Seconds."""

NEVER: Final = -math.inf
"""In a record, in place of the time of a match (seconds since 1970) that is unknown or has yet to come.

Every known time is later, so a record needs no special case.  In arrays of matches an unknown time is NaN.
"""

FARTHEST: Final = 1e12
"""Seconds: no time is farther from 1970, and no match is longer; some 30,000 years."""

MOST: Final = 1e9
"""No other number of a match is larger: no sum, square or product of such numbers overflows."""


def is_number(value: object, low: float = -sys.float_info.max, high: float = sys.float_info.max) -> TypeGuard[float]:
    """Whether a value is a finite number from low to high; True and False are not numbers."""
    plain = type(value) is float or (isinstance(value, int | float) and not isinstance(value, bool))
    return plain and low <= value <= high  # type: ignore[operator]  # plain: it is one


def number_of(player: PlayerId, name: str, value: object, low: float = -math.inf, high: float = math.inf) -> float:
    """The value as a float; raises `RatingError`, naming the player and the number, unless it is from low to high."""
    if not is_number(value):
        raise RatingError(f"{player}: {name} {value!r} is not a number")
    if not low <= value <= high:
        raise RatingError(f"{player}: {name} {value:g} is not from {low:g} to {high:g}")
    return float(value)


def count_of(player: PlayerId, name: str, value: object) -> int:
    """The value as an int; raises `RatingError` unless it is a whole number, 0 or more."""
    number = number_of(player, name, value)
    if number < 0 or number % 1:
        raise RatingError(f"{player}: {name} {value!r} is not a count")
    return int(number)


def is_count(declared: Field[Any]) -> bool:
    """Whether a field is declared as an int; the value that it holds does not say so, as 8 may stand for 8.0."""
    return declared.type in (int, "int")


def known_time(time: float) -> float | None:
    """The time in seconds since 1970, or None for `NEVER`."""
    return None if time == NEVER else time


def check_number(name: str, value: object, low: float, high: float) -> None:
    """`RatingError`, naming the number, unless it is from low to high."""
    if not is_number(value, low, high):
        raise RatingError(f"{name}: {value!r} is not a number from {low:g} to {high:g}")


def refuse_twice(groups: tuple[tuple[PlayerId, ...], ...], fault: str) -> None:
    """`RatingError` with this fault if a player is in the groups twice."""
    players = [player for group in groups for player in group]
    if len(set(players)) == len(players):
        return
    twice = next(player for player in players if players.count(player) > 1)
    raise RatingError(f"{twice}: {fault}")
