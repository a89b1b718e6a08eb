"""Whatever answers the mod, it reads a reply or knows why it is none; nothing throws."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import effects
from equipoise.core.asks import Moment, Purpose
from equipoise.core.model import STEAM_ID_BASE, OrderId, PlayerId, PlayerSummary, RoundId, Side, Split, SplitCache
from equipoise.core.phrases import Phrase, Text
from equipoise.wire import Reply
from equipoise.wire.codec import encode_reply
from equipoise.wire.scalars import NS2
from tests.ns2mod.modules import Modules

MODULES = Modules()


def steam(account: int) -> PlayerId:
    return PlayerId(str(STEAM_ID_BASE + account))


WHY = Text(Phrase.REASON_GAP, ("5", "7"))
ORDERS: tuple[effects.Order, ...] = (
    effects.Assign(
        OrderId("o1"), WHY, Split((steam(1), PlayerId("bot:3")), (steam(2),), ()), Moment.FREEZE, Purpose.SHUFFLE
    ),
    effects.Move(OrderId("o2"), WHY, steam(1), Side.A, 1e9),
    effects.Cancel(OrderId("o2")),
    effects.Place(steam(1), None, WHY),
    effects.Lock(steam(1), Side.B, None),
    effects.Unlock((steam(1), steam(2**32 - 1))),
    effects.Say(Text(Phrase.VOTE_VOICE, (f"@{steam(7)}", "2", "3"))),
    effects.Tell(None, (WHY,)),
    effects.Tell(steam(2), (WHY, WHY)),
)
REPLY = Reply(
    orders=ORDERS,
    rounds={RoundId("1-1"): "stored", RoundId("1-2"): "kept"},
    summaries=(PlayerSummary(steam(5), 1512.25, 12, True),),
    pending=True,
    reason=WHY,
    cache=SplitCache((steam(1), steam(2)), (Split((steam(1),), (steam(2),), ()),)),
    want=("hello", "roster"),
    level="rate",
    level_reason="ns2_co_",
    next=2.5,
)


def text_of(reply: Reply) -> str:
    return encode_reply(reply, NS2).decode()


def test_the_daemons_own_reply_is_read_with_account_ids() -> None:
    reply = MODULES.decode(text_of(REPLY))
    why = {"phrase": "Equipoise_ReasonGap", "args": ["5", "7"]}
    assert reply["orders"] == [
        {
            "kind": "assign",
            "order": "o1",
            "reason": why,
            "red": ["1", "bot:3"],
            "blu": ["2"],
            "bench": [],
            "moment": "freeze",
        },
        {"kind": "move", "order": "o2", "reason": why, "id": "1", "side": "marines", "deadline": 1e9},
        {"kind": "cancel", "order": "o2"},
        {"kind": "place", "id": "1", "side": "none", "reason": why},
        {"kind": "lock", "id": "1", "side": "aliens", "seconds": 0},
        {"kind": "unlock", "ids": ["1", "4294967295"]},
        {"kind": "say", "text": {"phrase": "Equipoise_VoteVoice", "args": ["@7", "2", "3"]}},
        {"kind": "tell", "id": "", "lines": [why]},
        {"kind": "tell", "id": "2", "lines": [why, why]},
    ]
    assert {key: value for key, value in reply.items() if key != "orders"} == {
        "ok": True,
        "rounds": {"1-1": "stored", "1-2": "kept"},
        "players": [{"id": "5", "rating": 1512.25, "rounds": 12, "visible": True}],
        "pending": True,
        "reason": why,
        "due_if": [],
        "cache": {"ids": ["1", "2"], "splits": ["AB"]},
        "want": ["hello", "roster"],
        "enabled": True,
        "level": "rate",
        "level_reason": "ns2_co_",
        "next": 2.5,
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "silent"),
        ("", "silent"),
        ("<html><body>502 Bad Gateway</body></html>", "not_json"),
        ("Not found", "not_json"),
        ("{", "not_json"),
        ('{"ok": true', "not_json"),
        ('{"ok": true} {"ok": true}', "not_json"),
        ("[" * 60000, "not_json"),
        (" ", "not_json"),
        ("\x00", "not_json"),
        ('{"ok": true, "x": "' + "x" * 65536 + '"}', "too_large"),
        ("17", "not_ours"),
        ('"ok"', "not_ours"),
        ("[]", "not_ours"),
        ("{}", "not_ours"),
        ('{"ok": 1}', "not_ours"),
        ('{"ok": false}', "not_ours"),
        ('{"ok": false, "error": "no"}', "not_ours"),
    ],
)
def test_what_is_no_reply_has_its_reason(text: str | None, reason: str) -> None:
    assert MODULES.decode(text) == (None, reason)


def test_a_refusal_says_code_message_path_and_rounds() -> None:
    error = {"code": "schema", "message": "Expected …", "path": "$.events[2].x"}
    assert MODULES.decode(json.dumps({"ok": False, "error": error})) == (None, "refused", {**error, "rounds": []})
    stale = {"ok": False, "error": {"code": "stale", "message": "…"}, "rounds": {"1-1": "stored"}}
    assert MODULES.decode(json.dumps(stale))[2]["rounds"] == {"1-1": "stored"}


def test_a_field_of_another_type_is_left_out_or_has_its_default() -> None:
    strange = {
        "ok": True,
        "orders": [7, {"kind": "dance"}, {"kind": "move", "order": "o"}, {"kind": "cancel", "order": "o3"}],
        "rounds": ["stored"],
        "players": [{"id": "7", "rating": 5}, {"id": steam(7), "rating": "high"}, {"id": steam(8), "rating": 1.5}],
        "reason": {"phrase": 7},
        "cache": {"ids": ["x"], "splits": ["A"]},
        "want": "hello",
        "enabled": 0,
        "level": None,
        "next": -5,
    }
    reply = MODULES.decode(json.dumps(strange))
    assert reply["orders"] == [{"kind": "cancel", "order": "o3"}]
    assert (reply["rounds"], reply["want"], reply["level"], reply["next"]) == ([], [], "balance", 1)
    assert [player["id"] for player in reply["players"]] == ["8"]
    assert "reason" not in reply
    assert "cache" not in reply


def test_the_skills_of_an_ns2_pool_are_read_and_others_have_none() -> None:
    skills = {"marines": 1500.5, "aliens": 1400, "commander": 1450}
    lines = [
        {"id": steam(1), "rating": 1450, "skills": skills},
        {"id": steam(2), "rating": 1, "skills": {"marines": 5}},
    ]
    one, other = MODULES.decode(json.dumps({"ok": True, "players": lines}))["players"]
    assert one["skills"] == skills
    assert "skills" not in other


values: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.just(steam(1)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from([*Reply.__dataclass_fields__, "players", "error", "kind", "id", "ids", "lines", "ok"])
KINDS = ["assign", "move", "cancel", "place", "lock", "unlock", "vote", "say", "tell"]
orders = st.dictionaries(
    st.sampled_from(["order", "reason", "red", "blu", "id", "side", "text", "lines", "moment", "seconds", "ids"]),
    values,
).flatmap(lambda fields: st.sampled_from(KINDS).map(lambda kind: {**fields, "kind": kind}))


@given(st.dictionaries(fields, values, max_size=6), st.lists(orders, max_size=3), st.booleans())
def test_no_reply_of_any_shape_throws(reply: dict[str, Any], some: list[Any], ok: bool) -> None:
    found = MODULES.decode(json.dumps({**reply, "orders": some, "ok": ok}))
    if ok:
        assert all(isinstance(order["kind"], str) for order in found["orders"])
        assert 1 <= found["next"] <= 60
    else:
        assert found[1] in {"refused", "not_ours"}


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_text_throws(raw: bytes) -> None:
    found = MODULES.decode(raw.decode("utf-8", "surrogateescape"))
    assert found[0] is None


@given(st.integers(0, len(text_of(REPLY)) - 1))
def test_a_reply_that_was_cut_off_is_none(length: int) -> None:
    assert MODULES.decode(text_of(REPLY)[:length]) in [(None, "silent"), (None, "not_json")]
