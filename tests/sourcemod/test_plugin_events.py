"""Events that other plugins block, fire again with other fields, or make up: each thing counts once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.sourcemod.answerer import Daemon, crowd, go_live, ids, in_freeze, install, poll, settle, win
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, Reason

Script = Callable[..., Plugin]

AGAIN = """
bool g_Again;

public void OnPluginStart()
{
	HookEvent("%s", Event_Before, EventHookMode_Pre);
}

Action Event_Before(Event event, const char[] name, bool silent)
{
	if (g_Again)
	{
		return Plugin_Continue;
	}
	Event copy = CreateEvent(name, true);
	%s
	g_Again = true;
	copy.Fire();
	g_Again = false;
	return Plugin_Handled;
}
"""
"""Blocks an event and fires a copy: post hooks run for both (core/EventManager.cpp), the game's listeners for one."""

COPY_OF_A_CAPTURE = """
	copy.SetInt("cp", event.GetInt("cp"));
	copy.SetInt("team", event.GetInt("team"));
"""


def test_a_round_start_that_another_plugin_fires_again_switches_sides_once(
    game: Game, daemon: Daemon, plugin: Plugin, script: Script
) -> None:
    script(AGAIN % ("teamplay_round_start", 'copy.SetBool("full_reset", event.GetBool("full_reset"));'))
    game.start_map("cp_gorge")
    red, _ = crowd(game, 2, 2)
    go_live(game)
    for switches in (1, 2):
        daemon.order("lock", id=ids(red)[0], side="blu" if switches == 1 else "red", seconds=900.0)
        game.rounds.win(RED, Reason.DEFENDED)
        settle(game)
        play.next_round(game)
        settle(game)
        assert len(daemon.events("sides_switched")) == switches
        go_live(game)
    starts = [kind for kind in daemon.kinds() if kind in ("round_started", "round_live")]
    assert starts == ["round_started", "round_live"] * 3


def test_a_round_start_that_another_plugin_makes_up_in_the_freeze_switches_no_sides(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    game.start_map("cp_gorge")
    crowd(game, 2, 2)
    go_live(game)
    game.rounds.win(RED, Reason.DEFENDED)
    play.next_round(game)
    game.advance(1)
    game.fire("teamplay_round_start", full_reset=True)
    go_live(game)
    assert len(daemon.events("sides_switched")) == 1
    assert len(daemon.events("round_live")) == 2


def test_a_capture_that_another_plugin_fires_again_is_one(
    game: Game, daemon: Daemon, plugin: Plugin, script: Script
) -> None:
    script(AGAIN % ("teamplay_point_captured", COPY_OF_A_CAPTURE))
    game.start_map("cp_badlands")
    _, blu = crowd(game, 2, 2)
    go_live(game)
    play.capture(game, BLU, 2, blu[0])
    game.advance(1)
    play.capture(game, BLU, 3, blu[0])
    win(game)
    assert daemon.events("round_ended")[0]["captures"] == {"red": 0, "blu": 2}


STOPPED = """
public void OnPluginStart()
{
	HookEvent("player_team", Event_Before, EventHookMode_Pre);
}

Action Event_Before(Event event, const char[] name, bool silent)
{
	return Plugin_Stop;
}
"""


def test_a_change_of_team_that_another_plugin_keeps_from_us_gives_the_class_that_was_chosen(
    game: Game, daemon: Daemon, equipoise_smx: Path, script: Script
) -> None:
    """Plugin_Stop ends the way to hooks that come before the event, not to those that come after it."""
    script(STOPPED, "stopper")
    install(game, daemon, equipoise_smx)
    game.start_map("arena_well")
    red, blu = crowd(game, 2, 2)
    in_freeze(game)
    new = game.connect("New")
    settle(game)
    game.join(new, "red", "pyro")
    settle(game)
    daemon.order("assign", order="a", reason=None, moment="freeze", red=ids([*red, new]), blu=ids(blu), bench=[])
    poll(game)
    assert (new.team, new.alive, new.props["m_iClass"]) == (RED, True, 7)
    game.teams.force_change(new, SPECTATOR)
    settle(game)
    last = [event for event in daemon.events("side_changed") if event["id"] == ids([new])[0]][-1]
    assert (last["side"], last["waiting"]) == ("none", False)


def test_teams_that_do_not_exist_count_for_nothing(game: Game, daemon: Daemon, koth: Plugin) -> None:
    red, _ = crowd(game, 2, 2)
    go_live(game)
    for team in (4, 99, 2**31 - 1, -5):
        game.fire("teamplay_point_captured", cp=0, team=team)
        game.fire("player_team", userid=red[0].userid, team=team, oldteam=RED)
    win(game)
    (ended,) = daemon.events("round_ended")
    assert ended["captures"] == {"red": 0, "blu": 0}
    assert [line["side"] for line in ended["players"] if line["id"] == ids(red)[0]] == ["red"]
