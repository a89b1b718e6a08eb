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
from equipoise.core.effects import Lock, LogDecision, Move
from equipoise.core.model import Entry, Mode, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from tests.core.scripts import KOTH, A, B, begun, ids, moves, of, play, roster, rules, seen, split, went_live
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
    ("mode", "phase", "enabled"),
    [
        (Mode.ARENA, e.Phase.RUNNING, True),
        (Mode.KOTH, e.Phase.FREEZE, True),
        (Mode.KOTH, e.Phase.OVER, True),
        (Mode.KOTH, e.Phase.RUNNING, False),
    ],
)
def test_gaps_are_closed_inside_rounds_only_never_in_arena_and_where_it_is_on(
    mode: Mode, phase: e.Phase, enabled: bool
) -> None:
    session = begun(mode, "abcd|ef", phase=phase, rules=rules(autobalance={"enabled": enabled}))
    play(session, [(1.0, e.Heartbeat(1.0))])
    assert session.state.asked_moves is None
    if phase is e.Phase.FREEZE:
        assert of(AskMoves, play(session, [(2.0, went_live("r1", "abcd|ef", 2.0))]))


@pytest.mark.parametrize("text", ["abc|d", "abcd|e", "abcdef|gh", "abcdefg|hi"])
def test_gaps_are_closed_to_less_than_two(text: str) -> None:
    session = uneven(text)
    for move in moves(solve(session)):
        play(session, [(5.0, e.OrderDone(5.0, move.order))])
    assert Gap.of(session.state.roster) is None


# Who.


def test_who_has_no_obstacle_goes_first_then_builders_and_charged_medics_capturers_and_who_was_moved_lately() -> None:
    charge = {"d": 0.5, "e": 0.49}
    assert chosen("abcdefg|", 1, recently="f", building="c", charge=charge) == set("abeg")
    assert chosen("abcd|", 2, recently="d", building="b", charge={"c": 1.0}) == set("abc")
    assert chosen("abcd|", 4, recently="d", building="b", charge={"c": 1.0}) == set("abcd")
    assert chosen("ab|", 1, recently="b", building="b") == set("a")
    assert chosen("abcd|", 2, recently="d", objective="c", building="b") == set("ab")
    assert chosen("abcd|", 3, recently="d", objective="c", building="b") == set("abc")
    assert chosen("abc12|", 5, immune="a", carrier="b") == set("c"), "the immune, carriers and bots never"


@pytest.mark.parametrize(("seconds", "free"), [(60.0, "cd"), (20.0, "bcd"), (0.0, "abcd")])
def test_a_capture_spares_a_player_for_as_long_as_the_rules_say(seconds: float, free: str) -> None:
    session = begun(Mode.KOTH, "ab|cd", rules=rules(autobalance={"objective_seconds": seconds}))
    play(session, [(100.0, seen("abcd|ef", objective={"a": 5.0, "b": 30.0}))])  # type: ignore[arg-type]
    assert question(session).movable == ids(free)


def test_if_too_few_may_be_moved_the_rest_waits_until_one_may() -> None:
    session = uneven("abcdef|gh", immune="abcde")
    asked = question(session)
    assert (asked.movable, asked.count) == (ids("f"), 1)
    solve(session)
    assert not of(AskMoves, play(session, [(1.0, e.Heartbeat(1.0))]))
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


# Dry runs.


def test_a_dry_run_of_moves_asks_what_the_gap_would_be_asked_and_spares_recently_moved_players() -> None:
    session = uneven()
    assert proposal(session.state, 0.0) == question(session)
    session.state.memory = replace(session.memory, moved={PlayerId("a"): 0.0})
    spared, later = proposal(session.state, 599.0), proposal(session.state, 600.0)
    assert spared is not None
    assert later is not None
    assert (spared.movable, later.movable) == (ids("bcd"), ids("abcd"))


@pytest.mark.parametrize("text", ["abc|de", "1234|a"])
def test_a_dry_run_of_moves_with_no_movable_player_has_no_question(text: str) -> None:
    assert proposal(uneven(text).state, 0.0) is None
