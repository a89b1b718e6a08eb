"""NS2's vote for a shuffle, in one stage, and the shuffles that admins order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskChance, AskSplit, Moment, Purpose
from equipoise.core.effects import Assign, Effect, LogDecision, Say, Tell
from equipoise.core.model import Mode, OrderId, Outlook
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
from tests.core.test_votes import CHANCE, TEN, refusal, wish

OUTLOOKS = Outlook.alone(CHANCE), Outlook.alone(0.51)
VOTED, ADMIN = Text(Phrase.REASON_VOTE), Text(Phrase.REASON_ADMIN)
RESTARTS = Say(Text(Phrase.SHUFFLE_RESTARTS))
NEXT = rules(vote={"when": "next"}, shuffle={"at_round_start": False})
MANUAL = rules(shuffle={"at_round_start": False})


def vote(session: Session, now: float = 1.0) -> list[Effect]:
    """Enough players ask; the effects of the last voice."""
    return [wish(session, voter, now) for voter in "abcfgh"][-1]


def voice(have: int, by: str = "a") -> Say:
    return Say(Text(Phrase.VOTE_SHUFFLE, (f"@{by}", str(have), "6")))


def asked(effects: list[Effect]) -> AskSplit:
    question = the(AskSplit, effects)
    assert question.purpose is Purpose.SHUFFLE
    return question


def solved(question: AskSplit, teams: str = "abcdf|eghij") -> e.SplitSolved:
    return e.SplitSolved(question, split(teams), 0.0, *OUTLOOKS)


def started(text: str = TEN, at: float = 50.0) -> e.RoundStarted:
    return e.RoundStarted(at, roster(text))


# The vote.


def test_voices_of_the_configured_part_of_the_players_pass_the_vote_without_a_menu() -> None:
    session = begun(Mode.NS2, TEN)
    assert wish(session, "a") == [voice(1)]
    last, log, passed, question = vote(session)
    text = Text(Phrase.VOTE_PASSED, ("6", "10"))
    assert (last, log, passed) == (voice(6, "h"), LogDecision("vote", text), Say(text))
    assert isinstance(question, AskSplit)
    assert (question.purpose, question.moment, question.reason) == (Purpose.SHUFFLE, Moment.NOW, VOTED)
    restarts, order, decision = play(session, [(1.5, solved(question))])
    teams = split("abcdf|eghij")
    assert (restarts, order) == (RESTARTS, Assign(OrderId("o1"), VOTED, teams, Moment.NOW, Purpose.SHUFFLE))
    assert isinstance(decision, LogDecision)
    broken_off = finished("r1", None, "abcdf|eghij", mode=Mode.NS2, partial=True)
    effects = play(session, [(2.0, ended(broken_off, 2.0)), (2.1, e.OrderDone(2.1, OrderId("o1")))])
    assert of(Say, effects) == [Say(Text(Phrase.SHUFFLED, ("2", "Marines", "51", VOTED)))]
    assert session.memory.pending is None
    assert refusal(session, now=100.0) == Text(Phrase.VOTE_COOLDOWN)


def test_a_vote_for_the_next_round_is_carried_out_when_it_starts() -> None:
    session = begun(Mode.NS2, TEN, rules=NEXT)
    effects = vote(session)
    assert of(AskSplit, effects) == []
    assert effects[-2:] == [LogDecision("pending", VOTED), Say(Text(Phrase.SCRAMBLE_PENDING, (VOTED,)))]
    play(session, [(40.0, ended(finished("r1", A, TEN, mode=Mode.NS2), 40.0))])
    question = asked(play(session, [(50.0, started())]))
    assert (question.reason, question.moment) == (VOTED, Moment.FREEZE)


@pytest.mark.parametrize("given", [MANUAL, NEXT])
def test_a_vote_while_no_round_runs_shuffles_at_once_and_one_in_the_freeze_in_it(given: Rules) -> None:
    session = begun(Mode.NS2, TEN, rules=given, phase=e.Phase.IDLE)
    question = asked(vote(session))
    assert question.moment is Moment.NOW
    assert RESTARTS not in play(session, [(1.1, solved(question))])
    frozen = begun(Mode.NS2, TEN, rules=given, phase=e.Phase.IDLE)
    play(frozen, [(50.0, started())])
    question = asked(vote(frozen, 51.0))
    assert (question.moment, question.reason) == (Moment.FREEZE, VOTED)


def test_a_vote_on_teams_inside_the_band_of_shuffles_is_refused_with_the_probability_also_after_a_streak() -> None:
    session = begun(Mode.NS2, TEN)
    assert wish(session, "a", chance=0.44) == [voice(1)]
    for name in ("r1", "r2"):
        play(session, [(10.0, ended(finished(name, A, TEN, mode=Mode.NS2), 10.0))])
        play(session, [(11.0, went_live(f"{name}+", TEN, 11.0))])
    assert session.memory.tally.streak == 2
    even = Tell(ids("b")[0], (Text(Phrase.VOTE_EVEN, ("Marines", "52")),))
    assert wish(session, "b", 12.0, chance=0.52) == [even]
    gathering = begun(Mode.NS2, "a|b|cdefghij", phase=e.Phase.IDLE)
    assert wish(gathering, "a", chance=0.5) == [voice(1)], "players are still to be placed"


@pytest.mark.parametrize(("given", "seconds"), [(Rules(), 120.0), (rules(shuffle={"vote_seconds": 90.0}), 90.0)])
def test_two_minutes_into_a_round_or_as_the_rules_say_no_vote_is_taken(given: Rules, seconds: float) -> None:
    session = begun(Mode.NS2, TEN, rules=given)
    assert wish(session, "a", seconds) == [voice(1)]
    assert refusal(session, "b", seconds + 0.5) == Text(Phrase.VOTE_TOO_LATE)


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


def test_a_second_order_while_a_shuffle_is_carried_out_starts_the_round_again_once() -> None:
    session = begun(Mode.NS2, TEN)
    play(session, [(1.5, solved(asked(vote(session))))])
    effects = play(session, [(1.6, command("shuffle", "now"))])
    assert [type(effect) for effect in effects] == [Tell]
    assert session.memory.pending == VOTED


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


def test_once_the_script_says_that_no_round_runs_a_shuffle_is_carried_out_at_once_again() -> None:
    session = begun(Mode.NS2, TEN, rules=MANUAL)
    play(session, [(40.0, ended(finished("r1", A, TEN, mode=Mode.NS2), 40.0))])
    effects = play(session, [(41.0, command("shuffle", "now"))])
    assert (of(AskSplit, effects), session.memory.pending) == ([], ADMIN)
    effects = play(session, [(42.0, command("shuffle", "cancel")), (43.0, started(at=43.0))])
    assert (of(AskSplit, effects), session.memory.pending) == ([], None), "a shuffle that waits can be cancelled"
    play(session, [(50.0, hello(Mode.NS2, e.Phase.IDLE, at=50.0)), (50.0, seen(TEN))])
    assert asked(play(session, [(51.0, command("shuffle", "now"))])).moment is Moment.NOW
