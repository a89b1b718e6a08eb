"""A reply carries every order in the words of the game, and stays below 16 KB."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.asks import Moment, Purpose
from equipoise.core.effects import Assign, Cancel, Lock, Move, OpenVote, Order, Place, Say, Tell, Unlock
from equipoise.core.model import (
    DueIf,
    OrderId,
    PlayerId,
    PlayerSummary,
    RoundId,
    Side,
    SkillEstimate,
    Skills,
    Split,
    SplitCache,
)
from equipoise.core.phrases import Phrase, Text
from equipoise.wire import NS2, TF2, Reply, encode_refusal, encode_reply
from equipoise.wire.codec import order

SIDES = {"red": Side.A, "blu": Side.B, "none": None}
PHRASES = {phrase.key: phrase for phrase in Phrase}

ids = st.integers(1, 2**32 - 1).map(lambda account: PlayerId(str(76561197960265728 + account)))
pools = st.lists(ids, unique=True, max_size=12).map(tuple)
orders = st.text(min_size=1, max_size=8).map(OrderId)
sides = st.sampled_from(Side)
plain_texts = st.builds(
    Text, st.sampled_from(Phrase), st.lists(st.text(max_size=8) | ids.map("@{}".format), max_size=3).map(tuple)
)
texts = plain_texts | st.builds(
    Text, st.sampled_from(Phrase), st.lists(st.text(max_size=8) | plain_texts, max_size=3).map(tuple)
)
floats = st.floats(0, 1e6)


@st.composite
def splits_of(draw: st.DrawFn, pool: tuple[PlayerId, ...]) -> Split:
    parts: dict[str, list[PlayerId]] = {"A": [], "B": [], "-": []}
    for player in pool:
        parts[draw(st.sampled_from("AB-"))].append(player)
    return Split(tuple(parts["A"]), tuple(parts["B"]), tuple(parts["-"]))


@st.composite
def caches(draw: st.DrawFn) -> SplitCache:
    pool = draw(pools)
    return SplitCache(pool, tuple(draw(st.lists(splits_of(pool), max_size=4))))


commands: st.SearchStrategy[Order] = st.one_of(
    st.builds(Assign, orders, texts, pools.flatmap(splits_of), st.sampled_from(Moment), st.sampled_from(Purpose)),
    st.builds(Move, orders, texts, ids, sides, floats),
    st.builds(Cancel, orders),
    st.builds(Place, ids, st.none() | sides, texts),
    st.builds(Lock, ids, sides, st.none() | st.floats(0.1, 1e6)),
    st.builds(Unlock, pools),
    st.builds(OpenVote, orders, floats, floats, texts),
    st.builds(Say, texts),
    st.builds(Tell, st.none() | ids, st.lists(texts, max_size=4).map(tuple)),
)
replies = st.builds(
    Reply,
    orders=st.lists(commands, max_size=6).map(tuple),
    rounds=st.dictionaries(st.text(max_size=8).map(RoundId), st.sampled_from(["stored", "kept"]), max_size=3),
    summaries=st.lists(st.builds(PlayerSummary, ids, st.floats(-1e6, 1e6), st.integers(0, 10**6), st.booleans())).map(
        tuple
    ),
    pending=st.booleans(),
    reason=st.none() | texts,
    due_if=st.sampled_from([(), (DueIf(Side.A),), (DueIf(Side.A, shutout=True), DueIf(Side.B)), (DueIf(None),)]),
    cache=st.none() | caches(),
    want=st.sampled_from([(), ("hello",), ("hello", "roster")]),
    enabled=st.booleans(),
    level=st.sampled_from(["off", "rate", "balance"]),
    level_reason=st.text(max_size=8),
    next=floats,
)


@given(replies)
def test_a_reply_reads_back_as_it_was_meant(reply: Reply) -> None:
    assert _read(json.loads(encode_reply(reply))) == reply


def _read(sent: dict[str, Any]) -> Reply:
    """The reply as a script understands it: the oracle, written from the document."""
    assert sent.pop("ok") is True
    cache = sent.pop("cache", None)
    return Reply(
        orders=tuple(_order(dict(order)) for order in sent.pop("orders")),
        rounds=sent.pop("rounds"),
        summaries=tuple(PlayerSummary(c["id"], c["rating"], c["rounds"], c["visible"]) for c in sent.pop("players")),
        reason=_text(sent.pop("reason")),
        due_if=tuple(_due_if(word) for word in sent.pop("due_if")),
        cache=cache and _cache(cache["ids"], cache["splits"]),
        want=tuple(sent.pop("want")),
        **sent,
    )


def _text(sent: dict[str, Any] | None) -> Any:
    if sent is None:
        return None
    return Text(PHRASES[sent["phrase"]], tuple(_text(arg) if isinstance(arg, dict) else arg for arg in sent["args"]))


def _due_if(word: str) -> DueIf:
    return DueIf(SIDES[word.removesuffix(":0")], shutout=word.endswith(":0"))


def _cache(ids: list[PlayerId], splits: list[str]) -> SplitCache:
    def part(letters: str, wanted: str) -> tuple[PlayerId, ...]:
        return tuple(player for player, letter in zip(ids, letters, strict=True) if letter == wanted)

    return SplitCache(tuple(ids), tuple(Split(part(s, "A"), part(s, "B"), part(s, "-")) for s in splits))


def _order(sent: dict[str, Any]) -> Order:
    match sent.pop("kind"):
        case "assign":
            split = Split(*(tuple(sent[part]) for part in ("red", "blu", "bench")))
            moment, purpose = Moment(sent["moment"]), Purpose(sent["purpose"])
            return Assign(sent["order"], _text(sent["reason"]), split, moment, purpose)
        case "move":
            return Move(
                sent["order"], _text(sent["reason"]), sent["id"], SIDES[sent["side"]], sent["deadline"], sent["quiet"]
            )
        case "cancel":
            return Cancel(**sent)
        case "place":
            return Place(sent["id"], SIDES[sent["side"]], _text(sent["reason"]))
        case "lock":
            return Lock(sent["id"], SIDES[sent["side"]], sent["seconds"] or None)
        case "unlock":
            return Unlock(tuple(sent["ids"]))
        case "vote":
            return OpenVote(sent["order"], sent["seconds"], sent["fraction"], _text(sent["text"]))
        case "say":
            return Say(_text(sent["text"]))
        case "tell":
            return Tell(sent["id"] or None, tuple(_text(line) for line in sent["lines"]))
        case kind:
            raise AssertionError(kind)


def test_ns2_is_answered_in_its_own_words() -> None:
    reply = Reply(orders=(Lock(PlayerId("1"), Side.B, None),), due_if=(DueIf(Side.A, shutout=True), DueIf(None)))
    sent = json.loads(encode_reply(reply, NS2))
    assert sent["orders"] == [{"kind": "lock", "id": "1", "side": "aliens", "seconds": 0.0}]
    assert sent["due_if"] == ["marines:0", "none"]


def test_a_scramble_due_whatever_happens_is_due_if_any() -> None:
    always = (DueIf(Side.A), DueIf(Side.B), DueIf(None))
    assert json.loads(encode_reply(Reply(due_if=always)))["due_if"] == ["any"]


def test_a_rating_is_a_float_and_skills_by_side_and_as_a_commander_are_written_where_the_system_has_them() -> None:
    own = SkillEstimate(1100.0, 300.0)
    sides = {"marines": SkillEstimate(1250.0, 340.0), "aliens": SkillEstimate(950.0, 340.0)}
    skills = Skills(own, SkillEstimate(150.0, 150.0), sides, SkillEstimate(900.0, 490.0))
    plain, sided = PlayerSummary(PlayerId("1"), 1000), PlayerSummary(PlayerId("2"), 1100, skills=skills)
    sent = encode_reply(Reply(summaries=(plain, sided)), NS2)
    first, second = json.loads(sent)["players"]
    assert b'"rating":1000.0' in sent
    assert "skills" not in first
    assert second["skills"] == {"marines": 1250.0, "aliens": 950.0, "commander": 900.0}


def test_a_stale_batch_gets_a_refusal_with_its_rounds() -> None:
    sent = json.loads(encode_reply(Reply(stale="an older batch", rounds={RoundId("1-4"): "stored"})))
    assert (sent["ok"], sent["error"]["code"], sent["rounds"]) == (False, "stale", {"1-4": "stored"})


def test_a_refusal_names_the_path_only_where_there_is_one_and_quotes_little_and_only_valid_unicode() -> None:
    refusal = {"code": "schema", "message": "no", "path": "$.seq"}
    assert json.loads(encode_refusal(*refusal.values()))["error"] == refusal
    assert json.loads(encode_refusal("busy", "later"))["error"] == {"code": "busy", "message": "later"}
    sent = encode_refusal("schema", "Invalid value '\ud800" + "x" * 200_000, "$.\udfff")
    assert json.loads(sent)["error"]["path"] == "$.?"
    assert len(sent) < 1024


POOL = tuple(PlayerId(str(76561202255233023 - n)) for n in range(100))
STREAK = Text(Phrase.REASON_STREAK, ("3",))
SCRAMBLE = Assign(OrderId("o-1"), STREAK, Split(POOL[:50], POOL[50:]), Moment.FREEZE, Purpose.SCRAMBLE)
LOCKS = tuple(Lock(player, Side.A, None) for player in POOL)
CACHE = SplitCache(POOL, tuple(Split(POOL[:k], POOL[k : 2 * k], POOL[2 * k :]) for k in range(2, 51)))
SUMMARIES = tuple(PlayerSummary(player, 1234.0, 10, True) for player in POOL)


def test_a_scramble_of_24_with_everything_around_it_fits_whole() -> None:
    pool, summaries = POOL[:24], SUMMARIES[:24]
    cache = SplitCache(pool, tuple(Split(pool[:k], pool[k : 2 * k], pool[2 * k :]) for k in range(2, 13)))
    assign = Assign(OrderId("o"), STREAK, Split(pool[:12], pool[12:]), Moment.NOW, Purpose.SCRAMBLE)
    reply = Reply(orders=(assign, *LOCKS[:24]), summaries=summaries, cache=cache)
    assert _read(json.loads(encode_reply(reply))) == reply


def test_of_a_reply_too_large_the_smallest_cached_splits_go_first() -> None:
    sent = encode_reply(Reply(orders=(SCRAMBLE, *LOCKS), summaries=SUMMARIES[:50], cache=CACHE))
    kept = json.loads(sent)
    assert len(sent) < 16 * 1024
    assert (len(kept["orders"]), len(kept["players"])) == (101, 50)
    assert 0 < len(kept["cache"]["splits"]) < 49
    assert kept["cache"]["splits"][-1] == "A" * 50 + "B" * 50


@pytest.mark.parametrize("game", [TF2, NS2])
def test_orders_are_never_dropped_while_anything_else_can_be(game: Any) -> None:
    long = Tell(None, tuple(Text(Phrase.WHY_LINE, ("x" * 100, "y" * 100)) for _ in range(200)))
    sent = encode_reply(Reply(orders=(SCRAMBLE, *LOCKS, long), summaries=SUMMARIES * 3, cache=CACHE), game)
    assert len(sent) < 16 * 1024
    assert [order["kind"] for order in json.loads(sent)["orders"]] == ["assign", *["lock"] * 100, "tell"]


def test_answers_to_a_batch_of_commands_are_shortened_in_few_steps() -> None:
    tells = tuple(Tell(PlayerId(str(n)), (Text(Phrase.REASON_STREAK, ("x" * 60,)),)) for n in range(256))
    written: list[str] = []
    sys.setprofile(lambda frame, event, _: written.append(event) if frame.f_code is order.__code__ else None)
    try:
        sent = encode_reply(Reply(orders=tells))
    finally:
        sys.setprofile(None)
    assert len(sent) < 16 * 1024
    assert len(json.loads(sent)["orders"]) == 256
    assert written.count("call") < 256 * 10
