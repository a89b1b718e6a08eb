"""The simulated game server carries orders out exactly, and tells what happened in the protocol's words."""

from __future__ import annotations

import pytest

from equipoise.core.model import Side
from equipoise.demo.server import HELD_SECONDS, KOTH
from equipoise.wire import orders as wire
from tests.demo.rig import A, B, C, D, E, assign, kinds, move, place, server, sides


def test_an_assignment_puts_everybody_exactly_where_it_says() -> None:
    game = server(A, B, blu=(C, D))
    game.connect(E, "E")
    game.start_round()
    game.take()

    assert game.apply(assign(D, A, blu=(B, E), bench=(C,)))

    assert sides(game) == ({A, D}, {B, E}, {C})
    assert {"kind": "order_done", "at": game.clock, "order": "o1"} in game.take()


def test_an_assignment_for_the_freeze_time_is_too_late_behind_the_doors() -> None:
    game = server(A, blu=(B,))
    game.start_round()
    game.go_live()
    game.take()

    assert not game.apply(assign(B, blu=(A,)))

    assert sides(game) == ({A}, {B}, set())
    assert game.take() == [{"kind": "order_failed", "at": game.clock, "order": "o1", "reason": "live"}]


def test_an_assignment_at_once_does_not_mind_open_doors() -> None:
    game = server(A, blu=(B,), map=KOTH)
    game.start_round()
    game.go_live()

    assert game.apply(assign(B, blu=(A,), moment="now"))

    assert sides(game) == ({B}, {A}, set())


def test_an_assignment_of_somebody_who_left_fails_and_moves_nobody() -> None:
    game = server(A, B, blu=(C, D))
    game.start_round()
    game.disconnect(D)
    game.take()

    assert not game.apply(assign(C, blu=(A, B, D)))

    assert sides(game) == ({A, B}, {C}, set())
    assert game.take() == [{"kind": "order_failed", "at": game.clock, "order": "o1", "reason": "left"}]


def test_a_move_waits_for_the_players_death() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    game.start_round()
    game.go_live()
    game.apply(move(A))
    game.pass_time(9)
    assert sides(game) == ({A, B}, {C}, set())
    game.take()

    game.die(A)

    assert sides(game) == ({B}, {A, C}, set())
    assert game.ordered() == ()
    assert kinds(game.take()) == ["order_done", "side_changed"]


def test_a_move_is_carried_out_on_the_living_at_its_deadline() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    game.start_round()
    game.go_live()
    game.apply(move(A, deadline=10))

    game.pass_time(10)

    assert sides(game) == ({B}, {A, C}, set())


def test_a_cancelled_move_is_forgotten() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    game.apply(move(A))

    game.apply(wire.Cancel("o2"))
    game.die(A)
    game.pass_time(60)

    assert sides(game) == ({A, B}, {C}, set())


@pytest.mark.parametrize(("word", "side"), [("red", Side.A), ("blu", Side.B), ("none", None)])
def test_who_wants_a_side_is_held_until_he_is_placed(word: str, side: Side | None) -> None:
    game = server(A, blu=(B,), map=KOTH)
    game.connect(C, "C")
    game.want(C, Side.A)
    assert game.clients[C].where == (None, False)

    game.apply(place(C, word))

    assert game.clients[C].where == (side, side is None)


def test_nobody_is_held_longer_than_two_seconds_and_his_lock_decides_then() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    for id in (D, E):
        game.connect(id, id[-1])
        game.want(id, None)
    game.apply(wire.Lock(E, "red", 180.0))

    game.pass_time(HELD_SECONDS)

    assert sides(game) == ({A, B, E}, {C, D}, set())


def test_locks_end_with_their_time_with_an_unlock_or_with_the_next_scramble() -> None:
    game = server(A, B, blu=(C, D))
    for id, seconds in ((A, 180.0), (B, 180.0), (C, 0.0)):
        game.apply(wire.Lock(id, "red", seconds))
    assert [game.locked(id) for id in (A, B, C)] == [Side.A] * 3

    game.apply(wire.Unlock((B,)))
    game.seat((A, B), (C, D), ())
    assert [game.locked(id) for id in (A, B, C)] == [Side.A, None, None]

    game.pass_time(181)
    assert game.locked(A) is None


def test_a_finished_round_tells_who_stood_at_the_doors_and_who_played_how_long() -> None:
    game = server(A, B, blu=(C, D), map=KOTH)
    game.start_round()
    game.go_live()
    game.fight()
    game.pass_time(30)
    game.disconnect(D)
    game.connect(E, "E")
    game.want(E, None)
    game.apply(place(E, "blu"))
    game.pass_time(15)
    game.apply(move(A))
    game.die(A)
    game.pass_time(20)

    ended = game.end_round(Side.B, {Side.B: 1})

    assert ended["lineup"] == [
        {"id": id, "side": side} for id, side in ((A, "red"), (B, "red"), (C, "blu"), (D, "blu"))
    ]
    assert ended["winner"] == "blu"
    assert ended["seconds"] == 65
    assert ended["captures"] == {"red": 0, "blu": 1}
    assert ended["players"] == [
        {"id": A, "side": "blu", "seconds": {"red": 45, "blu": 20}, "fought": True, "left": False},
        {"id": B, "side": "red", "seconds": {"red": 65, "blu": 0}, "fought": True, "left": False},
        {"id": C, "side": "blu", "seconds": {"red": 0, "blu": 65}, "fought": True, "left": False},
        {"id": D, "side": "blu", "seconds": {"red": 0, "blu": 30}, "fought": True, "left": True},
        {"id": E, "side": "blu", "seconds": {"red": 0, "blu": 35}, "fought": False, "left": False},
    ]


def test_a_change_of_side_is_told_once_unless_a_roster_told_it() -> None:
    game = server(A, blu=(B,))
    game.seat((), (A,), ())

    assert kinds(game.take()) == ["side_changed"]
    assert game.take() == []

    game.seat((A,), (), ())
    game.roster()
    assert game.take() == []


def test_a_new_map_begins_with_nobody_on_a_side() -> None:
    game = server(A, blu=(B,))
    session = game.hello()["session"]
    game.apply(wire.Lock(A, "red", 180.0))

    game.change_map(KOTH)

    assert sides(game) == (set(), set(), set())
    assert game.locked(A) is None
    assert game.hello()["waiting"] is True
    assert game.hello()["session"] != session
