"""What players do in the game is what the store has, and what a rating that reads it makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from equipoise.cli import main
from equipoise.core.model import Counts
from equipoise.store import past
from tests.daemons import RealDaemon
from tests.sourcemod.rig import play
from tests.sourcemod.rig.game.facts import BLU, RED
from tests.sourcemod.sessions import NewEvening


def command(daemon: RealDaemon, *words: str | Path) -> Any:
    """What a command of ours says as JSON."""
    done = CliRunner().invoke(main, [str(word) for word in (*words, "--config", daemon.config, "--json")])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def stored(daemon: RealDaemon) -> list[dict[str, Counts]]:
    """What the participants of each round did, as it is rated again."""
    with past.opened(daemon.folder / "state" / "equipoise.db", "main") as found:
        return [{each.id: each.counts for each in one.record.participants if each.counts} for one in found.rounds()]


def test_what_players_did_is_stored_shown_and_rated_again(new_evening: NewEvening) -> None:
    evening = new_evening("koth_harvest_final")
    game = evening.game
    for name in ("Ann", "Bob", "Cid", "Eve"):
        evening.seat(name)
    evening.freeze()
    evening.live()
    evening.wait(5)
    star, other = game.teams.members(RED)
    victim, healer = game.teams.members(BLU)
    play.fight(game)
    for _ in range(3):
        play.kill(game, star, victim, other)
        game.teams.force_respawn(victim)
    evening.wait(1)
    evening.win(RED)

    (done,) = stored(evening.daemon)
    assert {player: (one.kills, one.deaths, one.assists) for player, one in done.items()} == {
        str(star.steamid): (3, 0, 0),
        str(other.steamid): (0, 0, 3),
        str(victim.steamid): (0, 3, 0),
        str(healer.steamid): (0, 0, 0),
    }
    assert {one.points for one in done.values()} == {0, 1, 4}
    assert all(set(one.classes) == {"soldier"} and one.classes["soldier"] > 5 for one in done.values())

    (game_round,) = evening.daemon.ask(f"rounds?server={evening.daemon.server}")["rounds"]
    shown = evening.daemon.ask(f"rounds/{evening.daemon.server}/{game_round['round']}")
    assert {one["id"]: one["counts"]["kills"] for one in shown["players"]} == {
        player: one.kills for player, one in done.items()
    }

    evening.daemon.stop()
    reading_kills = ("--model", "trueskill2", "--set", "kill_own=1")
    places = command(evening.daemon, "lab", "replay", "--pool", "main", *reading_kills, "--all")
    assert places[0]["player"] == str(star.steamid)
    assert places[0]["rating"] > places[1]["rating"]
