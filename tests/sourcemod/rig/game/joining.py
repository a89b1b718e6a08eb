"""What the game does with a client's commands: choosing a team and a class, giving up.

`CTFPlayer::ClientCommand`, `HandleCommand_JoinTeam` and `HandleCommand_JoinClass` (tf_player.cpp). `panels` of a player
are the menus the game shows: "team", "class_red", "class_blue".
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .facts import BLU, CLASSES, RED, SIDES, SPECTATOR, UNASSIGNED, State, opponent
from .players import Player

if TYPE_CHECKING:
    from .game import Game

TEAMS = {"unassigned": UNASSIGNED, "spectator": SPECTATOR, "red": RED, "blue": BLU}
HUMAN_TEAMS = {"red": RED, "blue": BLU, "spectator": SPECTATOR}
JOINTEAM_PAUSE, JOINCLASS_PAUSE = 2.0, 0.5
_RATED = ("autoteam", "closedwelcomemenu", "show_motd")
CONSOLE_COMMANDS = ("kill", "explode", "retry", "disconnect", "callvote")
"""Commands of the engine or of the server's console: they never reach the player's ClientCommand."""


def obey(game: "Game", player: Player, words: list[str]) -> None:
    """Do what the game does with a command; any that reaches `ClientCommand` restarts the idle clock."""
    name, arguments = words[0].lower(), words[1:]
    if name not in CONSOLE_COMMANDS:
        player.last_action = game.now
    if name in _RATED and not player.may_command(name, game.now):
        return
    if act := _COMMANDS.get(name):
        act(game, player, arguments)


def _jointeam(game: "Game", player: Player, arguments: list[str]) -> None:
    # The 2 s begin with every command that is looked at, also with one without a team.
    if player.next_jointeam > game.now:
        return
    player.next_jointeam = game.now + JOINTEAM_PAUSE
    if arguments:
        join_team(game, player, arguments[0])


def _joinclass(game: "Game", player: Player, arguments: list[str]) -> None:
    if player.next_joinclass > game.now:
        return
    player.next_joinclass = game.now + JOINCLASS_PAUSE
    if arguments and not game.number("tf_arena_force_class"):
        join_class(game, player, arguments[0])


def _take_auto_team(game: "Game", player: Player, _: list[str]) -> None:
    """`ChangeTeam(GetAutoTeam())`: asks neither for the balance nor for mp_humans_must_join_team."""
    if player.coaching:
        return
    team = game.teams.auto_team(player)
    game.teams.change(player, team, auto=True)
    if team in SIDES:
        player.panels.append("class_red" if team == RED else "class_blue")


def _forced_auto_team(game: "Game") -> bool:
    # ShouldForceAutoTeam; its part for Valve's own servers does not concern community servers.
    return bool(game.number("mp_forceautoteam")) or game.mode.mvm


def _closed_welcome(game: "Game", player: Player, _: list[str]) -> None:
    if player.team == UNASSIGNED and _forced_auto_team(game):
        game.teams.change(player, game.teams.auto_team(player), auto=True)
        player.panels.append("class_blue" if player.team == BLU else "class_red")
    elif player.team == UNASSIGNED:
        player.panels.append("team")
    elif player.team in SIDES and not player.current_class:
        _show_class_menu(game, player, player.team)


def _set_up_team(game: "Game", player: Player, _: list[str]) -> None:
    """`team_ui_setup` (as often as one likes) and `show_motd`: a forced team comes even to those on a side."""
    if _forced_auto_team(game):
        game.teams.change(player, game.teams.auto_team(player), auto=True)
        player.panels.append("class_blue" if player.team == BLU else "class_red")
    else:
        player.panels.append("team")


def _reset_class(game: "Game", player: Player, _: list[str]) -> None:
    if game.number("mp_highlander") and player.team in SIDES:
        game.teams.reset_class(player)
        _show_class_menu(game, player, player.team)


def _show_class_menu(game: "Game", player: Player, team: int) -> None:
    if not game.number("tf_arena_force_class"):
        player.panels.append("class_red" if team == RED else "class_blue")


def join_team(game: "Game", player: Player, word: str) -> None:
    """`HandleCommand_JoinTeam`: any word that names no team is RED."""
    if game.rounds.state == State.GAME_OVER:
        return
    if player.team in SIDES and (game.mode.powerup or game.rules.props.get("m_bHelltowerPlayersInHell")):
        return
    word = word.lower()
    team, auto, arena_spectator = _asked_for(game, player, word)
    human_team = HUMAN_TEAMS.get(game.text("mp_humans_must_join_team"))
    if not player.bot and team != SPECTATOR and human_team is not None:
        team, auto = human_team, True
    if team == UNASSIGNED or (player.coaching and team != SPECTATOR):
        return
    team = game.teams.overruled(player, team)
    if team == SPECTATOR or (game.arena.uses_queue and player.team <= SPECTATOR):
        _spectate(game, player, arena_spectator=arena_spectator)
    else:
        _take_side(game, player, team, auto=auto)


def _asked_for(game: "Game", player: Player, word: str) -> tuple[int, bool, bool]:
    """The team a word names, whether the game chose it, and whether they want to only watch arena."""
    if word == "auto":
        return game.teams.auto_team(player), True, False
    if word == "spectatearena":
        return SPECTATOR, False, bool(game.number("mp_allowspectators"))
    return (SPECTATOR if word == "spectate" else TEAMS.get(word, RED)), False, False


def _spectate(game: "Game", player: Player, *, arena_spectator: bool) -> None:
    arena = game.mode.arena
    if not arena and not player.source_tv and not game.number("mp_allowspectators"):
        return
    if game.number("mp_spectators_restricted") and not game.mode.mvm and player.team in SIDES:
        gap = len(game.teams.members(opponent(player.team))) - len(game.teams.members(player.team))
        if gap >= int(game.number("mp_teams_unbalance_limit")):
            return
    if player.team != UNASSIGNED and not player.dead:
        game.teams.lives.suicide(player)
    player.props["m_bArenaSpectator"] = int(arena_spectator)
    player.duel = False
    game.teams.change(player, SPECTATOR)
    if arena_spectator:
        player.props["m_iDesiredPlayerClass"] = 0
        game.arena.remove(player)
    elif arena:
        player.panels.append("class_blue")


def _take_side(game: "Game", player: Player, team: int, *, auto: bool) -> None:
    if team == player.team:
        return
    full = game.number("mp_highlander") and len(game.teams.members(team)) >= len(CLASSES) - 1
    if full or game.teams.would_unbalance(team, player.team):
        player.panels.append("team")
        return
    player.duel = False
    game.teams.change(player, team, auto=auto)
    _show_class_menu(game, player, team)


def join_class(game: "Game", player: Player, name: str, *, may_spawn: bool = True) -> None:
    """`HandleCommand_JoinClass`: announces a choice that differs from the last, and spawns who may."""
    if game.rounds.state == State.GAME_OVER or player.coaching or _has_no_choice(game, player):
        return
    player.menu_open = False
    if _may_not_change(game, player):
        return
    lost = game.rounds.state == State.TEAM_WIN and game.rules.props["m_iWinningTeam"] != player.team
    if not may_spawn or lost:
        may_spawn = player.instant_spawn = False
    wanted = _class_named(game, player, name.lower())
    if not wanted:
        return
    if wanted != player.desired_class:
        if player.team <= SPECTATOR:
            game.arena.add(player)
        player.props["m_iDesiredPlayerClass"] = wanted
        game.fire("player_changeclass", userid=player.userid, **{"class": wanted})
        if wanted != player.current_class:
            if _spawns_now(game, player, may_spawn=may_spawn):
                game.teams.force_respawn(player)
            return
    if player.instant_spawn and not player.alive:
        game.teams.force_respawn(player)


def _has_no_choice(game: "Game", player: Player) -> bool:
    return player.team == UNASSIGNED or (player.team == SPECTATOR and not game.mode.arena)


def _may_not_change(game: "Game", player: Player) -> bool:
    """The living in sudden death after its grace, in arena's round, and the defenders of MvM after setup."""
    if game.rounds.state == State.STALEMATE and player.alive:
        return player.team in SIDES if game.mode.arena else not _in_grace(game)
    return game.mode.mvm and player.team == RED and player.ready and not game.rules.props["m_bInSetup"]


