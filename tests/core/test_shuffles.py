"""NS2's shuffles: before every round, by a vote, by an admin; fewest moves, commanders stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, CacheSplits, Moment, Purpose, ShuffleTerms
from equipoise.core.effects import Assign, Cancel, Effect, Lock, LogDecision, Place, RecordRound, Say, Tell
from equipoise.core.model import DueIf, Mode, OrderId, Outlook, PlayerId, PlayerSummary, Roster
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from equipoise.core.triggers import Tally
from tests.core.scripts import (
    A,
    B,
    assigned,
    begun,
    command,
    ended,
    finished,
    ids,
    of,
    play,
    roster,
    roster_text,
    rules,
    seen,
    split,
    the,
    went_live,
)

BEFORE_ROUND = Text(Phrase.REASON_ROUND_START)
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
    return the(AskSplit, effects)


def solved(question: AskSplit, teams: str) -> e.SplitSolved:
    return e.SplitSolved(question, split(teams), 0.0, Outlook.alone(0.7), Outlook.alone(0.52))


def goes_live(name: str, commanders: str, at: float) -> tuple[float, e.Event]:
    return at, replace(went_live(name, "abc|def", at=at), roster=commanded(roster("abc|def"), commanders))


# Who is asked to command.

CHAIRS = {"a": 1900.0, "b": 1500.0, "c": 1000.0, "d": 1200.0, "e": 1850.0, "f": 1000.0}
"""Skills in the command chair, the same on both sides; in `led`'s past b, d and e have commanded."""


def led(given: Rules | None = None, skills: Mapping[str, float] = CHAIRS, commanders: str = "bde") -> Session:
    """Between two rounds, all in the ready room; these players have commanded one before."""
    session = idle("abc|def", given)
    known = [PlayerSummary(PlayerId(name), 1000.0, chair_skills=(skill, skill)) for name, skill in skills.items()]
    play(session, [(5.0, e.SummariesLoaded(tuple(known)))])
    for number, name in enumerate(commanders):
        at, game_round = 10.0 + 100 * number, finished(f"r{number}", A, "abc|def", mode=Mode.NS2)
        script = [(at, starts("abc|def", at)), goes_live(game_round.id, name, at)]
        play(session, [*script, (at + 50, ended(game_round, at + 50))])
    play(session, [(900.0, in_chairs(""))])
    return session


def in_chairs(commanders: str, text: str = "abc|def") -> e.RosterSeen:
    return replace(seen(text), roster=commanded(roster(text), commanders))


def told(effects: list[Effect]) -> list[tuple[PlayerId | None, Text]]:
    return [(tell.player, line) for tell in of(Tell, effects) for line in tell.lines]


def test_when_one_commands_the_best_match_of_the_other_side_is_asked_to() -> None:
    session = led()
    question = (PlayerId("e"), Text(Phrase.CHAIR_ASKED, ("@a",)))
    assert told(play(session, [(901.0, in_chairs("a"))])) == [question]
    assert told(play(session, [(902.0, in_chairs("a")), (903.0, e.Heartbeat(903.0))])) == [], "asked once"
    assert told(play(session, [(904.0, in_chairs("")), (905.0, in_chairs("a"))])) == [], "also of who comes back"
    assert told(play(session, [(906.0, in_chairs("")), (907.0, in_chairs("d"))])) == [
        (PlayerId("b"), Text(Phrase.CHAIR_ASKED, ("@d",)))
    ]


def test_who_leaves_the_chair_last_after_a_round_is_not_the_first_of_the_next() -> None:
    session = led()
    play(session, [(910.0, starts("abc|def", 910.0, "ad"))])
    play(session, [goes_live("r9", "ad", 920.0), (990.0, ended(finished("r9", A, "abc|def", mode=Mode.NS2), 990.0))])
    assert told(play(session, [(998.0, in_chairs("a", "abc|ef|d")), (998.1, in_chairs("", "|ef|abcd"))])) == []
    assert len(told(play(session, [(1010.0, in_chairs("a"))]))) == 1


