"""The map's name decides how far Equipoise goes, and its last minutes are left alone but by admins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.asks import AskMoves, AskSplit
from equipoise.core.effects import (
    Assign,
    Cancel,
    Lock,
    LogDecision,
    LookUp,
    Move,
    OpenVote,
    Place,
    RecordRound,
    Say,
    Tell,
)
from equipoise.core.model import Mode, PlayerId
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import DEFAULT_LEVELS, Level, MapLevel, Rules, level_of
from equipoise.core.session import Session
from equipoise.core.triggers import Tally
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
    the,
)
from tests.core.uneven import FIRST, solve

LEFT_ALONE: tuple[Level, ...] = ("off", "rate")
WHY = {"off": Phrase.MAP_OFF, "rate": Phrase.MAP_RATE}


def on_a_map(level: Level, mode: Mode = Mode.KOTH, text: str = "abcd|ef") -> Session:
    """A session in a running round on a map of this level."""
    return begun(mode, text, rules=Rules(maps={"this": level}), ratings={"g": 2000.0})


def test_the_longest_key_that_the_name_begins_with_counts() -> None:
    levels: dict[str, Level] = {"cp_": "rate", "cp_dust": "off", "cp_dustbowl": "balance", "koth_": "off"}
    names = ("cp_dustbowl", "cp_dustbowl_final1", "cp_dustpan", "cp_granary", "koth_viaduct", "pl_cp_dustbowl", "")
    assert [level_of(name, levels) for name in names] == [
        MapLevel("balance", "cp_dustbowl"),
        MapLevel("balance", "cp_dustbowl"),
        MapLevel("off", "cp_dust"),
        MapLevel("rate", "cp_"),
        MapLevel("off", "koth_"),
        MapLevel("balance", ""),
        MapLevel("balance", ""),
    ]


def test_maps_of_the_workshop_and_capitals_are_recognised() -> None:
    assert level_of("surf_utopia", {"SURF_": "rate"}).reason == "SURF_"
    names = ("workshop/vsh_dust.ugc454118849", "VSH_Dust", "workshop/454118849")
    assert [level_of(name, DEFAULT_LEVELS).reason for name in names] == ["vsh_", "vsh_", ""]


def test_maps_of_other_games_are_left_alone_by_default() -> None:
    others = (
        "vsh zi zf ze tow mge dr deathrun jail jb ba mg ph slender tfdb trade surf jump bhop achievement idle duel tr"
    )
    known = [f"{name}_" for name in others.split()]
    assert DEFAULT_LEVELS == Rules().maps == dict.fromkeys(known, "off")


@pytest.mark.parametrize("level", LEFT_ALONE)
@pytest.mark.parametrize("mode", [Mode.KOTH, Mode.ARENA, Mode.PAYLOAD])
def test_on_a_map_that_is_left_alone_no_player_is_moved_placed_or_locked(level: Level, mode: Mode) -> None:
    session = on_a_map(level, mode)
    effects = play(
        session,
        [
            (1.0, seen("abcdef|g", 1.0)),
            (2.0, e.SideWanted(2.0, PlayerId("h"), A)),
            (3.0, ended(finished("r1", A, "abcdef|g", mode=mode, captures=(1, 0)), 3.0)),
            (4.0, e.WaitingEnded(4.0)),
            (5.0, started("abcdef|g", 5.0)),
            (6.0, e.ScrambledAlone(6.0, split("abc|def"))),
            (7.0, hello(mode, at=7.0)),
            *((8.0, command("vote", by=voter, admin=False)) for voter in "abcdef"),
        ],
    )
    assert of((Assign, Move, Place, Lock, OpenVote), effects) == []
    assert session.memory.pending is None
    assert session.due_if() == ()


@pytest.mark.parametrize("level", LEFT_ALONE)
@pytest.mark.parametrize(
    "words", [("scramble", "now"), ("scramble", "next"), ("scramble", "dry"), ("balance",), ("vote",)]
)
def test_an_order_there_is_refused_with_the_reason(level: Level, words: tuple[str, ...]) -> None:
    session = on_a_map(level)
    assert play(session, [(1.0, command(*words))]) == [Tell(ids("a")[0], (Text(WHY[level], ("this",)),))]
    assert session.memory.pending is None


@pytest.mark.parametrize("maps", [{}, {"this": "rate"}], ids=["", "before the map's name"])
@pytest.mark.parametrize("words", [("scramble", "now"), ("balance",), ("vote",)])
def test_where_the_games_own_rules_forbid_it_that_is_the_reason(words: tuple[str, ...], maps: dict[str, Level]) -> None:
    session = Session(replace(Rules(), maps=maps))
    effects = play(session, [(0.0, hello(inactive_reason="mannpower")), (1.0, command(*words))])
    assert effects[-1] == Tell(ids("a")[0], (Text(Phrase.MAP_OFF, ("mannpower",)),))


def test_look_ups_and_the_switch_work_on_every_map() -> None:
    session = on_a_map("off")
    assert of(LookUp, play(session, [(1.0, command("rating", admin=False))]))
    play(session, [(1.0, command("off"))])
    assert not session.memory.enabled


def test_locks_from_before_the_configuration_changed_are_not_sent_again_and_what_was_due_can_be_cancelled() -> None:
    session = on_a_map("balance")
    play(session, [(1.0, e.ScrambledAlone(1.0, split("abc|def"))), (1.0, command("scramble", "next"))])
    for level, locks in (("balance", 6), ("rate", 0)):
        later = Session(replace(Rules(), maps={"this": level}), session.memory)
        assert len(of(Lock, play(later, [(2.0, hello(at=2.0))]))) == locks
        play(later, [(2.0, command("scramble", "cancel"))])
        assert later.memory.pending is None


def record(level: Level) -> RecordRound:
    """What is stored of a round on a map of this level."""
    return the(RecordRound, play(on_a_map(level), [(1.0, ended(finished("r1", B, "abcd|ef"), 1.0))]))


def test_rounds_are_rated_where_nothing_is_ordered_and_not_of_other_games_each_by_its_own_map() -> None:
    assert record("rate").unrated is None
    assert (record("off").unrated, record("off").participants) == ("maps.this is off", ())
    late = ended(finished("r9", B, session="before"), 1.0)
    assert the(RecordRound, play(Session(Rules()), [(0.0, hello(map_name="vsh_dust")), (1.0, late)])).unrated is None


def test_no_roster_is_wanted_from_a_script_that_leaves_the_game_alone() -> None:
    session = Session(Rules())
    play(session, [(0.0, hello(map_name="surf_utopia"))])
    assert session.state.wants == frozenset()
    play(session, [(1.0, hello(map_name="koth_viaduct", session="s2"))])
    assert session.state.wants == {"roster"}


# A map's last minutes: no trigger, no vote and no autobalance, and an admin's order all the same.

TWO = replace(Rules(), last_minutes=2.0)
MAP_ENDS = Text(Phrase.MAP_ENDS)
STREAK = Text(Phrase.REASON_NO_CAPTURE)


def session_with(left: float, text: str = "abcd|efgh", rules: Rules = TWO) -> Session:
    """A running round of KOTH on a map that has so many seconds left at second 0."""
    session = begun(Mode.KOTH, text, rules=rules)
    play(session, [(0.0, e.RosterSeen(0.0, roster(text), map_ends_in=left))])
    return session


def shutout(at: float) -> tuple[float, e.Event]:
    """The round ends, and the losers have captured nothing."""
    return (at, ended(finished("r1", A, captures=(1, 0)), at))


@pytest.mark.parametrize(("left", "due"), [(221.0, True), (220.0, False), (0.0, False)])
def test_no_trigger_makes_a_scramble_due_in_the_last_two_minutes(left: float, due: bool) -> None:
    session = session_with(left)
    assert bool(session.due_if()) == (left > 120.0)
    play(session, [shutout(100.0)])
    assert (session.memory.pending is not None) == due


def test_without_a_time_limit_with_zero_minutes_or_on_a_map_that_is_made_longer_nothing_ends() -> None:
    longer = session_with(60.0)
    assert longer.state.map_ends
    play(longer, [(1.0, e.RosterSeen(1.0, roster("abcd|efgh"), map_ends_in=900.0))])
    for session in (begun(Mode.KOTH, "abcd|efgh", rules=TWO), session_with(0.0, rules=Rules()), longer):
        play(session, [shutout(100.0)])
        assert session.memory.pending == STREAK
    play(longer, [(101.0, seen("abcd|efgh"))])
    assert longer.state.map_ends_at is None


def test_what_is_due_when_they_begin_is_dropped_and_all_read_it() -> None:
    session = session_with(230.0)
    play(session, [shutout(100.0)])
    effects = play(session, [(111.0, e.Heartbeat(111.0))])
    assert effects == [LogDecision("dropped", STREAK), Say(MAP_ENDS)]
    assert session.memory.pending is None
    assert not of(AskSplit, play(session, [(115.0, started("abcd|efgh", 115.0))]))


def test_a_split_that_is_under_way_when_they_begin_is_carried_out() -> None:
    session = session_with(230.0)
    play(session, [shutout(100.0), (109.0, started("abcd|efgh", 109.0))])
    assert session.state.asked is not None
    assert play(session, [(111.0, e.Heartbeat(111.0))]) == []
    assert session.memory.pending == STREAK


def test_the_end_of_waiting_scrambles_all_the_same_because_the_map_has_its_whole_time_again() -> None:
    session = Session(TWO)
    play(session, [(0.0, hello(waiting=True)), (0.0, e.RosterSeen(0.0, roster("ab|cd"), map_ends_in=30.0))])
    play(session, [(20.0, e.WaitingEnded(20.0)), (21.0, e.Heartbeat(21.0))])
    assert session.memory.pending == Text(Phrase.REASON_WAITING_ENDED)


def test_nobody_may_ask_for_a_vote_and_one_that_runs_is_withdrawn() -> None:
    session = session_with(130.0, "abcdef|ghijkl")
    # After two wins in a row every voice counts without the chance being asked for.
    session.state.memory = replace(session.memory, tally=Tally(2, 2, A, 2))
    vote = the(OpenVote, play(session, [(1.0, command("vote", by=letter, admin=False)) for letter in "abcd"]))
    assert of(Cancel, play(session, [(10.0, e.Heartbeat(10.0))])) == [Cancel(vote.order)]
    assert play(session, [(11.0, command("vote", by="a", admin=False))]) == [Tell(PlayerId("a"), (MAP_ENDS,))]


def test_a_move_that_was_not_carried_out_before_they_begin_is_cancelled_and_the_log_says_once_why_a_gap_stays() -> None:
    session = session_with(125.0)
    play(session, [(0.0, e.RosterSeen(0.0, roster("abcd|ef"), map_ends_in=125.0))])
    solve(session)
    assert session.deadline() == 5.0
    assert session.tick(5.0) == (Cancel(FIRST),)
    kept = LogDecision("kept", Text(Phrase.GAP_MAP_ENDS, ("4", "2")))
    effects = play(session, [(10.0, e.RosterSeen(10.0, roster("abcd|ef"), map_ends_in=115.0)), (11.0, e.Heartbeat())])
    assert of((LogDecision, AskMoves), effects) == [kept]


@pytest.mark.parametrize("words", [("balance",), ("scramble", "now"), ("scramble", "next")])
def test_an_admins_order_is_carried_out_and_the_admin_is_told(words: tuple[str, ...]) -> None:
    session = session_with(60.0, "abcd|ef")
    first, *others = play(session, [(1.0, command(*words))])
    assert first == Tell(PlayerId("a"), (MAP_ENDS,))
    if words == ("scramble", "next"):
        play(session, [(2.0, ended(finished("r1", A), 2.0))])
        others = play(session, [(3.0, e.Heartbeat(3.0)), (4.0, started("abcd|ef", 4.0))])
    assert of((AskSplit, AskMoves), others)
