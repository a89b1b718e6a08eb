"""NS2's vote for a shuffle, in one stage, and the shuffles that admins order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskChance, AskSplit, Moment, Purpose
from equipoise.core.effects import Assign, Effect, LogDecision, Say, Tell
from equipoise.core.model import Mode, OrderId, Outlook, Split
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from tests.core.scripts import (
    A,
    assigned,
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
    split,
    the,
    went_live,
)

TEN = "abcde|fghij"
SIX_VOICES = "abcfgh"
UNEVEN, EVEN = 0.7, 0.52
OUTLOOKS = Outlook.alone(UNEVEN), Outlook.alone(0.51)
VOTED, ADMIN = Text(Phrase.REASON_VOTE), Text(Phrase.REASON_ADMIN)
RESTARTS = Say(Text(Phrase.SHUFFLE_RESTARTS))
NEXT = rules(vote={"when": "next"}, shuffle={"at_round_start": False})
MANUAL = rules(shuffle={"at_round_start": False})


def wish(session: Session, by: str | None, now: float = 1.0, chance: float = UNEVEN) -> list[Effect]:
    """A player asks for a shuffle, and the pool answers at once; returns the effects but the question of chance."""
    effects: list[Effect] = []
    for effect in play(session, [(now, command("vote", by=by, admin=False))]):
        found = isinstance(effect, AskChance)
        effects += play(session, [(now, e.ChanceFound(effect, Outlook.alone(chance)))]) if found else [effect]  # type: ignore[arg-type]
    return effects


def vote(session: Session, now: float = 1.0, voters: str = SIX_VOICES) -> list[Effect]:
    """Enough players ask; the effects of the last voice."""
    for voter in voters[:-1]:
        wish(session, voter, now)
    return wish(session, voters[-1], now)


def refusal(session: Session, now: float = 1.0, chance: float = UNEVEN, by: str = "a") -> Text:
    (told,) = wish(session, by, now, chance)
    assert isinstance(told, Tell)
    (line,) = told.lines
    return line


def asked(effects: list[Effect]) -> AskSplit:
    question = the(AskSplit, effects)
    assert question.purpose is Purpose.SHUFFLE
    return question


def solved(question: AskSplit, teams: str | Split = "abcdf|eghij") -> e.SplitSolved:
    return e.SplitSolved(question, split(teams) if isinstance(teams, str) else teams, 0.0, *OUTLOOKS)


def started(text: str = TEN, at: float = 50.0) -> e.RoundStarted:
    return e.RoundStarted(at, roster(text))


# The vote.


def test_voices_of_the_configured_part_of_the_players_pass_the_vote_without_a_menu() -> None:
    session = begun(Mode.NS2, TEN)
    assert wish(session, "a") == [Say(Text(Phrase.VOTE_SHUFFLE, ("@a", "1", "6")))]
    for voter in "bcfg":
        wish(session, voter)
    voice, log, passed, question = wish(session, "h")
    text = Text(Phrase.VOTE_PASSED, ("6", "10"))
    assert (voice, log, passed) == (
        Say(Text(Phrase.VOTE_SHUFFLE, ("@h", "6", "6"))),
        LogDecision("vote", text),
        Say(text),
    )
    assert isinstance(question, AskSplit)
    assert (question.purpose, question.moment, question.reason) == (Purpose.SHUFFLE, Moment.NOW, VOTED)


def test_all_players_read_that_the_round_starts_again_before_it_does() -> None:
    session = begun(Mode.NS2, TEN)
    restarts, order, log = play(session, [(1.5, solved(asked(vote(session))))])
    assert (restarts, order) == (
        RESTARTS,
        Assign(OrderId("o1"), VOTED, split("abcdf|eghij"), Moment.NOW, Purpose.SHUFFLE),
    )
    assert isinstance(log, LogDecision)
    broken_off = finished("r1", None, "abcdf|eghij", mode=Mode.NS2, partial=True)
    effects = play(session, [(2.0, ended(broken_off, 2.0)), (2.1, e.OrderDone(2.1, OrderId("o1")))])
    assert of(Say, effects) == [Say(Text(Phrase.SHUFFLED, ("2", "Marines", "51", VOTED)))]
    assert session.memory.pending is None


def test_a_vote_for_the_next_round_is_carried_out_when_it_starts() -> None:
    session = begun(Mode.NS2, TEN, rules=NEXT)
    effects = vote(session)
    assert of(AskSplit, effects) == []
    assert effects[-2:] == [LogDecision("pending", VOTED), Say(Text(Phrase.SCRAMBLE_PENDING, (VOTED,)))]
    play(session, [(40.0, ended(finished("r1", A, TEN, mode=Mode.NS2), 40.0))])
    question = asked(play(session, [(50.0, started())]))
    assert (question.reason, question.moment) == (VOTED, Moment.FREEZE)


@pytest.mark.parametrize("given", [MANUAL, NEXT])
def test_a_vote_while_no_round_runs_shuffles_at_once(given: Rules) -> None:
    session = begun(Mode.NS2, TEN, rules=given, phase=e.Phase.IDLE)
    question = asked(vote(session))
    assert question.moment is Moment.NOW
    assert not [effect for effect in play(session, [(1.1, solved(question))]) if effect == RESTARTS]


def test_a_vote_in_the_freeze_is_carried_out_in_it() -> None:
    session = begun(Mode.NS2, TEN, rules=MANUAL, phase=e.Phase.IDLE)
    play(session, [(50.0, started())])
    question = asked(vote(session, 51.0))
    assert (question.moment, question.reason) == (Moment.FREEZE, VOTED)


def test_a_vote_on_teams_inside_the_fair_band_is_refused_with_the_probability() -> None:
    session = begun(Mode.NS2, TEN)
    assert refusal(session, chance=EVEN) == Text(Phrase.VOTE_EVEN, ("Marines", "52"))


def test_the_band_of_a_shuffle_is_the_one_that_counts() -> None:
    session = begun(Mode.NS2, TEN)
    assert wish(session, "a", chance=0.44) == [Say(Text(Phrase.VOTE_SHUFFLE, ("@a", "1", "6")))]


def test_a_winning_streak_does_not_make_even_teams_worth_a_vote() -> None:
    session = begun(Mode.NS2, TEN)
    for name in ("r1", "r2"):
        play(session, [(10.0, ended(finished(name, A, TEN, mode=Mode.NS2), 10.0))])
        play(session, [(11.0, went_live(f"{name}+", TEN, 11.0))])
    assert session.memory.tally.streak == 2
    assert refusal(session, 12.0, EVEN).phrase is Phrase.VOTE_EVEN


def test_while_players_are_to_be_placed_their_voices_count_whatever_the_first_joiners_are_worth() -> None:
    session = begun(Mode.NS2, "a|b|cdefghij", phase=e.Phase.IDLE)
    assert wish(session, "a", chance=0.5) == [Say(Text(Phrase.VOTE_SHUFFLE, ("@a", "1", "6")))]


def test_two_minutes_into_a_round_no_vote_is_taken() -> None:
    session = begun(Mode.NS2, TEN)
    assert wish(session, "a", 120.0)[0] == Say(Text(Phrase.VOTE_SHUFFLE, ("@a", "1", "6")))
    assert refusal(session, 120.5, by="b") == Text(Phrase.VOTE_TOO_LATE)


def test_the_minutes_of_the_refusal_are_those_of_the_configuration() -> None:
    session = begun(Mode.NS2, TEN, rules=rules(shuffle={"vote_seconds": 90.0}))
    assert refusal(session, 91.0) == Text(Phrase.VOTE_TOO_LATE)


def test_after_a_vote_the_next_waits_for_its_cool_down() -> None:
    session = begun(Mode.NS2, TEN)
    play(session, [(1.5, solved(asked(vote(session))))])
    play(session, [(2.0, e.OrderDone(2.0, OrderId("o1")))])
    assert refusal(session, 100.0) == Text(Phrase.VOTE_COOLDOWN)


def test_the_chance_is_asked_for_with_the_commanders_in_their_chairs() -> None:
    session = begun(Mode.NS2, TEN)
    players = roster(TEN)
    for entry in (players.entries[0], players.entries[5]):
        players = players.with_entry(replace(entry, commander=True))
    question = the(
        AskChance, play(session, [(1.0, e.RosterSeen(1.0, players)), (1.0, command("vote", by="a", admin=False))])
    )
    assert question.commanders == frozenset(ids("af"))


# Admins.


@pytest.mark.parametrize("verb", ["shuffle", "scramble"])
def test_an_admins_shuffle_in_a_running_round_starts_it_again(verb: str) -> None:
    session = begun(Mode.NS2, TEN)
    question = asked(play(session, [(300.0, command(verb, "now"))]))
    assert (question.moment, question.reason) == (Moment.NOW, ADMIN)
    assert play(session, [(300.1, solved(question))])[0] == RESTARTS


def test_an_admins_shuffle_that_finds_no_player_to_move_starts_no_round_again() -> None:
    session = begun(Mode.NS2, TEN)
    question = asked(play(session, [(1.0, command("shuffle", "now"))]))
    text = Text(Phrase.SHUFFLE_NEEDLESS, ("Marines", "51", Text(Phrase.CAUSE_EVEN)))
    effects = play(session, [(1.1, solved(question, TEN))])
    assert effects == [
        LogDecision("shuffle", ADMIN, None, split(TEN), (), *OUTLOOKS, cause=Text(Phrase.CAUSE_EVEN)),
        Say(text),
    ]
    assert session.memory.pending is None


def test_an_order_for_now_that_comes_too_late_is_carried_out_at_the_next_round_start() -> None:
    session = begun(Mode.NS2, TEN, rules=MANUAL)
    question = asked(play(session, [(1.0, command("shuffle"))]))
    play(session, [(2.0, ended(finished("r1", A, TEN, mode=Mode.NS2), 2.0))])
    assert of(Assign, play(session, [(2.1, solved(question))])) == []
    again = asked(play(session, [(50.0, started())]))
    assert (again.moment, again.reason) == (Moment.FREEZE, ADMIN)


def test_a_shuffle_for_the_next_round_waits_for_it_and_can_be_cancelled() -> None:
    session = begun(Mode.NS2, TEN, rules=MANUAL)
    play(session, [(1.0, command("shuffle", "next"))])
    assert session.memory.pending == ADMIN
    play(session, [(2.0, command("shuffle", "cancel"))])
    assert of(AskSplit, play(session, [(50.0, started())])) == []


@pytest.mark.parametrize("late", [False, True])
def test_no_vote_starts_a_round_again_of_which_it_is_not_known_how_long_it_runs(late: bool) -> None:
    session = Session(Rules())
    play(session, [(0.0, hello(Mode.NS2, e.Phase.RUNNING, late=late)), (0.0, seen(TEN))])
    assert refusal(session) == Text(Phrase.VOTE_TOO_LATE)


def test_a_player_who_comes_while_a_shuffle_at_once_is_solved_is_in_the_next_question() -> None:
    session = begun(Mode.NS2, TEN)
    question = asked(play(session, [(1.0, command("shuffle"))]))
    again = asked(play(session, [(1.1, seen(TEN + "|k", 1.1)), (1.2, solved(question))]))
    assert (again.moment, len(again.entries)) == (Moment.NOW, 11)
    assert assigned(play(session, [(1.3, solved(again, "abcdfk|eghij"))])).moment is Moment.NOW


def test_a_second_order_while_a_shuffle_is_carried_out_starts_the_round_again_once() -> None:
    session = begun(Mode.NS2, TEN)
    play(session, [(1.5, solved(asked(vote(session))))])
    effects = play(session, [(1.6, command("shuffle", "now"))])
    assert [type(effect) for effect in effects] == [Tell]
    assert session.memory.pending == VOTED


def test_once_the_script_says_that_no_round_runs_a_shuffle_is_carried_out_at_once_again() -> None:
    session = begun(Mode.NS2, TEN)
    play(session, [(40.0, ended(finished("r1", A, TEN, mode=Mode.NS2), 40.0))])
    effects = play(session, [(41.0, command("shuffle", "now"))])
    assert (of(AskSplit, effects), session.memory.pending) == ([], ADMIN)
    play(session, [(42.0, command("shuffle", "cancel")), (50.0, hello(Mode.NS2, e.Phase.IDLE)), (50.0, seen(TEN))])
    assert asked(play(session, [(51.0, command("shuffle", "now"))])).moment is Moment.NOW
