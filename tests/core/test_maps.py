"""The map's name decides how far Equipoise goes; on maps with rules of their own it moves no player."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equipoise.core import events as e
from equipoise.core.effects import Assign, Lock, LookUp, Move, OpenVote, Place, RecordRound, Tell
from equipoise.core.model import Mode, PlayerId
from equipoise.core.phrases import Phrase, Text
from equipoise.core.rules import DEFAULT_LEVELS, Level, MapLevel, Rules, level_of
from equipoise.core.session import Session
from tests.core.scripts import (
    A,
    B,
    command,
    ended,
    finished,
    hello,
    ids,
    of,
    play,
    seen,
    split,
    started,
    summaries,
    the,
    went_live,
)

LEFT_ALONE: tuple[Level, ...] = ("off", "rate")
WHY = {"off": Phrase.MAP_OFF, "rate": Phrase.MAP_RATE}


def on_a_map(level: Level, mode: Mode = Mode.KOTH, text: str = "abcd|ef") -> Session:
    """A session in a running round on a map of this level."""
    session = Session(replace(Rules(), maps={"this": level}))
    known = dict.fromkeys("abcdefg", 2000.0)
    play(session, [(0.0, hello(mode)), (0.0, summaries(known)), (0.0, seen(text)), (0.0, went_live("r1", text))])
    return session


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
