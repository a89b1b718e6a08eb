"""Joining a team: the ways to ask, JoinTeam itself, and wrappers of other mods (ns2_game.md 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import probed, seen, two_commanders
from tests.ns2mod.rig import Game, write_mod

OURS = """
    local original
    original = Class_ReplaceMethod("NS2Gamerules", "JoinTeam", function(self, player, team, ...)
        Shared.Message("> inward " .. select("#", ...))
        local success, fresh = original(self, player, team, ...)
        Shared.Message("> outward " .. tostring(success) .. " " .. fresh:GetTeamNumber())
        return success, fresh
    end)"""

LISTENS = """
    Shine.Hook.Add("JoinTeam", "test", function(rules, player, team, force, shineForce) {0} end)
    Shine.Hook.Add("PostJoinTeam", "test", function(rules, player, old, new, force, shineForce)
        Shared.Message("> post " .. old .. " " .. new .. " " .. tostring(shineForce))
    end)"""


def test_scenario_2_a_join_by_command_makes_a_new_entity_and_returns_it(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann = game.connect(7, "Ann")
    assert (ann.team, ann.class_name) == (0, "ReadyRoomPlayer")
    entity = ann.entity
    seen(game)
    assert ann.joins(1)
    assert seen(game, "J") == ["J Ann 1 nil", "J returns true Ann 1"]
    assert (ann.class_name, ann.alive) == ("Marine", True)
    assert ann.entity != entity


def test_scenario_2_during_a_replacement_the_list_holds_both_and_counts_neither(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann = game.connect(7, "Ann")
    ann.joins(1)
    seen(game)
    ann.becomes("JetpackMarine")
    assert seen(game) == ["created Ann", "lists 2 0 counted 1"]
    assert game.team(1) == ["Ann"]


def test_scenario_3_the_larger_team_is_refused_and_jointeam_is_not_called(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    ann.joins(1)
    seen(game)
    assert not bob.joins(1)
    assert seen(game, "J") == []
    assert bob.messages[-1] == ("JoinError", {"reason": 0})
    assert game.join(bob, 1)  # an admin's command asks for no leave


@pytest.mark.parametrize("inside", [True, False])
def test_situation_8_a_server_for_rookies_refuses_who_is_none_and_the_client_reads_it_once(inside: bool) -> None:
    game = Game(switches={"refusals_sent_inside": inside})
    game.settings["rookie_only"] = True
    game.boot()
    pro, new, untaught = game.connect(7, tier=4), game.connect(8, tier=1), game.connect(9, untaught=True)
    assert [pro.joins(1), new.joins(1), untaught.joins(2)] == [False, True, False]
    assert [message for message in pro.messages if message[0] == "JoinError"] == [("JoinError", {"reason": 2})]
    assert ("JoinError", {"reason": 1}) in untaught.messages
    answers = f"""local p = Server.GetClientById({pro.index}):GetControllingPlayer()
        return GetGamerules():GetCanJoinTeamNumber(p, 2)"""
    assert game.execute(answers) == (False if inside else (False, 2))
    assert pro.joins(3)
    assert game.join(pro, 1)  # JoinTeam does not ask
    game.setting("cheats", True)
    assert untaught.joins(2)


def test_scenario_4_the_same_team_again_changes_nothing(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann = game.connect(7, "Ann")
    ann.joins(1)
    entity = ann.entity
    seen(game)
    game.join(ann, 1)
    assert seen(game) == ["J Ann 1 nil", "J returns false Ann 1"]
    assert ann.entity == entity
    game.join(ann, 1, force=True)
    assert ann.entity != entity


@pytest.mark.parametrize("direct", [False, True])
def test_a_direct_switch_by_command_is_a_matter_of_the_build(direct: bool) -> None:
    game = Game(switches={"switches_sides_directly": direct}).boot()
    ann = game.connect(7, "Ann")
    ann.joins(1)
    assert ann.joins(2) is direct


def test_scenario_10_a_late_join_waits_dead_in_the_queue_and_respawns_as_another_entity() -> None:
    game = Game().boot()
    two_commanders(game)
    game.start_round()
    game.run(200)
    late = game.connect(7, "Late")
    assert late.joins(2)
    assert (late.class_name, late.alive) == ("AlienSpectator", False)
    entity = late.entity
    game.run(11)
    assert (late.class_name, late.alive) == ("Skulk", True)
    assert late.entity != entity


def test_a_join_with_force_or_in_the_first_minute_spawns_at_once() -> None:
    game = Game().boot()
    two_commanders(game)
    game.start_round()
    early, late = game.connect(7), game.connect(8)
    early.joins(1)
    game.run(100)
    game.join(late, 2, force=True)
    assert (early.alive, late.alive) == (True, True)


def test_scenario_12_a_move_and_back_gives_each_side_its_own_resources() -> None:
    game = Game().boot()
    marines, _ = two_commanders(game)
    game.start_round()
    field = marines[1]
    game.execute(f"Server.GetClientById({field.index}):GetControllingPlayer().resources = 55")
    game.join(field, 2)
    assert field.resources == 20
    game.join(field, 1)
    assert field.resources == 55
    assert ("SetClientTeamNumber", {"clientId": field.index, "teamNumber": 2}) in marines[2].messages
    game.join(field, 2)
    game.reset()
    game.join(field, 1)
    assert field.resources == 20


def test_scenario_26_a_veto_of_shine_returns_false_and_the_same_player(tmp_path: Path) -> None:
    mod = write_mod(tmp_path, "ours", OURS + LISTENS.format("return false"))
    game = Game([mod], shine="outside").boot()
    ann = game.connect(7, "Ann")
    assert not game.join(ann, 1)
    assert seen(game) == []
    assert game.execute(
        """local player = GetGamerules():GetTeam(0):GetPlayers()[1]
        local success, same = GetGamerules():JoinTeam(player, 1)
        return success == false and same == player"""
    )


def test_scenario_27_a_redirect_of_shine_puts_the_player_elsewhere(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "ours", OURS + LISTENS.format("return true, 2"))], shine="outside").boot()
    ann = game.connect(7, "Ann")
    game.join(ann, 1)
    assert ann.team == 2
    assert seen(game) == ["inward 1", "outward true 2", "post 0 2 nil"]


def test_scenario_36_random_joins_come_back_as_commands_and_some_are_refused(tmp_path: Path) -> None:
    game = probed(tmp_path)
    people = [game.connect(10 + number) for number in range(6)]
    seen(game)
    for person in people:
        person.console("jointeamthree")
    assert seen(game, "J") == []
    game.run(0.5)
    moved = [person for person in people if person.team in (1, 2)]
    refused = [person for person in people if ("JoinError", {"reason": 0}) in person.messages]
    assert sorted(moved + refused, key=id) == sorted(people, key=id)


@pytest.mark.parametrize("order", ["outside", "inside"])
def test_scenario_39_either_order_of_wrappers_has_the_same_outcome(tmp_path: Path, order: str) -> None:
    game = Game([write_mod(tmp_path, "ours", OURS + LISTENS.format(""))], shine=order).boot()
    ann = game.connect(7, "Ann")
    assert game.join(ann, 1)
    assert sorted(seen(game)) == ["inward 1", "outward true 1", "post 0 1 nil"]
    assert (ann.team, ann.class_name) == (1, "Marine")


def test_shine_removes_a_listener_that_throws_for_good(tmp_path: Path) -> None:
    source = LISTENS.format('Shared.Message("> heard") error("broken")')
    game = Game([write_mod(tmp_path, "ours", source)], shine="outside").boot()
    ann = game.connect(7, "Ann")
    assert game.join(ann, 1)
    assert game.join(ann, 2)
    assert seen(game, "heard") == ["heard"]
    assert len(game.errors) == 1
    assert "Shine hook JoinTeam 'test' removed" in game.errors[0]


def test_shine_wraps_at_the_first_frame_and_not_before(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "ours", LISTENS.format("return false"))], shine="outside").boot(frames=0)
    ann = game.connect(7, "Ann")
    assert game.join(ann, 1)
    game.frame()
    assert not game.join(ann, 2)


def test_the_engine_returns_nothing_for_a_player_without_an_owner() -> None:
    game = Game().boot()
    assert (
        game.execute(
            """local seen
        local original
        original = Class_ReplaceMethod("NS2Gamerules", "OnEntityCreate", function(self, player)
            original(self, player)
            seen = select("#", self:JoinTeam(player, 1))
        end)
        function count() return seen end"""
        )
        is None
    )
    game.connect(7)
    assert game.execute("return count()") == 0


def test_held_players_of_the_larger_team_do_not_respawn_while_sides_are_unequal() -> None:
    game = Game()
    game.settings |= {"auto_team_balance": True, "force_even_teams_on_join": False}
    game.boot()
    marines, _ = two_commanders(game, 2)
    marines += [game.connect(20), game.connect(21)]
    assert all(game.join(each, 1) for each in marines[2:])
    game.start_round()
    marines[1].dies()
    game.run(40)
    assert not marines[1].alive
    marines[2].joins(0)
    game.run(2)
    assert marines[1].alive
