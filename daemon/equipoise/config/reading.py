"""Plain data of the file as values; msgspec's refusals as operators read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from equipoise.config.keys import written
from equipoise.config.places import places
from equipoise.errors import ConfigError

T = TypeVar("T")


def convert(raw: object, kind: type[T], path: str, siblings: Iterable[str] = ()) -> T:
    """A table of the file as a value of its type; ConfigError names the key below `path`.

    `siblings`: keys that the table may have besides those of the type, for who misspells one of them.
    """
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), path, kind, siblings) from None


_PLAIN = {
    "`object`": "a table",
    "`array`": "an array",
    "`str`": "a string",
    "`int`": "a whole number",
    "`int | null`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
}
"""msgspec's names of types, as operators know them."""


def _refusal(text: str, path: str, kind: type, siblings: Iterable[str]) -> ConfigError:
    """msgspec's text as a `ConfigError`, with its path below that of the table that was read."""
    below = ""
    if found := re.fullmatch(r"(.*) - at `\$(.*)`", text, re.DOTALL):
        text, below = found[1], found[2]
    path += below
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        known = _keys(kind, below)
        advice = _advice(unknown[1], known if below else {*known, *siblings})
        return ConfigError(f"no such key{advice}", path=f"{path}.{written(unknown[1])}")
    if missing := re.fullmatch(r"Object missing required field `(.*)`", text):
        words = _words(_type_at(kind, f"{below}.{missing[1]}"))
        return ConfigError(f"this key is required{words and f': {words}'}", path=f"{path}.{missing[1]}")
    if wrong := re.fullmatch(r"Invalid enum value (.*)", text, re.DOTALL):
        return ConfigError(f"there is {_words(_type_at(kind, below))}, not {wrong[1]}", path=path)
    for name, plain in _PLAIN.items():
        text = text.replace(name, plain)
    return ConfigError(text.replace("Expected", "expected", 1), path=path)


def _advice(key: str, known: set[str]) -> str:
    """What may be meant by a key that is not known here."""
    if found := places().get(key):
        return f"; `{key}` belongs to {' or '.join(found)}"
    close = get_close_matches(key, sorted(known), n=1)
    return f"; is it {close[0]}?" if close else ""


def _words(kind: Any) -> str:
    """The words that a key may have; empty for any other type.

    >>> _words(Literal["tf2", "ns2"])
    'tf2, ns2'
    """
    return ", ".join(get_args(kind)) if get_origin(kind) is Literal else ""


def _keys(kind: type, below: str) -> set[str]:
    return {field.name for field in msgspec.structs.fields(_type_at(kind, below))}


def _type_at(kind: type, below: str) -> Any:
    """The type of a key, by the type of the table that was read and the path below it: "" or ".vote"."""
    for name in filter(None, below.split(".")):
        kind = next(field.type for field in msgspec.structs.fields(kind) if field.name == name)
    return kind
