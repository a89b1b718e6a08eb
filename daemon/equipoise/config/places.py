"""Where keys belong, to be said of a key that stands in a wrong table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache

import msgspec

from equipoise import ratings
from equipoise.config.tables import File, ServerKeys, TokenKeys
from equipoise.core.rules import Rules, Triggers


@cache
def places() -> dict[str, list[str]]:
    """By key, the tables that have it.

    >>> places()["tolerance"], places()["streak"]
    (['[scramble]'], ['a line of [triggers]'])
    """
    found: dict[str, list[str]] = {}
    for key, place in _keys():
        found.setdefault(key, []).append(place)
    return found


def _keys() -> Iterator[tuple[str, str]]:
    for name, table in msgspec.structs.asdict(File()).items():
        if isinstance(table, msgspec.Struct):
            yield from ((key, f"[{name}]") for key in table.__struct_fields__)
    for name, value in vars_of(Rules()):
        if dataclasses.is_dataclass(value):
            yield from ((key, f"[{name}]") for key, _ in vars_of(value))
        elif isinstance(value, dict):
            yield from ((key, f"a line of [{name}]") for key, _ in vars_of(Triggers()) if name == "triggers")
        else:
            yield name, "the top of the file, above the first table"
    yield from (
        (key, "[pool.NAME]") for key in ("system", *(key for key, _ in vars_of(ratings.create("synelo").params)))
    )
    yield from ((key, "[server.NAME]") for key in ServerKeys.__struct_fields__)
    yield from ((key, "[token.NAME]") for key in TokenKeys.__struct_fields__)


def vars_of(values: object) -> list[tuple[str, object]]:
    """The fields of a dataclass with their values."""
    return [(field.name, getattr(values, field.name)) for field in dataclasses.fields(values)]  # type: ignore[arg-type]
