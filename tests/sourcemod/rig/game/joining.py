"""The engine's part in a client's commands: choosing a team and a class, giving up."""

from typing import TYPE_CHECKING

from .facts import BLU, CLASSES, RED, SIDES, SPECTATOR, State
from .players import Player

if TYPE_CHECKING:
    from .game import Game

TEAMS = {"red": RED, "blue": BLU, "spectate": SPECTATOR, "spectator": SPECTATOR}


def obey(game: "Game", player: Player, words: list[str]) -> None:
    """Do what the engine does with a command; commands it does not know do nothing."""
    match [word.lower() for word in words]:
        case ["jointeam", team, *_]:
            join_team(game, player, team)
        case ["autoteam", *_]:
            join_team(game, player, "auto")
        case ["spectate", *_]:
            join_team(game, player, "spectate")
        case ["joinclass" | "join_class", name, *_]:
            join_class(game, player, name)
        case ["kill" | "explode", *_]:
            game.teams.suicide(player)
        case ["retry", *_]:
            game.reconnect(player)
        case ["disconnect", *_]:
            game.leave(player)


def join_team(game: "Game", player: Player, word: str) -> None:
    """`HandleCommand_JoinTeam`: refuses a team that would get too far ahead; going to watch costs a life."""
    game.teams.check_queue()
    team = game.teams.smaller(player) if word == "auto" else TEAMS.get(word, player.team)
    if team == player.team or (team in SIDES and game.teams.would_unbalance(player, team)):
        return
    if team == SPECTATOR and player.team in SIDES:
        game.teams.suicide(player)
    game.teams.change(player, team)


def join_class(game: "Game", player: Player, name: str) -> None:
    """Choose a class; who has never spawned does so at once where the mode lets him."""
    if name not in CLASSES[1:] or player.team not in SIDES:
        return
    player.choose(name)
    game.fire("player_changeclass", userid=player.userid, **{"class": player.desired_class})
    # Arena's freeze counts as one's own spawn room: CTFPlayer::HandleCommand_JoinClass (tf_player.cpp).
    playing = game.rounds.state in (State.PREROUND, State.RUNNING)
    if not player.alive and player.respawn_at is None and playing:
        game.teams.force_respawn(player)
