"""Loading: entries, file hooks, the order of ns2_game.md 1.1, and what a virtual machine keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import probed, seen
from tests.ns2mod.rig import Game, write_mod

SAYS = 'Shared.Message("{0}")'


def test_scenario_1_boot_runs_entries_by_priority_then_the_map_then_the_first_reset(tmp_path: Path) -> None:
    mods = [
        write_mod(tmp_path, "low", SAYS.format("low"), priority=1),
        write_mod(tmp_path, "high", SAYS.format("high"), priority=999, text_entry=True),
        write_mod(tmp_path, "middle", SAYS.format("middle"), file_hooks='Shared.Message("hook of middle")'),
    ]
    game = Game(mods).boot()
    assert game.messages == ["hook of middle", "high", "middle", "low"]
    assert game.states == ["WarmUp"]
    assert game.resets == 1
    assert game.errors == []


def test_scenario_1_the_gamerules_exist_when_the_map_is_loaded_and_not_before(tmp_path: Path) -> None:
    reset = ["R", "S NotStarted", "R done"]
    assert seen(probed(tmp_path)) == ["MapPreLoad nil", "MapPostLoad NS2Gamerules", *reset, "S WarmUp"]


def test_scenario_32_a_map_change_is_a_new_machine_with_the_same_files_and_people(tmp_path: Path) -> None:
    mod = write_mod(
        tmp_path,
        "keeper",
        """
        Event.Hook("ClientConnect", function(client)
            local file = io.open("config://seen.txt", "r")
            local before = file and file:read("*all") or ""
            if file then file:close() end
            count = (rawget(_G, "count") or 0) + 1
            local out = io.open("config://seen.txt", "w+")
            out:write(before, count, " at ", Shared.GetTime(), ";")
            out:close()
        end)""",
    )
    game = Game([mod]).boot()
    ann = game.connect(7, "Ann")
    game.run(10)
    game.change_map("ns2_tram")
    assert game.files.text("seen.txt") == f"1 at {1 / 30:.14g};1 at 0;"
    assert game.map == "ns2_tram"
    assert game.clients == [ann]
    assert ann.team == 0
    assert game.errors == []


@pytest.mark.parametrize("fires", [False, True])
def test_scenario_32_whether_people_disconnect_at_a_map_change_is_a_switch(tmp_path: Path, fires: bool) -> None:
    game = probed(tmp_path, switches={"disconnect_at_map_change": fires})
    game.connect(7, "Ann")
    seen(game)
    game.console("sv_changemap ns2_tram")
    game.frame()
    assert seen(game, "CD", "CC") == (["CD 7 -1"] if fires else []) + ["CC 7 Ann"]


def test_an_error_while_loading_is_a_script_error_and_the_server_runs(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "broken", "local x = nil + 1")]).boot()
    assert "lua/broken/server.lua:1: attempt to perform arithmetic" in game.errors[0]
    assert game.state == "WarmUp"


@pytest.mark.parametrize(("passes", "after"), [(False, ["went on"]), (True, [])])
def test_whether_an_error_in_a_loaded_file_reaches_who_loads_it_is_a_switch(
    tmp_path: Path, passes: bool, after: list[str]
) -> None:
    mod = write_mod(tmp_path, "mod", 'Script.Load("lua/mod/other.lua") Shared.Message("went on")')
    (mod / "lua/mod/other.lua").write_text("local x = nil + 1")
    game = Game([mod], switches={"load_errors_pass": passes}).boot()
    assert game.messages == after
    (fault,) = game.errors
    assert "lua/mod/other.lua:1: attempt to perform arithmetic" in fault


def test_of_a_cut_file_only_the_beginning_is_there(tmp_path: Path) -> None:
    mod = write_mod(tmp_path, "mod", 'Shared.Message("first")\nShared.Message("second")')
    path = "lua/mod/server.lua"
    assert Game([mod], cut={path: 24}).boot().messages == ["first"]
    (fault,) = Game([mod], cut={path: 30}).boot().errors
    assert path in fault
    assert Game([mod], cut={"lua/entry/mod.entry": 12}).boot().messages == []


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("Shared.GetPing()", "unknown engine function: Shared.GetPing"),
        ("Server.Kick()", "unknown engine function: Server.Kick"),
        ("pcall(function() return GetSomething() end)", "unknown engine global: GetSomething"),
        ("Class_ReplaceMethod('Nothing', 'Update', print)", "Class_ReplaceMethod: no class Nothing"),
        ('require "ffi"', "unknown engine global: require"),
        ('dofile("x.lua")', "unknown engine global: dofile"),
        ("python.eval('1')", "unknown engine global: python"),
        ('Event.Hook("Shutdown", function() end)', "unknown engine event: Shutdown"),
        ('os.execute("true")', "unknown engine function: os.execute"),
        ('io.open("config://x", "a")', "io.open: mode a does not exist"),
        ("Class_ReplaceMethod('NS2Gamerules', 'Nothing', print)", "no method NS2Gamerules:Nothing"),
    ],
)
def test_api_that_the_reference_does_not_list_is_an_error_even_inside_pcall(
    tmp_path: Path, code: str, error: str
) -> None:
    game = Game([write_mod(tmp_path, "mod", code)]).boot()
    assert error in game.errors[0]


@pytest.mark.parametrize("event", ["ReceivedSteamStatsForClient", "CheckConnectionAllowed", "Console_anything"])
def test_every_event_of_the_reference_can_be_hooked(tmp_path: Path, event: str) -> None:
    game = Game([write_mod(tmp_path, "mod", f'Event.Hook("{event}", function() end)')]).boot()
    assert game.errors == []


def test_names_of_other_machines_and_mods_may_be_asked_for(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "mod", "Mine = Mine or {} if Client or Shine then error() end")])
    assert game.boot().errors == []


def test_a_replaced_method_reaches_derived_classes_that_do_not_override_it(tmp_path: Path) -> None:
    source = """
        Class_ReplaceMethod("Player", "GetName", function() return "replaced" end)
        Event.Hook("ClientConnect", function(client) Shared.Message(client:GetControllingPlayer():GetName()) end)"""
    game = Game([write_mod(tmp_path, "mod", source)]).boot()
    game.connect(7, "Ann")
    assert game.messages == ["replaced"]


def test_the_slowest_frame_is_measured_anew_when_it_is_set_back() -> None:
    game = Game().boot()
    assert game.worst_frame > 0
    game.worst_frame = 0.0
    game.frame()
    assert game.worst_frame > 0


def test_two_servers_share_nothing(tmp_path: Path) -> None:
    one, other = Game().boot(), Game(switches={"pregame_seconds": 5}).boot("ns2_tram")
    ann = one.connect(7, "Ann")
    one.files.put("a.json", "x")
    one.setting("cheats", True)
    assert (other.clients, other.files.names(), other.settings["cheats"]) == ([], [], False)
    assert (one.map, other.map, ann.team) == ("ns2_veil", "ns2_tram", 0)
    assert one.settings["cheats"] is False
