"""Mid-round autobalance: a gap of two or more is seen, answered with moves, and closed or forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core import events as e
from equipoise.core.asks import AskMoves
from equipoise.core.autobalance import Gap, movable, move_costs, proposal
from equipoise.core.effects import Cancel, Effect, Lock, LogDecision, Move
from equipoise.core.model import Entry, Mode, OrderId, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from tests.core.answerer import answer
from tests.core.scripts import (
    KOTH,
    A,
    B,
    begun,
    ended,
    finished,
    ids,
    moves,
    of,
    play,
    roster,
    rules,
    seen,
    split,
    started,
    went_live,
)

FIRST = OrderId("o1")


def chosen(
    text: str, needed: int, recently: str = "", never: str = "", charge: Mapping[str, float] | None = None, **marks: str
) -> set[str]:
    """Who may be moved from side A."""
    larger = roster(text, charge=charge, **marks).on(A)  # type: ignore[arg-type]
    return {entry.id for entry in movable(larger, needed, frozenset(ids(recently)), frozenset(ids(never)))}


def question(session: Session) -> AskMoves:
    asked = session.state.asked_moves
    assert asked is not None
    return asked


def solve(session: Session, now: float = 0.1, ratings: Mapping[str, float] | None = None) -> list[Effect]:
    """Solve the question of moves that is open, and return the effects."""
    asked = question(session)
    equal = dict.fromkeys((*asked.larger, *asked.smaller), 2000.0)
    known = equal | {PlayerId(player): rating for player, rating in (ratings or {}).items()}
    return play(session, [(now, answer(asked, known))])


def uneven(text: str = "abcd|ef", given: Rules | None = None, **marks: str) -> Session:
    """A gap opens at second 0 of a running round."""
    session = begun(Mode.KOTH, "ab|cd", rules=given, ratings=dict.fromkeys("abcdefghi", 2000.0))
    play(session, [(0.0, seen(text, **marks))])
    return session


# Whether, and how many.


@pytest.mark.parametrize(
    ("text", "larger", "count"),
    [
        ("abc|d", A, 1),
        ("a|bcd", B, 1),
        ("abcd|e", A, 1),
        ("abcdef|gh", A, 2),
        ("abcdef|g", A, 2),
        ("abcdefg|h", A, 3),
        ("ab12|c3", A, 1),
    ],
)
def test_half_the_gap_must_cross(text: str, larger: Side, count: int) -> None:
    gap = Gap.of(roster(text))
    assert gap is not None
    assert (gap.larger, gap.count) == (larger, count)


@pytest.mark.parametrize("text", ["", "a|b", "ab|c", "a|bc", "a|b|cdef"])
def test_a_gap_below_two_is_none(text: str) -> None:
    assert Gap.of(roster(text)) is None


def test_a_gap_is_answered_with_a_move_and_nothing_else() -> None:
    session = begun(Mode.KOTH, "abcd|ef")
    asked = question(session)
    assert asked == AskMoves(
        session.state.version,
        KOTH,
        ids("abcd"),
        ids("ef"),
        A,
        ids("abcd"),
        1,
        dict(zip("abcd", (7, 8, 9, 10), strict=True)),
    )
    reason = Text(Phrase.REASON_GAP, ("4", "2"))
    assert play(session, [(2.0, e.MovesSolved(asked, ids("c")))]) == [
        Move(FIRST, reason, PlayerId("c"), B, 8.0),
        LogDecision("move", reason, FIRST, players=ids("c")),
    ]
    assert play(session, [(5.0, e.OrderDone(5.0, FIRST))]) == [Lock(PlayerId("c"), B, 180.0)]
    assert session.memory.moved == {"c": 5.0}


@pytest.mark.parametrize(
    ("mode", "phase"), [(Mode.ARENA, e.Phase.RUNNING), (Mode.KOTH, e.Phase.FREEZE), (Mode.KOTH, e.Phase.OVER)]
)
def test_gaps_are_closed_inside_rounds_only_and_never_in_arena(mode: Mode, phase: e.Phase) -> None:
    session = begun(mode, "abcd|ef", phase=phase)
    play(session, [(1.0, e.Heartbeat(1.0))])
    assert session.state.asked_moves is None


def test_autobalance_can_be_switched_off() -> None:
    assert uneven(given=rules(autobalance={"enabled": False})).state.asked_moves is None


def test_a_gap_is_seen_when_the_round_goes_live() -> None:
    session = begun(Mode.KOTH, "ab|cd", phase=e.Phase.FREEZE)
    assert of(AskMoves, play(session, [(1.0, started("abcd|ef", 1.0)), (2.0, went_live("r1", "abcd|ef", 2.0))]))


# Who.


def test_players_without_obstacles_are_moved_first() -> None:
    charge = {"d": 0.5, "e": 0.49}
    assert chosen("abcdefg|", 1, recently="f", building="c", charge=charge) == set("abeg")


def test_builders_and_charging_medics_come_second_and_recently_moved_players_last() -> None:
    marks = {"building": "b", "charge": {"c": 1.0}}
    assert chosen("abcd|", 2, recently="d", **marks) == set("abc")  # type: ignore[arg-type]
    assert chosen("abcd|", 4, recently="d", **marks) == set("abcd")  # type: ignore[arg-type]
    assert chosen("ab|", 1, recently="b", building="b") == set("a")


def test_immune_players_carriers_and_bots_are_never_moved() -> None:
    assert chosen("abc12|", 5, immune="a", carrier="b") == set("c")


def test_if_too_few_may_be_moved_the_rest_waits() -> None:
    session = uneven("abcdef|gh", immune="abcde")
    asked = question(session)
    assert (asked.movable, asked.count) == (ids("f"), 1)
    solve(session)
    assert not of(AskMoves, play(session, [(1.0, e.Heartbeat(1.0))]))


def test_if_no_player_may_be_moved_nothing_happens_until_one_may() -> None:
    session = uneven("abcd|ef", immune="abcd")
    assert session.state.asked_moves is None
    play(session, [(5.0, seen("abcd|ef", immune="abc"))])
    assert question(session).movable == ids("d")


def test_a_moved_player_is_spared_for_ten_minutes() -> None:
    session = uneven("abc|d")
    solve(session, 0.1)
    play(session, [(1.0, e.OrderDone(1.0, FIRST))])
    (player,) = session.memory.moved
    play(session, [(2.0, seen("|abcd"))])
    assert player not in question(session).movable[:3]
    play(session, [(2.1, seen("ab|cd")), (600.9, seen("|abcd"))])
    assert player not in question(session).movable
    play(session, [(601.0, seen("ab|cd")), (601.0, seen("|abcd"))])
    assert player in question(session).movable


def test_a_scramble_does_not_count_as_a_move() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(0.0, e.ScrambledAlone(0.0, split("ac|bd")))])
    assert session.memory.moved == {}


# Which: the solver chooses, the costs break ties.


def test_where_the_larger_side_is_the_weaker_its_weakest_goes() -> None:
    session = uneven()
    (move,) = moves(solve(session, ratings={"a": 1000, "b": 1100, "c": 1200, "d": 1300, "e": 3000, "f": 3000}))
    assert move.player == "a"


def test_the_sum_that_moves_comes_closest_to_half_the_signed_gap() -> None:
    session = uneven()
    # 2000 + 2100 + 2200 + 2900 against 2 · 2000: half the gap is 2600.
    (move,) = moves(solve(session, ratings={"a": 2000, "b": 2100, "c": 2200, "d": 2900}))
    assert move.player == "d"


@given(
    arrivals=st.lists(st.integers(0, 5), min_size=3, max_size=6),
    dead=st.sets(st.integers(0, 5)),
    count=st.integers(1, 3),
)
def test_the_cheapest_players_are_the_dead_and_then_the_latest_arrivals(
    arrivals: list[int], dead: set[int], count: int
) -> None:
    players = roster("abcdef"[: len(arrivals)]).entries
    entries = tuple(
        replace(entry, connected=float(arrivals[n]), alive=n not in dead) for n, entry in enumerate(players)
    )
    cost = move_costs(entries)
    cheapest = min(combinations(entries, count), key=lambda group: sum(cost[entry.id] for entry in group))
    best = sorted(entries, key=lambda entry: (entry.alive, entry.connected))[:count]
    assert [entry.alive for entry in cheapest].count(True) == [entry.alive for entry in best].count(True)
    assert all(cost[late.id] < cost[early.id] for late in entries for early in entries if _later(late, early))


def _later(late: Entry, early: Entry) -> bool:
    return (late.alive, late.connected) < (early.alive, early.connected)


# When.


def test_the_deadline_counts_from_when_the_gap_was_seen() -> None:
    session = uneven("abc|d")
    play(session, [(3.0, seen("abcef|d"))])
    assert {move.deadline for move in moves(_solved_twice(session, 4.0))} == {6.0}


def _solved_twice(session: Session, now: float) -> list[Effect]:
    """The first answer is out of date, the second holds."""
    old = question(session)
    again = play(session, [(now, e.MovesSolved(old, old.movable[: old.count]))])
    return solve(session, now) if of(AskMoves, again) else again


def test_no_deadline_is_later_than_the_rules_have_it_whatever_the_clock_says() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(8.1, seen("abcd|ef", 8.1))])
    assert 8.1 + 10.0 - 8.1 > 10.0
    assert {move.deadline for move in moves(solve(session, 8.1))} == {10.0}


def test_a_deadline_that_has_passed_means_at_once() -> None:
    (move,) = moves(solve(uneven(), now=30.0))
    assert move.deadline == 0.0


def test_an_answer_for_other_sides_is_asked_for_again() -> None:
    session = uneven()
    old = question(session)
    play(session, [(1.0, e.SideChanged(1.0, PlayerId("g"), A))])
    (again,) = of(AskMoves, play(session, [(1.1, e.MovesSolved(old, ids("a")))]))
    assert again.larger == ids("abcdg")  # type: ignore[union-attr]


def test_an_answer_to_no_question_changes_nothing() -> None:
    session = uneven()
    old = question(session)
    solve(session)
    assert play(session, [(1.0, e.MovesSolved(old, ids("a")))]) == []


def test_nobody_is_moved_in_the_last_thirty_seconds_of_a_round() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(100.0, seen("abcd|ef", 100.0))])
    play(session, [(100.0, e.RosterSeen(100.0, roster("abcd|ef"), ends_in=30.0))])
    assert session.state.asked_moves is None
    play(session, [(101.0, e.RosterSeen(101.0, roster("abcd|ef"), ends_in=30.1))])
    assert session.state.asked_moves is not None


def test_an_answer_that_comes_in_the_last_thirty_seconds_orders_nothing() -> None:
    session = uneven()
    play(session, [(0.0, e.RosterSeen(0.0, roster("abcd|ef"), ends_in=31.0))])
    assert solve(session, now=2.0) == []


def test_a_move_that_was_not_carried_out_before_the_last_thirty_seconds_is_cancelled() -> None:
    session = uneven()
    play(session, [(0.0, e.RosterSeen(0.0, roster("abcd|ef"), ends_in=35.0))])
    solve(session)
    assert session.deadline() == 5.0
    assert session.tick(4.9) == ()
    assert session.tick(5.0) == (Cancel(FIRST),)
    assert session.deadline() is None
    assert not of(AskMoves, play(session, [(6.0, e.Heartbeat(6.0))]))


# What happens to an order.


def test_a_gap_that_is_gone_cancels_the_move() -> None:
    session = uneven()
    solve(session)
    assert play(session, [(3.0, seen("abc|def"))]) == [Cancel(FIRST)]
    assert session.deadline() is None


def test_a_gap_that_grows_is_answered_anew() -> None:
    session = uneven()
    solve(session)
    effects = of((Cancel, AskMoves), play(session, [(3.0, seen("abcdgh|ef"))]))
    assert effects == [Cancel(FIRST), question(session)]
    assert question(session).count == 2


def test_a_gap_that_is_answered_is_left_alone() -> None:
    session = uneven()
    solve(session)
    assert not of((Cancel, AskMoves), play(session, [(1.0, e.Heartbeat(1.0)), (2.0, seen("abcd|ef"))]))


def test_a_move_of_a_player_who_took_the_flag_is_cancelled_for_another() -> None:
    session = uneven()
    (move,) = moves(solve(session))
    effects = play(session, [(1.0, seen("abcd|ef", carrier=move.player))])
    assert effects[0] == Cancel(FIRST)
    assert move.player not in question(session).movable


def test_a_move_of_a_player_who_left_is_void_and_the_gap_is_looked_at_again() -> None:
    session = uneven("abcde|f")
    _, second = moves(solve(session))
    effects = play(session, [(1.0, e.PlayerLeft(1.0, second.player))])
    assert not of(Cancel, effects)
    assert session.state.moves.keys() == {FIRST}


def test_a_script_that_shows_the_move_before_it_reports_it_gets_no_cancel() -> None:
    session = uneven()
    (move,) = moves(solve(session))
    assert play(session, [(1.0, e.SideChanged(1.0, move.player, B))]) == []
    assert play(session, [(1.1, e.OrderDone(1.1, move.order))]) == [Lock(move.player, B, 180.0)]
    assert session.memory.moved == {move.player: 1.1}


def test_a_player_who_could_not_be_moved_is_not_tried_again_in_this_round() -> None:
    session = uneven()
    (move,) = moves(solve(session))
    failed, asked = play(session, [(1.0, e.OrderFailed(1.0, FIRST, "dead_end"))])
    assert failed == LogDecision("failed", move.reason, FIRST, players=(move.player,))
    assert isinstance(asked, AskMoves)
    assert move.player not in asked.movable
    play(session, [(2.0, ended(finished("r1", A))), (3.0, started("abcd|ef")), (4.0, went_live("r2", "abcd|ef"))])
    assert move.player in question(session).movable


def test_after_one_of_two_moves_the_other_stands() -> None:
    session = uneven("abcdef|gh")
    one, two = moves(solve(session))
    assert not of(Cancel, play(session, [(1.0, e.OrderDone(1.0, one.order))]))
    assert session.state.moves.keys() == {two.order}


@pytest.mark.parametrize("event", [ended(finished("r1", A)), started("abcd|ef"), e.SidesSwitched(5.0)])
def test_moves_end_with_the_round_and_when_the_game_swaps_the_sides(event: e.Event) -> None:
    session = uneven()
    solve(session)
    assert Cancel(FIRST) in play(session, [(5.0, event)])
    assert session.state.moves == {}


def test_unanswered_moves_are_given_up_and_asked_for_again_at_the_scripts_next_event() -> None:
    session = uneven()
    solve(session)
    overdue = session.deadline()
    assert overdue == 20.0
    assert session.tick(overdue) == (Cancel(FIRST),)
    assert session.deadline() is None
    assert of(AskMoves, play(session, [(25.0, e.Heartbeat(25.0))]))


def test_an_answer_that_arrives_after_that_is_ignored() -> None:
    session = uneven()
    solve(session)
    session.tick(20.0)
    (ignored,) = play(session, [(21.0, e.OrderDone(21.0, FIRST))])
    assert type(ignored).__name__ == "Ignored"


def test_without_a_solver_the_next_word_from_the_script_asks_again() -> None:
    session = uneven()
    assert play(session, [(1.0, e.SolveFailed(question(session), "too slow"))]) == []
    assert of(AskMoves, play(session, [(5.0, e.Heartbeat(5.0))]))


def test_a_living_player_costs_more_than_all_ranks_by_arrival_together() -> None:
    players = roster("ab|", dead="b", connected={"a": 1.0, "b": 900.0}).entries
    assert move_costs(players) == {"a": 2, "b": 1}


def test_a_question_for_moves_has_no_deadline() -> None:
    session = uneven()
    assert session.state.gap_since == 0.0
    assert session.deadline() is None


def test_both_of_two_players_who_could_not_be_moved_are_not_tried_again_in_this_round() -> None:
    session = uneven("abcdef|gh")
    tried = set()
    for _ in range(2):
        move, _ = moves(solve(session))
        play(session, [(0.2, e.OrderFailed(0.2, move.order, "alive"))])
        tried.add(move.player)
    assert len(tried) == 2
    assert session.state.unmovable == tried
    assert not tried & set(question(session).movable)


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


def test_a_dry_run_of_moves_asks_what_the_gap_would_be_asked() -> None:
    session = uneven()
    assert proposal(session.state, 0.0) == question(session)


def test_a_dry_run_of_moves_spares_recently_moved_players() -> None:
    session = uneven()
    session.state.memory = replace(session.memory, moved={PlayerId("a"): 0.0})
    spared, later = proposal(session.state, 599.0), proposal(session.state, 600.0)
    assert spared is not None
    assert later is not None
    assert (spared.movable, later.movable) == (ids("bcd"), ids("abcd"))


@pytest.mark.parametrize("text", ["abc|de", "1234|a"])
def test_a_dry_run_of_moves_with_nobody_to_move_has_no_question(text: str) -> None:
    assert proposal(uneven(text).state, 0.0) is None


@pytest.mark.parametrize("text", ["abc|d", "abcd|e", "abcdef|gh", "abcdefg|hi"])
def test_gaps_are_closed_to_less_than_two(text: str) -> None:
    session = uneven(text)
    for move in moves(solve(session)):
        play(session, [(5.0, e.OrderDone(5.0, move.order))])
    assert Gap.of(session.state.roster) is None
