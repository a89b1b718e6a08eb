"""Silence, restarts, late loads, new maps, and rounds that arrive late or twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit, LoadSummaries
from equipoise.core.effects import Assign, Effect, Ignored, Lock, LogDecision, RecordRound, Say, Unlock
from equipoise.core.memory import UNWRITTEN_ORDERS, Benched, HeldSide, Memory
from equipoise.core.model import Mode, OrderId, Outlook, PlayerId, PlayerSummary
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.core.triggers import Tally
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
    seen,
    split,
    started,
    summaries,
    the,
    went_live,
)

DUE = Text(Phrase.REASON_STREAK, ("3",))
REMEMBERED = Memory(
    session="s1",
    map="this map",
    mode=Mode.ARENA,
    tally=Tally(7, 3, A, 2),
    counted=("r6", "r7"),  # type: ignore[arg-type]
    pending=DUE,
    locks={PlayerId("a"): HeldSide(A, 500.0), PlayerId("b"): HeldSide(B, None), PlayerId("c"): HeldSide(B, 40.0)},
    benched={PlayerId("a"): Benched(2, 6)},
    moved={PlayerId("d"): 30.0, PlayerId("e"): -1900.0},
    orders=12,
)


def restarted(memory: Memory = REMEMBERED) -> Session:
    """A daemon that has just come back."""
    return Session(Rules(), memory)


def test_an_order_whose_memory_a_kill_lost_keeps_its_id_to_itself() -> None:
    session = restarted(REMEMBERED.past_unwritten())
    assert session.state.next_order() == f"o{REMEMBERED.orders + UNWRITTEN_ORDERS + 1}"


# Before the script has introduced itself.


@pytest.mark.parametrize(
    "event",
    [
        seen("ab|cd"),
        e.PlayerLeft(1.0, PlayerId("a")),
        e.SideChanged(1.0, PlayerId("a"), A),
        e.SidesSwitched(1.0),
        e.WaitingEnded(1.0),
        started("ab|cd"),
        went_live("r1", "ab|cd"),
        e.ScrambledAlone(1.0, split("ab|cd")),
        e.OrderDone(1.0, OrderId("o1")),
        e.OrderFailed(1.0, OrderId("o1"), "left"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_without_a_hello_an_event_is_ignored_and_changes_nothing(event: e.Event) -> None:
    session, untouched = Session(Rules()), Session(Rules())
    assert play(session, [(1.0, event)]) == [Ignored(event, e.Phase.IDLE)]
    assert session.state == untouched.state
    assert session.memory == Memory()


def test_a_daemon_without_a_hello_wants_hello_and_roster_and_after_it_the_roster() -> None:
    session = restarted()
    assert session.state.wants == {"hello", "roster"}
    assert play(session, [(49.0, e.PlayerJoined(49.0, PlayerId("a")))]) == [LoadSummaries(ids("a"))], "at once"
    play(session, [(50.0, hello(Mode.ARENA, e.Phase.RUNNING))])
    assert session.state.wants == {"roster"}
    play(session, [(50.0, seen("ab|cd"))])
    assert session.state.wants == set()


@pytest.mark.parametrize(
    "event",
    [
        e.OrderDone(1.0, OrderId("o99")),
        e.VoteEnded(1.0, order=OrderId("o1"), yes=9, no=0),
        e.VoteEnded(1.0, order=OrderId("of nobody"), yes=9, no=0),
        e.PlayerLeft(1.0, PlayerId("z")),
    ],
)
def test_what_tells_of_an_unknown_order_vote_or_player_is_ignored(event: e.ScriptEvent) -> None:
    assert play(begun(Mode.KOTH, "ab|cd"), [(1.0, event)]) == [Ignored(event, e.Phase.RUNNING)]


# A daemon that restarts.


@pytest.mark.parametrize("late", [False, True], ids=["a daemon that restarts", "a plugin that is loaded late"])
def test_the_remembered_session_goes_on(late: bool) -> None:
    session, name = restarted(), "s2" if late else "s1"
    assert play(session, [(50.0, hello(Mode.ARENA, e.Phase.OVER, session=name, late=late))]) == [
        Lock(PlayerId("a"), A, 450.0),
        Lock(PlayerId("b"), B, None),
    ]
    locks = {player: REMEMBERED.locks[player] for player in ids("ab")}
    assert session.memory == replace(REMEMBERED, session=name, locks=locks, moved={PlayerId("d"): 30.0})


def test_a_pending_scramble_turns_on_the_bench_and_order_ids_survive_the_restart_even_in_the_freeze_time() -> None:
    session = restarted()
    question = the(AskSplit, play(session, [(50.0, hello(Mode.ARENA, e.Phase.FREEZE)), (50.0, seen("ab|cde"))]))
    assert question.reason == DUE
    assert question.bench_cost == {**dict.fromkeys(ids("bcde"), 0), PlayerId("a"): 1}
    solved = e.SplitSolved(question, split("ac|bd|e"), 0.0, Outlook.alone(0.5), Outlook.alone(0.5))
    assert the(Assign, play(session, [(50.1, solved)])).order == "o13"


def test_a_round_of_the_remembered_session_counts_even_before_the_hello() -> None:
    session = restarted(replace(REMEMBERED, pending=None))
    effects = play(session, [(50.0, ended(finished("r8", A, mode=Mode.ARENA), 45.0))])
    assert session.memory.tally == Tally(8, 4, A, 3)
    assert session.memory.pending == DUE
    assert [type(effect) for effect in effects] == [RecordRound, LogDecision]


@pytest.mark.parametrize("alone", [False, True], ids=["", "scrambled alone"])
def test_what_a_late_round_makes_due_is_announced_when_it_is_known_who_is_here_and_that_nobody_has_done_it(
    alone: bool,
) -> None:
    """A script that was not answered sends, in this order: who it is, rounds, what it did alone, and who is here."""
    script: list[tuple[float, e.Event]] = [
        (200.0, hello(phase=e.Phase.FREEZE, at=150.0)),
        (200.0, ended(finished("r1", A, captures=(1, 0)), 140.0)),
    ]
    if alone:
        script.append((200.0, e.ScrambledAlone(151.0, split("ad|bc"))))
    session = begun(Mode.KOTH, "ab|cd")
    assert of(Say, play(session, script)) == []
    reason = Text(Phrase.REASON_NO_CAPTURE)
    announced = [] if alone else [Say(Text(Phrase.SCRAMBLE_PENDING, (reason,)))]
    assert of(Say, play(session, [(200.0, seen("ad|bc"))])) == announced
    assert of(Say, play(session, [(201.0, seen("ad|bc"))])) == []


@pytest.mark.parametrize("alone", [False, True])
def test_after_a_silence_no_teams_are_made_of_who_was_here_before_it(alone: bool) -> None:
    """The rounds need more than one batch: the roster and what happened after the first of them come later."""
    game = Game(Mode.KOTH, "abcd|efgh")
    game.start()
    game.open()
    late = ended(finished("r1", A, "abcd|efgh", captures=(1, 0)), 100.0)
    effects = game.happens(hello(Mode.KOTH, e.Phase.FREEZE, at=120.0), late)
    assert of(AskSplit, effects) == []
    if alone:
        game.happens(e.ScrambledAlone(110.0, split("abej|fghi|")))
    assert len(of(AskSplit, game.change("abij|efgh"))) == (not alone)


def test_after_a_silence_a_gap_of_before_it_is_not_closed_but_one_of_the_round_that_runs_by_now_is() -> None:
    game = Game(Mode.KOTH, "abcde|fgh")
    game.start()
    game.open()
    late = ended(finished("r1", A, "abcde|fgh"), 100.0)
    effects = game.happens(hello(Mode.KOTH, e.Phase.RUNNING, at=120.0), late, e.SidesSwitched(at=110.0))
    assert of(AskMoves, effects) == []
    assert of(AskMoves, game.change("fghi|abcd")) == []
    assert of(AskMoves, game.change("fgh|abcde")) != []


def test_a_scramble_and_a_swap_of_the_remembered_session_count_even_before_the_hello() -> None:
    session = restarted()
    play(session, [(50.0, e.SidesSwitched(50.0))])
    assert session.memory.tally.streak_side is B
    assert session.memory.locks[PlayerId("b")].side is A
    play(session, [(50.0, e.ScrambledAlone(50.0, split("ab|cd")))])
    assert session.memory.pending is None
    assert session.memory.tally.streak == 0


def behind(text: str, immune: str = "") -> tuple[Session, list[Effect]]:
    """A daemon restarts in the middle of a round of KOTH, and this is the first roster."""
    session = restarted(replace(REMEMBERED, mode=Mode.KOTH))
    return session, play(session, [(10.0, hello(phase=e.Phase.RUNNING)), (10.0, seen(text, immune=immune))])


def test_locks_and_streak_from_before_a_swap_that_a_kill_lost_go_to_where_the_first_roster_shows_the_players() -> None:
    session, effects = behind("b|ac", immune="c")
    told = {effect.player: effect.side for effect in effects[3:] if isinstance(effect, Lock)}
    assert told == {player: lock.side.other for player, lock in REMEMBERED.locks.items()}
    assert Unlock(ids("c")) in effects
    assert {player: lock.side for player, lock in session.memory.locks.items()} == {PlayerId("a"): B, PlayerId("b"): A}
    play(session, [(11.0, seen("a|b"))])
    assert session.memory.tally == REMEMBERED.tally.switched() != REMEMBERED.tally, "once, behind the restart"


@pytest.mark.parametrize("text", ["ab|d", "b|d"], ids=["of two", "the only one who is locked"])
def test_one_player_who_stands_elsewhere_behind_a_restart_takes_their_own_lock_along_alone(text: str) -> None:
    session, effects = behind(text)
    assert of(Lock, effects)[3:] == [Lock(PlayerId("b"), A, None)]
    assert session.memory.tally == REMEMBERED.tally


def test_a_session_restored_from_memory_goes_on_like_one_that_never_ended() -> None:
    through, first = Game(Mode.ARENA, "||abcde"), Game(Mode.ARENA, "||abcde")
    for winner in (A, B):
        through.round(winner)
        first.round(winner)
    first.session = Session(Rules(), first.session.memory)
    first.happens(hello(Mode.ARENA, e.Phase.OVER, at=first.now))
    first.look()
    for winner in (B, B, A):
        through.round(winner)
        first.round(winner)
        assert (first.stands(), first.session.memory) == (through.stands(), through.session.memory)


# A plugin that is loaded late.


def test_a_late_load_without_stored_state_starts_under_round_threes_rules_and_never_with_a_duel() -> None:
    session = Session(Rules())
    play(session, [(0.0, hello(Mode.ARENA, e.Phase.OVER, late=True)), (0.0, summaries(dict.fromkeys("abcd", 2000.0)))])
    effects = play(session, [(0.0, seen("ab|cd")), (1.0, started("ab|cd", 1.0)), (2.0, went_live("r1", "ab|cd", 2.0))])
    assert not of(AskSplit, effects)
    play(session, [(3.0, ended(finished("r1", A, mode=Mode.ARENA), 3.0))])
    assert (session.memory.pending, session.memory.tally.completed) == (None, 3)


@pytest.mark.parametrize(
    ("map_name", "late", "tally"),
    [("next map", False, Tally()), ("this map", False, Tally()), ("next map", True, Tally(completed=2))],
    ids=["a new map", "the same map again", "a late load on another map"],
)
def test_a_new_session_resets_everything_but_recent_moves_and_logs_the_scramble_that_was_due(
    map_name: str, late: bool, tally: Tally
) -> None:
    session = restarted()
    effects = play(session, [(50.0, hello(Mode.KOTH, session="s2", map_name=map_name, late=late))])
    assert effects == [LogDecision("dropped", DUE)]
    assert session.memory == Memory("s2", map_name, Mode.KOTH, tally, moved={PlayerId("d"): 30.0}, orders=12)


def test_a_plugin_that_was_loaded_anew_has_forgotten_its_orders() -> None:
    session = begun(Mode.KOTH, "ab|cd", phase=e.Phase.FREEZE)
    play(session, [(1.0, command("scramble", "next"))])
    question = session.state.asked
    assert question is not None
    play(session, [(1.1, e.SplitSolved(question, split("ac|bd"), 0.0, Outlook.alone(0.5), Outlook.alone(0.5)))])
    play(session, [(2.0, hello(phase=e.Phase.FREEZE, session="s2", late=True))])
    assert of(AskSplit, play(session, [(2.1, seen("ab|cd"))]))


# A new map.


def test_a_new_map_forgets_the_players_the_round_and_everything_that_was_asked() -> None:
    session = begun(Mode.KOTH, "abcd|ef")
    play(session, [(1.0, e.SideWanted(1.0, PlayerId("g"), A))])
    play(session, [(2.0, hello(session="s2", map_name="next map"))])
    state = session.state
    assert (state.roster, state.round, state.asked_moves, state.cache) == (roster(""), None, None, None)
    assert {len(kept) for kept in (state.summaries, state.pending_joins, state.moves, state.assigned)} == {0}
    assert session.deadline() is None


# Rounds that arrive late or twice.


def test_a_round_that_is_sent_twice_or_of_another_session_is_recorded_but_does_not_count() -> None:
    session = begun(Mode.ARENA, "ab|cd")
    once = ended(finished("r1", A, mode=Mode.ARENA), 1.0)
    play(session, [(1.0, once), (1.5, started("ab|cd")), (1.8, went_live("r2", "ab|cd", 1.8))])
    memory = session.memory
    for event in (once, ended(finished("old", A, session="s0", mode=Mode.ARENA), 1.0)):
        assert the(RecordRound, play(session, [(2.0, event)])).unrated is None
        assert (session.memory, session.state.phase) == (memory, e.Phase.RUNNING)


@pytest.mark.parametrize("phase", [e.Phase.RUNNING, e.Phase.FREEZE])
def test_an_older_round_that_arrives_in_the_middle_of_one_does_not_end_it_and_what_it_makes_due_is_in_time(
    phase: e.Phase,
) -> None:
    session = restarted(replace(REMEMBERED, pending=None))
    play(session, [(50.0, hello(Mode.ARENA, phase, at=50.0)), (50.0, seen("ab|cd"))])
    effects = play(session, [(50.0, ended(finished("r8", A, mode=Mode.ARENA), 20.0))])
    assert (session.state.phase, session.memory.pending) == (phase, DUE)
    assert bool(of(AskSplit, effects)) is (phase is e.Phase.FREEZE)
    play(session, [(90.0, ended(finished("r9", A, mode=Mode.ARENA), 90.0))])
    assert session.state.phase is e.Phase.OVER


def test_a_round_is_rated_with_the_skills_at_its_start_whatever_came_since_if_it_was_seen_going_live() -> None:
    session = begun(Mode.KOTH, "ab|cd", ratings={"a": 2100.0})
    play(session, [(1.0, summaries({"a": 2500.0})), (2.0, e.SideChanged(2.0, PlayerId("e"), A))])
    for name, skills in (("another", None), ("r1", {**dict.fromkeys("abcd", 2000.0), "a": 2100.0})):
        record = the(RecordRound, play(session, [(3.0, ended(finished(name, A), -1.0 if skills is None else 3.0))]))
        assert record.skill_at_start == skills


def test_the_skill_at_start_is_that_on_the_players_side() -> None:
    session = begun(Mode.NS2, "ab|cd", phase=e.Phase.FREEZE)
    side_skills = zip("abcd", ((2100.0, 0.0), (2200.0, 0.0), (0.0, 2300.0), (0.0, 2400.0)), strict=True)
    known = tuple(PlayerSummary(PlayerId(letter), 2000.0, side_skills=each) for letter, each in side_skills)
    play(session, [(1.0, e.SummariesLoaded(known)), (2.0, went_live("r1", "ab|cd", 2.0))])
    record = the(RecordRound, play(session, [(100.0, ended(finished("r1", A, mode=Mode.NS2), 100.0))]))
    assert record.skill_at_start == dict(zip("abcd", (2100.0, 2200.0, 2300.0, 2400.0), strict=True))


@pytest.mark.parametrize("meanwhile", [e.SideChanged(2.0, PlayerId("c"), A), seen("|b")], ids=["one comes", "one left"])
def test_ratings_that_arrive_after_the_round_went_live_count_for_its_lineup(meanwhile: e.Event) -> None:
    session = Session(Rules())
    play(session, [(0.0, hello()), (0.0, summaries({"a": 2000.0})), (1.0, went_live("r1", "a|b", 1.0))])
    play(session, [(2.0, meanwhile), (3.0, summaries({"b": 2100.0, "c": 1.0}))])
    record = the(RecordRound, play(session, [(4.0, ended(finished("r1", A, "a|b"), 4.0))]))
    assert record.skill_at_start == {"a": 2000.0, "b": 2100.0}


def test_ratings_of_players_who_left_are_forgotten_with_the_next_roster() -> None:
    # On a server whose map never changes the session would else know, and refresh, everybody who ever came.
    session = begun(Mode.KOTH, "ab|cd", phase=e.Phase.OVER)
    for number, text in enumerate(("ef|gh", "ij|kl"), 1):
        play(session, [(number, seen(text)), (number, summaries(dict.fromkeys(text.replace("|", ""), 2000.0)))])
    assert set(session.state.summaries) == set(ids("ijkl"))


# A silent script.


def test_a_script_is_lost_after_ninety_silent_seconds_until_its_own_next_event() -> None:
    session = Session(Rules())
    outside = e.Commanded(0.0, ("scramble", "now"), None, admin=True, outside=True)
    play(session, [(9.0, outside), (9.0, e.SummariesLoaded(()))])
    assert session.lost(9.0)
    assert session.state.heard_at is None
    play(session, [(10.0, e.Heartbeat(10.0))])
    assert not session.lost(99.9)
    assert session.lost(100.0)
    play(session, [(101.0, e.SummariesLoaded(())), (101.0, outside)])
    assert session.lost(101.0)
    play(session, [(102.0, e.Heartbeat(102.0))])
    assert not session.lost(102.0)
