"""Who plays an arena round: readiness, a freeze's candidates, the lineup, walk-outs, and the last human leaving."""

from __future__ import annotations

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskSplit, CacheSplits, Purpose
from equipoise.core.effects import Assign, Effect, LogDecision, RecordRound, Say, Tell
from equipoise.core.model import Mode, PlayerId, Side
from equipoise.core.phrases import Phrase, Text
from equipoise.core.session import Session
from equipoise.core.triggers import Tally
from tests.core.answerer import answer
from tests.core.game import Game
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
    seen,
    split,
    started,
    the,
    went_live,
    without_loads,
)

RATINGS = dict.fromkeys("abcdefgh", 2000.0)
STREAK = Text(Phrase.REASON_STREAK, ("3",))


def evening(text: str = "", **marks: str) -> Session:
    """An arena server in the bonus time of round 3, whose opening and first scramble are over."""
    session = begun(Mode.ARENA, text, ratings=RATINGS, phase=e.Phase.OVER)
    tally = [(0.0, ended(finished(f"early{n}", winner, mode=Mode.ARENA))) for n, winner in enumerate((A, B))]
    play(session, [*tally, (0.0, e.ScrambledAlone(0.0, split("|"))), (0.0, seen(text, **marks))])
    return session


def question(effects: list[Effect]) -> AskSplit:
    return the(AskSplit, effects)


def solve(session: Session, asked: AskSplit, now: float = 1.0) -> list[Effect]:
    return play(session, [(now, answer(asked, RATINGS))])  # type: ignore[arg-type]


def names(asked: AskSplit) -> str:
    return "".join(entry.id for entry in asked.entries)


# Readiness: players with and without a class.


def test_a_player_without_a_class_is_no_part_of_a_split_wherever_they_stand_until_they_choose_one() -> None:
    session = evening("ab|cd|ef")
    asked = question(play(session, [(1.0, started("ab|cd|ef", unready="bf"))]))
    assert (names(asked), asked.purpose) == ("acde", Purpose.EQUAL_SIDES)
    play(session, [(2.0, went_live("r3", "ab|cd|ef", unready="f"))])
    assert session.memory.benched.keys() == set(ids("e")), "nor does it count as a turn on the bench"
    session = evening("ab|cd|ef", unready="f")
    play(session, [(1.0, e.SideChanged(1.0, PlayerId("f"), None, waiting=True, ready=True))])
    assert names(question(play(session, [(2.0, started("ab|cd|ef"))]))) == "abcdef"
    koth = begun(Mode.KOTH, "ab|cd", ratings=RATINGS, phase=e.Phase.OVER)
    play(koth, [(0.0, command("scramble", "next"))])
    asked = question(play(koth, [(1.0, started("ab|cd", unready="ab"))]))
    assert names(asked) == "abcd", "in other modes it changes nothing"


# The freeze: its candidates are the players who were eligible at its start.


def test_two_ready_players_play_the_duel_and_twenty_who_join_in_the_freeze_wait() -> None:
    session = begun(Mode.ARENA, "a|b|", ratings=RATINGS, phase=e.Phase.IDLE)
    crowd = "cdefghijklmnopqrstuv"
    joined = [(2.0, e.SideChanged(2.0, PlayerId(player), None, waiting=True)) for player in crowd]
    effects = play(session, [(1.0, started("a|b|")), *joined, (3.0, seen(f"a|b|{crowd}"))])
    assert of(AskSplit, effects) == []


def test_a_split_in_work_holds_although_others_join_and_benches_those_who_reach_a_side() -> None:
    session = evening("ab|cd|e")
    asked = question(play(session, [(1.0, started("ab|cd|e"))]))
    play(session, [(1.1, e.SideChanged(1.1, PlayerId("f"), None, waiting=True)), (1.2, seen("ab|cd|efg"))])
    play(session, [(1.3, e.SideChanged(1.3, PlayerId("f"), B))])
    order = assigned(solve(session, asked))
    assert {*order.split.a, *order.split.b, *order.split.bench} == set(ids("abcdef"))
    assert "f" in order.split.bench


