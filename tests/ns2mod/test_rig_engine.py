"""The engine's own tables: entities, hooks, scripts, messages, Shine's interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import probed, seen, two_commanders
from tests.ns2mod.rig import Game, write_mod


def test_entities_are_found_by_class_and_yielded_with_their_index() -> None:
    game = Game().boot()
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    ann.joins(1)
    names = """
        local found = {{}}
        for index, player in ientitylist(Shared.GetEntitiesWithClassname("{0}")) do
            table.insert(found, index .. player:GetName())
        end
        return table.concat(found, " ")"""
    assert game.execute(names.format("Player")) == "0Bob 1Ann"
    assert game.execute(names.format("Marine")) == "0Ann"
    assert game.execute('return #EntityListToTable(Shared.GetEntitiesWithClassname("Hive"))') == 1
    assert game.execute('return Shared.GetEntitiesWithClassname("CommandStation"):GetSize()') == 1
    game.execute("Server.ForAllPlayers(function(player) player.mark = true end)")
    assert game.execute(f"return Shared.GetEntity({bob.entity}).mark")


def test_a_hook_can_be_taken_back() -> None:
    game = Game().boot()
    game.execute("""
        function hook() Shared.Message("> hooked") end
        Event.Hook("UpdateServer", hook)""")
    game.frame()
    game.execute('Event.RemoveHook("UpdateServer", hook)')
    game.frame()
    assert seen(game) == ["hooked"]


def test_a_script_is_loaded_once_and_again_on_demand(tmp_path: Path) -> None:
    source = """
        Script.Load("lua/loads/more.lua")
        Script.Load("lua/loads/more.lua")
        Script.Load("lua/loads/more.lua", true)"""
    mod = write_mod(tmp_path, "loads", source)
    (mod / "lua/loads/more.lua").write_text('Shared.Message("> more")')
    assert seen(Game([mod]).boot()) == ["more", "more"]


def test_file_hooks_run_around_a_mods_file_and_around_the_games_files(tmp_path: Path) -> None:
    hooks = "\n".join(
        f'ModLoader.SetupFileHook("lua/{file}.lua", "lua/hooks/{name}.lua", "{mode}")'
        for file, name, mode in [
            *[("hooks/server", "before", "pre"), ("hooks/server", "after", "post")],
            *[("NS2Gamerules", "early", "pre"), ("NS2Gamerules", "late", "post")],
        ]
    )
    mod = write_mod(tmp_path, "hooks", 'Shared.Message("> server")', file_hooks=hooks)
    for name in "before", "after", "early", "late":
        (mod / f"lua/hooks/{name}.lua").write_text(f'Shared.Message("> {name} " .. type(rawget(_G, "NS2Gamerules")))')
    expected = ["early nil", "late table", "before table", "server", "after table"]
    assert seen(Game([mod]).boot()) == expected


def test_a_file_hook_that_replaces_a_file_of_the_game_is_not_modelled(tmp_path: Path) -> None:
    hook = 'ModLoader.SetupFileHook("lua/NS2Gamerules.lua", "lua/hooks/x.lua", "replace")'
    game = Game([write_mod(tmp_path, "hooks", "", file_hooks=hook)]).boot()
    assert "mode replace is not modelled" in game.errors[0]


def test_prints_are_formatted() -> None:
    game = Game().boot()
    game.execute('Print("%s is %d", "Ann", 7) Log("%s", true)')
    assert game.messages == ["Ann is 7", "true"]


@pytest.mark.parametrize("to", ["Server.GetClientById(1)", "Server.GetClientById(1):GetControllingPlayer()"])
def test_a_network_message_goes_to_one_client_by_client_or_player(to: str) -> None:
    game = Game().boot()
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    game.execute(f'Server.SendNetworkMessage({to}, "Chat", {{ message = "hi" }}, true)')
    assert (ann.chat, bob.chat) == (["hi"], [])


def test_the_official_skill_and_the_id_are_read_from_the_player() -> None:
    game = Game().boot()
    game.connect(7, "Ann", skill=1500)
    game.connect(8, "Bob")
    read = "local p = Server.GetClientById({0}):GetControllingPlayer() return p:GetPlayerSkill(), p:GetSteamId()"
    assert game.execute(read.format(1)) == (1500, 7)
    assert game.execute(read.format(2)) == (-1, 8)


def test_missing_keys_of_a_configuration_can_be_completed() -> None:
    game = Game().boot()
    game.files.put("m.json", '{ "url": "http://x" }')
    assert game.execute('return LoadConfigFile("m.json", { url = "y", port = 5 }, true).port') == 5
    assert game.execute('return LoadConfigFile("n.json", { port = 6 }).port') == 6
    assert game.files.text("n.json") == '{ "port": 6 }'


def test_admin_commands_of_the_game_move_people(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann = game.connect(7, "Ann")
    game.console("sv_switchteam Ann 2")
    assert ann.team == 2
    game.console("sv_rrall")
    assert ann.team == 0
    assert seen(game, "J")[2] == "J Ann 0 nil"


def test_a_state_can_be_set_as_a_mod_would() -> None:
    game = Game().boot()
    two_commanders(game)
    game.set_state("Started")
    assert game.states[-1] == "Started"
    assert game.execute("return GetGamerules():GetGameStarted()") is True


def test_a_parameter_of_a_request_must_be_plain() -> None:
    game = Game().boot()
    game.execute('pcall(Shared.SendHTTPRequest, "http://127.0.0.1:9/", "POST", { data = {} })')
    assert game.errors == ["SendHTTPRequest: parameter data is a table"]


def test_shine_says_which_plugins_run_and_who_may_do_what() -> None:
    game = Game(shine="outside").boot()
    game.connect(7, "Ann")
    game.admins.add(7)
    ask = 'local on, plugin = Shine:IsExtensionEnabled("voterandom") return on, plugin and plugin.EnforcementPolicy'
    assert game.execute(ask) == (False, None)
    game.shine_plugin("voterandom", enforced=True)
    assert game.execute(f"return (function() {ask}:IsActive(plugin) end)()") == (True, True)
    assert game.execute('return Shine:HasAccess(Server.GetClientById(1), "sh_x"), Shine:HasAccess(nil, "sh_x")') == (
        True,
        True,
    )
    game.admins.clear()
    assert game.execute('return Shine:HasAccess(Server.GetClientById(1), "sh_x")') is False


def test_shine_tells_one_or_all() -> None:
    game = Game(shine="outside").boot()
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    game.execute('Shine:NotifyDualColour(nil, 0, 0, 0, "[x]", 0, 0, 0, "all")')
    game.execute('Shine:Notify(Server.GetClientById(1), "[x]", "x", "one")')
    assert (ann.chat, bob.chat) == (["all", "one"], ["all"])


def test_sides_that_become_even_in_time_are_not_ended() -> None:
    game = Game().boot()
    marines, _ = two_commanders(game, 4)
    game.start_round()
    others = [game.connect(300 + number) for number in range(4)]
    assert all(game.join(each, 2) for each in others)
    game.run(310)
    assert all(game.join(each, 1) for each in others[:2])
    game.run(60)
    assert game.ends == []
    assert marines[0].commands_now
