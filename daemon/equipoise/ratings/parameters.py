"""The parameters of a rating system: dataclasses whose fields carry their ranges, made from names and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from typing import Any, TypeVar

from equipoise.errors import RatingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of a system.  Raises `RatingError`, naming the field, for a value that the field does not allow."""

    def __post_init__(self) -> None:
        """Check every field; a subclass that checks more calls this first."""
        for parameter in fields(self):
            _check_parameter(parameter, getattr(self, parameter.name))


def ranged(default: T, low: float, high: float) -> T:
    """A parameter from low to high.  It is an int if its default is one, and may be None if its default is None."""
    return field(default=default, metadata={"low": low, "high": high})


def one_of(default: str, *others: str) -> Any:
    """A parameter with one of these strings as its value."""
    return field(default=default, metadata={"words": (default, *others)})


def _check_parameter(parameter: Field[Any], value: object) -> None:
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
        _check_ranged(parameter, value)
    elif parameter.default_factory is dict:
        table(parameter.name, value)


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


def _check_ranged(parameter: Field[object], value: object) -> None:
    if value is None and parameter.default is None:
        return
    low, high = parameter.metadata["low"], parameter.metadata["high"]
    whole = type(parameter.default) is int
    kind = "a whole number" if whole else "a number"
    if type(value) is not int and (whole or type(value) is not float):
        raise RatingError(f"{parameter.name}: {value!r} is not {kind}")
    if not low <= value <= high:
        raise RatingError(f"{parameter.name}: {value!r} is not {kind} from {low} to {high}")


def among(name: str, known: Iterable[str]) -> str:
    """For an error message about an unknown name: the known names, and the one that is spelt most like it."""
    names = sorted(known)
    near = get_close_matches(name.lower(), names, n=1)
    return f"{f'did you mean {near[0]}? There' if near else 'there'} are {', '.join(names)}"
