"""Players vote for a scramble: voices open a menu, its result makes a scramble due, and even teams are left alone."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskChance, AskSplit, Moment, Purpose
from equipoise.core.effects import Cancel, Effect, Ignored, LogDecision, OpenVote, Say, Tell
from equipoise.core.model import Mode, OrderId, Outlook
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules, Triggers
from equipoise.core.session import Session
from tests.core.scripts import (
    A,
    B,
    assigned,
    begun,
    command,
    ended,
    finished,
    hello,
    ids,
    of,
    play,
    rules,
    seen,
    split,
    started,
    the,
    went_live,
)

TEN = "abcde|fghij"
VOTED = Text(Phrase.REASON_VOTE)
CHANCE = 0.7
"""Far from even, so that voices count, unless a test says otherwise."""


def wish(
    session: Session, by: str | None, now: float = 1.0, chance: float = CHANCE, unevenness: float | None = None
) -> list[Effect]:
    """A player asks for a vote, and the pool answers at once; returns the effects that players see."""
    effects: list[Effect] = []
    for effect in play(session, [(now, command("vote", by=by, admin=False))]):
        if isinstance(effect, AskChance):
            outlook = Outlook.alone(chance) if unevenness is None else Outlook(chance, 0.2, 0.8, unevenness)
            effects += play(session, [(now, e.ChanceFound(effect, outlook))])
        else:
            effects.append(effect)
    return effects


def refusal(session: Session, by: str | None = "a", now: float = 1.0) -> Text:
    """The reason that a player reads whose voice is refused."""
    (told,) = wish(session, by, now)
    assert isinstance(told, Tell)
    assert told.player == by
    (line,) = told.lines
    return line


def open_vote(session: Session, now: float = 1.0, voters: str = "abc") -> OpenVote:
    """Enough players ask for a vote; the order for the menu."""
    return the(OpenVote, [effect for voter in voters for effect in wish(session, voter, now)])


def voted(session: Session, order: OpenVote, yes: int, no: int, now: float = 21.0) -> list[Effect]:
    """The script reports the votes cast."""
    return play(session, [(now, e.VoteEnded(now, order=order.order, yes=yes, no=no))])


def voice(by: str, have: int, need: int) -> Text:
    return Text(Phrase.VOTE_VOICE, (f"@{by}", str(have), str(need)))


# Voices.


def test_the_vote_opens_when_the_configured_part_of_the_players_has_asked() -> None:
    session = begun(Mode.KOTH, TEN)
    assert wish(session, "a") == [Say(voice("a", 1, 3))]
    assert wish(session, "f") == [Say(voice("f", 2, 3))]
    question = Text(Phrase.VOTE_QUESTION_NOW)
    assert wish(session, "b") == [Say(voice("b", 3, 3)), OpenVote(OrderId("o1"), 20.0, 0.6, question)]


def test_a_voice_counts_when_it_cannot_be_said_how_even_the_teams_are() -> None:
    session = begun(Mode.KOTH, TEN)
    (question,) = play(session, [(1.0, command("vote", by="a", admin=False))])
    assert isinstance(question, AskChance)
    assert question.context == session.state.memory.context
    assert play(session, [(1.1, e.SolveFailed(question, "MemoryError"))]) == [Say(voice("a", 1, 3))]


def test_a_voice_counts_for_five_minutes_and_is_said_to_all_when_it_is_raised_again_after_them() -> None:
    session = begun(Mode.KOTH, TEN)
    assert wish(session, "a", 0.0) == [Say(voice("a", 1, 3))]
    assert wish(session, "a", 299.0) == [Tell(ids("a")[0], (voice("a", 1, 3),))]
    assert wish(session, "b", 598.0) == [Say(voice("b", 2, 3))]
    assert wish(session, "a", 599.0) == [Say(voice("a", 2, 3))]
    assert wish(session, "c", 898.0) == [Say(voice("c", 2, 3))]


def test_players_who_wait_for_a_side_have_a_voice_and_those_who_watch_have_none() -> None:
    session = begun(Mode.ARENA, "abc|def|g|h")
    assert wish(session, "g") == [Say(voice("g", 1, 3))]
    assert refusal(session, "h") == Text(Phrase.VOTE_NOT_PLAYING)
    assert refusal(session, None) == Text(Phrase.VOTE_NOT_PLAYING)


def test_the_voices_of_players_who_leave_or_watch_do_not_count_nor_when_they_come_back() -> None:
    session = begun(Mode.KOTH, TEN)
    wish(session, "a")
    wish(session, "b")
    play(session, [(2.0, e.PlayerLeft(2.0, ids("a")[0])), (2.0, e.SideChanged(2.0, ids("b")[0], None))])
    assert wish(session, "c", 3.0) == [Say(voice("c", 1, 3))]
    play(session, [(4.0, seen("de|fghij", 4.0)), (5.0, seen(TEN, 5.0))])
    assert wish(session, "d", 6.0) == [Say(voice("d", 1, 3))]


def test_voices_outlast_a_round_and_end_with_a_scramble_and_with_the_map() -> None:
    session = begun(Mode.KOTH, TEN)
    wish(session, "a")
    play(
        session, [(2.0, ended(finished("r1", A, TEN), 2.0)), (3.0, started(TEN, 3.0)), (4.0, went_live("r2", TEN, 4.0))]
    )
    assert wish(session, "b", 5.0) == [Say(voice("b", 2, 3))]
    play(session, [(6.0, e.ScrambledAlone(6.0, split("abcde|fghij")))])
    assert wish(session, "c", 7.0) == [Say(voice("c", 1, 3))]
    play(session, [(8.0, hello(session="s2", at=8.0)), (8.0, seen(TEN, 8.0))])
    assert wish(session, "d", 9.0) == [Say(voice("d", 1, 3))]


# When there is no vote.


def test_where_votes_or_equipoise_are_off_and_with_too_few_players_there_is_no_vote() -> None:
    assert refusal(begun(Mode.KOTH, TEN, rules=rules(vote={"enabled": False}))) == Text(Phrase.VOTE_OFF)
    session = begun(Mode.KOTH, TEN)
    wish(session, "b")
    play(session, [(1.0, command("off"))])
    assert refusal(session) == Text(Phrase.STATUS_OFF)
    play(session, [(2.0, command("on"))])
    assert wish(session, "a", 3.0) == [Say(voice("a", 1, 3))]
    assert refusal(begun(Mode.KOTH, "abc|de|1")) == Text(Phrase.VOTE_TOO_FEW)
    assert wish(begun(Mode.KOTH, "abc|def"), "a") == [Say(voice("a", 1, 2))]


def test_no_vote_opens_in_the_last_minute_of_a_round() -> None:
    session = begun(Mode.KOTH, TEN)
    play(session, [(0.0, seen(TEN, ends_in=100.0))])
    assert wish(session, "a", 39.9) == [Say(voice("a", 1, 3))]
    assert refusal(session, "b", 40.0) == Text(Phrase.VOTE_ROUND_ENDS)
    play(session, [(101.0, ended(finished("r1", A, TEN), 101.0))])
    assert wish(session, "b", 102.0) == [Say(voice("b", 2, 3))]


def test_there_is_no_vote_where_a_scramble_follows_anyway() -> None:
    session = begun(Mode.KOTH, TEN)
    play(session, [(0.5, command("scramble", "next"))])
    assert refusal(session) == Text(Phrase.VOTE_ALREADY_DUE)
    waiting = Session(Rules())
    play(waiting, [(0.0, hello(waiting=True)), (0.0, seen(TEN))])
    assert refusal(waiting) == Text(Phrase.VOTE_ALREADY_DUE)
    quiet = Session(Rules(triggers={"koth": Triggers()}))
    play(quiet, [(0.0, hello(waiting=True)), (0.0, seen(TEN))])
    assert wish(quiet, "a") == [Say(voice("a", 1, 3))], "the end of waiting makes nothing due there"


# Even teams.


@pytest.mark.parametrize(("chance", "even"), [(0.41, False), (0.42, True), (0.51, True), (0.58, True), (0.59, False)])
def test_a_vote_on_even_teams_is_refused_and_the_player_reads_the_chance(chance: float, even: bool) -> None:
    answered = wish(begun(Mode.KOTH, TEN), "a", chance=chance)
    told = Tell(ids("a")[0], (Text(Phrase.VOTE_EVEN, ("RED", f"{100 * chance:.0f}")),))
    assert answered == [told if even else Say(voice("a", 1, 3))]


@pytest.mark.parametrize(("unevenness", "even"), [(0.3, False), (0.081, False), (0.079, True), (None, True)])
def test_teams_whose_players_are_hardly_known_are_not_known_to_be_even(unevenness: float | None, even: bool) -> None:
    answered = wish(begun(Mode.KOTH, TEN), "a", chance=0.5, unevenness=unevenness)
    assert (answered == [Say(voice("a", 1, 3))]) is not even


def test_after_two_rounds_won_by_one_side_and_where_one_side_is_empty_teams_do_not_count_as_even() -> None:
    session = begun(Mode.KOTH, TEN)
    play(session, [(1.0, ended(finished("r1", A, TEN), 1.0))])
    assert wish(session, "a", 2.0, chance=0.5) != [Say(voice("a", 1, 3))]
    play(session, [(3.0, ended(finished("r2", A, TEN), 3.0))])
    assert wish(session, "a", 4.0, chance=0.5) == [Say(voice("a", 1, 3))]
    play(session, [(5.0, ended(finished("r3", B, TEN), 5.0))])
    assert of(Tell, wish(session, "b", 6.0, chance=0.5))
    assert wish(begun(Mode.KOTH, "abcdef|"), "a", chance=0.5) == [Say(voice("a", 1, 2))]


@pytest.mark.parametrize("chance", [0.03, 0.5, 0.97])
@pytest.mark.parametrize(("band", "even"), [((0.0, 0.0), False), ((0.0, 1.0), True)])
def test_a_band_may_take_no_teams_for_even_or_all(band: tuple[float, float], even: bool, chance: float) -> None:
    asked = wish(begun(Mode.KOTH, TEN, rules=rules(scramble={"fair_band": band})), "a", chance=chance, unevenness=0.3)
    assert (asked == [Say(voice("a", 1, 3))]) is not even


@pytest.mark.parametrize(
    ("mode", "given", "unevenness", "side"),
    [
        (Mode.KOTH, Rules(sides=("Allies", "Axis")), None, "Allies"),
        (Mode.KOTH, Rules(), 0.05, "RED"),  # alone, though its interval is known
        (Mode.NS2, Rules(), None, "Marines"),
    ],
)
def test_players_read_the_chance_by_the_names_of_the_sides(
    mode: Mode, given: Rules, unevenness: float | None, side: str
) -> None:
    (told,) = wish(begun(mode, TEN, rules=given), "a", chance=0.5, unevenness=unevenness)
    assert isinstance(told, Tell)
    assert told.lines == (Text(Phrase.VOTE_EVEN, (side, "50")),)
    assert told.lines[0].phrase.refusal


def test_a_chance_that_is_out_of_date_is_asked_for_again() -> None:
    session = begun(Mode.KOTH, TEN)
    (question,) = play(session, [(1.0, command("vote", admin=False))])
    assert isinstance(question, AskChance)
    play(session, [(1.1, e.SideChanged(1.1, ids("a")[0], B))])
    (again,) = play(session, [(1.2, e.ChanceFound(question, Outlook.alone(CHANCE)))])
    assert isinstance(again, AskChance)
    assert (len(question.a), len(again.a), again.by) == (5, 4, ids("a")[0])


@pytest.mark.parametrize("is_known", [True, False])
def test_a_voice_that_is_too_late_when_the_chance_is_known_or_cannot_be_is_refused(is_known: bool) -> None:
    session = begun(Mode.KOTH, TEN)
    (question,) = play(session, [(1.0, command("vote", admin=False))])
    assert isinstance(question, AskChance)
    play(session, [(1.1, command("scramble", "next"))])
    answer = e.ChanceFound(question, Outlook.alone(CHANCE)) if is_known else e.SolveFailed(question, "broken")
    answered = play(session, [(1.2, answer)])
    assert answered == [Tell(ids("a")[0], (Text(Phrase.VOTE_ALREADY_DUE),))]


# The result.


def test_a_vote_that_passes_later_in_the_round_makes_a_scramble_due_at_the_next_round_start() -> None:
    session = begun(Mode.KOTH, TEN)
    order = open_vote(session, 31.0)
    assert order.text == Text(Phrase.VOTE_QUESTION)
    passed, reason = Text(Phrase.VOTE_PASSED, ("6", "10")), Text(Phrase.REASON_VOTE)
    assert voted(session, order, 6, 4, 51.0) == [
        LogDecision("vote", passed, order.order),
        Say(passed),
        LogDecision("pending", reason),
        Say(Text(Phrase.SCRAMBLE_PENDING, (reason,))),
    ]
    question = the(AskSplit, play(session, [(60.0, started(TEN, 60.0))]))
    assert (question.purpose, question.reason, question.moment) == (Purpose.SCRAMBLE, reason, Moment.FREEZE)


def test_a_vote_that_passes_early_in_the_round_scrambles_at_once_and_says_so() -> None:
    session = begun(Mode.KOTH, TEN)
    effects = voted(session, open_vote(session), 6, 4, 21.0)
    question = the(AskSplit, effects)
    assert (question.moment, question.purpose, question.reason) == (Moment.NOW, Purpose.SCRAMBLE, VOTED)
    assert of(Say, effects) == [Say(Text(Phrase.VOTE_PASSED, ("6", "10")))]
    solved = e.SplitSolved(question, split("abcdf|eghij"), 0.0, Outlook.alone(0.7), Outlook.alone(0.5))
    order = assigned(play(session, [(21.1, solved)]))
    assert order.moment is Moment.NOW
    said = of(Say, play(session, [(21.5, e.OrderDone(21.5, order.order))]))
    assert said == [Say(Text(Phrase.SCRAMBLED, ("RED", "50", VOTED)))]
    assert session.memory.pending is None


NOW, EARLY, LATER = Phrase.VOTE_QUESTION_NOW, Phrase.VOTE_QUESTION_EARLY, Phrase.VOTE_QUESTION


@pytest.mark.parametrize(
    ("mode", "when", "opened", "question", "passed", "at_once"),
    [
        (Mode.KOTH, None, 10.0, NOW, 30.0, True),
        (Mode.KOTH, None, 10.1, EARLY, 30.1, False),
        (Mode.KOTH, None, 10.1, EARLY, 20.0, True),
        (Mode.KOTH, "early", 30.1, LATER, 31.0, False),
        (Mode.KOTH, "now", 900.0, NOW, 910.0, True),
        (Mode.KOTH, "next", 1.0, LATER, 2.0, False),
        (Mode.ARENA, None, 1.0, LATER, 2.0, False),
        (Mode.ARENA, "now", 1.0, LATER, 2.0, False),
    ],
)
def test_the_question_says_when_new_teams_come_and_they_come_then(
    mode: Mode, when: str | None, opened: float, question: Phrase, passed: float, at_once: bool
) -> None:
    """`opened` and `passed` are seconds of a round that goes live at 500."""
    session = begun(mode, TEN, rules=rules(vote={"when": when}))
    play(session, [(500.0, went_live("r2", TEN, 500.0))])
    order = open_vote(session, 500.0 + opened)
    assert order.text == Text(question)
    asked = of(AskSplit, voted(session, order, 6, 4, 500.0 + passed))
    assert bool(asked) is at_once
    assert session.memory.pending == VOTED


def test_where_it_is_not_known_how_long_the_round_has_run_new_teams_wait_for_the_next() -> None:
    session = begun(Mode.KOTH, TEN)
    again = Session(Rules(), session.memory)
    play(again, [(5.0, hello(at=5.0, phase=e.Phase.RUNNING)), (5.0, seen(TEN, 5.0))])
    order = open_vote(again, 6.0)
    assert order.text == Text(Phrase.VOTE_QUESTION)
    assert of(AskSplit, voted(again, order, 6, 4, 7.0)) == []


def test_a_vote_that_passes_in_the_freeze_is_carried_out_in_it_and_with_too_few_players_new_teams_wait() -> None:
    session = begun(Mode.KOTH, TEN)
    order = open_vote(session)
    play(session, [(15.0, ended(finished("r1", A, TEN), 15.0)), (20.0, started(TEN, 20.0))])
    question = the(AskSplit, voted(session, order, 9, 1))
    assert (question.moment, question.reason) == (Moment.FREEZE, VOTED)
    few = begun(Mode.KOTH, "ab|c", rules=rules(vote={"min_players": 2, "when": "now"}))
    effects = voted(few, open_vote(few, voters="a"), 3, 0, 2.0)
    assert of(Say, effects)[-1] == Say(Text(Phrase.SCRAMBLE_WAITS, (VOTED, "4")))


@pytest.mark.parametrize(
    ("yes", "no", "needed"), [(5, 4, 6), (0, 0, 1), (0, 1, 1), (1, 1, 2), (8, 7, 9), (1, 0, 1), (3, 2, 3), (9, 6, 9)]
)
def test_a_vote_passes_with_the_configured_part_of_the_votes_cast_and_fails_below(
    yes: int, no: int, needed: int
) -> None:
    session = begun(Mode.KOTH, TEN)
    order = open_vote(session)
    assert refusal(session, "d", 2.0) == Text(Phrase.VOTE_RUNNING)
    effects = voted(session, order, yes, no)
    if yes >= needed:
        assert session.memory.pending == VOTED
        return
    failed = Text(Phrase.VOTE_FAILED, (str(yes), str(yes + no), str(needed)))
    assert effects == [LogDecision("vote", failed, order.order), Say(failed)]
    assert session.memory.pending is None


@pytest.mark.parametrize("yes", [0, 10])
def test_after_a_vote_no_other_starts_during_the_cooldown_also_after_a_restart_but_on_a_new_map(yes: int) -> None:
    session = begun(Mode.KOTH, TEN)
    voted(session, open_vote(session), yes, 10 - yes, 21.0)
    play(session, [(22.0, command("scramble", "cancel"))])
    again, elsewhere = (Session(Rules(), session.memory) for _ in range(2))
    play(again, [(23.0, hello(at=23.0)), (23.0, seen(TEN, 23.0))])
    assert refusal(session, "a", 620.9) == refusal(again, "a", 620.9) == Text(Phrase.VOTE_COOLDOWN)
    assert wish(again, "a", 621.0) == [Say(voice("a", 1, 3))]
    play(elsewhere, [(30.0, hello(session="s2", at=30.0)), (30.0, seen(TEN, 30.0))])
    assert wish(elsewhere, "a", 31.0) == [Say(voice("a", 1, 3))]


# How a vote ends without a result.


def test_an_admin_cancels_the_voices_so_far_or_a_running_vote() -> None:
    session = begun(Mode.KOTH, TEN)
    wish(session, "a")
    text = Text(Phrase.VOTE_CANCELLED)
    assert play(session, [(2.0, command("scramble", "cancel"))]) == [LogDecision("cancel", text), Say(text)]
    order = open_vote(session, 3.0, "bcd")
    assert of(Cancel, play(session, [(4.0, command("scramble", "cancel"))])) == [Cancel(order.order)]
    assert of(Ignored, voted(session, order, 9, 0))
    assert session.memory.pending is None


@pytest.mark.parametrize(
    "event",
    [command("scramble", "next"), command("off"), ended(finished("r1", A, TEN, captures=(1, 0)), 2.0)],
    ids=["an admin scrambles", "an admin switches it off", "a scramble becomes due"],
)
def test_a_running_vote_is_withdrawn_when_it_serves_nothing_any_more(event: e.Event) -> None:
    session = begun(Mode.KOTH, TEN)
    order = open_vote(session)
    assert of(Cancel, play(session, [(2.0, event)])) == [Cancel(order.order)]


@pytest.mark.parametrize(
    ("reason", "said", "again"),
    [
        ("vote_running", [Say(Text(Phrase.VOTE_RUNNING))], True),
        ("cancelled", [Say(Text(Phrase.VOTE_CANCELLED))], False),
        ("no_voters", [], False),
    ],
)
def test_a_vote_that_cannot_be_shown_ends_with_its_voices_but_waits_for_another_vote(
    reason: str, said: list[Effect], again: bool
) -> None:
    session = begun(Mode.KOTH, TEN)
    order = open_vote(session)
    failed = play(session, [(2.0, e.OrderFailed(2.0, order.order, reason))])
    assert failed == [LogDecision("failed", Text(Phrase.REASON_VOTE), order.order), *said]
    effects = wish(session, "d", 3.0)
    assert [vote.order for vote in effects if isinstance(vote, OpenVote)] == ([OrderId("o2")] if again else [])
    assert again or effects == [Say(voice("d", 1, 3))]


def test_the_first_of_two_deadlines_counts() -> None:
    session = begun(Mode.KOTH, "abcdefg|hij")
    open_vote(session, now=0.0)
    question = session.state.asked_moves
    assert question is not None
    play(session, [(1.0, e.MovesSolved(question, ids("ab")))])
    assert session.deadline() == 20.0
    session.tick(20.0)
    assert session.deadline() == 50.0


def test_a_vote_without_a_result_is_given_up() -> None:
    session = begun(Mode.KOTH, TEN)
    order = open_vote(session, now=1.0)
    assert session.deadline() == 51.0
    assert session.tick(50.9) == ()
    assert session.tick(51.0) == (LogDecision("failed", Text(Phrase.REASON_VOTE), order.order), Cancel(order.order))
    assert session.deadline() is None
    open_vote(session, 52.0)
    play(session, [(53.0, hello(session="s2", late=True, at=53.0)), (53.0, seen(TEN, 53.0))])
    assert session.deadline() is None, "a script that was loaded anew shows none"
    assert wish(session, "d", 54.0) == [Say(voice("d", 1, 3))]
