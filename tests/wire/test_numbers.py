"""Every number of every message has its range: both ends are taken, and what is beyond is refused with its path."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from equipoise.errors import ScriptError
from equipoise.wire import batches, decode_as, decode_batch, scalars
from equipoise.wire.batches import ClassSeconds
from tests.wire.samples import HELLO, RED, ROUND, posted

COUNT, SECONDS = (0, 2**53), (0.0, 1e12)
RANGES: dict[str, tuple[float, float]] = {
    "v": (1, 1),
    "boot": COUNT,
    "seq": (1, 2**53),
    "dropped": COUNT,
    "slots": COUNT,
    "game_type": COUNT,
    "captures.red": COUNT,
    "captures.blu": COUNT,
    "yes": COUNT,
    "no": COUNT,
    "at": SECONDS,
    "ends_in": SECONDS,
    "map_ends_in": SECONDS,
    "objective": SECONDS,
    "connected": SECONDS,
    "started_at": SECONDS,
    "seconds": SECONDS,
    "seconds.red": SECONDS,
    "seconds.blu": SECONDS,
    "charge": (0.0, 1.0),
    "from": SECONDS,
    "to": SECONDS,
    **dict.fromkeys(("kills", "deaths", "assists", "points", "suicides"), COUNT),
    **dict.fromkeys(ClassSeconds.__struct_fields__, SECONDS),
    **dict.fromkeys(("skill", "commander"), (0.0, 1e5)),
    "offset": (-1e5, 1e5),
}
SPAN = {"side": "marines", "from": 0, "to": 1}
DONE = {
    "kills": 1,
    "deaths": 1,
    "assists": 1,
    "points": 1,
    "suicides": 1,
    "classes": dict.fromkeys(ClassSeconds.__struct_fields__, 1),
    "hive": {"skill": 1, "offset": 1, "commander": 1},
}
NINTH = {"id": "9", "side": "marines", "spans": [SPAN], "counts": DONE}
COMMANDED = {**ROUND, "game": "ns2", "players": [*ROUND["players"], NINTH]}
BATCH = posted(
    {**HELLO, "slots": 24, "facts": {"game_type": 4}},
    {
        "kind": "roster",
        "players": [{"id": RED, "side": "red", "connected": 1, "charge": 0.5, "objective": 3}],
        "ends_in": 9,
        "map_ends_in": 99,
    },
    {"kind": "vote_ended", "order": "o", "yes": 1, "no": 0},
    {"kind": "heartbeat", "at": 3},
    COMMANDED,
    dropped=0,
)

Path = tuple[str | int, ...]


def numbers(value: Any, path: Path = ()) -> Iterator[Path]:
    """The places of all numbers in a JSON value."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(inner, (*path, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def name(path: Path) -> str:
    """The key of `RANGES`: the field, within a table of numbers its parent too."""
    last, before = str(path[-1]), path[-2] if len(path) > 1 else ""
    return f"{before}.{last}" if last in ("red", "blu") else last


def written(path: Path) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def with_number(path: Path, literal: str) -> bytes:
    """The batch with other text for one number."""
    batch = json.loads(json.dumps(BATCH))
    inner = batch
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = "@"
    return json.dumps(batch).replace('"@"', literal).encode()


PLACES = list(numbers(BATCH))
PARENTS = {"Captures": "captures", "SecondsOn": "seconds"}


def test_every_number_that_a_batch_may_have_is_in_the_sample() -> None:
    structs = msgspec.json.schema(batches.Batch, schema_hook=scalars.schema)["$defs"]
    described = {
        name((PARENTS.get(struct, struct), field))
        for struct, schema in structs.items()
        for field, value in schema.get("properties", {}).items()
        if any(kind.get("type") in ("integer", "number") or kind.get("const") == 1 for kind in _kinds(value))
    }
    assert described == set(RANGES) == {name(path) for path in PLACES}


def _kinds(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [] if "examples" in schema else [schema, *schema.get("anyOf", ())]  # ids of players have examples


@pytest.mark.parametrize("path", PLACES, ids=written)
def test_the_ends_of_its_range_are_taken_and_the_next_number_is_not(path: Path) -> None:
    low, high = RANGES[name(path)]
    whole = isinstance(low, int)
    for end in (low, high):
        # The shape alone: spans also have to lie within their round.
        decode_as(with_number(path, repr(end)), batches.Batch)
        decode_as(with_number(path, repr(float(end))), batches.Batch)
    for beyond in (low - 1, high + 1) if whole else (math.nextafter(low, -math.inf), math.nextafter(high, math.inf)):
        with pytest.raises(ScriptError) as refused:
            decode_batch(with_number(path, repr(beyond)))
        assert (refused.value.code, refused.value.path) == ("schema", written(path))


HUGE = ["1e300", "1e999", "-1e999", "NaN", "Infinity", "1" + "0" * 309, "9" * 4299, "9" * 9000, "-" + "9" * 9000]
NO_NUMBER = ["true", '"1"', "[]", "{}", '"' + "9" * 5000 + '"']


@pytest.mark.parametrize("path", PLACES, ids=written)
def test_what_is_no_number_of_its_range_and_a_count_with_a_fraction_is_refused_at_its_path(path: Path) -> None:
    fractions = ["0.5"] if isinstance(RANGES[name(path)][0], int) else []
    for literal in (*HUGE, *NO_NUMBER, *fractions):
        with pytest.raises(ScriptError) as refused:
            decode_batch(with_number(path, literal))
        assert (refused.value.code, refused.value.path) == ("schema", written(path)), literal[:20]