# Before the chairs are filled.


def gathered(session: Session, at: float = 910.0) -> list[Effect]:
    """All go to the ready room, and choose their sides anew; nobody sits."""
    return play(session, [(at, in_chairs("", "||abcdef")), (at + 20, in_chairs("", "abc|def"))])


def test_before_the_chairs_are_filled_one_shuffle_parts_who_is_likely_to_command() -> None:
    session = led()
    question = asked(gathered(session))
    assert (question.moment, question.reason) == (Moment.NOW, Text(Phrase.REASON_CHAIRS))
    assert question.terms is not None
    assert question.terms.likely == {PlayerId("b"): (2, 1), PlayerId("d"): (1, 2), PlayerId("e"): (1, 2)}
    answer = replace(solved(question, "abd|cef"), likely=ids("be"))
    effects = play(session, [(930.1, answer)])
    assert [line.likely for line in of(LogDecision, effects)] == [ids("be")]
    play(session, [(931.0, e.OrderDone(931.0, OrderId("o1")))])
    assert of(AskSplit, play(session, [(932.0, in_chairs("", "abd|cef")), (960.0, e.Heartbeat(960.0))])) == [], "once"
    again = asked(play(session, [(970.0, starts("abd|cef", 970.0, "be"))]))
    assert (again.moment, again.terms and again.terms.likely) == (Moment.FREEZE, {}), "who sits is known"


@pytest.mark.parametrize(
    ("session", "sides"),
    [
        (lambda: led(commanders="b"), "abc|def"),
        (lambda: led(MANUAL), "abc|def"),
        (led, "ab|cd|ef"),
        (led, "a|b"),
    ],
    ids=["one has commanded", "no shuffle", "two stand in the ready room", "too few"],
)
def test_nobody_is_parted_where_that_serves_nothing(session: Callable[[], Session], sides: str) -> None:
    here = session()
    effects = play(here, [(910.0, in_chairs("", "||abcdef")), (930.0, in_chairs("", sides))])
    assert of(AskSplit, effects) == []


def test_once_the_sides_have_gathered_the_two_closest_are_asked_to_command_and_the_log_says_what_they_did() -> None:
    session = led()
    play(session, [(930.1, solved(asked(gathered(session)), "abc|def"))])
    effects = play(session, [(931.0, in_chairs(""))])
    assert told(effects) == [
        (PlayerId("b"), Text(Phrase.CHAIR_OFFERED, ("@d",))),
        (PlayerId("d"), Text(Phrase.CHAIR_OFFERED, ("@b",))),
    ]
    lines = [(line.players, line.reason.phrase, line.side) for line in of(LogDecision, effects)]
    assert lines == [(ids("b"), Phrase.REASON_CLOSEST, A), (ids("d"), Phrase.REASON_CLOSEST, B)]
    assert told(play(session, [(932.0, in_chairs("b"))])) == [], "their match knows already"
    effects = play(session, [(980.0, starts("abc|def", 980.0, "be")), goes_live("r9", "be", 990.0)])
    answers = [(line.players, line.reason.phrase) for line in of(LogDecision, effects) if line.kind == "chair"]
    assert answers == [(ids("b"), Phrase.REASON_COMMANDS), (ids("d"), Phrase.REASON_ANOTHER)]


def test_before_a_shuffle_joiners_have_the_side_they_want_until_half_of_all_are_on_it() -> None:
    session = led()
    play(session, [(910.0, in_chairs("", "||abcdef"))])
    places = [the(Place, play(session, [(920.0, e.SideWanted(920.0, PlayerId(name), A))])).side for name in "abcd"]
    assert places == [A, A, A, B]


