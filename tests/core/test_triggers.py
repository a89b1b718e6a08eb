"""When a scramble is due, mode by mode, each with what must not make one due."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.asks import CacheSplits
from equipoise.core.effects import Assign, Ignored, LogDecision, RecordRound, Say
from equipoise.core.events import Phase, WaitingEnded
from equipoise.core.model import DueIf, Mode, Participant, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules, Triggers
from equipoise.core.triggers import Outcome, Tally, due, due_if
from tests.core.game import Game
from tests.core.scripts import (
    KOTH,
    A,
    B,
    begun,
    command,
    ended,
    finished,
    hello,
    of,
    play,
    roster,
    rules,
    seen,
    summaries,
    went_live,
)

CAPTURE_MODES = (Mode.KOTH, Mode.SYMMETRIC_CP, Mode.CTF)
ATTACK_MODES = (Mode.ATTACK_DEFEND, Mode.PAYLOAD)
QUIET_MODES = (Mode.PAYLOAD_RACE, Mode.OTHER, Mode.NS2)


# The whole answer to a round's end, once.


def test_a_round_end_records_the_round_makes_the_scramble_due_and_asks_for_splits_to_fall_back_on() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    game_round = finished("r1", A, captures=(3, 0))
    participants = tuple(Participant(player, side, *time) for player, side, time in _everybody())
    reason = Text(Phrase.REASON_NO_CAPTURE)
    assert play(session, [(100.0, ended(game_round))]) == [
        RecordRound(game_round, participants, None, dict.fromkeys("abcd", 2000.0)),
        LogDecision("pending", reason),
        Say(Text(Phrase.SCRAMBLE_PENDING, (reason,))),
        CacheSplits(KOTH, roster("ab|cd").entries, bench=False),
    ]
    assert session.memory.pending == reason


def _everybody() -> list[tuple[str, Side, tuple[float, float]]]:
    return [("a", A, (100.0, 0.0)), ("b", A, (100.0, 0.0)), ("c", B, (0.0, 100.0)), ("d", B, (0.0, 100.0))]


def test_a_round_end_that_makes_nothing_due_only_records_and_caches() -> None:
    effects = play(begun(Mode.KOTH, "ab|cd"), [(100.0, ended(finished("r1", A, captures=(3, 1))))])
    assert [type(effect) for effect in effects] == [RecordRound, CacheSplits]


# By mode, at the defaults.

NO_CAPTURE, TWENTY = Text(Phrase.REASON_NO_CAPTURE), Tally(20, 20, A, 20)
ROUND_ENDS: dict[str, list[tuple[tuple[Mode, ...], Side | None, tuple[int, int], Tally, Text | None]]] = {
    "a loser without a capture": [
        (CAPTURE_MODES, winner, captures, Tally(), NO_CAPTURE)
        for winner, captures in ((A, (2, 0)), (B, (0, 5)), (B, (0, 0)))
    ],
    "a loser with a capture, and a stalemate": [
        (CAPTURE_MODES, winner, captures, Tally(), None)
        for winner, captures in ((A, (0, 1)), (B, (1, 0)), (None, (0, 0)))
    ],
    "a streak where captures decide": [(CAPTURE_MODES, A, (1, 1), TWENTY, None)],
    "attackers who captured nothing": [(ATTACK_MODES, A, (0, 0), Tally(), NO_CAPTURE)],
    "attackers who captured or won": [
        (ATTACK_MODES, winner, captures, Tally(), None)
        for winner, captures in ((A, (0, 1)), (B, (0, 3)), (None, (0, 0)))
    ],
    "the second full round since a scramble, and a later one": [
        *((ATTACK_MODES, winner, (1, 1), Tally(5, 1), Text(Phrase.REASON_ROUNDS, ("2",))) for winner in (A, B, None)),
        (ATTACK_MODES, B, (1, 1), Tally(6, 4), Text(Phrase.REASON_ROUNDS, ("5",))),
    ],
    "three wins in a row, and more": [
        ((Mode.ARENA,), A, (1, 1), Tally(4, 2, A, 2), Text(Phrase.REASON_STREAK, ("3",))),
        ((Mode.ARENA,), A, (1, 1), Tally(6, 5, A, 4), Text(Phrase.REASON_STREAK, ("5",))),
        ((Mode.ARENA,), A, (1, 1), Tally(3, 1, A, 1), None),
        ((Mode.ARENA,), B, (1, 1), Tally(4, 2, A, 2), None),
    ],
    "captures in arena": [((Mode.ARENA,), A, (1, 0), Tally(4, 2), None)],
    "round one of arena": [
        ((Mode.ARENA,), winner, (1, 1), Tally(), Text(Phrase.REASON_ROUND_TWO)) for winner in (A, B, None)
    ],
    "any other mode": [(QUIET_MODES, winner, (0, 0), Tally(9, 9, A, 9), None) for winner in (A, B, None)],
}


@pytest.mark.parametrize("case", ROUND_ENDS)
def test_a_rounds_end_makes_a_scramble_due_by_its_mode(case: str) -> None:
    for modes, winner, captures, tally, reason in ROUND_ENDS[case]:
        for mode in modes:
            outcome = Outcome.of(finished("r", winner, captures=captures))
            assert due(mode, tally.after(winner), outcome, Rules()) == reason, (mode, winner, captures, tally)


# Rounds and streaks.


@pytest.mark.parametrize("mode", ATTACK_MODES)
def test_a_scramble_begins_the_count_of_rounds_anew(mode: Mode) -> None:
    game = Game(mode, "ab|cd", {"a": 2600.0, "b": 2400.0})
    assert not of(LogDecision, game.round(B))
    assert [effect.kind for effect in of(LogDecision, game.round(B))] == ["pending"]  # type: ignore[union-attr]
    assert of(Assign, game.start())
    game.open()
    assert not of(LogDecision, game.end(B))


def test_a_cancel_ends_the_streak_so_that_the_next_win_does_not_make_a_scramble_due_again() -> None:
    session = begun(Mode.ARENA, "ab|cd")
    session.state.memory = replace(session.memory, tally=Tally(4, 2, A, 2))
    play(session, [(1.0, ended(finished("r1", A), 1.0))])
    assert session.memory.pending == Text(Phrase.REASON_STREAK, ("3",))

    play(session, [(2.0, command("scramble", "cancel"))])
    assert session.memory.pending is None
    assert session.memory.tally == Tally(5, 3)

    play(session, [(3.0, ended(finished("r2", A), 3.0)), (4.0, ended(finished("r3", A), 4.0))])
    assert session.memory.pending is None
    play(session, [(5.0, ended(finished("r4", A), 5.0))])
    assert session.memory.pending == Text(Phrase.REASON_STREAK, ("3",))


# Waiting For Players, and modes in which nothing else counts.


@pytest.mark.parametrize("trigger", [True, False], ids=["", "votes and autobalance only"])
@pytest.mark.parametrize("mode", Mode)
def test_the_end_of_waiting_for_players_makes_a_scramble_due(mode: Mode, trigger: bool) -> None:
    given = Rules() if trigger else Rules(triggers={mode.value: Triggers()})
    is_due, reason = trigger and mode not in (Mode.ARENA, Mode.NS2), Text(Phrase.REASON_WAITING_ENDED)
    session = begun(mode, "ab|cd", phase=Phase.IDLE, rules=given)
    play(session, [(1.0, hello(mode, waiting=True)), (1.0, seen("ab|cd"))])
    effects = play(session, [(30.0, WaitingEnded(30.0))])
    announced = [LogDecision("pending", reason), Say(Text(Phrase.SCRAMBLE_PENDING, (reason,)))]
    assert effects == (announced if is_due else [])
    assert trigger or mode is Mode.NS2 or session.due_if() == ()
    unknown, unreported = (begun(mode, "", phase=Phase.IDLE, rules=given) for _ in range(2))
    play(unknown, [(30.0, WaitingEnded(30.0))])
    play(unreported, [(60.0, hello(mode, Phase.RUNNING, due=True))])
    for other in (session, unknown, unreported):
        assert other.memory.pending == (reason if is_due else None)


@pytest.mark.parametrize("said", [True, False])
def test_a_scramble_due_after_waiting_is_carried_out_though_the_round_had_started_before_the_news(said: bool) -> None:
    """The news are a round's where a script leaves `waiting_ended` out: every later round would be without orders."""
    game = Game(Mode.CTF, "abc|d")
    game.happens(hello(Mode.CTF, waiting=True))
    game.look()
    game.happens(command("scramble", "next"))
    assert not of(Assign, game.start())
    if said:
        assert of(Assign, game.happens(WaitingEnded(0.0)))
    else:
        game.open()
        game.happens(ended(finished("r1", A, waiting=True)))
        assert (game.session.state.waiting, of(Assign, game.start())) == (True, [])
        game.open()
        game.end(A)
        assert not game.session.state.waiting
        assert of(Assign, game.start())
    assert len(game.roster.on(A)) == len(game.roster.on(B)) == 2


