"""Every struct of the wire and the dataclass it becomes have the same fields, but for what is written here."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args

import msgspec
import pytest

from equipoise.core import effects, events, model, phrases
from equipoise.wire import batches as wire
from equipoise.wire import codec, orders
from equipoise.wire.batches import RoundEnded

EVENTS: dict[type, tuple[type, dict[str, str]]] = {
    wire.Hello: (events.Hello, {"plugin": "", "game": "mode", "facts": "mode", "slots": "", "unranked": ""}),
    wire.RosterSeen: (
        events.RosterSeen,
        {"players": "roster", "moves": "no_moves", "moves_reason": "no_moves"},
    ),
    wire.PlayerJoined: (events.PlayerJoined, {"name": ""}),
    wire.PlayerLeft: (events.PlayerLeft, {}),
    wire.SideChanged: (events.SideChanged, {}),
    wire.SideWanted: (events.SideWanted, {}),
    wire.RoundStarted: (events.RoundStarted, {"players": "roster"}),
    wire.RoundLive: (events.RoundLive, {"players": "roster"}),
    wire.ScrambledAlone: (events.ScrambledAlone, {"red": "split", "blu": "split", "bench": "split"}),
    wire.OrderDone: (events.OrderDone, {}),
    wire.OrderFailed: (events.OrderFailed, {}),
    wire.Commanded: (events.Commanded, {}),
}
SHARED = {events.SidesSwitched, events.WaitingEnded, events.RoundAborted, events.VoteEnded, events.Heartbeat}
SHARED_ORDERS = {effects.Cancel, effects.Unlock}
"""Structs that the core has itself."""

ORDERS: dict[type, tuple[type, dict[str, str]]] = {
    orders.Assign: (effects.Assign, {"red": "split", "blu": "split", "bench": "split"}),
    orders.Move: (effects.Move, {"id": "player"}),
    orders.Place: (effects.Place, {"id": "player"}),
    orders.Lock: (effects.Lock, {"id": "player"}),
    orders.Vote: (effects.OpenVote, {}),
    orders.Say: (effects.Say, {}),
    orders.Tell: (effects.Tell, {"id": "player"}),
}
PARTS: dict[type, tuple[type, dict[str, str]]] = {
    wire.PlayerLine: (model.Entry, {"immune_from": "immune"}),
    wire.LineupLine: (model.LineupPlayer, {}),
    wire.PresenceLine: (model.Presence, {"seconds": "seconds_a seconds_b"}),
    wire.SpanLine: (model.Span, {}),
    wire.CountsLine: (model.Counts, {}),
    wire.SecondsOn: (model.Participant, {"red": "seconds_a", "blu": "seconds_b"}),
    orders.Text: (phrases.Text, {}),
    orders.PlayerSummary: (model.PlayerSummary, {}),
    orders.Cache: (model.SplitCache, {}),
    wire.Batch: (codec.Batch, {"v": ""}),
    orders.Reply: (codec.Reply, {"ok": "stale", "players": "summaries"}),
}
BESIDE: dict[type, set[str]] = {
    events.Commanded: {"outside"},
    model.Participant: {"id", "side", "spans", "counts"},
    model.PlayerSummary: {"chair_skills", "last_played", "missing", "name", "rated_skills", "skill", "side_skills"},
    codec.Batch: {"names", "plugin", "unranked"},
}
"""Fields of a dataclass that its struct has no part in."""


def renamed(struct: type, names: dict[str, str]) -> set[str]:
    return {name for field in struct.__struct_fields__ for name in names.get(field, field).split()}


def fields(kind: type) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


@pytest.mark.parametrize(
    ("struct", "kind", "names"),
    [(struct, *pair) for table in (EVENTS, ORDERS, PARTS) for struct, pair in table.items()],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_a_struct_and_its_dataclass_have_the_same_fields(struct: Any, kind: Any, names: dict[str, str]) -> None:
    assert renamed(struct, names) | BESIDE.get(kind, set()) == fields(kind)


def test_a_finished_round_and_its_struct_have_the_same_fields() -> None:
    names = {
        "at": "",
        "round": "id",
        "game": "mode",
        "facts": "mode",
        "captures": "captures_a captures_b",
        "players": "presences bots",
    }
    assert renamed(RoundEnded, names) == fields(model.Round) - {"server"}
    assert fields(events.RoundEnded) == {"at", "round"}


def test_every_event_of_a_script_and_every_order_has_its_struct() -> None:
    assert {pair[0] for pair in EVENTS.values()} | {events.RoundEnded} | SHARED == set(get_args(events.ScriptEvent))
    assert EVENTS.keys() | {RoundEnded} | SHARED == set(get_args(wire.AnyEvent))
    assert {pair[0] for pair in ORDERS.values()} | SHARED_ORDERS == set(get_args(effects.Order))
    assert ORDERS.keys() | SHARED_ORDERS == set(get_args(orders.AnyOrder))


def test_every_struct_is_frozen() -> None:
    structs = [*EVENTS, *SHARED, *ORDERS, *SHARED_ORDERS, *PARTS, RoundEnded]
    assert all(issubclass(struct, msgspec.Struct) and struct.__struct_config__.frozen for struct in structs)
