"""What goes wrong on an evening: people leave, maps change, daemons die. End to end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.sourcemod.rig import Game
from tests.sourcemod.rig.game.facts import BLU, RED
from tests.sourcemod.sessions import Evening, NewEvening


def arena(new_evening: NewEvening, players: int) -> Evening:
    """An arena evening in its second round, just scrambled."""
    evening = new_evening("arena_well")
    names = [f"P{number}" for number in range(players)]
    for name in names:
        evening.game.connect(name)
    evening.game.settle()
    evening.seat_together(*names)
    evening.round(RED)
    evening.freeze()
    return evening


def stored_rounds(evening: Evening) -> list[str]:
    """Ids of the stored rounds, in the order they were applied."""
    store = evening.daemon.folder / "state" / "equipoise.db"
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        return [row[0] for row in db.execute("SELECT id FROM rounds ORDER BY number")]


def test_a_script_alone_finds_a_due_scramble_and_its_rounds_arrive_once_and_in_order(new_evening: NewEvening) -> None:
    """It applies the cache with a substitute for who left."""
    evening = arena(new_evening, players=7)
    for _ in range(2):
        evening.live()
        evening.win(RED)
        evening.freeze()
    evening.live()
    evening.daemon.kill()
    evening.win(RED)
    absentee = evening.game.teams.members(RED)[0]
    evening.game.leave(absentee)
    before = evening.sides()
    evening.freeze()

    assert evening.sizes() == [3, 3]
    assert evening.sides() != before
    assert all(player.suicides == 0 for player in evening.game.humans())
    evening.live()
    evening.win(BLU)
    evening.freeze()

    evening.daemon.start()
    evening.wait(8)
    (alone,) = evening.decisions("alone")
    assert alone["reason"]
    status = evening.status()
    assert (status["pending"], status["streak"]) == (None, 1), "the new teams have played one round"
    ids = stored_rounds(evening)
    assert len(ids) == 5
    assert ids == sorted(ids, key=lambda one: int(one.rsplit("-", 1)[1]))
    # Stored exactly once each: posting goes on, nothing is added.
    evening.wait(12)
    assert stored_rounds(evening) == ids


NAMES = (
    "𝕏" * 31,  # 124 bytes
    "\u202eevil\u202c نصّ عربي",
    "%s%d%T{1}%%",
    '"; sm_eq_off; "',
    "\\\\'`$(rm)",
    "new\nline\ttab\x01\x04\x07",
    "@all",
    "#2",
    '{"a": [',
    "\udcff\udcfe cut \udcf0\udc9f",  # bytes that are no UTF-8
    " ",
    "eq-1",
)


def test_names_of_every_kind_are_shown_and_rated_and_do_nothing_else(new_evening: NewEvening) -> None:
    evening = new_evening("koth_harvest_final")
    players = [evening.seat(name) for name in NAMES]
    evening.round(RED)
    evening.freeze()
    assert sorted(evening.sizes()) == [6, 6]
    for player in players:
        evening.game.rcon(f"sm_eq_set #{player.userid} 1500")
        evening.wait(0.2)
        assert evening.rating(player) == 1500
        assert evening.rounds(player) == 1
    first, arabic, formats = players[:3]
    actions = [text for _, _, text in evening.game.sm.log.actions]
    assert len(actions) == len(NAMES)
    for player in (first, arabic, formats):
        assert f"Set the rating of {player.name} to 1500." in actions[players.index(player)]
    for player in (first, arabic, formats):
        evening.game.say(player, "!rating")
        evening.wait(1)
        assert f"{player.name}: " in player.chat[-1]
    assert evening.game.sm.convars["mp_autoteambalance"].value == "0"  # not switched off by a name
    assert evening.status()["enabled"]
    assert evening.daemon.ask(f"players/{first.steamid}")["player"]["name"] == "𝕏" * 31


def test_a_full_server_of_a_hundred_is_balanced_and_rated(
    new_evening: NewEvening, new_game: Callable[..., Game], equipoise_smx: Path
) -> None:
    small = new_evening("koth_harvest_final")
    game = new_game(slots=101)
    evening = Evening(game, small.daemon, equipoise_smx)
    small.game.unload(small.plugin)
    game.start_map("koth_harvest_final")
    game.settle()
    game.add_source_tv()
    people = [game.connect(f"P{number:02}") for number in range(100)]
    game.settle()
    for player in people:
        game.join(player, "red" if player.index % 3 else "blue")
    game.advance(1.5)
    game.settle()
    for player in people:
        game.command(player, "joinclass soldier")
    evening.round(RED)
    assert evening.sizes() == [50, 50]
    evening.round(RED)
    assert {evening.rounds(player) for player in people} == {2}
    status = evening.status()
    assert (status["players_a"], status["players_b"], status["refused_batches"]) == (50, 50, [])


def test_a_player_who_is_there_twice_is_rated_once_whichever_connection_ends(new_evening: NewEvening) -> None:
    evening = new_evening("koth_harvest_final")
    twins = [evening.seat(name) for name in ("Ann", "Bob", "Cleo", "Dan")]
    evening.freeze()
    evening.live()
    again = evening.seat("Ann", steamid=twins[0].steamid)
    evening.win(RED)
    evening.round(BLU)
    assert evening.rounds(again) == 2
    evening.game.leave(twins[0])
    evening.round(RED)
    status = evening.status()
    assert (evening.rounds(again), status["players_a"] + status["players_b"]) == (3, 4)
    third = evening.seat("Ann", steamid=again.steamid)
    evening.game.leave(third)
    evening.round(BLU)
    assert evening.rounds(twins[1]) == 4
    assert evening.status()["refused_batches"] == []
    assert len({*stored_rounds(evening)}) == 4