def _in_grace(game: "Game") -> bool:
    # CTFGameRules::CanChangeClassInStalemate.
    return game.now < game.teams.state_since + game.number("tf_stalematechangeclasstime")


def _class_named(game: "Game", player: Player, name: str) -> int:
    """The class of a name, 0 for none; "random" is never the one they play."""
    if name in ("random", "auto"):
        free = [c for c in range(1, len(CLASSES)) if c != player.current_class and _class_is_free(game, player, c)]
        return game.sm.random.choice(free) if free else 0
    wanted = CLASSES.index(name) if name in CLASSES[1:] else 0
    if wanted and not _class_is_free(game, player, wanted):
        player.panels.append("class_red" if player.team == RED else "class_blue")
        return 0
    return wanted


def _class_is_free(game: "Game", player: Player, wanted: int) -> bool:
    # CanPlayerChooseClass: Highlander has one of each class on a side.
    if not game.number("mp_highlander"):
        return True
    return all(p is player or p.desired_class != wanted for p in game.teams.members(player.team))


def _spawns_now(game: "Game", player: Player, *, may_spawn: bool) -> bool:
    spawning, rounds = game.teams.spawning, game.rounds
    in_spawn_room = spawning.in_own_spawn_room(player)
    # Who has never died has no wave to wait for.
    dead_long_enough = not player.alive and (player.died_at is None or game.now > spawning.next_wave(player))
    grace = False
    if rounds.state == State.STALEMATE and not rounds.waiting:
        grace, dead_long_enough, in_spawn_room = _in_grace(game), False, False
    if game.mode.arena:
        if not rounds.waiting:
            dead_long_enough = False
            # Between rounds the whole map counts as one's spawn room: for spectators too, who then live as such.
            in_spawn_room = may_spawn = rounds.state not in (State.STALEMATE, State.TEAM_WIN)
        elif not game.number("tf_arena_use_queue"):
            return False
    if game.mode.mvm and rounds.state == State.BETWEEN_ROUNDS:
        player.instant_spawn = True
    return may_spawn and (player.instant_spawn or dead_long_enough or in_spawn_room or grace)


def _wish_to_die(game: "Game", player: Player, _: list[str]) -> None:
    game.teams.lives.suicide(player, forced=False)


def _set_menu(player: Player, *, is_open: bool) -> None:
    player.menu_open = is_open


_COMMANDS: dict[str, Callable[["Game", Player, list[str]], object]] = {
    "jointeam": _jointeam,
    "joinclass": _joinclass,
    "spectate": lambda game, player, _: join_team(game, player, "spectate"),
    "autoteam": _take_auto_team,
    "closedwelcomemenu": _closed_welcome,
    "team_ui_setup": _set_up_team,
    "show_motd": _set_up_team,
    "menuopen": lambda game, player, _: _set_menu(player, is_open=True),
    "menuclosed": lambda game, player, _: _set_menu(player, is_open=False),
    "resetclass": _reset_class,
    "kill": _wish_to_die,
    "explode": _wish_to_die,
    "callvote": lambda game, player, words: game.ballots.call(player, words),
    "retry": lambda game, player, _: game.reconnect(player),
    "disconnect": lambda game, player, _: game.leave(player),
}