def test_a_player_who_gets_a_class_in_the_freeze_waits() -> None:
    session = evening("ab|cd|")
    play(session, [(1.0, started("ab|cd|ef", unready="ef"))])
    change = [(2.0, e.SideChanged(2.0, player, None, waiting=True, ready=True)) for player in ids("ef")]
    assert without_loads(play(session, change)) == []


def test_a_pending_scramble_places_the_candidates_only() -> None:
    session = evening("ab|cd")
    play(session, [(0.0, command("scramble", "next"))])
    asked = question(play(session, [(1.0, started("ab|cd"))]))
    play(session, [(1.1, seen("ab|cd|ef"))])
    order = assigned(play(session, [(1.2, answer(asked, RATINGS | {"a": 2300.0, "b": 2200.0}))]))  # type: ignore[arg-type]
    assert order.split.bench == ()
    play(session, [(1.3, e.OrderDone(1.3, order.order))])
    assert of(AskSplit, play(session, [(1.4, e.Heartbeat(1.4))])) == []
    assert session.memory.pending is None


def test_when_a_candidate_leaves_the_late_ones_fill_the_gap() -> None:
    session = evening("ab|cd")
    play(session, [(1.0, started("ab|cd")), (2.0, seen("ab|cd|e"))])
    asked = question(play(session, [(3.0, e.PlayerLeft(3.0, PlayerId("a")))]))
    assert names(asked) == "bcde"
    assert asked.must_play == set(ids("e"))


def test_a_leaver_from_the_bench_changes_nothing() -> None:
    game = Game(Mode.ARENA, "", dict(RATINGS))
    game.session = evening("ab|cd|e")
    game.roster = roster("ab|cd|e")
    game.start()
    made = game.stands()
    gone = ids(made[-1])[0]
    game.roster = game.roster.without(gone)
    game.happens(e.SideChanged(2.0, PlayerId("f"), None, waiting=True), e.PlayerLeft(2.0, gone))
    assert len(of(Assign, game.effects)) == 1


def test_when_a_side_is_empty_or_its_players_have_no_class_the_late_ones_fill_it() -> None:
    session = evening("a||b", unready="b")
    assert of(AskSplit, play(session, [(1.0, started("a||b", unready="b"))])) == []
    asked = question(play(session, [(2.0, e.SideChanged(2.0, PlayerId("b"), None, waiting=True, ready=True))]))
    assert names(asked) == "ab"
    session = evening("a|b|", unready="b")
    effects = play(session, [(1.0, started("a|b|", unready="b"))])
    assert without_loads(effects) == [], "nobody is benched while a side would be empty"
    asked = question(play(session, [(2.0, seen("a|b|c", 2.0, unready="b"))]))
    assert names(asked) == "ac"


@pytest.mark.parametrize(
    ("text", "unready", "reaches", "order"),
    [
        # A joiner whose place was asked for before the freeze may reach the side after it has begun.
        ("ab|cd|", "", e.SideChanged(2.0, PlayerId("e"), A), ("ab", "cd", "e")),
        ("abc|de|", "c", e.Heartbeat(2.0), ("ab", "de", "c")),
        ("a|b|", "", e.SideChanged(2.0, PlayerId("c"), B), ("a", "b", "c")),
    ],
    ids=["who reaches a side in the freeze", "who has no class when it begins", "who joins a duel"],
)
def test_who_stands_on_a_side_and_is_no_candidate_is_benched_and_no_other_player_moves(
    text: str, unready: str, reaches: e.Event, order: tuple[str, str, str]
) -> None:
    first = text == "a|b|"
    session = begun(Mode.ARENA, text, ratings=RATINGS, phase=e.Phase.IDLE) if first else evening(text)
    effects = play(session, [(1.0, started(text, unready=unready)), (2.0, reaches)])
    assert of(AskSplit, effects) == []
    teams = assigned(effects)
    assert tuple("".join(side) for side in (teams.split.a, teams.split.b, teams.split.bench)) == order
    done = play(session, [(3.0, e.OrderDone(3.0, teams.order))])
    assert of(Assign, done) == []
    assert roster_text(session.state.roster) == "|".join(order)
    assert Tell(PlayerId(order[2]), (Text(Phrase.DUEL_WAIT),)) in done


