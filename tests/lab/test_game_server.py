"""The simulated game server carries orders out exactly, and reports what happened as the core's events."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.effects import Cancel, Lock, Moment, Unlock
from equipoise.core.model import OrderId, PlayerId, Presence, Side, Split
from equipoise.lab.simulation.game_server import HELD_SECONDS, Map
from tests.lab.games import ARENA, KOTH, A, B, C, D, E, assign, kinds, move, place, server, sides


def test_an_assignment_puts_everybody_exactly_where_it_says() -> None:
    game = server(A, B, blu=(C, D))
    game.connect(E)
    game.start_round()
    game.take()

    assert game.apply(assign(D, A, blu=(B, E), bench=(C,)))

    assert sides(game) == ({A, D}, {B, E}, {C})
    assert e.OrderDone(game.clock, OrderId("o1")) in game.take()


def test_an_assignment_for_the_freeze_time_is_too_late_once_the_round_is_live() -> None:
    game = server(A, blu=(B,))
    game.start_round()
    game.go_live()
    game.take()

    assert not game.apply(assign(B, blu=(A,)))

    assert sides(game) == ({A}, {B}, set())
    assert game.take() == (e.OrderFailed(game.clock, OrderId("o1"), "live"),)


def test_an_assignment_at_once_is_carried_out_in_a_live_round() -> None:
    game = server(A, blu=(B,), map=KOTH)
    game.start_round()
    game.go_live()

    assert game.apply(assign(B, blu=(A,), moment=Moment.NOW))

    assert sides(game) == ({B}, {A}, set())


def test_an_assignment_of_a_player_who_left_fails_and_moves_no_player() -> None:
    game = server(A, B, blu=(C, D))
    game.start_round()
    game.disconnect(D)
    game.take()

    assert not game.apply(assign(C, blu=(A, B, D)))

    assert sides(game) == ({A, B}, {C}, set())
    assert game.take() == (e.OrderFailed(game.clock, OrderId("o1"), "left"),)


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
    assert game.to_be_moved() == ()
    assert kinds(game.take()) == ["OrderDone", "SideChanged"]


def test_a_move_is_carried_out_on_the_living_at_its_deadline() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    game.start_round()
    game.go_live()
    game.apply(move(A, deadline=10))

    game.pass_time(10)

    assert sides(game) == ({B}, {A, C}, set())


def test_a_move_of_a_player_who_left_fails() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    game.disconnect(A)
    game.take()

    game.apply(move(A, deadline=10))
    game.pass_time(10)

    assert game.take() == (e.OrderFailed(0.0, OrderId("o2"), "left"),)


def test_a_cancelled_move_is_forgotten() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    game.apply(move(A))

    game.apply(Cancel(OrderId("o2")))
    game.die(A)
    game.pass_time(60)

    assert sides(game) == ({A, B}, {C}, set())


@pytest.mark.parametrize("side", [*Side, None])
def test_a_player_who_wants_a_side_is_held_until_they_are_placed(side: Side | None) -> None:
    game = server(A, blu=(B,), map=KOTH)
    game.connect(C)
    game.want(C, Side.A)
    assert game.clients[C].where == (None, False)

    game.apply(place(C, side))

    assert game.clients[C].where == (side, side is None)


def test_players_are_held_two_seconds_at_most_and_then_their_lock_decides() -> None:
    game = server(A, B, blu=(C,), map=KOTH)
    for id in (D, E):
        game.connect(id)
        game.want(id, None)
    game.apply(Lock(E, Side.A, 180.0))

    game.pass_time(HELD_SECONDS)

    assert sides(game) == ({A, B, E}, {C, D}, set())


def test_locks_end_with_their_time_with_an_unlock_or_with_the_next_scramble() -> None:
    game = server(A, B, blu=(C, D))
    for id, seconds in ((A, 180.0), (B, 180.0), (C, None)):
        game.apply(Lock(id, Side.A, seconds))
    assert [game.locked(id) for id in (A, B, C)] == [Side.A] * 3

    game.apply(Unlock((B,)))
    game.seat(Split((A, B), (C, D)))
    assert [game.locked(id) for id in (A, B, C)] == [Side.A, None, None]

    game.pass_time(181)
    assert game.locked(A) is None


def test_a_finished_round_reports_its_lineup_and_how_long_each_player_played() -> None:
    game = server(A, B, blu=(C, D), map=KOTH)
    game.start_round()
    game.go_live()
    game.fight()
    game.pass_time(30)
    game.disconnect(D)
    game.connect(E)
    game.want(E, None)
    game.apply(place(E, Side.B))
    game.pass_time(15)
    game.apply(move(A))
    game.die(A)
    game.pass_time(20)

    round = game.end_round(Side.B, {Side.B: 1}).round

    assert [(one.id, one.side) for one in round.lineup] == [(A, Side.A), (B, Side.A), (C, Side.B), (D, Side.B)]
    assert (round.winner, round.seconds, round.captures_a, round.captures_b) == (Side.B, 65, 0, 1)
    assert round.presences == (
        Presence(A, Side.B, 45, 20, fought=True),
        Presence(B, Side.A, 65, 0, fought=True),
        Presence(C, Side.B, 0, 65, fought=True),
        Presence(D, Side.B, 0, 30, fought=True, left=True),
        Presence(E, Side.B, 0, 35, fought=False),
    )


@pytest.mark.parametrize(("map", "lineup"), [(ARENA, {B, C}), (KOTH, {A, B, C})])
def test_in_arena_a_player_who_died_in_the_freeze_is_not_in_the_lineup(map: Map, lineup: set[PlayerId]) -> None:
    game = server(A, B, blu=(C,), map=map)
    game.start_round()
    game.die(A)
    game.go_live()
    game.fight()
    assert {one.id for one in game.end_round(Side.A).round.lineup} == lineup


def test_a_change_of_side_is_reported_once_unless_a_roster_showed_it() -> None:
    game = server(A, blu=(B,))
    game.seat(Split((), (A,)))

    assert kinds(game.take()) == ["SideChanged"]
    assert game.take() == ()

    game.seat(Split((A,), ()))
    game.roster()
    assert game.take() == ()


def test_a_new_map_begins_with_empty_sides() -> None:
    game = server(A, blu=(B,))
    session = game.hello().session
    game.apply(Lock(A, Side.A, 180.0))

    game.change_map(KOTH)

    assert sides(game) == (set(), set(), set())
    assert game.locked(A) is None
    assert game.hello().waiting is True
    assert game.hello().session != session
