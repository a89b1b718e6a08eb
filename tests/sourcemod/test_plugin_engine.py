"""The engine's own balancing, and the ways the plugin is switched off."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sourcemod.answerer import BASECOMMANDS, Daemon, Sides, complaints, crowd, install, poll, seat, settle, win
from tests.sourcemod.rig import Game, LoadError, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason
from tests.sourcemod.rig.sm.enginevars import NOTIFY

BALANCING = ("mp_autoteambalance", "mp_scrambleteams_auto")


def values(game: Game, *names: str) -> list[str]:
    """The values of these console variables."""
    return [game.sm.convars[name].value for name in names]


@pytest.mark.parametrize("before", ["2", "0"])
def test_the_engines_balancing_is_off_while_the_plugin_runs_and_the_status_says_so(
    game: Game, daemon: Daemon, plugin: Plugin, before: str
) -> None:
    game.server_cfg["mp_autoteambalance"] = before
    game.start_map("koth_harvest_final")
    settle(game)
    assert values(game, *BALANCING) == ["0", "0"]
    assert values(game, "mp_teams_unbalance_limit") == ["1"]
    held = f"mp_autoteambalance is held at 0. Without Equipoise it would be {before}."
    assert held in game.rcon("sm_eq_status")
    game.start_map("arena_well")
    settle(game)
    assert values(game, *BALANCING, "tf_arena_use_queue") == ["0", "0", "0"]
    game.unload(plugin)
    assert values(game, *BALANCING, "tf_arena_use_queue") == [before, "1", "1"]


def told(game: Game) -> list[str]:
    """The variables of whose change all players have read, but the game's own of a map."""
    changes = [fields for _, name, fields in game.history if name == "server_cvar" and not fields["silenced"]]
    return [str(fields["cvarname"]) for fields in changes if not str(fields["cvarname"]).startswith("tf_gamemode_")]


