"""What the mod sends is what the daemon reads, although dkjson writes what is no JSON."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from equipoise.core.model import STEAM_ID_BASE
from equipoise.wire.codec import decode_batch
from tests.ns2mod.modules import Modules

MODULES = Modules()
CODEC = MODULES.all.Codec

anything = st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
accounts = st.integers(1, 2**32 - 1).map(str)
ids = accounts | st.integers(0, 10**6).map("bot:{}".format)
positive = st.floats(0, 1e9)
flags = st.booleans()
marks = {"waiting": flags, "alive": flags, "connected": positive, "immune": flags}
placed = st.sampled_from(["marines", "aliens"])
players = st.lists(
    st.fixed_dictionaries({"id": ids, "side": placed | st.just("none")}, optional=marks)
    | st.fixed_dictionaries({"id": ids, "side": placed, "commander": flags}, optional=marks),
    unique_by=lambda player: player["id"],
    max_size=8,
)
events = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("hello"),
            "plugin": anything,
            "game": st.just("ns2"),
            "map": anything,
            "session": anything,
            "phase": st.sampled_from(["idle", "freeze", "running", "over"]),
            "slots": st.integers(0, 64),
            "facts": st.just({}),
            "inactive_reason": st.sampled_from(["", "tournament", "shuffle"]),
        }
    ),
    st.fixed_dictionaries({"kind": st.sampled_from(["roster", "round_started"]), "players": players}),
    st.fixed_dictionaries({"kind": st.just("round_live"), "round": anything, "players": players}),
    st.fixed_dictionaries({"kind": st.just("player_joined"), "id": ids, "name": anything}),
    st.fixed_dictionaries({"kind": st.just("order_failed"), "order": anything, "reason": anything}),
    st.fixed_dictionaries(
        {
            "kind": st.just("command"),
            "words": st.lists(anything, min_size=1, max_size=20),
            "by": ids | st.just(""),
            "admin": flags,
        }
    ),
)


def batch(events: list[object]) -> str:
    head = {"v": 1, "server": "veil", "boot": 1763622000123, "seq": 17, "at": 1763622000.1234567}
    text: str = MODULES.encode({**head, "events": events})
    return text


@given(st.lists(events, max_size=6))
def test_every_batch_is_one_that_the_daemon_reads(events: list[object]) -> None:
    found = decode_batch(batch(events).encode())
    assert len(found.events) == len(events)
    assert (found.boot, found.at) == (1763622000123, 1763622000.123)


def test_dkjson_alone_writes_what_is_no_json() -> None:
    """The faults that the codec is for, so that the tests above see them."""
    encode = MODULES.json.encode
    assert encode(MODULES.table({"a": math.nan})) == '{ "a": nan }'
    assert encode(MODULES.table({})) == "[  ]"
    assert encode(76561197960287930) == "7.6561197960288e+16"


WORDS = [str(n) for n in range(20)]
WRITTEN: dict[str, tuple[Any, Any]] = {
    "what is no finite number is left out": (
        {"a": math.nan, "b": math.inf, "c": -math.inf, "d": [1, 2.5]},
        {"d": [1, 2.5]},
    ),
    "numbers are rounded to thousandths": ([1.23456, 1763622000.9876, 1e-9, -0.0], [1.235, 1763622000.988, 0, 0]),
    "whole numbers stay": ([1763622000123, 2.0], [1763622000123, 2]),
    "of empty tables lists are written": (
        {"players": {}, "lineup": {}, "facts": {}, "x": {"y": {}}},
        {"players": [], "lineup": []},
    ),
    "texts are UTF-8 without control characters": ({"name": "a\x00b\x1b\udcffé\x9c\udce2\udc82"}, {"name": "ab?é??"}),
    "texts have the protocol's length": (
        {"name": "ü" * 200, "map": "", "order": "x" * 90},
        {"name": "ü" * 128, "map": "unknown", "order": "x" * 64},
    ),
    "a command has sixteen words": ({"words": WORDS, "x": WORDS}, {"words": WORDS[:16], "x": WORDS}),
}


@pytest.mark.parametrize(("value", "written"), WRITTEN.values(), ids=WRITTEN)
def test_what_the_mod_means_is_written_as_the_protocol_takes_it(value: Any, written: Any) -> None:
    text = MODULES.encode(value)
    assert json.loads(text) == written
    assert "-0" not in text


def test_a_value_that_holds_itself_is_refused_with_a_reason() -> None:
    table = MODULES.lua.table_from({})
    table["self"] = table
    assert MODULES.call(CODEC.Encode, MODULES.json, table) == (None, "a value holds itself, or lies too deep")


def test_what_json_has_no_word_for_is_left_out() -> None:
    assert MODULES.encode(MODULES.lua.table_from({"client": MODULES.lua.globals().print, "a": True})) == '{ "a": true }'


@given(st.integers(1, 2**32 - 1))
@example(1)
@example(2039734271)  # where the conversion carries
@example(2039734272)
@example(2039734273)
@example(2**32 - 1)
def test_account_ids_and_steam_ids_are_converted_exactly(account: int) -> None:
    steam_id = MODULES.call(CODEC.SteamId, str(account))
    assert steam_id == str(STEAM_ID_BASE + account)
    assert MODULES.call(CODEC.AccountId, steam_id) == str(account)


@pytest.mark.parametrize(
    ("convert", "id"),
    [
        *(
            ("SteamId", id)
            for id in ("", "0", "01", "x", "4294967296", "99999999999", "-5", "1.5", "bot:", "bot:x", " 1")
        ),
        *(("AccountId", id) for id in ("", "12345", "76561197960265728", "76561202255233024", "76561299999999999")),
        ("AccountId", "7656119796026573"),
    ],
)
def test_what_is_no_id_is_not_converted(convert: str, id: str) -> None:
    assert MODULES.call(CODEC[convert], id) is None


def test_bots_keep_their_ids() -> None:
    assert MODULES.call(CODEC.SteamId, "bot:7") == MODULES.call(CODEC.AccountId, "bot:7") == "bot:7"


@given(st.text(max_size=300), st.integers(4, 130))
def test_lines_are_short_enough_and_lose_nothing_but_blanks(text: str, limit: int) -> None:
    pieces = MODULES.call(CODEC.Lines, text, limit)
    assert all(0 < len(piece.encode()) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    for piece in pieces:
        piece.encode()  # whole characters


def test_lines_are_split_at_blanks() -> None:
    assert MODULES.call(CODEC.Lines, "Teams are balanced now.", 12) == ["Teams are", "balanced", "now."]
    assert MODULES.call(CODEC.Lines, "aaaa bbbb", 4) == ["aaaa", "bbbb"]
    assert MODULES.call(CODEC.Lines, "", 4) == []


@given(st.binary(max_size=300))
def test_the_sum_is_adler_32(raw: bytes) -> None:
    assert CODEC.Sum(raw.decode("latin-1")) == f"{zlib.adler32(raw):08x}"


@given(st.text(max_size=300))
def test_the_length_of_a_form_is_what_quoting_makes_of_it(text: str) -> None:
    assert MODULES.call(CODEC.FormBytes, text) == len(quote_plus(text))
