"""Whom mid-round autobalance moves: whether a gap is one, how many cross, who may, and which of them."""

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
from equipoise.core.effects import Cancel, Lock, LogDecision, Move
from equipoise.core.model import Entry, Mode, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from tests.core.scripts import KOTH, A, B, begun, ids, moves, of, play, roster, rules, seen, split, started, went_live
from tests.core.uneven import FIRST, question, solve, uneven


def chosen(
    text: str,
    needed: int,
    recently: str = "",
    never: str = "",
    objective: str = "",
    charge: Mapping[str, float] | None = None,
    **marks: str,
) -> set[str]:
    """Who may be moved from side A."""
    larger = roster(text, charge=charge, **marks).on(A)  # type: ignore[arg-type]
    sets = (frozenset(ids(letters)) for letters in (recently, never, objective))
    return {entry.id for entry in movable(larger, needed, *sets)}


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
        Move(FIRST, reason, PlayerId("c"), B, 8.0, 30.0),
        LogDecision("move", reason, FIRST, players=ids("c"), side=B),
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


@pytest.mark.parametrize("text", ["abc|d", "abcd|e", "abcdef|gh", "abcdefg|hi"])
def test_gaps_are_closed_to_less_than_two(text: str) -> None:
    session = uneven(text)
    for move in moves(solve(session)):
        play(session, [(5.0, e.OrderDone(5.0, move.order))])
    assert Gap.of(session.state.roster) is None


# Who.


def test_players_without_obstacles_are_moved_first() -> None:
    charge = {"d": 0.5, "e": 0.49}
    assert chosen("abcdefg|", 1, recently="f", building="c", charge=charge) == set("abeg")


def test_builders_and_charging_medics_come_second_and_recently_moved_players_last() -> None:
    marks = {"building": "b", "charge": {"c": 1.0}}
    assert chosen("abcd|", 2, recently="d", **marks) == set("abc")  # type: ignore[arg-type]
    assert chosen("abcd|", 4, recently="d", **marks) == set("abcd")  # type: ignore[arg-type]
    assert chosen("ab|", 1, recently="b", building="b") == set("a")


def test_who_captured_or_defended_lately_comes_after_builders_and_before_those_moved_recently() -> None:
    assert chosen("abcd|", 2, recently="d", objective="c", building="b") == set("ab")
    assert chosen("abcd|", 3, recently="d", objective="c", building="b") == set("abc")


@pytest.mark.parametrize(("seconds", "free"), [(60.0, "cd"), (20.0, "bcd"), (0.0, "abcd")])
def test_a_capture_spares_a_player_for_as_long_as_the_rules_say(seconds: float, free: str) -> None:
    session = begun(Mode.KOTH, "ab|cd", rules=rules(autobalance={"objective_seconds": seconds}))
    play(session, [(100.0, seen("abcd|ef", objective={"a": 5.0, "b": 30.0}))])  # type: ignore[arg-type]
    assert question(session).movable == ids(free)


def test_a_mover_who_captures_meanwhile_is_spared_and_another_goes() -> None:
    session = uneven("abcd|ef")
    (move,) = moves(solve(session))
    effects = play(session, [(3.0, seen("abcd|ef", objective={move.player: 0.5}))])  # type: ignore[arg-type]
    assert of(Cancel, effects) == [Cancel(move.order)]
    assert move.player not in question(session).movable


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


def test_a_living_player_costs_more_than_all_ranks_by_arrival_together() -> None:
    players = roster("ab|", dead="b", connected={"a": 1.0, "b": 900.0}).entries
    assert move_costs(players) == {"a": 2, "b": 1}


# Dry runs.


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
def test_a_dry_run_of_moves_with_no_movable_player_has_no_question(text: str) -> None:
    assert proposal(uneven(text).state, 0.0) is None
