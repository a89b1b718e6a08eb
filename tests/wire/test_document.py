"""docs/protocol.md names exactly the kinds and fields that the wire has, and which may be missing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from equipoise.core.model import Counts, Mode
from equipoise.wire import batches, decode_as, decode_batch, orders
from equipoise.wire.batches import RoundEnded, StrictCountsLine

DOCUMENT = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()


def tables(heading: str) -> list[list[list[str]]]:
    """The tables of a section, rows of cells, without their two head rows."""
    section = re.search(rf"^### {heading}\n(.*?)(?=^##)", DOCUMENT + "\n##", re.MULTILINE | re.DOTALL)
    assert section, heading
    found = re.findall(r"(?:^\|.*\n)+", section[1], re.MULTILINE)
    return [[[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]] for table in found]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def fields(struct: Any, *, without: frozenset[str] = frozenset()) -> set[str]:
    """Field names; `?` marks one with a default."""
    return {
        field.name + ("" if field.required else "?")
        for field in msgspec.structs.fields(struct)
        if field.name not in without
    }


def by_kind(union: Any, without: frozenset[str] = frozenset()) -> dict[str, set[str]]:
    return {s.__struct_config__.tag: fields(s, without=without) for s in get_args(union)}


def test_the_batch() -> None:
    ((*rows,),) = tables("The batch")
    assert {name for row in rows for name in names(row[0])} == fields(batches.Batch)


def test_the_events() -> None:
    kinds, *_ = tables("Events")
    documented = {names(row[0])[0]: set(names(row[1])) for row in kinds}
    assert documented == by_kind(batches.AnyEvent, without=frozenset({"at"}))


@pytest.mark.parametrize(
    ("number", "struct"),
    [(1, batches.PlayerLine), (2, batches.Facts), (3, RoundEnded), (4, batches.PresenceLine), (5, batches.CountsLine)],
    ids=["player", "facts", "round", "presence", "counts"],
)
def test_the_parts_of_events(number: int, struct: Any) -> None:
    documented = {name for row in tables("Events")[number] for name in names(row[0])}
    assert documented == fields(struct, without=frozenset({"at"}))


def test_the_reply() -> None:
    (rows,) = tables("The reply")
    optional = {"ok?": "ok"}
    documented = {name for row in rows for name in names(row[0])}
    assert documented == {optional.get(name, name) for name in fields(orders.Reply)}


def test_the_orders() -> None:
    (rows,) = tables("Orders")
    assert {names(row[0])[0]: set(names(row[1])) for row in rows} == by_kind(orders.AnyOrder)


def test_its_examples_are_what_is_read_and_written() -> None:
    examples = re.findall(r"```json\n(\{.*?\})\n```", DOCUMENT, re.DOTALL)
    batch, counts, reply = (json.loads(example) for example in examples[:3])
    assert fields(batches.CountsLine) == {f"{name}?" for name in counts}
    assert decode_as(json.dumps(counts).encode(), StrictCountsLine).counts() == Counts(**counts)
    assert decode_batch(json.dumps(batch).encode()).seq == batch["seq"]
    assert msgspec.convert(reply, orders.Reply)
    assert set(reply) == set(orders.Reply.__struct_fields__)


def test_the_modes_that_facts_give() -> None:
    (rows,) = tables("Modes")
    stated = {mode for row in rows for mode in re.findall(r"`(\w+)`", row[2])}
    assert stated == {mode.value for mode in Mode}
