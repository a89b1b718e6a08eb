"""The script loses no finished round, sends no stale event, and decides alone as the daemon asked it to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from equipoise.core.model import RoundId, Side
from equipoise.demo.script import SLOTS, Json, Script
from equipoise.lab.simulation.game_server import GameServer
from equipoise.wire import decode_batch
from equipoise.wire import orders as wire
from tests.lab.games import BOOT, KOTH, A, B, C, D, E, assign, server, sides

NAMES = {A: "Ann", B: "Bob", C: "Cid", D: "Dee", E: "Eve"}


def reply(
    rounds: dict[str, str] | None = None,
    *,
    pending: bool = False,
    due_if: tuple[str, ...] = (),
    cache: wire.Cache | None = None,
    want: tuple[str, ...] = (),
) -> wire.Reply:
    return wire.Reply(
        orders=(),
        rounds=rounds or {},  # type: ignore[arg-type]  # the words are typed in the test
        players=(),
        pending=pending,
        reason=None,
        due_if=due_if,
        cache=UNSET if cache is None else cache,
        want=want,  # type: ignore[arg-type]
        enabled=True,
        level="balance",
        level_reason="",
        next=5.0,
    )


def introduced(game: GameServer, **told: Any) -> Script:
    """A script whose hello and roster were answered, by a reply with these fields."""
    script = Script(game, NAMES)
    script.batch()
    script.answered(reply(**told))
    return script


def events(batch: Json) -> list[Json]:
    found = batch["events"]
    assert isinstance(found, list)
    return found


def kinds(events: list[Json]) -> list[object]:
    """What a batch reports, in order."""
    return [event["kind"] for event in events]


def play(game: GameServer, script: Script, winner: Side | None = Side.A, *, captures: int = 0) -> RoundId:
    game.start_round()
    game_round = game.go_live()
    game.fight()
    script.keep(game.end_round(winner, {Side.A: captures, Side.B: captures}))
    return game_round


def test_the_first_batch_introduces_the_script_and_a_quiet_one_is_silent() -> None:
    script = Script(server(A, blu=(B,)), NAMES)

    assert kinds(events(script.batch())) == ["hello", "roster"]
    script.answered(reply())
    assert script.silent


def test_a_batch_holds_finished_rounds_then_events_in_order_then_the_roster() -> None:
    game = server(A, B, blu=(C, D))
    script = Script(game, NAMES)
    play(game, script)
    game.apply(assign(A, blu=(B,)))
    game.change_map(KOTH)
    game.end_waiting()
    game.want(A, None)
    game.disconnect(D)

    read = decode_batch(json.dumps(script.batch()).encode())

    assert (read.server, read.boot, read.seq) == ("arena-1", BOOT, 1)
    assert [type(event).__name__ for event in read.events] == [
        *("Hello", "RoundEnded", "RoundStarted", "RoundLive", "OrderFailed", "WaitingEnded", "SideWanted"),
        *("PlayerLeft", "SideChanged", "SideChanged", "SideChanged", "RosterSeen"),
    ]


def test_eight_rounds_wait_oldest_first_until_they_are_stored_and_what_falls_out_is_counted() -> None:
    game = server(A, blu=(B,))
    script = introduced(game)
    rounds = [play(game, script) for _ in range(SLOTS + 2)]
    script.batch()
    script.unanswered()

    sent = script.batch()

    assert kinds(events(sent)) == ["hello", *["round_ended"] * SLOTS, "roster"]
    assert [event["round"] for event in events(sent)[1:-1]] == list(script.ring) == rounds[2:]
    assert sent["dropped"] == 2
    script.answered(reply({rounds[2]: "stored", rounds[3]: "kept"}))
    assert list(script.ring) == rounds[3:]
    assert script.batch()["dropped"] == 0


def test_unanswered_events_give_way_to_a_hello_and_a_roster_but_results_of_orders_are_sent() -> None:
    game = server(A, B, blu=(C, D))
    script = introduced(game)
    game.start_round()
    game.apply(assign(A, C, blu=(B, D)))
    script.batch()

    script.unanswered()

    assert kinds(events(script.batch())) == ["hello", "order_done", "roster"]


def test_a_player_who_leaves_the_sides_uneven_makes_the_script_send_a_roster() -> None:
    game = server(A, B, C, blu=(D, E), map=KOTH)
    script = introduced(game)
    game.start_round()
    game.go_live()
    script.batch()

    game.disconnect(E)

    assert kinds(events(script.batch())) == ["player_left", "roster"]


@pytest.mark.parametrize(
    ("due_if", "winner", "captures", "due"),
    [
        (("red",), Side.A, 3, True),
        (("red",), Side.B, 0, False),
        (("red:0",), Side.A, 0, True),
        (("red:0",), Side.A, 1, False),
        (("none",), None, 0, True),
        (("any",), Side.B, 2, True),
        ((), Side.A, 0, False),
    ],
)
def test_alone_the_script_knows_what_makes_a_scramble_due(
    due_if: tuple[str, ...], winner: Side | None, captures: int, due: bool
) -> None:
    game = server(A, blu=(B,))
    script = introduced(game, due_if=due_if)

    play(game, script, winner, captures=captures)

    assert script.pending is due


def test_alone_the_script_applies_the_largest_cached_split_and_reports_it_later() -> None:
    game = server(A, B, blu=(C, D))
    game.connect(E)
    script = introduced(game, due_if=("red",), cache=wire.Cache((E, D, C, B, A), ("AB---", "ABBA-")))
    game_round = play(game, script, Side.A)
    script.batch()
    script.unanswered()
    game.start_round()

    assert script.scramble_alone()

    assert sides(game) == ({B, E}, {C, D}, {A})
    script.batch()
    script.unanswered()
    sent = events(script.batch())
    assert kinds(sent) == ["hello", "round_ended", "scrambled_alone", "roster"]
    assert sent[1]["round"] == game_round
    assert {name: sent[2][name] for name in ("red", "blu", "bench")} == {"red": (E, B), "blu": (D, C), "bench": (A,)}


def test_alone_the_script_moves_no_player_without_a_reason_or_with_a_cache_of_other_people() -> None:
    game = server(A, B, blu=(C, D))
    script = introduced(game, cache=wire.Cache((A, B, C, D), ("ABAB",)))
    assert not script.scramble_alone()

    script.pending = True
    game.disconnect(D)

    assert not script.scramble_alone()
    assert script.pending
    assert sides(game) == ({A, B}, {C}, set())
