"""The simulated NS2 server does with commanders, starts and orders what the game and the mod do."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.asks import Moment
from equipoise.core.events import Phase
from equipoise.core.model import Mode, Role, ServerId, Side, Span, Split
from equipoise.lab.simulation.game_server import Map, NS2Server
from tests.lab.games import A, B, C, D, E, assign, kinds, move, sides

VEIL = Map("ns2_veil", Mode.NS2)


@pytest.fixture
def game() -> NS2Server:
    """A and B as marines, C and D as aliens; A and C command."""
    made = NS2Server(ServerId("ns2-1"), 1_763_622_000_123, VEIL)
    for player in (A, B, C, D):
        made.connect(player)
    made.seat(Split((A, B), (C, D)))
    made.take_chair(A)
    made.take_chair(C)
    made.roster()
    made.take()
    return made


def test_who_connects_waits_in_the_ready_room(game: NS2Server) -> None:
    game.connect(E)
    entry = game.roster().roster.get(E)
    assert entry is not None
    assert (entry.side, entry.waiting, entry.eligible) == (None, True, True)


def test_a_shuffle_waits_for_countdown_and_moves_only_those_whose_side_differs(game: NS2Server) -> None:
    game.start_round()
    assert game.apply(assign(A, D, blu=(B, C))) is False
    assert sides(game)[0] == {A, B}
    assert game.count_down()
    assert sides(game)[:2] == ({A, D}, {B, C})
    assert (game.commander(Side.A), game.commander(Side.B)) == (A, C)
    assert kinds(game.take()) == ["RoundStarted", "OrderDone", "SideChanged", "SideChanged"]


def test_who_left_before_countdown_is_left_out_while_the_sizes_stay_right(game: NS2Server) -> None:
    game.start_round()
    game.apply(assign(A, D, blu=(B, C)))
    game.disconnect(B)
    assert game.count_down()
    assert sides(game)[:2] == ({A, D}, {C})


def test_a_shuffle_that_would_leave_the_sides_uneven_fails(game: NS2Server) -> None:
    game.start_round()
    game.apply(assign(A, D, blu=(B, C)))
    for player in (B, C):
        game.disconnect(player)
    assert not game.count_down()
    failed = game.take()[-1]
    assert isinstance(failed, e.OrderFailed)
    assert failed.reason == "sizes"


def test_an_aborted_start_gives_the_held_shuffle_up(game: NS2Server) -> None:
    game.start_round()
    game.apply(assign(A, D, blu=(B, C)))
    game.leave_chair(A)
    game.abort()
    assert kinds(game.take()) == ["RoundStarted", "RoundAborted", "OrderFailed"]
    assert game.phase is Phase.IDLE
    assert sides(game)[0] == {A, B}


def test_spans_tell_when_where_and_in_which_role_a_player_played(game: NS2Server) -> None:
    game.start_round()
    game.count_down()
    game.go_live()
    game.pass_time(100)
    game.take_chair(B)
    game.connect(E)
    game.want(E, Side.B)
    game.pass_time(3)
    game.pass_time(47)
    game.disconnect(D)
    game.pass_time(50)
    ended = game.end_round(None).round
    spans = {presence.id: presence.spans for presence in ended.presences}
    assert spans == {
        A: (Span(Side.A, 0, 100, Role.COMMANDER), Span(Side.A, 100, 200)),
        B: (Span(Side.A, 0, 100), Span(Side.A, 100, 200, Role.COMMANDER)),
        C: (Span(Side.B, 0, 200, Role.COMMANDER),),
        D: (Span(Side.B, 0, 150),),
        E: (Span(Side.B, 103, 200),),
    }
    assert [presence.seconds_b for presence in ended.presences] == [0, 0, 200, 150, 97]


def test_a_commander_who_is_moved_leaves_the_chair(game: NS2Server) -> None:
    game.start_round()
    game.go_live()
    game.apply(move(A, Side.B, deadline=1e9))
    game.pass_time(30)
    assert game.commander(Side.A) == A
    game.die(A)
    assert game.commander(Side.A) is None


def test_an_assignment_at_once_follows_a_round_that_was_abandoned_and_told_as_partial(game: NS2Server) -> None:
    game.start_round()
    game.go_live()
    game.pass_time(40)
    ended = game.abandon()
    assert (ended.round.partial, ended.round.winner, game.phase) == (True, None, Phase.IDLE)
    assert game.apply(assign(A, D, blu=(B, C), moment=Moment.NOW))


def test_after_a_round_all_stand_in_the_ready_room(game: NS2Server) -> None:
    game.start_round()
    game.go_live()
    game.end_round(Side.A)
    game.to_ready_room()
    assert sides(game) == (set(), set(), {A, B, C, D})