@pytest.mark.parametrize(("mode", "due"), [(Mode.CTF, True), (Mode.PAYLOAD_RACE, True), (Mode.ARENA, False)])
def test_the_scramble_after_waiting_is_due_though_only_a_round_said_that_it_ended(mode: Mode, due: bool) -> None:
    session = begun(mode, "ab|cd", phase=Phase.IDLE)
    play(session, [(1.0, hello(mode, waiting=True)), (1.1, seen("ab|cd")), (2.0, went_live("r1", "ab|cd"))])
    play(session, [(60.0, ended(finished("r1", A, captures=(1, 1), mode=mode), at=60.0))])
    assert (session.memory.pending == Text(Phrase.REASON_WAITING_ENDED)) == due
    assert play(session, [(61.0, WaitingEnded(61.0))]) == [Ignored(WaitingEnded(61.0), Phase.OVER)]


def test_a_late_round_of_the_time_before_does_not_end_waiting_for_players() -> None:
    """As after mp_waitingforplayers_restart: the round was played before waiting began again."""
    session = begun(Mode.CTF, "ab|cd", phase=Phase.IDLE)
    play(session, [(50.0, hello(Mode.CTF, waiting=True, at=50.0))])
    play(session, [(51.0, ended(finished("r1", A, captures=(1, 1)), at=40.0))])
    assert session.state.waiting


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.NS2])
@pytest.mark.parametrize(
    ("triggers", "winner", "captures", "tally", "reason"),
    [
        (Triggers(streak=4), A, (1, 1), Tally(3, 3, A, 3), Text(Phrase.REASON_STREAK, ("4",))),
        (Triggers(streak=4), A, (1, 1), Tally(2, 2, A, 2), None),
        (Triggers(streak=4), B, (1, 1), Tally(3, 3, A, 3), None),
        (Triggers(streak=4), None, (0, 0), Tally(3, 3, A, 3), None),
        (Triggers(no_capture=True), A, (0, 0), Tally(), Text(Phrase.REASON_NO_CAPTURE)),
        (Triggers(no_capture=True), A, (0, 1), Tally(), None),
        (Triggers(rounds=3), None, (0, 0), Tally(2, 2), Text(Phrase.REASON_ROUNDS, ("3",))),
        (Triggers(rounds=3), A, (0, 0), Tally(2, 1), None),
        (Triggers(round_two=True), B, (0, 0), Tally(), Text(Phrase.REASON_ROUND_TWO)),
        (Triggers(round_two=True), B, (0, 0), Tally(1, 1), None),
        (Triggers(waiting=True, chance=True), A, (0, 0), Tally(9, 9, A, 9), None),
        (Triggers(), A, (0, 0), Tally(0, 9, A, 9), None),
    ],
)
def test_a_mode_has_the_triggers_of_its_line_and_no_others(
    mode: Mode, triggers: Triggers, winner: Side | None, captures: tuple[int, int], tally: Tally, reason: Text | None
) -> None:
    outcome, chosen = Outcome.of(finished("r", winner, captures=captures)), Rules(triggers={mode.value: triggers})
    assert due(mode, tally.after(winner), outcome, chosen) == reason
    other = Mode.CTF if mode is Mode.KOTH else Mode.KOTH
    assert due(other, tally.after(winner), outcome, chosen) == due(other, tally.after(winner), outcome, Rules())


