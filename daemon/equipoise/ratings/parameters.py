"""Parameters of a rating system, as dataclasses whose fields carry their ranges, and checks of other numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from numbers import Real
from typing import Any, Final, TypeGuard, TypeVar

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
    # The exact type first: nearly all numbers are floats, and a live round has dozens.
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
    # The type is text where a module has postponed annotations.
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
    # Counting is slow, so it waits until there is one to name.
    twice = next(player for player in players if players.count(player) > 1)
    raise RatingError(f"{twice}: {fault}")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of a system.  Raises `RatingError`, naming the field, for a value that the field does not allow.

    Here, and nowhere else, a number becomes the type that its field is declared with: files and command lines have 8
    for 8.0, and 8.0 for 8.
    """

    def __post_init__(self) -> None:
        """Check every field; a subclass that checks more calls this first."""
        for parameter in fields(self):
            object.__setattr__(self, parameter.name, _checked(parameter, getattr(self, parameter.name)))


def ranged(default: T, low: float, high: float) -> T:
    """A parameter from low to high, in the type that its field declares; None is allowed if it is the default."""
    return field(default=default, metadata={"low": low, "high": high})


def one_of(default: str, *others: str) -> Any:
    """A parameter with one of these strings as its value."""
    return field(default=default, metadata={"words": (default, *others)})


def _checked(parameter: Field[Any], value: object) -> object:
    """Return the value, a number in the type of its field; raises `RatingError` for one that the field refuses."""
    if isinstance(parameter.default, str):
        words = parameter.metadata.get("words")
        if not isinstance(value, str):
            raise RatingError(f"{parameter.name}: {value!r} is not text")
        if words and value not in words:
            raise RatingError(f"{parameter.name}: {value!r} is not {' or '.join(map(repr, words))}")
    elif isinstance(parameter.default, bool):
        if not isinstance(value, bool):
            raise RatingError(f"{parameter.name}: {value!r} is not true or false")
    elif parameter.metadata:
        return _number(parameter, value)
    elif parameter.default_factory is dict:
        table(parameter.name, value)
    return value


def _number(parameter: Field[Any], value: object) -> float | None:
    if value is None and parameter.default is None:
        return None
    low, high = parameter.metadata["low"], parameter.metadata["high"]
    whole = is_count(parameter)
    kind = "a whole number" if whole else "a number"
    # True is 1 to Python, and numpy's numbers are as good as its own.
    if isinstance(value, bool) or not isinstance(value, Real) or (whole and value % 1):
        raise RatingError(f"{parameter.name}: {value!r} is not {kind}")
    if not low <= value <= high:
        raise RatingError(f"{parameter.name}: {value!r} is not {kind} from {low} to {high}")
    number = float(value)
    return int(number) if whole else number


def table(name: str, value: object) -> Mapping[str, object]:
    """A parameter that is a table of values by name; raises `RatingError` for anything else."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise RatingError(f"{name}: {value!r} is not a table of values by name")
    return value


def build_params(kind: type[T], values: Mapping[str, object]) -> T:
    """Make a parameter dataclass from names and values; raises `RatingError` for an unknown name."""
    names = {parameter.name for parameter in fields(kind)}  # type: ignore[arg-type]
    for name in values:
        if name not in names:
            raise RatingError(f"{name}: no such parameter; {among(name, names)}")
    return kind(**values)


def typed(kind: type[Any], values: Mapping[str, object]) -> dict[str, object]:
    """The named values as `kind` has them; raises `RatingError` for a value or a name that it refuses."""
    params = build_params(kind, values)
    return {name: getattr(params, name) for name in values}


def among(name: str, known: Iterable[str]) -> str:
    """For an error message about an unknown name: the known names, and the one that is spelt most like it."""
    names = sorted(known)
    near = get_close_matches(name.lower(), names, n=1)
    return f"{f'did you mean {near[0]}? There' if near else 'there'} are {', '.join(names)}"
