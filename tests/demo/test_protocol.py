"""Events and orders come through the protocol as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
from hypothesis import given

from equipoise.core import events as e
from equipoise.core.model import (
    Counts,
    Entry,
    LineupPlayer,
    Mode,
    OrderId,
    PlayerId,
    Presence,
    Roster,
    Round,
    RoundId,
    ServerId,
    Side,
    Split,
)
from equipoise.demo import script as protocol
from equipoise.wire import Reply, decode_batch, encode_reply
from equipoise.wire import orders as wire
from tests.lab.games import A, B, C
from tests.wire.test_encode import replies

ROSTER = Roster((Entry(A, Side.A, connected=5.5), Entry(B, Side.B, alive=False), Entry(C, None, waiting=True)))
DONE = Counts(7, 4, 2, 15, {"soldier": 60.0, "medic": 20.5})
ROUND = Round(
    id=RoundId("7-1"),
    server=ServerId("arena-1"),
    session="7-2",
    map="koth_viaduct",
    mode=Mode.KOTH,
    started_at=1_763_622_000.25,
    seconds=80.5,
    winner=Side.B,
    lineup=(LineupPlayer(A, Side.A), LineupPlayer(B, Side.B)),
    presences=(
        Presence(A, Side.B, 40.25, 40.25, fought=True, counts=DONE),
        Presence(B, Side.B, 0.0, 12.5, fought=False, left=True),
    ),
    captures_a=1,
    captures_b=3,
)
EVENTS: tuple[e.ScriptEvent, ...] = (
    e.Hello(1.0, "7-2", "arena_lumberyard", Mode.ARENA, e.Phase.FREEZE),
    e.Hello(1.0, "7-2", "koth_viaduct", Mode.KOTH, e.Phase.IDLE, waiting=True),
    e.RosterSeen(2.0, ROSTER),
    e.PlayerJoined(3.0, A),
    e.PlayerLeft(4.0, B),
    e.SideChanged(5.0, C, Side.A),
    e.SideChanged(5.0, C, None, waiting=True),
    e.SideWanted(6.0, A, Side.B),
    e.SideWanted(6.0, A, None),
    e.WaitingEnded(7.0),
    e.RoundStarted(8.0, ROSTER),
    e.RoundLive(9.0, RoundId("7-1"), ROSTER),
    e.RoundEnded(10.0, ROUND),
    e.ScrambledAlone(11.0, Split((A,), (B,), (C,))),
    e.OrderDone(12.0, OrderId("o1")),
    e.OrderFailed(13.0, OrderId("o2"), "left"),
)


def test_the_daemon_reads_every_event_as_the_game_made_it() -> None:
    sent = [protocol.encoded(event, {A: "Ann"}) for event in EVENTS]
    batch = {"v": 1, "server": "arena-1", "boot": 7, "seq": 1, "at": 20.0, "events": sent}

    read = decode_batch(json.dumps(batch).encode())

    assert read.events == EVENTS
    assert read.names == {A: "Ann"}


def test_of_more_players_than_a_round_may_have_those_who_played_longest_are_told() -> None:
    people = [PlayerId(str(76561197960300000 + number)) for number in range(200)]
    presences = tuple(
        replace(ROUND.presences[0], id=player, seconds_a=float(number * 37 % 200), seconds_b=0.0)
        for number, player in enumerate(people)
    )
    sent = [protocol.encoded(e.RoundEnded(10.0, replace(ROUND, presences=presences, lineup=())), {})]
    batch = {"v": 1, "server": "arena-1", "boot": 7, "seq": 1, "at": 20.0, "events": sent}
    (read,) = decode_batch(json.dumps(batch).encode()).events
    assert isinstance(read, e.RoundEnded)
    assert sorted(presence.seconds_a for presence in read.round.presences) == list(range(72, 200))


@given(replies)
def test_the_game_obeys_every_order_as_the_daemon_gave_it(reply: Reply) -> None:
    read = msgspec.json.decode(encode_reply(reply), type=wire.Reply)
    assert tuple(map(protocol.decoded, read.orders)) == reply.orders