def test_what_an_operator_changes_between_maps_is_what_they_get_back(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    """A config that sets 0 changes nothing while the variable is 0: so it is let go before the configs run."""
    game.server_cfg["mp_autoteambalance"] = "1"
    game.start_map("koth_harvest_final")
    settle(game)
    game.server_cfg["mp_autoteambalance"] = "0"
    game.start_map("cp_gorge")
    settle(game)
    assert values(game, "mp_autoteambalance") == ["0"]
    game.unload(plugin)
    assert values(game, "mp_autoteambalance") == ["0"]


@pytest.mark.parametrize("name", [*BALANCING, "sv_vote_issue_autobalance_allowed", "tf_arena_use_queue"])
def test_a_held_variable_is_put_back_at_once_unseen_logged_once_a_minute_and_its_new_value_kept_for_later(
    game: Game, daemon: Daemon, plugin: Plugin, name: str
) -> None:
    game.start_map("arena_well")
    settle(game)
    for _ in range(10):
        game.rcon(f"{name} 2")
        game.advance(2)
    assert values(game, name) == ["0"]
    stays = f"{name} stays 0 while Equipoise balances; the console, RCON, a config or another plugin wanted 2"
    assert log(game).count(stays) == 1
    assert not complaints(game)
    game.unload(plugin)
    assert values(game, name) == ["2"]
    assert told(game) == []
    game.sm.convars[name].set("1")
    assert told(game) == [name] * bool(game.sm.convars[name].flags & NOTIFY)


def test_an_admin_who_sets_a_held_variable_is_named_and_reads_why(
    game: Game, daemon: Daemon, plugin: Plugin, script: Callable[..., Plugin]
) -> None:
    script(BASECOMMANDS, "basecommands")
    game.start_map("koth_harvest_final")
    settle(game)
    ann = seat(game, "Ann", "red")
    ann.flags = 1 << 14
    game.command(ann, "sm_cvar mp_autoteambalance 1")
    assert values(game, "mp_autoteambalance") == ["0"]
    assert "balances; Ann<" in log(game)
    assert "mp_autoteambalance stays 0 while Equipoise balances" in ann.chat[-1]


RIVAL = """
ConVar g_Cvar;
int g_Times;

public void OnPluginStart()
{
	g_Cvar = FindConVar("mp_autoteambalance");
	g_Cvar.AddChangeHook(OnChanged);
	RegServerCmd("compete", Command_Compete);
}

Action Command_Compete(int args)
{
	g_Cvar.IntValue = 1;
	return Plugin_Handled;
}

void OnChanged(ConVar cvar, const char[] before, const char[] after)
{
	if (cvar.IntValue == 0 && g_Times++ < %d)
	{
		cvar.IntValue = 1;
	}
}
"""
FIVE_TIMES = 5
"""Within a second: then the plugin takes it for a rival that will not end."""
ENDLESS = 999


@pytest.mark.parametrize(
    ("first", "times"), [(True, FIVE_TIMES - 1), (True, FIVE_TIMES), (True, ENDLESS), (False, ENDLESS)]
)
def test_with_a_plugin_that_holds_the_same_variable_we_give_up_on_this_map_and_say_so(
    game: Game, daemon: Daemon, equipoise_smx: Path, script: Callable[..., Plugin], *, first: bool, times: int
) -> None:
    given_up = times >= FIVE_TIMES
    if first:
        script(RIVAL % times, "rival")
    install(game, daemon, equipoise_smx)
    if not first:
        script(RIVAL % times, "rival")
    game.start_map("koth_harvest_final")
    settle(game)
    game.rcon("compete")
    assert values(game, *BALANCING) == ["1" if given_up else "0", "0"]
    said = "mp_autoteambalance is given up on this map"
    assert len([text for text in complaints(game) if said in text]) == given_up
    assert ("mp_autoteambalance is 1: another plugin" in " ".join(game.rcon("sm_eq_status"))) == given_up
    game.start_map("cp_gorge")
    settle(game)
    assert len([text for text in complaints(game) if said in text]) == given_up + (times == ENDLESS)


def log(game: Game) -> str:
    """All that plugins logged as messages."""
    return "\n".join(text for _, text in game.sm.log.messages)


def test_an_admins_off_gives_the_teams_back_and_on_takes_them_again(game: Game, daemon: Daemon, koth: Plugin) -> None:
    red, _ = crowd(game, 1, 1)
    daemon.sticky["enabled"] = False
    poll(game)
    assert values(game, *BALANCING) == ["1", "1"]
    assert "held" not in " ".join(game.rcon("sm_eq_status"))
    daemon.forget()
    game.join(red[0], "spectate")
    game.join(red[0], "red")
    assert red[0].team == RED
    play.go_live(game)
    win(game)
    assert daemon.events("round_ended")
    assert not daemon.events("side_wanted")
    daemon.sticky["enabled"] = True
    poll(game)
    assert values(game, *BALANCING) == ["0", "0"]


def test_the_operators_off_is_silent_for_the_rest_of_the_map_and_makes_the_round_partial(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    game.rcon("equipoise_enabled 0")
    late = game.add("Late", "red")
    game.advance(20)
    settle(game)
    assert not daemon.batches
    assert late.team == RED
    assert values(game, *BALANCING) == ["1", "1"]
    game.rcon("equipoise_enabled 1")
    settle(game)
    assert daemon.kinds()[:2] == ["hello", "roster"]
    assert daemon.events("hello")[-1]["phase"] == "running"
    win(game)
    assert daemon.events("round_ended")[0]["partial"]
    game.rcon("equipoise_enabled 0")
    daemon.forget()
    game.start_map("cp_badlands")
    settle(game)
    assert daemon.kinds()[:1] == ["hello"]


@pytest.mark.parametrize("map_name", ["koth_harvest_final", "arena_well"])
def test_play_goes_on_when_the_daemon_never_answered(game: Game, daemon: Daemon, plugin: Plugin, map_name: str) -> None:
    game.sm.http.offline = True
    game.start_map(map_name)
    settle(game)
    players = [game.add(f"P{n}", "red") for n in range(4)]
    assert game.mode.arena or sorted(player.team for player in players) == [RED] * 2 + [BLU] * 2
    for loser in (RED, BLU):
        play.go_live(game)
        assert all(player.alive for player in players)
        if game.mode.arena:
            play.wipe_out(game, loser)
        else:
            game.rounds.win(RED + BLU - loser, Reason.POINTS_CAPTURED)


def test_without_ripext_sourcemod_says_what_is_missing(
    new_game: Callable[..., Game], daemon: Daemon, equipoise_smx: Path
) -> None:
    game = new_game(ripext=False)
    with pytest.raises(LoadError, match="REST in Pawn"):
        install(game, daemon, equipoise_smx)


def test_every_native_it_needs_exists_in_sourcemod(game: Game, plugin: Plugin) -> None:
    assert plugin.missing_natives() == []
    needed = {native.name for native in plugin.image.natives}
    assert not [name for name in needed if name.startswith(("DHook", "Dynamic", "GameConf", "TF2Util"))]
