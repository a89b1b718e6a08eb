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
from equipoise.wire.batches import Here, RoundEnded, RoundSubmitted
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
    "$.players[1].counts": ("players", 1, "counts"),
    "$.players[1].counts.classes": ("players", 1, "counts", "classes"),
}
SPANS = [{"side": "marines", "from": 0, "to": 30}, {"side": "aliens", "from": 30, "to": 61.5, "role": "commander"}]
DONE = {"kills": 3, "classes": {"medic": 12.5}}
PLAYERS = [{**ROUND["players"][0], "spans": SPANS}, {**ROUND["players"][1], "counts": DONE}]
WHOLE = {**ROUND, "game": "ns2", "players": PLAYERS, "squads": [[player["id"] for player in PLAYERS]]}


def with_unknown(path: tuple[str | int, ...]) -> bytes:
    """A round in which the object at a path has one field too many."""
    made: Any = copy.deepcopy(WHOLE)
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
    assert decode_as(body, RoundEnded) == decode_as(json.dumps(WHOLE).encode(), RoundEnded)


def test_a_submitted_round_is_the_round_that_a_script_would_have_sent() -> None:
    body = json.dumps(WHOLE).encode()

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
    parts |= {"CountsLine", "ClassSeconds", "HiveLine"}
    assert set(lenient(RoundEnded)) == parts


def test_counts_that_cannot_be_are_refused_with_their_path() -> None:
    players = [PLAYERS[0], {**PLAYERS[1], "counts": {"classes": {"medic": 900}}}]
    submitted = decode_as(json.dumps({**WHOLE, "players": players}).encode(), RoundSubmitted)

    with pytest.raises(ScriptError, match="900 s, and the player was on a side for 30 s") as refused:
        submitted.finished(HERE)

    assert (refused.value.code, refused.value.path) == ("counts", "$.players[1].counts")