@pytest.mark.parametrize(
    ("session", "chairs"),
    [
        (lambda: led(commanders="bc"), "a"),
        (lambda: led(skills={**CHAIRS, "d": 1800.0, "f": 1790.0}), "a"),
        (lambda: led(skills={}), "a"),
        (led, "ad"),
        (lambda: led(MANUAL), "a"),
        (lambda: led(replace(Rules(), maps={"this map": "rate"})), "a"),
        (lambda: skipped(led()), "a"),
    ],
    ids=[
        "none has commanded",
        "all are as near",
        "skills unknown",
        "both command",
        "no shuffle",
        "map left alone",
        "an admin leaves the teams alone",
    ],
)
def test_nobody_is_asked_to_command_where_that_serves_nothing(session: Callable[[], Session], chairs: str) -> None:
    assert told(play(session(), [(902.0, in_chairs(chairs))])) == []


def skipped(session: Session) -> Session:
    play(session, [(901.0, command("shuffle", "skip"))])
    return session


def test_a_shuffle_is_asked_for_when_a_round_starts_ordered_for_its_freeze_and_announced() -> None:
    session = idle("abc|de|f")
    question = asked(play(session, [(10.0, starts("abc|de|f", commanders="ad"))]))
    assert (question.purpose, question.moment, question.reason) == (Purpose.SHUFFLE, Moment.FREEZE, BEFORE_ROUND)
    assert question.terms == ShuffleTerms((0.45, 0.55))
    assert [entry.id for entry in question.entries if entry.commander] == list(ids("ad"))
    order, teams, outlooks = OrderId("o1"), split("abd|cef"), map(Outlook.alone, (0.7, 0.52))
    assert play(session, [(10.1, solved(question, "abd|cef"))]) == [
        Assign(order, BEFORE_ROUND, teams, Moment.FREEZE, Purpose.SHUFFLE),
        LogDecision("shuffle", BEFORE_ROUND, order, teams, ids("cdf"), *outlooks),
    ]
    effects = play(session, [(14.0, e.OrderDone(14.0, OrderId("o1")))])
    locked = [Lock(player, side, 180.0) for letters, side in (("abd", A), ("cef", B)) for player in ids(letters)]
    assert effects == [*locked, Say(Text(Phrase.SHUFFLED, ("2", "Marines", "52", Text(Phrase.REASON_ROUND_START))))]
    assert play(session, [(14.5, seen("abd|cef", 14.5)), (15.0, e.Heartbeat(15.0))]) == []


def test_players_of_the_ready_room_are_placed_and_bots_are_not_counted() -> None:
    question = asked(play(idle("ab12|c|d|e"), [(10.0, starts("ab12|c|d|e"))]))
    assert [entry.id for entry in question.entries] == list(ids("abcd"))
    assert question.sizes == (2, 2)


def test_a_shuffle_that_moves_no_player_passes_in_silence_and_is_looked_at_again_when_one_comes_in_the_freeze() -> None:
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def"))]))
    assert play(session, [(10.1, solved(question, "abc|def")), (11.0, e.Heartbeat(11.0))]) == []
    again = asked(play(session, [(11.0, seen("abc|def|g", 11.0))]))
    assert (again.purpose, again.reason, again.sizes) == (Purpose.SHUFFLE, BEFORE_ROUND, (3, 4))


def test_without_at_round_start_and_with_too_few_players_a_round_starts_as_the_players_stand() -> None:
    assert of(AskSplit, play(idle(given=MANUAL), [(10.0, starts("abc|def"))])) == []
    assert of(AskSplit, play(idle("ab|c"), [(10.0, starts("ab|c"))])) == []


def test_a_shuffle_is_asked_for_again_when_another_player_takes_the_chair() -> None:
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def", commanders="ad"))]))
    changed = e.RosterSeen(10.1, commanded(roster("abc|def"), "bd"))
    again = asked(play(session, [(10.1, changed), (10.2, solved(question, "abd|cef"))]))
    assert [entry.id for entry in again.entries if entry.commander] == list(ids("bd"))


