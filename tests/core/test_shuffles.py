"""NS2's shuffles: before every round, by a vote, by an admin; fewest moves, commanders stay."""

from __future__ import annotations

from dataclasses import replace

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, Moment, Purpose, ShuffleTerms
from equipoise.core.effects import Assign, Effect, Lock, LogDecision, Say
from equipoise.core.model import Mode, OrderId, Roster, Split
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from tests.core.scripts import A, B, begun, ids, of, play, roster, rules, seen, split

BEFORE_ROUND = Text(Phrase.REASON_ROUND_START)
VOTED = Text(Phrase.REASON_VOTE)
ADMIN = Text(Phrase.REASON_ADMIN)
MANUAL = rules(shuffle={"at_round_start": False})
"""Nothing is shuffled that nobody asked for."""


def idle(text: str = "abc|def", given: Rules | None = None) -> Session:
    return begun(Mode.NS2, text, rules=given, phase=e.Phase.IDLE)


def starts(text: str, at: float = 10.0, commanders: str = "") -> e.RoundStarted:
    return e.RoundStarted(at, commanded(roster(text), commanders))


def commanded(players: Roster, commanders: str) -> Roster:
    chairs = ids(commanders)
    return Roster(tuple(replace(entry, commander=entry.id in chairs) for entry in players.entries))


def asked(effects: list[Effect]) -> AskSplit:
    (question,) = of(AskSplit, effects)
    assert isinstance(question, AskSplit)
    return question


def solved(question: AskSplit, found: str | Split, after: float | None = 0.52) -> e.SplitSolved:
    teams = split(found) if isinstance(found, str) else found
    return e.SplitSolved(question, teams, 0.0, 0.7, after)


def shuffled(order: str, reason: Text, teams: str, moved: str, moment: Moment = Moment.FREEZE) -> list[Effect]:
    """An order and its line in the log."""
    found = split(teams)
    return [
        Assign(OrderId(order), reason, found, moment),
        LogDecision("shuffle", reason, OrderId(order), found, ids(moved), 0.7, 0.52),
    ]


def test_a_shuffle_is_asked_for_when_a_round_starts_and_ordered_for_its_freeze() -> None:
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def", commanders="ad"))]))
    assert (question.purpose, question.moment, question.reason) == (Purpose.SHUFFLE, Moment.FREEZE, BEFORE_ROUND)
    assert question.terms == ShuffleTerms((0.45, 0.55))
    assert [entry.id for entry in question.entries if entry.commander] == list(ids("ad"))
    assert play(session, [(10.1, solved(question, "abd|cef"))]) == shuffled("o1", BEFORE_ROUND, "abd|cef", "cd")


def test_players_of_the_ready_room_are_placed_and_bots_are_not_counted() -> None:
    session = idle("ab12|c|d|e")
    question = asked(play(session, [(10.0, starts("ab12|c|d|e"))]))
    assert [entry.id for entry in question.entries] == list(ids("abcd"))
    assert question.sizes == (2, 2)


def test_a_shuffle_that_is_done_is_announced_with_the_chance_and_the_number_who_changed_side() -> None:
    session = idle("abc|de|f")
    question = asked(play(session, [(10.0, starts("abc|de|f"))]))
    play(session, [(10.1, solved(question, "abd|cef"))])
    effects = play(session, [(14.0, e.OrderDone(14.0, OrderId("o1")))])
    locked = [Lock(player, side, 180.0) for letters, side in (("abd", A), ("cef", B)) for player in ids(letters)]
    assert effects == [*locked, Say(Text(Phrase.SHUFFLED, ("2", "Marines", "52")))]
    assert play(session, [(14.5, seen("abd|cef", 14.5)), (15.0, e.Heartbeat(15.0))]) == []


def test_a_shuffle_before_a_round_that_moves_no_player_passes_in_silence() -> None:
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def"))]))
    assert play(session, [(10.1, solved(question, "abc|def")), (11.0, e.Heartbeat(11.0))]) == []


def test_even_teams_are_looked_at_again_when_a_player_comes_in_the_freeze() -> None:
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def"))]))
    play(session, [(10.1, solved(question, "abc|def"))])
    again = asked(play(session, [(11.0, seen("abc|def|g", 11.0))]))
    assert (again.purpose, again.reason, again.sizes) == (Purpose.SHUFFLE, BEFORE_ROUND, (3, 4))


def test_without_at_round_start_a_round_starts_as_the_players_stand() -> None:
    assert of(AskSplit, play(idle(given=MANUAL), [(10.0, starts("abc|def"))])) == []


def test_too_few_players_are_not_shuffled() -> None:
    assert of(AskSplit, play(idle("ab|c"), [(10.0, starts("ab|c"))])) == []


def test_a_shuffle_is_asked_for_again_when_another_player_takes_the_chair() -> None:
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def", commanders="ad"))]))
    changed = e.RosterSeen(10.1, commanded(roster("abc|def"), "bd"))
    again = asked(play(session, [(10.1, changed), (10.2, solved(question, "abd|cef"))]))
    assert [entry.id for entry in again.entries if entry.commander] == list(ids("bd"))