def test_of_several_triggers_at_once_players_read_the_one_that_says_most() -> None:
    tally, shutout = Tally(3, 3, A, 3), Outcome(A, 0)
    for streak, said in ((2, Text(Phrase.REASON_STREAK, ("3",))), (0, Text(Phrase.REASON_NO_CAPTURE))):
        everything = Rules(triggers={"koth": Triggers(streak=streak, rounds=2, no_capture=True)})
        assert due(Mode.KOTH, tally, shutout, everything) == said


def test_without_round_two_the_duel_is_followed_by_equal_sides_and_no_scramble() -> None:
    game = Game(Mode.ARENA, "||abcd", dict.fromkeys("abcd", 2000.0), rules(triggers={"arena": Triggers(streak=3)}))
    game.start()
    game.open()
    assert not of(LogDecision, game.end(A))
    game.start()
    assert (len(game.roster.on(A)), len(game.roster.on(B)), game.session.memory.tally.since_scramble) == (2, 2, 1)


@pytest.mark.parametrize(("waiting", "partial"), [(True, False), (False, True)])
def test_rounds_inside_waiting_for_players_do_not_count_and_partial_ones_do(waiting: bool, partial: bool) -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(1.0, ended(finished("r1", A, captures=(1, 0), waiting=waiting, partial=partial)))])
    assert (session.memory.pending is not None, session.memory.tally.completed) == (partial, int(partial))


