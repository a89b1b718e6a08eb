"""A posted batch is read whole and exactly, or refused with the path of what is wrong."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import events
from equipoise.core.model import Immunity, Mode, PlayerId, Presence, Side
from equipoise.errors import ScriptError
from equipoise.wire import Batch, decode_batch, scalars, split_form, unquoted
from tests.wire.any_batch import batches, flags
from tests.wire.samples import BLU, HELLO, RED, ROUND, body, posted, written


@given(batches)
def test_a_batch_is_read_as_the_script_wrote_it(batch: Batch) -> None:
    assert decode_batch(written(batch)) == batch


@given(st.recursive(st.none() | flags | st.floats() | st.text(), lambda inner: st.lists(inner) | inner))
def test_any_other_json_is_refused(value: object) -> None:
    with pytest.raises(ScriptError) as refused:
        decode_batch(json.dumps(value).encode())
    assert refused.value.status == 422


@given(st.binary(max_size=64))
def test_bytes_that_are_no_batch_are_refused_and_never_crash(noise: bytes) -> None:
    with pytest.raises(ScriptError):
        decode_batch(noise)


@pytest.mark.parametrize(("oldest", "newest"), [(1, 1), (1, 2), (2, 3)])
def test_the_protocol_of_this_daemon_and_the_one_before_are_served_and_others_refused_with_the_side_to_upgrade(
    oldest: int, newest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalars, "OLDEST", oldest)
    monkeypatch.setattr(scalars, "PROTOCOL", newest)
    for version in range(1, 5):
        batch = json.dumps(posted(v=version)).encode()
        if oldest <= version <= newest:
            assert decode_batch(batch)
            continue
        with pytest.raises(ScriptError, match=r"upgrade the (script|daemon)") as refused:
            decode_batch(batch)
        assert ("the script" in str(refused.value), refused.value.path) == (version < oldest, "$.v")


@given(st.data())
def test_a_batch_cut_anywhere_is_no_json(data: st.DataObject) -> None:
    whole = body(HELLO, ROUND)
    with pytest.raises(ScriptError) as refused:
        decode_batch(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert (refused.value.code, refused.value.status) == ("json", 400)


@pytest.mark.parametrize(
    "noise",
    [
        *(b"[" * 40_000, b'{"v": 1, "x": ' + b"[" * 40_000, b"\xff\xfe", b'{"server": "\xff"}', b"", b'{"v": 1,}'),
        body(HELLO).decode().encode("utf-16"),
    ],
    ids=["deep", "deep inside", "no text", "no UTF-8", "nothing", "trailing comma", "UTF-16"],
)
def test_no_json_is_400(noise: bytes) -> None:
    with pytest.raises(ScriptError) as refused:
        decode_batch(noise)
    assert (refused.value.code, refused.value.status, refused.value.path) == ("json", 400, None)


LINE = {"id": RED, "side": "red"}
FAILED = {"kind": "order_failed", "order": "o1", "reason": "held"}


@pytest.mark.parametrize(
    ("batch", "path"),
    [
        (posted(v=2), "$.v"),
        (posted(server=""), "$.server"),
        (posted(server="x" * 65), "$.server"),
        (posted(server="a\nb"), "$.server"),
        (posted(server="\ud800"), "$.server"),
        (posted(events={}), "$.events"),
        (posted(*[{"kind": "heartbeat"}] * 257), "$.events"),
        (posted({"kind": "tea_time"}), "$.events[0].kind"),
        (posted({"at": 3}), "$.events[0]"),
        (posted({**HELLO, "phase": "party"}), "$.events[0].phase"),
        (posted({**HELLO, "game": "hl3"}), "$.events[0].game"),
        (posted({**HELLO, "map": "m" * 129}), "$.events[0].map"),
        (posted({"kind": "roster", "players": [LINE, {"id": 22202, "side": "blu"}]}), "$.events[0].players[1].id"),
        (posted({"kind": "roster", "players": [{**LINE, "side": "grn"}]}), "$.events[0].players[0].side"),
        (posted({"kind": "player_joined", "id": RED, "name": "n" * 129}), "$.events[0].name"),
        (posted({"kind": "command", "words": [], "by": ""}), "$.events[0].words"),
        (posted({"kind": "command", "words": ["x"] * 17, "by": ""}), "$.events[0].words"),
        (posted({"kind": "scrambled_alone", "red": [RED], "blu": [], "bench": [RED]}), "$.events[0].bench[0]"),
        (posted(HELLO, {**ROUND, "winner": "yellow"}), "$.events[1].winner"),
        (posted({**ROUND, "lineup": [LINE, LINE]}), "$.events[0].lineup[1].id"),
        (posted({**ROUND, "lineup": [{**LINE, "side": "none"}]}), "$.events[0].lineup[0].side"),
        (posted({**ROUND, "players": ROUND["players"] * 2}), "$.events[0].players[2].id"),
        (posted({**FAILED, "stayed": [{"id": RED}]}), "$.events[0].stayed[0]"),
        (posted({**FAILED, "stayed": [{"id": RED, "held": ""}]}), "$.events[0].stayed[0].held"),
        (posted({**FAILED, "stayed": [{"id": RED, "held": "duel"}] * 2}), "$.events[0].stayed[1].id"),
    ],
)
def test_a_batch_that_does_not_fit_is_422_with_the_path(batch: dict[str, Any], path: str) -> None:
    with pytest.raises(ScriptError) as refused:
        decode_batch(json.dumps(batch).encode())
    assert (refused.value.status, refused.value.path) == (422, path)


def joined(player: object) -> PlayerId:
    (event,) = decode_batch(body({"kind": "player_joined", "id": player})).events
    assert isinstance(event, events.PlayerJoined)
    return event.id


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("76561197960265729", "76561197960265729"),
        ("76561202255233023", "76561202255233023"),
        (22202, RED),
        ("22202", RED),
        (22202.0, RED),
        ("bot:0", "bot:0"),
        ("bot:65535", "bot:65535"),
    ],
)
def test_a_player_is_known_by_steamid64_whatever_the_game_sent(sent: object, meant: str) -> None:
    assert joined(sent) == meant
    assert type(joined(sent)) is str


@pytest.mark.parametrize(
    "sent",
    [
        "76561197960265728",
        "76561202255233024",
        76561197960287930,  # a SteamID64 that went through a float may be another player's: only strings are exact
        0,
        -1,
        22202.5,
        2**32,
        2**64,
        10**400,
        "0",
        "022202",
        "+22202",
        "٢٢٢٠٢",
        "²",
        " 22202",
        "STEAM_0:0:11101",
        "[U:1:22202]",
        "bot:",
        "bot:-1",
        "bot:x",
        "bot:01",
        "bot:" + "9" * 18,
        "bot:7 ",
        "",
        None,
        True,
        [],
        {},
        "9" * 20,
        "9" * 5000,
        "\ud800",
    ],
)
def test_an_id_that_is_no_player_is_refused(sent: object) -> None:
    with pytest.raises(ScriptError) as refused:
        joined(sent)
    assert refused.value.path == "$.events[0].id"


def test_an_event_without_a_time_has_the_batchs() -> None:
    assert decode_batch(body({"kind": "heartbeat"}, {"kind": "heartbeat", "at": 3})).events == (
        events.Heartbeat(812.4),
        events.Heartbeat(3),
    )


def test_unknown_fields_of_a_newer_script_are_ignored() -> None:
    plain = decode_batch(body(HELLO, ROUND))
    assert decode_batch(body({**HELLO, "weather": "rain"}, {**ROUND, "mood": []}, colour="blue")) == plain


def test_a_whole_number_may_come_as_a_float() -> None:
    batch = decode_batch(body(v=1.0, boot=1763622000123.0, seq=17.0, dropped=2.0))
    assert (batch.boot, batch.seq, batch.dropped) == (1763622000123, 17, 2)
    assert all(type(number) is int for number in (batch.boot, batch.seq, batch.dropped))


def test_names_are_kept_beside_the_events_without_control_characters() -> None:
    named = {"kind": "player_joined", "id": RED, "name": "a\u0000b\u202e\x1b[31mc"}
    batch = decode_batch(body(named, {"kind": "player_joined", "id": BLU}))
    assert batch.names == {RED: "ab[31mc"}


def test_a_round_of_ns2_names_its_sides_marines_and_aliens() -> None:
    seen = [{"id": 22202, "side": "aliens", "seconds": {"red": 10, "blu": 600}}]
    posted_round = {**ROUND, "game": "ns2", "winner": "aliens", "lineup": [], "players": seen}
    del posted_round["facts"]
    (event,) = decode_batch(body(posted_round)).events
    assert isinstance(event, events.RoundEnded)
    assert (event.round.winner, event.round.mode) == (Side.B, Mode.NS2)
    assert event.round.presences == (Presence(PlayerId(RED), Side.B, 10.0, 600.0, fought=False),)


def test_a_command_from_the_console_has_no_sender() -> None:
    (event,) = decode_batch(body({"kind": "command", "words": ["scramble", "now"], "by": ""})).events
    assert event == events.Commanded(812.4, ("scramble", "now"), None, admin=False)


def test_a_decoded_batch_holds_no_types_of_the_wire() -> None:
    def plain(value: object) -> bool:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return all(plain(getattr(value, field.name)) for field in dataclasses.fields(value))
        if isinstance(value, tuple):
            return all(plain(part) for part in value)
        return type(value) in (str, int, float, bool, dict, type(None)) or isinstance(value, (Mode, Side, events.Phase))

    assert plain(decode_batch(body(HELLO, ROUND, {"kind": "order_failed", "order": "o", "reason": "left"})))


def test_a_form_holds_the_secret_and_the_batch() -> None:
    secret, quoted = split_form(b"data=%7B%22v%22%3A+1%7D&secret=s%26cret")
    assert (secret, unquoted(quoted)) == ("s&cret", b'{"v": 1}')


@pytest.mark.parametrize(
    ("form", "charset"),
    [
        (b"secret=x", "utf-8"),
        (b"data=%7B%7D", "utf-8"),
        (b"secret=a&secret=b&data=c", "utf-8"),
        (b"secret=%ff&data=x", "utf-8"),
        (b"secret=\xff&data=x", "utf-8"),
        (b"&".join(b"f%d=1" % n for n in range(9)), "utf-8"),
        (b"secret=a&data=b", "klingon"),
        (b"secret=a&data=b", "utf-16"),
        (b"", "utf-8"),
    ],
)
def test_a_form_that_cannot_be_read_is_400(form: bytes, charset: str) -> None:
    with pytest.raises(ScriptError) as refused:
        split_form(form, charset)
    assert refused.value.status == 400


def test_what_an_older_script_does_not_say_holds_nobody_and_a_word_that_only_a_newer_one_knows_holds_too() -> None:
    sent = [
        {"kind": "roster", "players": [LINE, {"id": BLU, "side": "blu", "held": "frozen"}]},
        {"kind": "side_changed", **LINE},
        {"kind": "order_done", "order": "o1"},
    ]
    seen, changed, done = decode_batch(body(*sent)).events
    assert isinstance(seen, events.RosterSeen)
    assert isinstance(changed, events.SideChanged)
    assert isinstance(done, events.OrderDone)
    assert [(entry.held, entry.stays) for entry in seen.roster.entries] == [("", False), ("frozen", True)]
    assert (changed.held, done.stayed) == ("", {})


@pytest.mark.parametrize(
    ("told", "immunity"),
    [
        ({}, Immunity.NONE),
        ({"immune": True}, Immunity.ALL),
        ({"immune": True, "immune_from": ["autobalance"]}, Immunity.AUTOBALANCE),
        ({"immune_from": ["lock", "taxes", "scramble"]}, Immunity.LOCK | Immunity.SCRAMBLE),
        ({"immune": True, "immune_from": []}, Immunity.NONE),
    ],
)
def test_an_older_script_says_that_a_player_is_immune_and_a_newer_one_from_what(
    told: dict[str, Any], immunity: Immunity
) -> None:
    (seen,) = decode_batch(body({"kind": "roster", "players": [{"id": RED, "side": "red", **told}]})).events
    assert isinstance(seen, events.RosterSeen)
    assert seen.roster.entries[0].immune == immunity
