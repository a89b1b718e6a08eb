"""A submitted round: as a script's round, but with no field that is not known."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError
from equipoise.wire import decode_as
from equipoise.wire.people import Here
from equipoise.wire.rounds import RoundEnded
from equipoise.wire.submitted import RoundSubmitted
from tests.wire.samples import ROUND

HERE = Here(ServerId("arena-1"), "$", 0.0)
PARTS: dict[str, tuple[str | int, ...]] = {
    "$": (),
    "$.facts": ("facts",),
    "$.captures": ("captures",),
    "$.lineup[2]": ("lineup", 2),
    "$.players[1]": ("players", 1),
    "$.players[0].seconds": ("players", 0, "seconds"),
    "$.players[0].spans[1]": ("players", 0, "spans", 1),
}
SPANS = [{"side": "marines", "from": 0, "to": 30}, {"side": "aliens", "from": 30, "to": 61.5, "role": "commander"}]
WITH_SPANS = {**ROUND, "game": "ns2", "players": [{**ROUND["players"][0], "spans": SPANS}, ROUND["players"][1]]}


def with_unknown(path: tuple[str | int, ...]) -> bytes:
    """A round in which the object at a path has one field too many."""
    made: Any = copy.deepcopy(WITH_SPANS)
    part = made
    for step in path:
        part = part[step]
    part["weather"] = "rain"
    return json.dumps(made).encode()


@pytest.mark.parametrize(("path", "steps"), PARTS.items(), ids=PARTS)
def test_an_unknown_field_is_refused_and_named_with_its_path(path: str, steps: tuple[str | int, ...]) -> None:
    body = with_unknown(steps)

    with pytest.raises(ScriptError, match="weather") as refused:
        decode_as(body, RoundSubmitted)

    assert (refused.value.code, refused.value.path) == ("schema", path)
    assert decode_as(body, RoundEnded) == decode_as(json.dumps(WITH_SPANS).encode(), RoundEnded)


def test_a_submitted_round_is_the_round_that_a_script_would_have_sent() -> None:
    body = json.dumps(WITH_SPANS).encode()

    assert decode_as(body, RoundSubmitted).finished(HERE) == decode_as(body, RoundEnded).finished(HERE)


def test_every_part_of_a_submitted_round_is_strict() -> None:
    def lenient(struct: Any) -> list[str]:
        own = [] if struct.__struct_config__.forbid_unknown_fields else [struct.__name__]
        parts = [part for f in msgspec.structs.fields(struct) for part in nested(f.type)]
        return own + [name for part in parts for name in lenient(part)]

    def nested(kind: Any) -> list[Any]:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return [kind]
        return [part for inside in getattr(kind, "__args__", ()) for part in nested(inside)]

    assert lenient(RoundSubmitted) == []
    parts = {"RoundEnded", "Facts", "Captures", "LineupLine", "PresenceLine", "SecondsOn", "SpanLine"}
    assert set(lenient(RoundEnded)) == parts
