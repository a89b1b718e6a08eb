"""Plain data of the file as values; msgspec's refusals as operators read them."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from equipoise.config.keys import written
from equipoise.errors import ConfigError

T = TypeVar("T")


def convert(raw: object, kind: type[T], path: str) -> T:
    """A table of the file as a value of its type; ConfigError names the key below `path`."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), path) from None


_PLAIN = {
    "`object`": "a table",
    "`array`": "an array",
    "`str`": "a string",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
}
"""msgspec's names of types, as operators know them."""


def _refusal(text: str, path: str) -> ConfigError:
    """msgspec's text as a `ConfigError`, with its path below that of the table that was read."""
    if found := re.fullmatch(r"(.*) - at `\$(.*)`", text, re.DOTALL):
        text, path = found[1], path + found[2]
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        return ConfigError("no such key", path=f"{path}.{written(unknown[1])}")
    if missing := re.fullmatch(r"Object missing required field `(.*)`", text):
        return ConfigError("this key is required", path=f"{path}.{missing[1]}")
    for name, plain in _PLAIN.items():
        text = text.replace(name, plain)
    return ConfigError(text.replace("Expected", "expected", 1), path=path)
