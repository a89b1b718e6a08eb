"""The parameters of a rating system: dataclasses whose fields carry their ranges, made from names and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from numbers import Real
from typing import Any, TypeVar

from equipoise.errors import RatingError
from equipoise.ratings.validation import is_count

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
    known = {parameter.name for parameter in fields(kind)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise RatingError(f"{name}: no such parameter; {among(name, known)}")
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