def test_the_script_falls_back_on_the_cache_for_the_candidates_only() -> None:
    game = Game(Mode.ARENA, "ab|cd", RATINGS | {"a": 2300.0, "b": 2200.0})
    game.session.state.memory = game.session.memory.count(finished("x", A).id, Tally(completed=5))
    game.happens(command("scramble", "next"))
    assert game.session.cache is not None
    play(game.session, [(1.0, started("ab|cd"))])
    asked = game.session.state.asked
    assert asked is not None
    play(game.session, [(1.1, seen("ab|cd|ef"))])
    order = assigned(play(game.session, [(1.2, e.SolveFailed(asked, "too slow"))]))
    assert {*order.split.a, *order.split.b} == set(ids("abcd"))
    assert order.split.bench == ()


# The lineup: who is alive when the round goes live.


@pytest.mark.parametrize(("mode", "lineup"), [(Mode.ARENA, "acd"), (Mode.KOTH, "abcd")])
def test_in_arena_the_lineup_is_the_players_alive_on_a_side(mode: Mode, lineup: str) -> None:
    session = begun(mode, "ab|cd", ratings=RATINGS, phase=e.Phase.FREEZE)
    play(session, [(1.0, went_live("r9", "ab|cd|e", dead="be"))])
    assert session.state.lineup.keys() == set(ids(lineup))


# A round that a side walked out of before it went live.


@pytest.mark.parametrize("text", ["ab|", "|cd", "|"])
def test_a_round_without_a_lineup_on_a_side_counts_for_nothing(text: str) -> None:
    session = evening("ab|cd|e")
    before = session.memory
    play(session, [(1.0, went_live("r3", text, dead="cd"))])
    effects = play(session, [(2.0, ended(finished("r3", A, text, mode=Mode.ARENA), 2.0))])
    record = the(RecordRound, effects)
    assert record.unrated is not None
    assert (session.memory.tally, session.memory.pending) == (before.tally, None)
    assert session.memory.benched == before.benched
    assert session.state.phase is e.Phase.OVER


def test_a_walk_out_before_round_one_went_live_leaves_round_one_to_be_played() -> None:
    session = begun(Mode.ARENA, "a|b|c", ratings=RATINGS, phase=e.Phase.FREEZE)
    assert session.due_if() != ()
    play(session, [(1.0, went_live("r1", "a||c"))])
    assert session.due_if() == (), "no outcome of it makes a scramble due"
    play(session, [(2.0, ended(finished("r1", A, "a|", mode=Mode.ARENA), 2.0))])
    assert question(play(session, [(3.0, started("a|b|c"))])).purpose is Purpose.DUEL


def test_a_round_counts_that_was_not_seen_going_live_or_was_decided_by_leaving_after_it_went_live() -> None:
    session = evening("ab|cd")
    play(session, [(2.0, ended(finished("r3", A, "|", mode=Mode.ARENA, partial=True), 2.0))])
    assert session.memory.tally.streak == 1
    play(session, [(3.0, went_live("r4", "ab|cd")), (4.0, seen("ab|"))])
    play(session, [(5.0, ended(finished("r4", A, "ab|cd", mode=Mode.ARENA), 5.0))])
    assert session.memory.tally.streak == 2


# The last human leaves.


def streak_of_three(session: Session) -> Session:
    for number in range(3):
        play(session, [(1.0, went_live(f"s{number}", "ab|cd|e"))])
        play(session, [(1.0, ended(finished(f"s{number}", A, mode=Mode.ARENA), 1.0))])
    assert session.memory.pending == STREAK
    assert session.memory.benched
    return session


