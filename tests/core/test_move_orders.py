"""An order to move a player: its deadline, how it ends, and the question that follows it."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskMoves
from equipoise.core.effects import Cancel, Effect, Lock, LogDecision, Move
from equipoise.core.model import Mode, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.session import Session
from tests.core.scripts import (
    A,
    B,
    begun,
    command,
    ended,
    finished,
    ids,
    moves,
    of,
    play,
    seen,
    started,
    went_live,
)
from tests.core.uneven import FIRST, question, solve, uneven

# When it is due.


def test_the_deadline_counts_from_when_the_gap_was_seen() -> None:
    session = uneven("abc|d")
    play(session, [(3.0, seen("abcef|d"))])
    assert {move.deadline for move in moves(_solved_twice(session, 4.0))} == {6.0}


def _solved_twice(session: Session, now: float) -> list[Effect]:
    """The first answer is out of date, the second holds."""
    old = question(session)
    again = play(session, [(now, e.MovesSolved(old, old.movable[: old.count]))])
    return solve(session, now) if of(AskMoves, again) else again


def test_rounding_of_times_makes_no_deadline_later_than_the_rules_allow_and_one_that_has_passed_means_at_once() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(8.1, seen("abcd|ef", 8.1))])
    assert 8.1 + 10.0 - 8.1 > 10.0
    assert {move.deadline for move in moves(solve(session, 8.1))} == {10.0}
    (move,) = moves(solve(uneven(), now=30.0))
    assert move.deadline == 0.0


def test_an_answer_for_other_sides_is_asked_for_again_and_a_second_answer_changes_nothing() -> None:
    session = uneven()
    old = question(session)
    play(session, [(1.0, e.SideChanged(1.0, PlayerId("g"), A))])
    (again,) = of(AskMoves, play(session, [(1.1, e.MovesSolved(old, ids("a")))]))
    assert again.larger == ids("abcdg")  # type: ignore[union-attr]
    solve(session)
    assert play(session, [(1.2, e.MovesSolved(old, ids("a")))]) == []


def test_in_the_last_thirty_seconds_of_a_round_nothing_is_asked_ordered_or_still_carried_out() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(100.0, seen("abcd|ef", 100.0, ends_in=30.0))])
    assert session.state.asked_moves is None
    play(session, [(101.0, seen("abcd|ef", 101.0, ends_in=31.0))])
    assert solve(session, now=103.0) == [LogDecision("kept", Text(Phrase.GAP_QUIET, ("4", "2")))]
    session = uneven(ends_in=35.0)
    solve(session)
    assert session.deadline() == 5.0
    assert session.tick(4.9) == ()
    assert session.tick(5.0) == (Cancel(FIRST),)
    assert session.deadline() is None
    assert not of(AskMoves, play(session, [(6.0, e.Heartbeat(6.0))]))


# Why it does not come.


def test_a_gap_that_stays_is_explained_once_for_as_long_as_its_reason_holds() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    nobody = LogDecision("kept", Text(Phrase.GAP_STAYS, ("4", "2")))
    assert of(LogDecision, play(session, [(1.0, seen("abcd|ef", immune="abcd"))])) == [nobody]
    assert of(LogDecision, play(session, [(2.0, seen("abcd|ef", carrier="ab", immune="cd"))])) == []
    assert of((LogDecision, AskMoves), play(session, [(3.0, seen("abcd|ef"))])) == [session.state.asked_moves]
    play(session, [(5.0, seen("abc|def")), (6.0, e.Heartbeat(6.0))])
    assert of(LogDecision, play(session, [(7.0, seen("abcd|ef", immune="abcd"))])) == [nobody]
    quiet = LogDecision("kept", Text(Phrase.GAP_QUIET, ("4", "2")))
    assert of(LogDecision, play(session, [(8.0, seen("abcd|ef", 8.0, ends_in=20.0))])) == [quiet]


def test_a_gap_of_which_only_a_part_can_be_closed_is_explained_beside_the_moves() -> None:
    effects = play(begun(Mode.KOTH, "ab|cd"), [(1.0, seen("abcdef|gh", immune="abcde"))])
    assert of(LogDecision, effects) == [LogDecision("kept", Text(Phrase.GAP_STAYS, ("6", "2")))]
    (question,) = of(AskMoves, effects)
    assert question.movable == ids("f")  # type: ignore[union-attr]


# How it ends.


def test_a_gap_that_is_answered_is_left_alone_one_that_grows_is_answered_anew_and_one_that_is_gone_cancels() -> None:
    session = uneven()
    solve(session)
    assert not of((Cancel, AskMoves), play(session, [(1.0, e.Heartbeat(1.0)), (2.0, seen("abcd|ef"))]))
    effects = of((Cancel, AskMoves), play(session, [(3.0, seen("abcdgh|ef"))]))
    assert effects == [Cancel(FIRST), question(session)]
    assert question(session).count == 2
    orders = [move.order for move in moves(solve(session, 4.0))]
    assert play(session, [(5.0, seen("abc|def"))]) == [Cancel(order) for order in orders]
    assert session.deadline() is None


@pytest.mark.parametrize("event", [seen("abc|def"), ended(finished("r1", A)), started("abcd|ef"), e.SidesSwitched(5.0)])
def test_moves_end_with_gap_and_round_and_one_that_is_carried_out_while_its_cancel_is_under_way_counts(
    event: e.Event,
) -> None:
    session = uneven()
    (move,) = moves(solve(session))
    assert Cancel(FIRST) in play(session, [(3.0, event)])
    assert session.state.moves == {}
    done = play(session, [(4.0, e.SideChanged(4.0, move.player, B)), (4.0, e.OrderDone(4.0, FIRST))])
    assert of(Lock, done) == [Lock(move.player, B, 180.0)]
    assert session.memory.moved == {move.player: 4.0}
    assert not of(Lock, play(session, [(5.0, e.OrderDone(5.0, FIRST))]))


@pytest.mark.parametrize("left", [True, False], ids=["they left", "they were moved"])
def test_after_the_end_of_one_of_two_moves_the_other_stands(left: bool) -> None:
    session = uneven("abcde|f")
    one, two = moves(solve(session))
    ends = e.PlayerLeft(1.0, two.player) if left else e.OrderDone(1.0, two.order)
    assert not of(Cancel, play(session, [(1.0, ends)]))
    assert session.state.moves.keys() == {one.order}


def test_a_script_that_shows_the_move_before_it_reports_it_gets_no_cancel() -> None:
    session = uneven()
    (move,) = moves(solve(session))
    assert play(session, [(1.0, e.SideChanged(1.0, move.player, B))]) == []
    assert play(session, [(1.1, e.OrderDone(1.1, move.order))]) == [Lock(move.player, B, 180.0)]
    assert session.memory.moved == {move.player: 1.1}


def test_players_who_could_not_be_moved_are_not_tried_again_in_this_round() -> None:
    session, tried = uneven("abcdef|gh"), set()
    for _ in range(2):
        move, _ = moves(solve(session))
        failed, *_ = play(session, [(0.2, e.OrderFailed(0.2, move.order, "dead_end"))])
        assert failed == LogDecision("failed", move.reason, move.order, players=(move.player,))
        tried.add(move.player)
        assert session.state.unmovable == tried
        assert not tried & set(question(session).movable)
    assert len(tried) == 2
    play(session, [(2.0, ended(finished("r1", A))), (3.0, started("abcd|ef")), (4.0, went_live("r2", "abcd|ef"))])
    assert tried <= set(question(session).movable)


def test_unanswered_moves_are_given_up_and_asked_for_again_at_the_scripts_next_event() -> None:
    session = uneven()
    assert (session.state.gap_since, session.deadline()) == (0.0, None), "a question has no deadline"
    assert play(session, [(1.0, e.SolveFailed(question(session), "too slow"))]) == []
    assert of(AskMoves, play(session, [(5.0, e.Heartbeat(5.0))]))
    (move,) = moves(solve(session))
    overdue = session.deadline()
    assert overdue == 20.0
    assert session.tick(overdue) == (Cancel(FIRST),)
    assert session.deadline() is None
    assert of(AskMoves, play(session, [(25.0, e.Heartbeat(25.0))]))
    play(session, [(26.0, e.OrderDone(26.0, FIRST))])
    assert session.memory.moved == {move.player: 26.0}, "it counts when it is carried out all the same"


@pytest.mark.parametrize(
    "event",
    [
        e.PlayerLeft(1.0, PlayerId("f")),
        e.SidesSwitched(1.0),
        e.SideChanged(1.0, PlayerId("f"), None),
        e.Heartbeat(1.0),
        e.OrderFailed(1.0, FIRST, "alive"),
        e.OrderDone(1.0, FIRST),
    ],
)
def test_no_event_of_the_last_thirty_seconds_leads_to_moves(event: e.Event) -> None:
    session = uneven("abcdefg|hi", ends_in=31.0)
    assert len(moves(solve(session))) == 2

    effects = play(session, [(1.5, event)])

    assert not of((AskMoves, Move), effects)
    assert session.state.asked_moves is None


@pytest.mark.parametrize(
    "event", [e.PlayerLeft(1.0, PlayerId("f")), e.SidesSwitched(1.0), e.OrderFailed(1.0, FIRST, "alive")]
)
def test_before_the_last_thirty_seconds_the_same_events_lead_to_a_question(event: e.Event) -> None:
    session = uneven("abcde|fg", ends_in=60.0)
    solve(session)
    assert of(AskMoves, play(session, [(1.5, event)]))


def test_who_is_held_is_not_moved_and_may_be_as_soon_as_they_are_free() -> None:
    session = uneven("abcd|ef")
    (order,) = moves(solve(session))
    effects = play(session, [(1.0, e.OrderFailed(1.0, order.order, "held", {order.player: "ball"}))])
    (kept,) = [each for each in effects if isinstance(each, LogDecision) and each.kind == "kept"]
    assert (kept.reason, kept.players) == (Text(Phrase.HELD_BALL, ("1",)), (order.player,))
    assert order.player not in question(session).movable

    play(session, [(2.0, e.SideChanged(2.0, order.player, Side.A))])
    assert not moves(solve(session))  # the question was of those who were free before
    assert order.player in question(session).movable
    effects = play(begun(Mode.KOTH, "abcd|ef"), [(1.0, seen("abcd|ef", held="abcdef"))])
    assert not of((AskMoves, Move), effects), "all are held"


@pytest.mark.parametrize(
    "event",
    [
        seen("abcd|ef", carrier="a"),
        seen("abcd|ef", objective={"a": 0.5}),  # type: ignore[arg-type]
        e.SideChanged(1.0, PlayerId("a"), Side.A, held="duel"),
    ],
    ids=["takes the flag", "captures", "begins a duel"],
)
def test_of_a_mover_who_may_not_be_moved_any_more_another_goes(event: e.Event) -> None:
    session = uneven("abcd|ef")
    (order,) = moves(solve(session))
    assert order.player == "a"
    assert Cancel(order.order) in play(session, [(1.0, event)])
    (other,) = moves(solve(session))
    assert other.player != order.player


def test_an_answer_in_sudden_death_orders_nothing_and_the_next_round_knows_nothing_of_it() -> None:
    session = uneven("abcd|ef")
    asked = question(session)
    play(session, [(1.0, seen("abcd|ef", no_moves="sudden_death"))])
    assert play(session, [(1.1, e.MovesSolved(asked, asked.movable[:1]))]) == []
    play(session, [(2.0, ended(finished("r1", A), 2.0)), (3.0, started("abcd|ef")), (4.0, went_live("r2", "abcd|ef"))])
    assert question(session).count == 1


# While nobody may be moved.


def kept(effects: list[Effect]) -> list[Text]:
    return [each.reason for each in effects if isinstance(each, LogDecision) and each.kind == "kept"]


@pytest.mark.parametrize(
    ("why", "phrase"),
    [
        ("sudden_death", Phrase.NO_MOVES_SUDDEN_DEATH),
        ("overtime", Phrase.NO_MOVES_OVERTIME),
        ("new", Phrase.NO_MOVES),
    ],
)
def test_while_nobody_may_be_moved_orders_are_cancelled_and_none_is_given_until_it_is_over(
    why: str, phrase: Phrase
) -> None:
    session = uneven("abcd|ef")
    (order,) = moves(solve(session))
    effects = play(session, [(1.0, seen("abcd|ef", no_moves=why))])
    assert of((Cancel, Move, AskMoves), effects) == [Cancel(order.order)]
    assert kept(effects) == [Text(phrase)]
    again = play(session, [(2.0, seen("abcd|e", no_moves=why)), (3.0, e.Heartbeat(3.0))])
    assert of((Cancel, Move, AskMoves), again) == []
    assert kept(again) == []  # it is in the log once

    play(session, [(4.0, seen("abcd|ef"))])
    (order,) = moves(solve(session, now=4.0))
    assert order.deadline == 10.0  # counted from here


@pytest.mark.parametrize(("reason", "ends_in"), [("no_moves", None), ("quiet", 90.0)], ids=["nobody may", "too late"])
def test_a_move_that_came_when_nobody_may_be_moved_says_nothing_of_its_player(
    reason: str, ends_in: float | None
) -> None:
    session = uneven("abcd|ef")
    (order,) = moves(solve(session))
    assert not of((AskMoves, Move), play(session, [(1.0, e.OrderFailed(1.0, order.order, reason))]))
    assert "roster" in session.state.wants
    play(session, [(2.0, seen("abcd|ef", ends_in=ends_in))])
    assert order.player in question(session).movable


def test_a_move_that_an_admin_asked_for_has_no_quiet_seconds() -> None:
    session = uneven("abcd|ef")
    (order,) = moves(solve(session))
    assert order.quiet == 30.0
    play(session, [(1.0, e.OrderFailed(1.0, order.order, "quiet")), (1.0, command("balance"))])
    (order,) = moves(solve(session, now=1.1))
    assert order.quiet == 0.0
