"""Arena's freeze time with two against two: teams made by the daemon, joiners, and what was reported of a player."""

import pytest

from tests.sourcemod import orders
from tests.sourcemod.answerer import Daemon, Json, Sides, crowd, in_freeze, settle
from tests.sourcemod.rig import Game, Player, Plugin, play


@pytest.fixture
def arena(game: Game, daemon: Daemon, plugin: Plugin) -> Sides:
    """Two against two, nobody in a hurry: the freeze of round 1 has begun."""
    game.start_map("arena_well")
    sides = crowd(game, 2, 2)
    in_freeze(game)
    return sides


def assign(game: Game, daemon: Daemon, red: list[Player], blu: list[Player], bench: list[Player]) -> None:
    """The daemon makes the teams of the freeze that runs."""
    orders.assign(game, daemon, red, blu, bench)


def newest(daemon: Daemon, player: Player) -> Json:
    """What the daemon was told last of a player's side."""
    found = [event for event in daemon.events("side_changed") if event["id"] == str(player.steamid)]
    return {key: found[-1][key] for key in ("side", "waiting", "ready")}


def spawns(game: Game, player: Player) -> int:
    """How often the player has entered the world; the welcome camera's spawn on no team is none."""
    seen = [fields for _, name, fields in game.history if name == "player_spawn"]
    return len([fields for fields in seen if fields["userid"] == player.userid and fields["team"]])


def next_freeze(game: Game) -> None:
    """Go on to the next round's freeze time, and let it be reported."""
    play.next_round(game)
    settle(game)


def joiner(game: Game, name: str = "New") -> Player:
    """Somebody connects and asks for a side."""
    player = game.connect(name)
    settle(game)
    game.join(player, "red")
    settle(game)
    return player
