"""How far the plugin goes on a map: the daemon's table, the game's own reasons, and the operator's cfg."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sourcemod.answerer import Daemon, Sides, begin, go_live, in_freeze, install, poll, seat, settle, win
from tests.sourcemod.orders import assign
from tests.sourcemod.rig import Game, Plugin, facts
from tests.sourcemod.rig.game.facts import RED

BALANCING = ("mp_autoteambalance", "mp_scrambleteams_auto")


def untouched(game: Game) -> bool:
    """The engine's own balancing is as the operator has it."""
    return [game.sm.convars[name].value for name in BALANCING] == ["1", "1"]


def level(daemon: Daemon, level: str, reason: str = "") -> None:
    """What the daemon's table says of the map."""
    daemon.sticky |= {"level": level, "level_reason": reason}


def a_round(game: Game) -> None:
    """Four players play a round to its end."""
    for n in range(4):
        game.add(f"P{n}", "red" if n % 2 else "blue")
        settle(game)
    in_freeze(game)
    go_live(game)
    win(game)


def said(game: Game, text: str) -> list[int]:
    """How often each player has read a text."""
    return [len([line for line in player.chat if text in line]) for player in game.humans()]


def test_off_the_daemon_hears_of_nothing_but_the_map_and_commands(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    level(daemon, "off", "vsh_")
    game.start_map("vsh_facility", facts.MAPS["arena_well"])
    settle(game)
    assert untouched(game)
    assert game.sm.convars["tf_arena_use_queue"].value == "1"
    game.start_map("vsh_facility", facts.MAPS["koth_harvest_final"])
    settle(game)
    daemon.forget()
    a_round(game)
    game.say(game.humans()[0], "!rank")
    game.advance(12)
    settle(game)
    assert set(daemon.kinds()) <= {"hello", "command"}
    assert "command" in daemon.kinds()
    assert len(daemon.batches) >= 3
    assert untouched(game)
    text = "Equipoise leaves this map alone (vsh_)."
    assert said(game, text) == [1, 1, 1, 1]
    assert game.rcon("sm_eq_status")[0] == text


def test_rate_reports_rounds_and_leaves_the_teams_alone(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    level(daemon, "rate", "trade_")
    game.start_map("trade_plaza", facts.MAPS["koth_harvest_final"])
    settle(game)
    a_round(game)
    assert not daemon.events("side_wanted")
    assert len(daemon.events("round_ended")) == 1
    assert not daemon.events("round_ended")[0]["partial"]
    in_freeze(game)
    assign(game, daemon, [], [])
    assert daemon.results() == {"a-1": "off"}
    assert untouched(game)
    text = "Equipoise only rates rounds on this map (trade_)."
    assert said(game, text) == [1, 1, 1, 1]
    assert game.rcon("sm_eq_status")[0] == text


def test_a_level_that_changes_on_the_map_is_followed(game: Game, daemon: Daemon, live: Sides) -> None:
    assert not untouched(game)
    assert not [text for text in game.rcon("sm_eq_status") if "this map" in text]
    level(daemon, "off", "koth_")
    poll(game)
    assert untouched(game)
    level(daemon, "balance")
    poll(game)
    settle(game)
    assert not untouched(game)
    assert daemon.events("hello")[-1]["phase"] == "running"
    win(game)
    assert daemon.events("round_ended")[0]["partial"]


def test_without_a_daemon_a_map_keeps_its_last_level_and_an_unknown_one_is_balanced(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    level(daemon, "off", "vsh_")
    game.start_map("vsh_facility", facts.MAPS["koth_harvest_final"])
    settle(game)
    game.sm.http.offline = True
    game.start_map("koth_harvest_final")
    game.advance(3)
    assert not untouched(game)
    game.start_map("vsh_facility", facts.MAPS["koth_harvest_final"])
    game.advance(12)
    assert untouched(game)


def test_an_answer_about_the_map_before_says_nothing_of_this_one(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    level(daemon, "off", "vsh_")
    game.start_map("vsh_facility", facts.MAPS["koth_harvest_final"])
    settle(game)
    game.sm.http.held = True
    game.rcon("equipoise_poll")
    game.frame()
    game.start_map("koth_harvest_final")
    game.sm.http.held = False
    game.frame()
    level(daemon, "balance")
    settle(game)
    settle(game)
    assert not untouched(game)
    assert daemon.events("hello")[-1]["map"] == "koth_harvest_final"
    assert said(game, "leaves this map alone") == []


@pytest.mark.parametrize(
    ("map_name", "prop", "reason", "text"),
    [
        ("mvm_coaltown", "", "mvm", "Mann vs Machine"),
        ("koth_harvest_final", "m_bIsInTraining", "training", "training"),
        ("koth_harvest_final", "mp_tournament", "tournament", "mp_tournament 1"),
        ("ctf_2fort", "m_bPowerupMode", "mannpower", "Mannpower"),
    ],
)
def test_where_the_games_own_rules_for_teams_stand_above_ours_it_stands_aside(
    game: Game, daemon: Daemon, plugin: Plugin, map_name: str, prop: str, reason: str, text: str
) -> None:
    game.server_cfg["mp_tournament"] = "1" if prop == "mp_tournament" else "0"
    game.start_map(map_name)
    if prop.startswith("m_b"):
        game.rules.props[prop] = 1
    game.advance(1.5)
    settle(game)
    people = [game.add("Ann", "red"), game.add("Bob", "blue")]
    game.advance(30)
    settle(game)
    assert daemon.events("hello")[-1]["inactive_reason"] == reason
    assert not {"round_started", "round_live", "side_wanted", "waiting_ended"} & set(daemon.kinds())
    assert people[0].team == RED
    assert said(game, f"Equipoise leaves this map alone ({text}).") == [1, 1]
    assert len([line for _, line in game.sm.log.messages if "Inactive on this map" in line]) == 1
    assert untouched(game)


def library(name: str) -> str:
    """A plugin that offers this library and does nothing."""
    return f"""
        public APLRes AskPluginLoad2(Handle myself, bool late, char[] error, int size)
        {{
            RegPluginLibrary("{name}");
            return APLRes_Success;
        }}
    """


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("freak_fortress_2", "Freak Fortress 2"),
        ("ff2r", "Freak Fortress 2"),
        ("saxtonhale", "VS Saxton Hale"),
        ("VSH2", "VS Saxton Hale 2"),
    ],
)
def test_arena_belongs_to_a_plugin_that_plays_a_boss_against_all_others(
    game: Game, daemon: Daemon, plugin: Plugin, script: Callable[..., Plugin], name: str, text: str
) -> None:
    script(library(name), name)
    game.start_map("arena_well")
    settle(game)
    game.add("Ann", "red")
    game.advance(3)
    assert [hello["inactive_reason"] for hello in daemon.events("hello")] == [name]
    assert said(game, f"Equipoise leaves this map alone ({text}).") == [1]
    assert untouched(game)
    assert game.sm.convars["tf_arena_use_queue"].value == "1"
    game.start_map("koth_harvest_final")
    settle(game)
    assert daemon.events("hello")[-1]["inactive_reason"] == ""
    assert not untouched(game)


def test_such_a_plugin_may_come_in_the_middle_of_a_round_and_go_again(
    game: Game, daemon: Daemon, plugin: Plugin, script: Callable[..., Plugin]
) -> None:
    begin(game, "arena_well", 2, 2)
    boss = script(library("freak_fortress_2"), "freak_fortress_2")
    game.advance(1.5)
    settle(game)
    assert daemon.events("hello")[-1]["inactive_reason"] == "freak_fortress_2"
    assert untouched(game)
    daemon.forget()
    game.advance(12)
    assert set(daemon.kinds()) <= {"hello", "command"}
    game.unload(boss)
    game.advance(1.5)
    settle(game)
    assert daemon.events("hello")[-1] | {"inactive_reason": "", "phase": "running"} == daemon.events("hello")[-1]
    assert not untouched(game)


def test_a_map_that_is_left_alone_gets_the_engines_variables_back_and_the_next_one_is_balanced(
    game: Game, daemon: Daemon, koth: Plugin
) -> None:
    for map_name, left_alone in (("mvm_coaltown", True), ("cp_badlands", False)):
        assert untouched(game) != left_alone
        game.start_map(map_name)
        game.add("Ann", "red")
        game.advance(10)
        settle(game)
        assert untouched(game) == left_alone
    reasons = {hello["map"]: hello["inactive_reason"] for hello in daemon.events("hello")}
    assert reasons == {"koth_harvest_final": "", "mvm_coaltown": "mvm", "cp_badlands": ""}


@pytest.mark.parametrize("cfg", ["server.cfg", "koth_harvest_final.cfg"])
def test_switched_off_in_a_cfg_holds_for_that_cfgs_maps(game: Game, daemon: Daemon, plugin: Plugin, cfg: str) -> None:
    if cfg == "server.cfg":
        game.server_cfg["equipoise_enabled"] = "0"
    else:
        (game.sm.root.parent.parent / "cfg" / cfg).write_text('equipoise_enabled "0"\n', encoding="utf-8")
    game.start_map("koth_harvest_final")
    settle(game)
    ann = seat(game, "Ann", "red")
    game.advance(12)
    assert daemon.batches == []
    assert ann.team == RED
    game.start_map("cp_badlands")
    settle(game)
    game.advance(3)
    assert bool(daemon.batches) == (cfg != "server.cfg")
    assert untouched(game) == (cfg == "server.cfg")


def test_a_workshop_map_has_its_name_without_the_number(game: Game, daemon: Daemon, equipoise_smx: Any) -> None:
    install(game, daemon, equipoise_smx)
    game.start_map("workshop/vsh_skirmish.ugc2931", facts.MAPS["koth_harvest_final"])
    settle(game)
    assert daemon.events("hello")[0]["map"] == "vsh_skirmish"