@pytest.mark.parametrize("ordered", [False, True])
def test_an_aborted_start_gives_the_shuffle_up_and_the_next_start_asks_anew(ordered: bool) -> None:
    session, reason = idle(given=MANUAL if ordered else None), ADMIN if ordered else BEFORE_ROUND
    if ordered:
        play(session, [(1.0, command("shuffle", "next"))])
    question = asked(play(session, [(10.0, starts("abc|def"))]))
    play(session, [(10.1, solved(question, "abd|cef"))])
    assert play(session, [(11.0, e.RoundAborted(11.0))]) == [LogDecision("failed", reason, OrderId("o1"))]
    assert (session.state.phase, session.memory.pending) == (e.Phase.IDLE, ADMIN if ordered else None)
    assert asked(play(session, [(20.0, starts("abc|def", 20.0))])).reason == reason


def test_a_shuffle_that_is_not_carried_out_or_answered_before_the_round_is_live_is_given_up() -> None:
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def"))]))
    play(session, [(10.1, solved(question, "abd|cef"))])
    effects = play(session, [(19.0, went_live("r1", "abc|def", 19.0)), (19.1, e.OrderDone(19.1, OrderId("o1")))])
    assert of(LogDecision, effects) == [LogDecision("failed", BEFORE_ROUND, OrderId("o1"))]
    assert of(Say, effects) == []
    session = idle()
    question = asked(play(session, [(10.0, starts("abc|def"))]))
    play(session, [(19.0, went_live("r1", "abc|def", 19.0))])
    assert play(session, [(19.1, solved(question, "abd|cef"))]) == []


def test_a_shuffle_that_failed_because_a_player_left_is_asked_for_again() -> None:
    session = idle("abc|defg")
    question = asked(play(session, [(10.0, starts("abc|defg"))]))
    play(session, [(10.1, solved(question, "abd|cefg")), (11.0, e.PlayerLeft(11.0, ids("g")[0]))])
    effects = play(session, [(11.1, e.OrderFailed(11.1, OrderId("o1"), "sizes"))])
    assert asked(effects).reason == BEFORE_ROUND


# Rounds that are broken off.


@pytest.mark.parametrize("reset", [True, False])
def test_a_whole_round_counts_and_one_that_a_reset_breaks_off_leaves_the_server_idle(reset: bool) -> None:
    session = begun(Mode.NS2, "abc|def", rules=MANUAL)
    effects = play(session, [(100.0, ended(finished("r1", A, "abc|def", mode=Mode.NS2, partial=reset), 100.0))])
    assert the(RecordRound, effects).unrated == ("not seen going live" if reset else None)
    assert session.memory.tally == (Tally() if reset else Tally(1, 1, A, 1))
    assert session.memory.counted == (() if reset else ("r1",))
    assert session.memory.pending is None
    assert session.state.phase is (e.Phase.IDLE if reset else e.Phase.OVER)


# The script alone, and a solver that fails.


def test_a_script_without_the_daemon_shuffles_before_every_round_if_the_rules_say_so() -> None:
    assert idle().due_if() == (DueIf(A), DueIf(B), DueIf(None))
    assert idle(given=MANUAL).due_if() == ()


def test_a_shuffle_by_the_script_alone_is_logged_and_the_freeze_asks_for_no_other() -> None:
    session = idle()
    play(session, [(10.0, starts("abc|def")), (12.0, e.ScrambledAlone(12.0, split("abd|cef")))])
    assert roster_text(session.state.roster) == "abd|cef"
    assert of(AskSplit, play(session, [(13.0, e.Heartbeat(13.0))])) == []


def drafted(text: str, put: str, at: float = 10.0) -> e.RoundStarted:
    """A start at which others have put these players on their side."""
    entries = roster(text).entries
    return e.RoundStarted(at, Roster(tuple(replace(entry, forced=entry.id in ids(put)) for entry in entries)))


def test_teams_that_people_made_are_left_alone_and_all_read_why_once() -> None:
    session = idle("abc|def")
    effects = play(session, [(10.0, drafted("abc|def", "abd"))])
    why = Text(Phrase.TEAMS_MADE, ("3", "6"))
    assert (of(AskSplit, effects), of(Say, effects)) == ([], [Say(why)])
    assert of(LogDecision, effects) == [LogDecision("kept", why)]
    assert session.due_if() == ()
    assert of(Say, play(session, [(11.0, e.RosterSeen(11.0, drafted("abcg|def", "abde").roster))])) == []
    assert asked(play(idle("abc|def"), [(10.0, drafted("abc|def", "ab"))])).purpose is Purpose.SHUFFLE, "two of six"


