"""What admins order by hand, and what players may not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit, Moment, Purpose
from equipoise.core.commands import LONGEST_QUOTE
from equipoise.core.effects import Assign, Cancel, Lock, LogDecision, LookUp, Move, Place, Say, Tell
from equipoise.core.model import Mode, OrderId, Outlook, PlayerId
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import Rules
from equipoise.core.session import Session
from tests.core.answerer import answer
from tests.core.scripts import (
    A,
    B,
    assigned,
    begun,
    command,
    ended,
    finished,
    ids,
    moves,
    of,
    play,
    roster_text,
    rules,
    seen,
    split,
    started,
    the,
    went_live,
    without_loads,
)

ADMIN = Text(Phrase.REASON_ADMIN)
ANNOUNCED = Text(Phrase.SCRAMBLE_PENDING, (ADMIN,))
DUE = [LogDecision("pending", ADMIN), Say(ANNOUNCED)]


def asked(session: Session, *script: tuple[float, e.Event]) -> AskSplit:
    return the(AskSplit, play(session, script))


def solved(question: AskSplit | AskMoves) -> e.Answer:
    players = (*question.larger, *question.smaller) if isinstance(question, AskMoves) else ids("abcdef")
    return answer(question, dict.fromkeys(players, 2000.0))


def tell(*lines: Text) -> Tell:
    return Tell(ids("a")[0], lines)


# Which commands admins and players may give.


@pytest.mark.parametrize(
    ("verb", "admin"),
    [
        *((verb, admin) for verb in ("rating", "rank", "top", "teams") for admin in (True, False)),
        *((verb, True) for verb in ("status", "why", "set", "reset")),
    ],
)
def test_look_ups_go_to_the_host_from_everybody_who_may_ask(verb: str, admin: bool) -> None:
    event = command(verb, admin=admin)
    assert play(begun(Mode.KOTH, "ab|cd"), [(1.0, event)]) == [LookUp(event)]


@pytest.mark.parametrize("verb", ["scramble", "balance", "move", "on", "off", "status", "why", "set", "reset"])
def test_players_may_not_order_anything(verb: str) -> None:
    session = begun(Mode.KOTH, "abc|d")
    before = session.memory
    assert play(session, [(1.0, command(verb, "b", admin=False))]) == [tell(Text(Phrase.REFUSED_ADMIN))]
    assert session.memory == before


@pytest.mark.parametrize(
    ("words", "by", "admin"),
    [
        (("nonsense",), "a", True),
        (("nonsense",), "a", False),
        (("nonsense",), None, True),
        (("scramble", "soon"), "a", True),
        (("move",), "a", True),
        ((), "a", True),
    ],
)
def test_an_unknown_command_is_named_in_the_answer_to_who_gave_it(
    words: tuple[str, ...], by: str | None, admin: bool
) -> None:
    event = command(*words, by=by, admin=admin)
    unknown = Tell(event.by, (Text(Phrase.UNKNOWN_COMMAND, (" ".join(words),)),))
    assert play(begun(Mode.KOTH, "ab|cd"), [(1.0, event)]) == [unknown]


# Scramble now.


@pytest.mark.parametrize("words", [("scramble",), ("scramble", "now")])
def test_scramble_now_acts_in_the_running_round(words: tuple[str, ...]) -> None:
    session = begun(Mode.KOTH, "abc|d")
    question = asked(session, (1.0, command(*words)))
    assert (question.purpose, question.moment, question.reason) == (Purpose.SCRAMBLE, Moment.NOW, ADMIN)
    order = assigned(play(session, [(1.1, solved(question))]))
    assert order.moment is Moment.NOW
    effects = play(session, [(1.2, e.OrderDone(1.2, order.order))])
    assert of(Say, effects) == [Say(Text(Phrase.SCRAMBLED, ("RED", "50", ADMIN)))]
    assert session.memory.pending is None
    assert session.memory.locks.keys() == set(ids("abcd"))


@pytest.mark.parametrize(
    ("mode", "phase"),
    [(Mode.ARENA, e.Phase.RUNNING), (Mode.KOTH, e.Phase.IDLE), (Mode.KOTH, e.Phase.OVER)],
)
def test_scramble_now_waits_for_the_next_round_start_in_arena_and_when_no_round_runs(
    mode: Mode, phase: e.Phase
) -> None:
    assert play(begun(mode, "ab|cd", phase=phase), [(1.0, command("scramble", "now"))]) == DUE


@pytest.mark.parametrize("when", ["now", "dry"])
def test_scramble_now_and_a_dry_run_need_the_least_number_of_players(when: str) -> None:
    session = begun(Mode.KOTH, "ab|c")
    refusal = Text(Phrase.NOT_ENOUGH_PLAYERS, ("4", "3"))
    assert play(session, [(1.0, command("scramble", when))]) == [tell(refusal)]
    assert session.memory.pending is None


def test_scramble_now_is_asked_again_when_the_pool_changes_meanwhile() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    question = asked(session, (1.0, command("scramble", "now")))
    play(session, [(1.1, e.SideChanged(1.1, ids("e")[0], A))])
    again = asked(session, (1.2, solved(question)))
    assert (again.moment, len(again.entries), again.purpose, again.reason) == (Moment.NOW, 5, Purpose.SCRAMBLE, ADMIN)


@pytest.mark.parametrize(
    ("phase", "when", "meanwhile"),
    [
        (e.Phase.RUNNING, "now", [e.PlayerLeft(1.1, ids("d")[0])]),
        (e.Phase.RUNNING, "now", [e.SideChanged(1.1, ids("e")[0], A), command("off")]),
        (e.Phase.RUNNING, "now", [ended(finished("r1", A), 1.1)]),
        (e.Phase.RUNNING, "now", [seen("ab|cd", no_moves="sudden_death")]),
        (e.Phase.FREEZE, "next", [went_live("r1", "ab|cd", 1.1)]),
    ],
    ids=["too few are left", "it was switched off", "the round is over", "sudden death began", "the round is live"],
)
def test_a_scramble_is_neither_ordered_nor_asked_again_and_stays_due(
    phase: e.Phase, when: str, meanwhile: list[e.Event]
) -> None:
    session = begun(Mode.KOTH, "ab|cd", phase=phase)
    question = asked(session, (1.0, command("scramble", when)))
    play(session, [(1.1, event) for event in meanwhile])
    assert not of((AskSplit, Assign), play(session, [(1.2, solved(question))]))
    assert session.memory.pending == ADMIN


def test_an_order_for_now_may_still_be_carried_out_after_the_round_went_live() -> None:
    session = begun(Mode.KOTH, "abc|d", phase=e.Phase.FREEZE)
    question = asked(session, (1.0, command("scramble", "now")))
    order = assigned(play(session, [(1.1, solved(question))]))
    assert not of(LogDecision, play(session, [(1.2, went_live("r1", "abc|d", 1.2))]))
    play(session, [(1.3, e.OrderDone(1.3, order.order))])
    assert session.memory.pending is None


def test_a_move_that_is_under_way_is_cancelled_by_a_scramble_and_none_is_ordered_while_all_are_placed() -> None:
    session = begun(Mode.KOTH, "abcd|ef")
    (move,) = moves(play(session, [(1.0, solved(_open_question(session)))]))
    question = asked(session, (2.0, command("scramble", "now")))
    order = assigned(play(session, [(2.1, solved(question))]))
    assert Cancel(move.order) in play(session, [(2.2, e.OrderDone(2.2, order.order))])
    other = begun(Mode.KOTH, "abc|def")
    play(other, [(1.0, solved(asked(other, (1.0, command("scramble", "now")))))])
    assert not of(AskMoves, play(other, [(1.2, e.SideChanged(1.2, ids("f")[0], A))]))


def _open_question(session: Session) -> AskMoves:
    question = session.state.asked_moves
    assert question is not None
    return question


# Scramble next, dry, cancel.


def test_scramble_next_is_carried_out_at_the_next_round_start_or_in_the_freeze_that_runs() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    assert play(session, [(1.0, command("scramble", "next"))]) == DUE
    assert play(session, [(1.5, command("scramble", "next"))]) == [tell(ANNOUNCED)], "it is due already"
    assert asked(session, (2.0, started("ab|cd", 2.0))).reason == ADMIN
    frozen = begun(Mode.KOTH, "ab|cd", phase=e.Phase.FREEZE)
    question = asked(frozen, (1.0, command("scramble", "next")))
    assert question.moment is Moment.FREEZE
    play(frozen, [(1.1, command("scramble", "cancel"))])
    assert play(frozen, [(1.2, solved(question))]) == [], "a cancel settles the question that is open"


@pytest.mark.parametrize(
    ("mode", "here", "found", "before", "shown", "moved"),
    [
        (Mode.KOTH, "ab|cd", "ac|bd", Outlook.alone(0.61), ("RED", "61", "50"), [("b", "BLU"), ("c", "RED")]),
        (Mode.KOTH, "abcd|", "ab|cd", None, ("RED", "?", "50"), [("c", "BLU"), ("d", "BLU")]),
        (Mode.ARENA, "ab|cd|e", "eb|cd|a", Outlook.alone(0.61), ("RED", "61", "50"), [("a", "-"), ("e", "RED")]),
        (Mode.NS2, "ab|cd", "ac|bd", Outlook.alone(0.61), ("Marines", "61", "50"), [("b", "Aliens"), ("c", "Marines")]),
    ],
    ids=["swapped", "no chance while a side is empty", "benched", "sides of NS2"],
)
def test_a_dry_run_shows_the_proposal_and_orders_nothing(
    mode: Mode, here: str, found: str, before: Outlook | None, shown: tuple[str, ...], moved: list[tuple[str, str]]
) -> None:
    session = begun(mode, here, phase=e.Phase.OVER)
    question = asked(session, (1.0, command("scramble", "dry")))
    teams = e.SplitSolved(question, split(found), 0.0, before, Outlook.alone(0.504))
    lines = [Text(Phrase.DRY_RUN_LINE, (f"@{player}", side)) for player, side in moved]
    assert play(session, [(1.1, teams)]) == [tell(Text(Phrase.DRY_RUN, (str(len(moved)), *shown)), *lines)]
    assert session.memory.pending is None
    assert session.state.asked is None


def test_a_dry_run_asks_what_the_next_scramble_would_ask_and_says_where_there_is_no_answer() -> None:
    session = begun(Mode.KOTH, "ab|cd", phase=e.Phase.OVER)
    question = asked(session, (1.0, command("scramble", "dry", by=None)))
    assert (question.purpose, question.reason, question.by, question.dry) == (Purpose.SCRAMBLE, ADMIN, None, True)
    assert play(session, [(1.1, e.SolveFailed(question, "too slow"))]) == [Tell(None, (Text(Phrase.NO_ANSWER),))]
    play(session, [(2.0, ended(finished("r1", A, captures=(1, 0)), 2.0))])
    assert asked(session, (3.0, command("scramble", "dry"))).reason == Text(Phrase.REASON_NO_CAPTURE)


def test_cancel_drops_a_pending_scramble_and_tells_all_players_and_who_does_not_read_the_chat() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    text = Text(Phrase.SCRAMBLE_CANCELLED)
    cancelled = [LogDecision("cancel", ADMIN), Say(text)]
    play(session, [(1.0, command("scramble", "next"))])
    assert play(session, [(2.0, command("scramble", "cancel"))]) == cancelled
    assert session.memory.pending is None
    assert play(session, [(3.0, command("scramble", "cancel"))]) == [tell(Text(Phrase.NOTHING_PENDING))]
    assert play(session, [(4.0, command("scramble", "next", by=None))]) == [Tell(None, (ANNOUNCED,)), *DUE]
    assert play(session, [(5.0, command("scramble", "cancel", by=None))]) == [Tell(None, (text,)), *cancelled]


@pytest.mark.parametrize(
    ("text", "first", "then"),
    [
        ("abc|d", Purpose.SCRAMBLE, [Purpose.EQUAL_SIDES]),
        ("ab||c", Purpose.EQUAL_SIDES, []),
    ],
    ids=["asked for instead", "being solved"],
)
def test_cancel_leaves_arenas_equal_sides_alone(text: str, first: Purpose, then: list[Purpose]) -> None:
    session = begun(Mode.ARENA, "ab|cd", phase=e.Phase.OVER)
    play(session, [(0.0, ended(finished("r1", A, mode=Mode.ARENA)))])
    question = asked(session, (1.0, started(text, 1.0)))
    assert question.purpose is first
    instead = of(AskSplit, play(session, [(1.1, command("scramble", "cancel"))]))
    assert [each.purpose for each in instead] == then  # type: ignore[union-attr]
    assert then or of(Assign, play(session, [(1.2, solved(question))]))


# Balance.


def test_balance_closes_one_gap_even_in_the_last_seconds_of_a_round() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(1.0, seen("abcd|ef", ends_in=5.0))])
    assert not of(AskMoves, play(session, [(1.1, e.Heartbeat(1.1))]))
    question = the(AskMoves, play(session, [(1.2, command("balance"))]))
    assert moves(play(session, [(1.3, e.SummariesLoaded(())), (1.4, solved(question))]))
    assert not of(Cancel, play(session, [(1.5, e.Heartbeat(1.5))]))
    play(session, [(1.6, seen("abc|def", ends_in=5.0))])
    assert not of(AskMoves, play(session, [(1.7, seen("abcd|ef", ends_in=5.0))]))


def test_balance_works_where_autobalance_is_switched_off_and_spares_recently_moved_players_too() -> None:
    session = begun(Mode.KOTH, "abcd|ef", rules=rules(autobalance={"enabled": False}))
    session.state.memory = replace(session.memory, moved={ids("a")[0]: 0.0})
    assert not of(AskMoves, play(session, [(1.0, e.Heartbeat(1.0))]))
    (question,) = play(session, [(1.1, command("balance"))])
    assert isinstance(question, AskMoves)
    assert question.movable == ids("bcd")
    assert session.state.gap_since == 1.1


@pytest.mark.parametrize(
    ("text", "phase", "immune", "why"),
    [
        ("ab|c", e.Phase.RUNNING, "", Text(Phrase.NOTHING_TO_BALANCE)),
        ("abcd|ef", e.Phase.OVER, "", Text(Phrase.NOTHING_TO_BALANCE)),
        ("abcd|ef", e.Phase.RUNNING, "abcd", Text(Phrase.GAP_STAYS, ("4", "2"))),
    ],
)
def test_balance_that_moves_nobody_says_why(text: str, phase: e.Phase, immune: str, why: Text) -> None:
    session = begun(Mode.KOTH, "ab|cd", phase=phase)
    play(session, [(1.0, seen(text, immune=immune))])
    assert play(session, [(2.0, command("balance"))]) == [tell(why)]


@pytest.mark.parametrize("words", [("balance",), ("move", "b")])
def test_in_arena_nobody_is_moved_because_each_rounds_sides_are_made_anew(words: tuple[str, ...]) -> None:
    session = begun(Mode.ARENA, "abcd|ef")
    assert play(session, [(1.0, command(*words))]) == [tell(Text(Phrase.CANNOT_BALANCE_ARENA))]


# One player.


def moved(player: str, side: str) -> Tell:
    """What the admin reads of a move that is ordered."""
    return tell(Text(Phrase.MOVED_BY_ADMIN, (f"@{player}", side)))


def test_an_admin_moves_one_player_now_and_they_are_locked_and_count_as_moved() -> None:
    session = begun(Mode.KOTH, "abc|de")
    admin = Text(Phrase.REASON_ADMIN)
    order = Move(OrderId("o1"), admin, PlayerId("b"), B, 0.0, 0.0)
    log = LogDecision("move", admin, order.order, players=ids("b"), side=B)
    assert play(session, [(1.0, command("move", "b"))]) == [moved("b", "BLU"), order, log]
    # Another gap that closes meanwhile does not end it.
    assert play(session, [(1.1, e.Heartbeat(1.1))]) == []
    assert play(session, [(2.0, e.OrderDone(2.0, order.order))]) == [Lock(PlayerId("b"), B, 180.0)]
    assert session.memory.moved == {"b": 2.0}
    assert roster_text(session.state.roster) == "ac|bde"


def test_a_gap_that_the_move_opens_is_closed_by_another_and_all_read_of_an_order_from_outside_the_game() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(1.0, e.Commanded(1.0, ("move", "b"), None, admin=True, outside=True))])
    effects = play(session, [(2.0, e.OrderDone(2.0, OrderId("o1")))])
    assert of(Say, effects) == [Say(Text(Phrase.MOVED_BY_ADMIN, ("@b", "BLU")))]
    question = the(AskMoves, effects)
    assert (question.larger_side, question.movable) == (B, ids("cd"))


@pytest.mark.parametrize(
    ("event", "player", "why"),
    [
        (seen("ab|cd"), "z", Text(Phrase.UNKNOWN_PLAYER, ("z",))),
        (seen("ab|cd||f"), "f", Text(Phrase.MOVE_NO_SIDE, ("@f",))),
        (seen("ab|cd", held="b"), "b", Text(Phrase.HELD_DUEL, ("@b",))),
        (seen("ab|cd", no_moves="overtime"), "b", Text(Phrase.NO_MOVES_OVERTIME)),
        (ended(finished("r1", A)), "b", Text(Phrase.MOVE_NO_ROUND)),
        (command("off"), "b", Text(Phrase.STATUS_OFF)),
    ],
)
def test_a_player_who_cannot_be_moved_stays_and_the_admin_reads_why(event: e.Event, player: str, why: Text) -> None:
    session = begun(Mode.KOTH, "ab|cd")
    assert play(session, [(1.0, event), (2.0, command("move", player))])[-1] == tell(why)
    assert session.state.admins_moves == {}


@pytest.mark.parametrize(
    ("reason", "stayed", "why"),
    [
        ("no_round", {}, Text(Phrase.MOVE_NO_ROUND)),
        ("left", {}, Text(Phrase.MOVE_NO_SIDE, ("@b",))),
        ("held", {PlayerId("b"): "ghost"}, Text(Phrase.HELD_GHOST, ("@b",))),
        ("vetoed", {}, Text(Phrase.HELD, ("@b",))),
    ],
)
def test_a_move_that_the_script_could_not_carry_out_is_told_and_logged(
    reason: str, stayed: dict[PlayerId, str], why: Text
) -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(1.0, command("move", "b"))])
    failed = LogDecision("failed", Text(Phrase.REASON_ADMIN), OrderId("o1"), players=ids("b"))
    assert play(session, [(2.0, e.OrderFailed(2.0, OrderId("o1"), reason, stayed))]) == [tell(why), failed]
    assert session.memory.moved == {}


# On and off.


def test_while_switched_off_nothing_is_ordered_and_a_scramble_stays_pending_until_it_is_on_again() -> None:
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(1.0, command("scramble", "next"))])
    off, on = Text(Phrase.SWITCHED_OFF), Text(Phrase.SWITCHED_ON)
    assert play(session, [(2.0, command("off"))]) == [tell(off), LogDecision("switch", off)]
    script = [
        (3.0, ended(finished("r1", A), 3.0)),
        (4.0, started("abcd|ef", 4.0)),
        (5.0, went_live("r2", "abcd|ef", 5.0)),
    ]
    assert not of((AskSplit, Assign, AskMoves), play(session, script))
    assert (session.memory.pending, session.memory.enabled) == (ADMIN, False)
    wish = play(session, [(6.0, e.SideWanted(6.0, ids("g")[0], A))])
    assert without_loads(wish) == [Place(ids("g")[0], A, Text(Phrase.REASON_ALLOWED))]
    play(session, [(7.0, started("ab|cd", 7.0))])
    assert play(session, [(8.0, command("on"))]) == [tell(on), LogDecision("switch", on)]
    assert of(AskSplit, play(session, [(8.1, e.Heartbeat(8.1))]))


def test_switching_off_cancels_moves_that_are_under_way_and_switching_on_does_not() -> None:
    session = begun(Mode.KOTH, "abcd|ef")
    (move,) = moves(play(session, [(1.0, solved(_open_question(session)))]))
    assert not of(Cancel, play(session, [(2.0, command("on"))]))
    assert list(session.state.moves.values()) == [move]
    assert play(session, [(3.0, command("off"))])[-1] == Cancel(move.order)
    assert session.deadline() is None


@pytest.mark.parametrize("words", [("scramble",), ("scramble", "now"), ("shuffle", "next")], ids=" ".join)
def test_who_orders_a_scramble_while_it_is_off_reads_that_it_is_off(words: tuple[str, ...]) -> None:
    off = Text(Phrase.STATUS_OFF)
    session = begun(Mode.KOTH, "ab|cd")
    play(session, [(1.0, command("off"))])
    assert play(session, [(2.0, command(*words))]) == [tell(off), *DUE]
    assert play(session, [(3.0, command(*words))]) == [tell(ANNOUNCED, off)]
    console = begun(Mode.KOTH, "ab|cd")
    answer = Tell(None, (ANNOUNCED, off))
    assert play(console, [(1.0, command("off", by=None)), (2.0, command(*words, by=None))])[-3:] == [answer, *DUE]


def test_in_sudden_death_a_scramble_waits_for_the_next_round_and_a_gap_stays() -> None:
    session = begun(Mode.KOTH, "abcd|ef")
    play(session, [(1.0, seen("abcd|ef", no_moves="sudden_death"))])
    why = Text(Phrase.NO_MOVES_SUDDEN_DEATH)

    effects = play(session, [(2.0, command("balance", by=None))])
    assert of((AskMoves, Move), effects) == []
    assert Tell(None, (why,)) in effects

    effects = play(session, [(3.0, command("scramble", "now", by=None))])
    assert of(AskSplit, effects) == []
    assert next(each for each in effects if isinstance(each, Tell)) == Tell(None, (why,))
    assert session.memory.pending == Text(Phrase.REASON_ADMIN)
    assert of(AskSplit, play(session, [(4.0, ended(finished("r1", A), 4.0)), (5.0, started("abcd|ef"))]))


# A server whose script is not trusted takes no admin's commands from the game: `admin_commands = false`.

UNTRUSTED = Rules(admin_commands=False)
CHANGES = [
    ("set", "76561197960287930", "4321"),
    ("reset", "76561197960287930"),
    ("scramble",),
    ("scramble", "next"),
    ("scramble", "cancel"),
    ("balance",),
    ("move", "b"),
    ("on",),
    ("off",),
]


@pytest.mark.parametrize("words", CHANGES, ids=" ".join)
@pytest.mark.parametrize("by", ["a", None], ids=["player", "console"])
def test_a_command_that_changes_something_is_refused_and_written_down(words: tuple[str, ...], by: str | None) -> None:
    session = begun(Mode.KOTH, "abc|d", rules=UNTRUSTED)
    before = session.memory
    event = command(*words, by=by)
    refused = Text(Phrase.REFUSED_IN_GAME, (" ".join(words),))

    assert play(session, [(1.0, event)]) == [
        Tell(event.by, (refused,)),
        LogDecision("refused", refused, players=ids(by or "")),
    ]
    assert session.memory == before


@pytest.mark.parametrize("words", CHANGES, ids=" ".join)
def test_the_admin_interface_may_give_every_command(words: tuple[str, ...]) -> None:
    outside = replace(command(*words, by=None), outside=True)
    trusted, untrusted = (begun(Mode.KOTH, "abc|d", rules=rules) for rules in (Rules(), UNTRUSTED))
    assert play(untrusted, [(1.0, outside)]) == play(trusted, [(1.0, outside)])


@pytest.mark.parametrize("verb", ["rating", "rank", "top", "teams", "status", "why"])
def test_look_ups_remain(verb: str) -> None:
    event = command(verb)
    assert play(begun(Mode.KOTH, "ab|cd", rules=UNTRUSTED), [(1.0, event)]) == [LookUp(event)]


def test_players_still_vote_and_hear_that_the_rest_is_for_admins() -> None:
    asked = [command("vote", admin=False), command("scramble", admin=False)]
    trusted, untrusted = (begun(Mode.KOTH, "abcd|efgh", rules=rules) for rules in (Rules(), UNTRUSTED))
    script: list[tuple[float, e.Event]] = [(1.0, each) for each in asked]
    assert play(untrusted, script) == play(trusted, script)


def test_a_long_command_is_quoted_in_part() -> None:
    session = begun(Mode.KOTH, "ab|cd", rules=UNTRUSTED)
    (tell, _) = play(session, [(1.0, command("set", "x" * 128))])
    assert isinstance(tell, Tell)
    assert len(tell.lines[0].args[0]) == LONGEST_QUOTE
