"""Clients come and go: the order in which the game and SourceMod hear of it."""

from typing import TYPE_CHECKING

from . import buildings
from .carrying import drop_flag, eject_ball
from .facts import UNASSIGNED, State
from .players import FIRST_STEAMID, Player

if TYPE_CHECKING:
    from .game import Game


def enter(game: "Game", player: Player) -> None:
    """A client connects and is put into the server, before the welcome screen, dead.

    `FinishClientPutInServer` (tf_client.cpp): `InitialSpawn` fires player_initial_spawn, `Spawn` player_spawn for team
    0 and class 0; SourceMod's OnClientPutInServer comes before both.
    """
    game.players[player.index] = player
    game.sm.forward("OnClientConnect", player.index, "", 1)
    game.sm.forward("OnClientConnected", player.index)
    player.in_game = True
    player.last_action = game.now
    game.entities.put(player)
    game.sm.forward("OnClientPutInServer", player.index)
    game.teams.dominations.forget(player)
    game.fire("player_initial_spawn", index=player.index)
    game.teams.spawning.announce(player)


def leave(game: "Game", player: Player, reason: str) -> None:
    """A client disconnects; after the game is over the engine alone hears of it.

    The engine's event and SourceMod's forward come first, then `CTFGameRules::ClientDisconnected` (tf_gamerules.cpp):
    statistics, buildings, weapons and the flag go, arena replaces them while they are still on their team, and
    `CTeamplayRules::ClientDisconnected` (teamplay_gamerules.cpp) takes them off it. There is no player_death.
    """
    network = "BOT" if player.bot else f"[U:1:{player.steamid - FIRST_STEAMID}]"
    game.fire(
        "player_disconnect", userid=player.userid, reason=reason, name=player.name, networkid=network, bot=player.bot
    )
    game.sm.forward("OnClientDisconnect", player.index)
    if game.rounds.state != State.GAME_OVER:
        _clean_up(game, player)
    for thing in (*player.buildings, *player.weapons.values(), player):
        game.entities.remove(thing)
    del game.players[player.index]
    game.teams.scoreboard.forget(player)
    player.in_game = False
    game.sm.forward("OnClientDisconnect_Post", player.index)


def _clean_up(game: "Game", player: Player) -> None:
    game.teams.scoreboard.reset_stats(player)
    if not player.bot:
        game.tournament.left()
    buildings.remove_owned(game, player, explode=True)
    game.teams.dominations.forget(player)
    game.teams.spawning.disarm(player)
    drop_flag(game, player)
    eject_ball(player)
    game.arena.remove(player)
    player.duel = False
    game.teams.stop_coaching(player)
    game.arena.replace()
    player.disconnecting = True
    game.teams.change(player, UNASSIGNED)
