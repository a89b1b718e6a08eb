"""Admins who are immune from scrambles, from autobalance or from locks, each by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, AskSwitch
from equipoise.core.effects import Assign, Lock, LogDecision, Place, Say, Unlock
from equipoise.core.model import Immunity, Mode, PlayerId, Roster
from equipoise.core.phrases import Phrase, Text
from equipoise.core.session import Session
from tests.core.answerer import answer
from tests.core.game import Game
from tests.core.scripts import A, B, begun, command, ids, of, play, roster, seen, split, summaries, the

ANN = PlayerId("a")
RATINGS = dict.fromkeys(ids("abcdefgh"), 2000.0)


def immune(text: str, immunity: Immunity) -> Roster:
    """The roster with one immune player, a."""
    lines = roster(text).entries
    return Roster(tuple(replace(line, immune=immunity) if line.id == ANN else line for line in lines))


def session_with(text: str, immunity: Immunity, mode: Mode = Mode.KOTH) -> Session:
    """A running round with one immune player, a."""
    session = begun(mode, text)
    play(session, [(0.0, e.RosterSeen(0.0, immune(text, immunity)))])
    return session


def scrambled(session: Session, *, solver_fails: bool = False) -> tuple[Assign, list[object]]:
    """An admin scrambles now: the order, and what follows when it is carried out."""
    question = the(AskSplit, play(session, [(1.0, command("scramble", "now", by="b"))]))
    if solver_fails:
        assert session.state.asked_cache is not None
        play(session, [(1.5, answer(session.state.asked_cache, RATINGS))])
    answered = e.SolveFailed(question, "late") if solver_fails else answer(question, RATINGS)
    order = the(Assign, play(session, [(2.0, answered)]))
    return order, list(play(session, [(3.0, e.OrderDone(3.0, order.order))]))


@pytest.mark.parametrize("solver_fails", [False, True], ids=["", "by a cached split"])
def test_a_scramble_splits_the_others_around_who_is_immune_from_it(solver_fails: bool) -> None:
    order, effects = scrambled(session_with("abcd|efgh", Immunity.SCRAMBLE), solver_fails=solver_fails)
    assert order.split.side_of(ANN) is A
    assert LogDecision("kept", Text(Phrase.HELD_IMMUNE, ("1",)), order.order, players=(ANN,)) in effects
    # Who is an admin is not told to all.
    assert not [say for say in of(Say, effects) if say.text.phrase is Phrase.HELD_IMMUNE]  # type: ignore[arg-type, attr-defined]


@pytest.mark.parametrize("immunity", [Immunity.AUTOBALANCE, Immunity.LOCK, Immunity.NONE, Immunity.SCRAMBLE])
def test_no_other_immunity_keeps_anybody_out_of_a_scramble_and_who_is_immune_may_watch_it(immunity: Immunity) -> None:
    session = session_with("abe|cd", immunity)
    if watches := immunity is Immunity.SCRAMBLE:
        play(session, [(1.0, e.SideChanged(1.0, ANN, None))])
    question = the(AskSplit, play(session, [(2.0, command("scramble", "now", by="b"))]))
    assert not any(entry.stays for entry in question.entries)
    assert (ANN in {entry.id for entry in question.entries}) is not watches


def test_a_shuffle_of_ns2_splits_the_others_around_who_is_immune_and_their_wish_is_not_denied() -> None:
    session = begun(Mode.NS2, "abc|def", phase=e.Phase.IDLE)
    play(session, [(0.0, command("prefer", "aliens", by="a")), (0.0, command("prefer", "aliens", by="b"))])
    players = immune("abc|def", Immunity.ALL)
    (question,) = of(AskSplit, play(session, [(1.0, e.RoundStarted(1.0, players))]))
    assert isinstance(question, AskSplit)
    assert [entry.id for entry in question.entries if entry.stays] == [ANN]
    assert question.terms is not None
    assert ids("a")[0] not in question.terms.wishes
    assert ids("b")[0] in question.terms.wishes
    (order,) = of(Assign, play(session, [(2.0, e.SplitSolved(question, split("ade|bcf"), 0.0, None, None))]))
    effects = play(session, [(3.0, e.OrderDone(3.0, order.order))])  # type: ignore[attr-defined]
    assert LogDecision("kept", Text(Phrase.HELD_IMMUNE, ("1",)), order.order, players=(ANN,)) in effects  # type: ignore[attr-defined]
    assert not [say for say in of(Say, effects) if say.text.phrase is Phrase.HELD_IMMUNE]  # type: ignore[attr-defined]


def test_arenas_rounds_are_made_of_all_players() -> None:
    game = Game(Mode.ARENA, "ab|cd")
    game.roster = immune("ab|cd", Immunity.ALL)
    game.look()
    game.round(A)  # the duel
    game.start()
    assert sorted(map(len, game.stands().split("|"))) == [2, 2]
    assert not [
        each for each in game.effects if isinstance(each, LogDecision) and each.reason.phrase is Phrase.HELD_IMMUNE
    ]


@pytest.mark.parametrize(("immunity", "moves"), [(Immunity.AUTOBALANCE, "bcd"), (Immunity.SCRAMBLE, "abcd")])
def test_autobalance_leaves_who_is_immune_from_it_and_nobody_else(immunity: Immunity, moves: str) -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(0.0, seen("abcd|ef")), (1.0, e.RosterSeen(1.0, immune("abcd|ef", immunity)))])
    session.state.asked_moves = None
    play(session, [(2.0, e.Heartbeat(2.0))])
    assert session.state.asked_moves is not None
    assert session.state.asked_moves.movable == ids(moves)


@pytest.mark.parametrize(("immunity", "locked"), [(Immunity.LOCK, False), (Immunity.SCRAMBLE, True)])
def test_who_is_immune_from_locks_is_never_locked(immunity: Immunity, locked: bool) -> None:
    session = session_with("ab|cd", immunity)
    _, effects = scrambled(session)
    assert (ANN in {lock.player for lock in of(Lock, effects)}) == locked  # type: ignore[arg-type, attr-defined]
    assert (ANN in session.memory.locks) == locked
    play(session, [(9.0, e.SideChanged(9.0, ANN, None))])
    assert (ANN in session.memory.locks) == locked


def test_who_becomes_immune_from_locks_has_none_any_more_and_nobody_is_kept_from_the_side_they_left_meanwhile() -> None:
    session = begun(Mode.KOTH, "ab|cd|")
    play(session, [(0.0, e.SideChanged(0.0, ANN, None)), (0.5, e.SideWanted(0.5, ANN, A))])
    assert ANN in session.memory.locks
    effects = play(session, [(0.7, e.RosterSeen(0.7, immune("abe|cd", Immunity.LOCK))), (0.7, summaries(RATINGS))])
    assert of(Unlock, effects) == [Unlock((ANN,))]
    (question,) = of(AskSwitch, play(session, [(0.8, e.SideWanted(0.8, ANN, B))]))  # skill decides
    play(session, [(0.9, e.SwitchJudged(question, 0.5, 0.5))])
    assert not of(Unlock, play(session, [(1.0, e.RosterSeen(1.0, roster("be|acd")))]))
    (question,) = of(AskSwitch, play(session, [(2.0, e.SideWanted(2.0, ANN, A))]))
    assert of(Place, play(session, [(2.1, e.SwitchJudged(question, 0.5, 0.5))]))[0].side is A  # type: ignore[attr-defined]
