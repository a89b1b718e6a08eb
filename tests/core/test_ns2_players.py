"""NS2: players who join, switch or are moved: locks, commanders and bots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSide
from equipoise.core.autobalance import NO_DEADLINE
from equipoise.core.effects import Effect, Lock, LogDecision, Place
from equipoise.core.model import Mode, PlayerId, PlayerSummary, Roster, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.session import Session
from tests.core.scripts import A, B, begun, ids, moves, of, play, roster, rules, seen, the


def commanded(text: str, commanders: str, dead: str = "") -> Roster:
    chairs = ids(commanders)
    return Roster(tuple(replace(one, commander=one.id in chairs) for one in roster(text, dead=dead).entries))


def asked(effects: list[Effect]) -> AskMoves:
    return the(AskMoves, effects)


def placed(session: Session, player: str, side: Side | None, now: float = 5.0) -> Place:
    return the(Place, play(session, [(now, e.SideWanted(now, PlayerId(player), side))]))


def test_a_gap_is_closed_without_a_deadline_because_only_dead_players_are_moved() -> None:
    session = begun(Mode.NS2, "abcd|efg")
    question = asked(play(session, [(5.0, seen("abcd|e", 5.0))]))
    (move,) = moves(play(session, [(6.0, e.MovesSolved(question, ids("c")))]))
    assert move.deadline == NO_DEADLINE - 1.0
    assert play(session, [(3000.0, e.Heartbeat(3000.0))]) == []
    assert (session.tick(3000.0), session.state.moves) == ((), {move.order: move})


def test_a_commander_is_never_moved_and_of_equally_good_players_a_dead_one_first() -> None:
    session = begun(Mode.NS2, "abcd|efg")
    question = asked(play(session, [(5.0, e.RosterSeen(5.0, commanded("abcd|e", "ae", dead="ac")))]))
    assert question.movable == ids("bcd")
    assert question.commanders == frozenset(ids("ae")), "the solver reads who commands"
    assert min(question.cost, key=question.cost.__getitem__) == "c"


def test_a_move_of_a_player_who_takes_the_chair_is_cancelled_and_another_is_chosen() -> None:
    session = begun(Mode.NS2, "abcd|efg")
    question = asked(play(session, [(5.0, seen("abcd|e", 5.0))]))
    play(session, [(5.1, e.MovesSolved(question, ids("c")))])
    assert asked(play(session, [(6.0, e.RosterSeen(6.0, commanded("abcd|e", "c")))])).movable == ids("abd")


def test_bots_open_no_gap() -> None:
    session = begun(Mode.NS2, "ab|cd")
    assert of(AskMoves, play(session, [(5.0, seen("ab123|cd", 5.0))])) == []


@pytest.mark.parametrize(
    ("phase", "at_round_start", "held"),
    [(e.Phase.RUNNING, True, True), (e.Phase.IDLE, True, False), (e.Phase.IDLE, False, True)],
    ids=["in a round", "before a shuffle", "without one"],
)
def test_a_joiner_from_the_ready_room_goes_to_the_smaller_side_and_is_held_there_unless_a_shuffle_places_all(
    phase: e.Phase, at_round_start: bool, held: bool
) -> None:
    session = begun(Mode.NS2, "abc|de|f", phase=phase, rules=rules(shuffle={"at_round_start": at_round_start}))
    effects = play(session, [(5.0, e.SideWanted(5.0, PlayerId("f"), A))])
    reason = Text(Phrase.REASON_JOIN_SMALLER)
    assert effects == [
        Place(PlayerId("f"), B, reason),
        LogDecision("place", reason, players=ids("f"), side=B),
        *([Lock(PlayerId("f"), B, 180.0)] if held else []),
    ]


def test_a_held_player_may_switch_to_the_smaller_side_once_theirs_is_larger_by_two() -> None:
    session = begun(Mode.NS2, "abc|de|f")
    placed(session, "f", None)
    assert placed(session, "f", A).reason == Text(Phrase.REFUSED_LOCKED, ("180",))
    play(session, [(6.0, seen("a|defb", 6.0))])
    assert placed(session, "f", A, 7.0).side is A


def test_a_commander_who_changes_side_has_left_the_chair() -> None:
    session = begun(Mode.NS2, "abc|def")
    play(session, [(1.0, e.RosterSeen(1.0, commanded("abc|def", "ad")))])
    play(session, [(2.0, e.SideChanged(2.0, PlayerId("a"), None, waiting=True))])
    play(session, [(3.0, e.SideChanged(3.0, PlayerId("d"), B))])
    assert [entry.id for entry in session.state.roster.entries if entry.commander] == list(ids("d"))


def test_a_joiner_of_equal_sides_is_placed_by_the_pool_which_knows_map_and_commanders() -> None:
    session = begun(Mode.NS2, "ab|cd")
    play(session, [(1.0, e.SummariesLoaded(tuple(PlayerSummary(PlayerId(letter), 1000.0) for letter in "abcde")))])
    play(session, [(2.0, e.RosterSeen(2.0, commanded("ab|cd|e", "ad")))])

    (question,) = of(AskSide, play(session, [(3.0, e.SideWanted(3.0, PlayerId("e"), A))]))
    assert question.commanders == frozenset(ids("ad"))
    (place,) = of(Place, play(session, [(3.1, e.SideFound(question, B))]))
    assert place.side is B
