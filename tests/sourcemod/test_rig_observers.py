"""Whom the dead and the spectators of the fake game watch, and what a change of it does to the idle clock."""

from __future__ import annotations

from tests.sourcemod.rig import Game, Player, play
from tests.sourcemod.rig.game.facts import BLU, SPECTATOR
from tests.sourcemod.scenarios import Script, running


def watches(player: Player) -> object:
    return player.props["m_hObserverTarget"]


def test_the_dead_watch_their_killer_and_then_a_team_mate(game: Game, script: Script) -> None:
    # CTFPlayer::Event_Killed, FindInitialObserverTarget.
    script("""
        public void OnPluginStart() { RegConsoleCmd("sm_target", Command_Target); }
        Action Command_Target(int client, int args)
        {
            PrintToServer("%d", GetEntPropEnt(client, Prop_Send, "m_hObserverTarget"));
            return Plugin_Handled;
        }""")
    victim, mate, killer = running(game, "red", "red", "blue")
    play.kill(game, killer, victim)
    game.command(victim, "sm_target")
    assert game.sm.console == [str(killer.index)]
    game.advance(6.5)
    assert watches(victim) == mate.index


def test_a_target_that_died_three_seconds_ago_is_left_without_restarting_the_idle_clock(game: Game) -> None:
    # CTFPlayer::ValidateCurrentObserverTarget; the waves that follow bring the first target back.
    first, second, *_ = running(game, "red", "red", "blue")
    watcher = game.connect("watcher")
    game.join(watcher, SPECTATOR)
    assert watches(watcher) == first.index
    watcher.idle = True
    game.advance(10)
    acted = watcher.last_action
    play.kill(game, None, first)
    game.advance(2.9)
    assert watches(watcher) == first.index
    game.advance(0.3)
    assert (watches(watcher), watcher.last_action) == (second.index, acted)


def test_a_target_who_changes_sides_is_no_target_for_the_old_one(game: Game) -> None:
    # CBasePlayer::ValidateCurrentObserverTarget, IsValidObserverTarget: mp_forcecamera 1.
    first, second, dead, *_ = running(game, "red", "red", "red", "blue", map_name="arena_well")
    play.kill(game, None, dead)
    game.advance(10)
    assert watches(dead) == first.index
    dead.idle = True
    game.advance(1)
    acted = dead.last_action
    first.set("m_lifeState", 2)
    game.teams.change(first, BLU)
    first.set("m_lifeState", 0)
    game.advance(0.2)
    assert watches(dead) == second.index
    assert dead.last_action > acted


def test_an_observer_with_nobody_to_watch_has_no_target(game: Game) -> None:
    only, _ = running(game, "red", "blue", map_name="arena_well")
    watcher = game.connect("watcher")
    game.join(watcher, SPECTATOR)
    for player in list(game.players.values()):
        if player is not watcher:
            game.leave(player)
    game.advance(0.2)
    assert watches(watcher) == -1
    assert not only.in_game
