"""Who leaves their side to watch: a scramble places them all the same, and they come back to the side they left."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, CacheSplits
from equipoise.core.effects import Effect, Lock, Place
from equipoise.core.model import Mode, PlayerId, Roster, Side
from equipoise.core.phrases import Phrase
from equipoise.core.session import Session
from tests.core.game import Game
from tests.core.scripts import (
    A,
    B,
    begun,
    command,
    ended,
    finished,
    hello,
    ids,
    of,
    play,
    roster,
    rules,
    seen,
    started,
    summaries,
    the,
)
from tests.core.uneven import solve

ANN = PlayerId("a")


def watches(player: str, at: float) -> tuple[float, e.Event]:
    """The player goes to the spectators."""
    return (at, e.SideChanged(at, PlayerId(player), None))


def wants(player: str, side: Side | None, at: float) -> tuple[float, e.Event]:
    """The player asks for a side."""
    return (at, e.SideWanted(at, PlayerId(player), side))


def placed(effects: list[Effect]) -> Place:
    """The one placement among the effects."""
    return the(Place, effects)


@pytest.mark.parametrize(("seconds", "asked"), [(60.0, "bcdea"), (20.0, "bcde"), (0.0, "bcde")])
def test_a_scramble_is_about_those_who_went_to_watch_a_moment_ago(seconds: float, asked: str) -> None:
    session = begun(Mode.KOTH, "ab|cd|", rules=rules(scramble={"spectator_seconds": seconds}))
    play(session, [(1.0, seen("abe|cd")), watches("a", 10.0)])
    question = the(AskSplit, play(session, [(40.0, command("scramble", "now", by="b"))]))
    assert {entry.id for entry in question.entries} == set(ids(asked))


@pytest.mark.parametrize("mode", [Mode.KOTH, Mode.ARENA])
def test_who_goes_to_watch_before_a_scramble_is_placed_as_if_they_stood_on_a_side(mode: Mode) -> None:
    game = Game(mode, "abcd|efgh", rules=rules(arena={"round_one": "everyone"}))
    game.round(A, captures=(1, 0))
    game.change("bcd|efgh||a")
    game.now += 15.0
    game.start()
    assert sorted(map(len, game.stands().split("|"))) == [4, 4]  # nobody watches


def test_four_are_enough_for_a_scramble_while_one_only_went_to_watch_but_not_for_cached_splits_and_swaps() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [watches("a", 10.0)])
    assert of(AskSplit, play(session, [(20.0, command("scramble", "now", by="b"))]))
    assert not of(AskSplit, play(session, [(71.0, command("scramble", "now", by="b"))]))
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [watches("a", 10.0)])
    effects = play(session, [(20.0, ended(finished("r1", B, "b|cd"), 20.0)), (21.0, started("b|cd||a", 21.0))])
    assert not of((CacheSplits, AskSplit), effects)


def test_a_coach_or_who_never_played_is_not_placed() -> None:
    session = begun(Mode.KOTH, "ab|cd||f")
    play(session, [(10.0, e.SideChanged(10.0, ANN, None, held="coaching"))])
    play(session, [(11.0, seen("be|cd||af", held="a"))])
    question = the(AskSplit, play(session, [(20.0, command("scramble", "now", by="b"))]))
    assert {entry.id for entry in question.entries} == set(ids("bcde"))


# The way back.


def test_the_side_is_kept_for_who_went_to_watch_also_where_a_whole_roster_shows_it() -> None:
    for at, event in (watches("a", 10.0), (10.0, e.RosterSeen(10.0, Roster(roster("b|cd||a").entries)))):
        assert of(Lock, play(begun(Mode.KOTH, "ab|cd"), [(at, event)])) == [Lock(ANN, A, 60.0)]


def test_no_side_is_kept_in_arena_and_ns2_while_teams_are_about_to_be_made_and_while_equipoise_is_off() -> None:
    waiting, off = begun(Mode.KOTH, "", phase=e.Phase.IDLE), begun(Mode.KOTH, "ab|cd")
    play(waiting, [(0.0, hello(waiting=True)), (0.0, summaries(dict.fromkeys("abcd", 2000.0))), (0.0, seen("ab|cd"))])
    play(off, [(1.0, command("off"))])
    others = (begun(mode, "ab|cd", phase=e.Phase.OVER) for mode in (Mode.ARENA, Mode.NS2))
    for session in (waiting, off, *others):
        assert not of(Lock, play(session, [watches("a", 10.0)]))


def test_a_gap_that_was_closed_meanwhile_gives_them_no_choice() -> None:
    session = begun(Mode.KOTH, "abc|defg", ratings={"a": 2300.0})
    play(session, [watches("a", 10.0)])
    (move, *_) = solve(session, now=10.1)
    play(session, [(12.0, e.OrderDone(12.0, move.order))])  # type: ignore[union-attr]
    assert session.state.roster.sizes() == {A: 3, B: 3}
    place = placed(play(session, [wants("a", B, 20.0)]))
    assert (place.side, place.reason.phrase) == (A, Phrase.REASON_RETURN)


def test_they_come_back_elsewhere_where_their_side_would_be_larger_by_two_or_after_a_minute() -> None:
    session = begun(Mode.KOTH, "abc|def||g")
    play(session, [watches("a", 10.0), (11.0, e.SideChanged(11.0, PlayerId("g"), A)), watches("d", 12.0)])
    place = placed(play(session, [wants("a", A, 20.0)]))
    assert (place.side, place.reason.phrase) == (B, Phrase.REASON_JOIN_SMALLER)
    session = begun(Mode.KOTH, "abc|def")
    play(session, [watches("a", 10.0)])
    place = placed(play(session, [wants("a", B, 71.0)]))
    assert (place.side, place.reason.phrase) == (A, Phrase.REASON_JOIN_SMALLER)


def test_a_longer_lock_stays_as_it_is_and_a_shorter_one_grows() -> None:
    session = begun(Mode.KOTH, "ab|cd|e")
    play(session, [wants("e", A, 0.0)])
    assert session.memory.locks[PlayerId("e")].until == 180.0
    assert not of(Lock, play(session, [watches("e", 100.0)]))
    play(session, [wants("e", A, 101.0)])
    assert of(Lock, play(session, [watches("e", 230.0)])) == [Lock(PlayerId("e"), A, 60.0)]


def test_the_lock_goes_with_the_group_and_a_reconnect_does_not_lift_it() -> None:
    session = begun(Mode.PAYLOAD, "abc|def")
    play(session, [watches("a", 10.0), (20.0, e.SidesSwitched(20.0)), (21.0, e.PlayerLeft(21.0, ANN))])
    assert placed(play(session, [(25.0, summaries({"a": 2000.0})), wants("a", A, 30.0)])).side is B


def test_who_goes_to_watch_in_waiting_takes_part_in_the_scramble_behind_it() -> None:
    session = Session(rules())
    known = summaries(dict.fromkeys("abcde", 2000.0))
    play(session, [(0.0, hello(waiting=True)), (0.0, known), (0.0, seen("abe|cd")), watches("a", 20.0)])
    play(session, [(29.0, e.WaitingEnded(29.0))])
    question = the(AskSplit, play(session, [(30.0, started("be|cd||a", 30.0))]))
    assert ANN in {entry.id for entry in question.entries}