@pytest.mark.parametrize("how", ["switched off", "inactive on this map"])
def test_nothing_becomes_due_while_equipoise_is_off_or_inactive(how: str) -> None:
    session = begun(Mode.KOTH, "ab|cd")
    if how == "switched off":
        play(session, [(0.0, command("off"))])
    else:
        play(session, [(0.0, hello(phase=Phase.RUNNING, inactive_reason="tournament"))])
    play(session, [(1.0, WaitingEnded(1.0)), (100.0, ended(finished("r1", A, captures=(1, 0))))])
    assert session.memory.pending is None
    assert session.due_if() == ()
    assert session.memory.tally.completed == 1


# A script knows beforehand what the daemon will decide.


@given(
    mode=st.sampled_from(Mode),
    triggers=st.builds(
        Triggers, st.booleans(), st.integers(0, 4), st.integers(0, 4), st.booleans(), st.booleans(), st.booleans()
    )
    | st.none(),
    tally=st.builds(Tally, st.integers(0, 6), st.integers(0, 6), st.sampled_from(Side), st.integers(1, 6))
    | st.builds(Tally, st.integers(0, 6), st.integers(0, 6)),
    winner=st.sampled_from([A, B, None]),
    captured=st.integers(0, 2),
)
def test_due_if_predicts_exactly_what_due_decides_afterwards(
    mode: Mode, triggers: Triggers | None, tally: Tally, winner: Side | None, captured: int
) -> None:
    given_rules = Rules() if triggers is None else Rules(triggers={mode.value: triggers})
    shutout = winner is not None and captured == 0
    foreseen = any(case.winner is winner and (shutout or not case.shutout) for case in due_if(mode, tally, given_rules))
    assert foreseen == (due(mode, tally.after(winner), Outcome(winner, captured), given_rules) is not None)


def test_due_if_speaks_of_the_running_round_unless_a_scramble_is_pending_or_players_are_waited_for() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    assert session.due_if() == (DueIf(A, shutout=True), DueIf(B, shutout=True))
    assert begun(Mode.PAYLOAD, "ab|cd").due_if() == (DueIf(A, shutout=True),)
    assert begun(Mode.ARENA, "ab|cd").due_if() == (DueIf(A), DueIf(B), DueIf(None))
    assert begun(Mode.OTHER, "ab|cd").due_if() == ()
    play(session, [(0.0, command("scramble", "next"))])
    assert session.due_if() == ()
    waiting = begun(Mode.KOTH, "", phase=Phase.IDLE)
    play(waiting, [(0.0, hello(waiting=True)), (0.0, summaries({})), (0.0, seen("ab|cd"))])
    assert waiting.due_if() == ()