def test_who_changed_side_since_counts_no_more_and_what_was_ordered_is_shuffled_all_the_same() -> None:
    session = idle("abc|def")
    play(session, [(9.0, e.RosterSeen(9.0, drafted("abc|def", "abd").roster))])
    assert session.due_if() == ()
    play(session, [(9.1, e.SideChanged(9.1, ids("a")[0], None)), (9.2, e.SideChanged(9.2, ids("a")[0], A))])
    assert session.due_if() != ()
    play(session, [(9.5, command("shuffle", "next", by=None))])
    assert asked(play(session, [(10.0, drafted("abc|def", "abcdef"))])).reason == ADMIN


def test_an_admin_may_leave_the_teams_of_the_next_round_as_they_are() -> None:
    session = idle("abc|def")
    why = Text(Phrase.SHUFFLE_SKIPPED)
    effects = play(session, [(9.0, command("shuffle", "skip", by="a"))])
    assert (of(Say, effects), of(LogDecision, effects)) == ([Say(why)], [LogDecision("cancel", why)])
    assert session.due_if() == ()
    effects = play(session, [(10.0, starts("abc|def"))])
    assert (of(AskSplit, effects), of(Say, effects)) == ([], [Say(why)])
    play(session, [(11.0, e.RoundAborted(11.0))])
    assert of(AskSplit, play(session, [(12.0, starts("abc|def", 12.0))])) == [], "until a round is live"
    play(session, [(20.0, went_live("r1", "abc|def", 20.0))])
    assert asked(play(session, [(100.0, starts("abc|def", 100.0))])).purpose is Purpose.SHUFFLE


def test_skip_drops_what_is_due_and_takes_back_what_was_ordered_for_the_freeze() -> None:
    session = idle("abc|def")
    play(session, [(8.0, command("shuffle", "next", by=None))])
    assert Tell(None, (Text(Phrase.SHUFFLE_SKIPPED),)) in play(session, [(9.0, command("shuffle", "skip", by=None))])
    assert session.memory.pending is None
    assert of(AskSplit, play(session, [(10.0, starts("abc|def"))])) == []
    session = idle("abc|def")
    question = asked(play(session, [(10.0, starts("abc|def"))]))
    order = assigned(play(session, [(10.1, solved(question, "abd|cef"))]))
    effects = play(session, [(11.0, command("shuffle", "skip", by="a"))])
    assert of(Cancel, effects) == [Cancel(order.order)]
    assert play(session, [(12.0, e.Heartbeat(12.0))]) == []


@pytest.mark.parametrize(
    ("teams", "larger", "commanders"),
    [("abc|def", "dbe|acf", "a|d"), ("abcd|ef", "bde|cf", "a|")],
    ids=["on both sides", "on one, which gets one player fewer"],
)
def test_when_the_solver_fails_the_cached_split_leaves_commanders_in_their_chairs(
    teams: str, larger: str, commanders: str
) -> None:
    session = idle(teams)
    cache = the(CacheSplits, play(session, [(1.0, ended(finished("r0", A, teams, mode=Mode.NS2), 1.0))]))
    play(session, [(1.1, e.SplitsCached(cache, (split("be|cd"), split(larger))))])
    question = asked(play(session, [(10.0, starts(teams, commanders=commanders.replace("|", "")))]))
    order = assigned(play(session, [(10.1, e.SolveFailed(question, "too slow"))])).split
    chairs = split(commanders)
    assert {*chairs.a} <= {*order.a}
    assert {*chairs.b} <= {*order.b}
    assert sorted(order.a + order.b) == list(ids("abcdef"))
    assert (len(order.a), len(order.b)) == (3, 3)
