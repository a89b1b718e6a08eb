"""A map's last minutes: no trigger, no vote and no autobalance, and an admin's order all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit
from equipoise.core.effects import Cancel, LogDecision, OpenVote, Say, Tell
from equipoise.core.model import Mode, PlayerId
from equipoise.core.phrases import Phrase
from equipoise.core.phrases import Text as Line
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.core.triggers import Tally
from tests.core.scripts import A, begun, command, ended, finished, hello, of, play, roster, seen, started, the
from tests.core.uneven import FIRST, solve

TWO = replace(Rules(), last_minutes=2.0)
MAP_ENDS = Line(Phrase.MAP_ENDS)
STREAK = Line(Phrase.REASON_NO_CAPTURE)


def session_with(left: float, text: str = "abcd|efgh", rules: Rules = TWO) -> Session:
    """A running round of KOTH on a map that has so many seconds left at second 0."""
    session = begun(Mode.KOTH, text, rules=rules)
    play(session, [(0.0, e.RosterSeen(0.0, roster(text), map_ends_in=left))])
    return session


def shutout(at: float) -> tuple[float, e.Event]:
    """The round ends, and the losers have captured nothing."""
    return (at, ended(finished("r1", A, captures=(1, 0)), at))


@pytest.mark.parametrize(("left", "due"), [(221.0, True), (220.0, False), (0.0, False)])
def test_no_trigger_makes_a_scramble_due_in_the_last_two_minutes(left: float, due: bool) -> None:
    session = session_with(left)
    assert bool(session.due_if()) == (left > 120.0)
    play(session, [shutout(100.0)])
    assert (session.memory.pending is not None) == due


def test_without_a_time_limit_with_zero_minutes_or_on_a_map_that_is_made_longer_nothing_ends() -> None:
    longer = session_with(60.0)
    assert longer.state.map_ends
    play(longer, [(1.0, e.RosterSeen(1.0, roster("abcd|efgh"), map_ends_in=900.0))])
    for session in (begun(Mode.KOTH, "abcd|efgh", rules=TWO), session_with(0.0, rules=Rules()), longer):
        play(session, [shutout(100.0)])
        assert session.memory.pending == STREAK
    play(longer, [(101.0, seen("abcd|efgh"))])
    assert longer.state.map_ends_at is None


def test_what_is_due_when_they_begin_is_dropped_and_all_read_it() -> None:
    session = session_with(230.0)
    play(session, [shutout(100.0)])
    effects = play(session, [(111.0, e.Heartbeat(111.0))])
    assert effects == [LogDecision("dropped", STREAK), Say(MAP_ENDS)]
    assert session.memory.pending is None
    assert not of(AskSplit, play(session, [(115.0, started("abcd|efgh", 115.0))]))


def test_a_split_that_is_under_way_when_they_begin_is_carried_out() -> None:
    session = session_with(230.0)
    play(session, [shutout(100.0), (109.0, started("abcd|efgh", 109.0))])
    assert session.state.asked is not None
    assert play(session, [(111.0, e.Heartbeat(111.0))]) == []
    assert session.memory.pending == STREAK


def test_the_end_of_waiting_scrambles_all_the_same_because_the_map_has_its_whole_time_again() -> None:
    session = Session(TWO)
    play(session, [(0.0, hello(waiting=True)), (0.0, e.RosterSeen(0.0, roster("ab|cd"), map_ends_in=30.0))])
    play(session, [(20.0, e.WaitingEnded(20.0)), (21.0, e.Heartbeat(21.0))])
    assert session.memory.pending == Line(Phrase.REASON_WAITING_ENDED)


def test_nobody_may_ask_for_a_vote_and_one_that_runs_is_withdrawn() -> None:
    session = session_with(130.0, "abcdef|ghijkl")
    # After two wins in a row every voice counts without the chance being asked for.
    session.state.memory = replace(session.memory, tally=Tally(2, 2, A, 2))
    vote = the(OpenVote, play(session, [(1.0, command("vote", by=letter, admin=False)) for letter in "abcd"]))
    assert of(Cancel, play(session, [(10.0, e.Heartbeat(10.0))])) == [Cancel(vote.order)]
    assert play(session, [(11.0, command("vote", by="a", admin=False))]) == [Tell(PlayerId("a"), (MAP_ENDS,))]


def test_a_move_that_was_not_carried_out_before_they_begin_is_cancelled_and_the_log_says_once_why_a_gap_stays() -> None:
    session = session_with(125.0)
    play(session, [(0.0, e.RosterSeen(0.0, roster("abcd|ef"), map_ends_in=125.0))])
    solve(session)
    assert session.deadline() == 5.0
    assert session.tick(5.0) == (Cancel(FIRST),)
    kept = LogDecision("kept", Line(Phrase.GAP_MAP_ENDS, ("4", "2")))
    effects = play(session, [(10.0, e.RosterSeen(10.0, roster("abcd|ef"), map_ends_in=115.0)), (11.0, e.Heartbeat())])
    assert of((LogDecision, AskMoves), effects) == [kept]


@pytest.mark.parametrize("words", [("balance",), ("scramble", "now"), ("scramble", "next")])
def test_an_admins_order_is_carried_out_and_the_admin_is_told(words: tuple[str, ...]) -> None:
    session = session_with(60.0, "abcd|ef")
    first, *others = play(session, [(1.0, command(*words))])
    assert first == Tell(PlayerId("a"), (MAP_ENDS,))
    if words == ("scramble", "next"):
        play(session, [(2.0, ended(finished("r1", A), 2.0))])
        others = play(session, [(3.0, e.Heartbeat(3.0)), (4.0, started("abcd|ef", 4.0))])
    assert of((AskSplit, AskMoves), others)