@pytest.mark.parametrize("last", [e.PlayerLeft(5.0, PlayerId("a")), seen("1|2", 5.0)])
def test_when_the_last_human_leaves_the_pending_scramble_the_streak_and_bench_turns_end(last: e.Event) -> None:
    session = streak_of_three(evening("ab|cd|e"))
    play(session, [(4.0, seen("a1|2", 4.0))])
    assert of(LogDecision, play(session, [(5.0, last)])) == [LogDecision("dropped", STREAK)]
    assert (session.memory.pending, session.memory.tally, session.memory.benched) == (None, Tally(), {})
    assert question(play(session, [(6.0, started("a|b|c"))])).purpose is Purpose.DUEL


def test_the_round_that_the_last_human_left_is_rated_and_not_counted() -> None:
    session = evening("a|b")
    play(session, [(1.0, went_live("r3", "a|b"))])
    play(session, [(2.0, e.PlayerLeft(2.0, player)) for player in ids("ab")])
    effects = play(session, [(3.0, ended(finished("r3", None, "a|b", mode=Mode.ARENA), 3.0))])
    record = the(RecordRound, effects)
    assert record.unrated is None
    assert session.memory.tally == Tally()
    assert "r3" in session.memory.counted


def test_a_spectator_and_in_other_modes_an_empty_server_keep_what_is_pending() -> None:
    session = streak_of_three(evening("ab|cd|e"))
    play(session, [(4.0, seen("|||f", 4.0))])
    assert session.memory.pending == STREAK
    for mode in (Mode.KOTH, Mode.NS2):
        other = begun(mode, "ab|cd", ratings=RATINGS)
        play(other, [(0.0, command("scramble", "next")), (1.0, seen("", 1.0))])
        assert other.memory.pending is not None


def test_a_daemon_that_restarts_keeps_the_session_until_a_roster_is_empty() -> None:
    memory = streak_of_three(evening("ab|cd|e")).memory
    session = Session(evening().state.rules, memory)
    play(session, [(0.0, e.Heartbeat(0.0)), (0.0, e.PlayerLeft(0.0, PlayerId("a")))])
    assert session.memory == memory


# Cancel, and a scramble that waits for players.


def test_with_too_few_players_a_pending_scramble_waits_and_the_sides_are_made_equal() -> None:
    session = streak_of_three(evening("ab|cd|e"))
    asked = question(play(session, [(2.0, started("ab|c"))]))
    assert asked.purpose is Purpose.EQUAL_SIDES
    assert session.memory.pending == STREAK


def test_the_roster_of_a_script_is_kept_with_its_sides() -> None:
    """Players without a class count where a joiner is placed before a round can start: they fill a side."""
    session = begun(Mode.ARENA, "", ratings=RATINGS, phase=e.Phase.IDLE)
    play(session, [(0.0, seen("a|b|c", unready="ab"))])
    assert roster_text(session.state.roster) == "a|b|c"
    assert session.state.roster.sizes() == {Side.A: 1, Side.B: 1}


def test_the_cache_holds_players_with_a_class() -> None:
    session = evening("abc|def", unready="f")
    play(session, [(1.0, went_live("r3", "abc|def", unready="f"))])
    effects = play(session, [(2.0, ended(finished("r3", A, mode=Mode.ARENA), 2.0))])
    cached = the(CacheSplits, effects)
    assert {entry.id for entry in cached.entries} == set(ids("abcde"))


def test_who_sits_out_by_a_scramble_that_moves_nobody_reads_so_and_no_other_teams_follow_it() -> None:
    session = evening("ab|cd|e")
    play(session, [(0.0, command("scramble", "next"))])
    asked = question(play(session, [(1.0, started("ab|cd|e"))]))
    effects = play(
        session, [(1.0, answer(asked, dict(zip(ids("abcde"), (2000.0, 500.0, 1850.0, 650.0, 100.0), strict=True))))]
    )
    assert [each.text.phrase for each in of(Say, effects)] == [Phrase.SHUFFLE_NEEDLESS]
    assert of(Tell, effects) == [Tell(PlayerId("e"), (Text(Phrase.BENCHED),))]
    assert of(AskSplit, effects) == []
    play(session, [(2.0, went_live("r4", "ab|cd|e"))])
    assert session.memory.benched[PlayerId("e")].times == 1
