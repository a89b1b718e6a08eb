"""Connecting, leaving, coming back; entities that live for seconds (ns2_game.md 3.4, 3.6, 3.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import probed, seen, two_commanders
from tests.ns2mod.rig import Game, write_mod

KEEPS = """
    local kept
    Event.Hook("ClientConnect", function(client) kept = client:GetControllingPlayer() end)
    function Touch(how) return how(kept) end"""


@pytest.mark.parametrize(("nil_player", "note"), [(False, "CD 7 -1"), (True, "CD 7 nil")])
def test_scenario_13_at_disconnect_the_team_is_gone_already(tmp_path: Path, nil_player: bool, note: str) -> None:
    game = probed(tmp_path, switches={"no_player_at_disconnect": nil_player})
    ann = game.connect(7, "Ann")
    ann.joins(1)
    seen(game)
    ann.disconnects()
    assert seen(game) == [note]
    assert game.team(1) == []
    assert not ann.connected
    assert game.clients == []


def test_a_hook_of_a_file_hook_sees_a_client_before_it_has_a_player(tmp_path: Path) -> None:
    hook = """Event.Hook("ClientConnect", function(client)
        Shared.Message("> {0} " .. tostring(client:GetControllingPlayer()))
    end)"""
    mod = write_mod(tmp_path, "hooks", hook.format("late"), file_hooks=hook.format("early"))
    game = Game([mod]).boot()
    game.connect(7)
    assert seen(game) == ["early nil", "late ReadyRoomPlayer"]


def test_scenario_14_a_reconnect_is_a_new_client_in_the_ready_room_with_the_same_id(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann = game.connect(7, "Ann")
    ann.joins(1)
    index = ann.index
    ann.disconnects()
    seen(game)
    ann.reconnects()
    assert seen(game, "CC") == ["CC 7 Ann"]
    assert (ann.team, ann.index == index) == (0, False)
    assert ann.joins(2)


def test_scenario_14_only_the_resources_of_that_side_come_back() -> None:
    game = Game().boot()
    ann = game.connect(7, "Ann")
    ann.joins(1)
    game.execute("Server.GetClientById(1):GetControllingPlayer().resources = 55")
    ann.disconnects()
    ann.reconnects().joins(2)
    assert ann.resources == 20
    game.join(ann, 1)
    assert ann.resources == 55


def test_scenario_15_death_respawn_and_evolving_replace_the_entity_without_jointeam(tmp_path: Path) -> None:
    game = probed(tmp_path)
    marines, aliens = two_commanders(game)
    game.start_round()
    seen(game)
    entities = [aliens[1].entity]
    aliens[1].dies()
    assert (aliens[1].alive, aliens[1].team) == (False, 2)
    game.frame()
    entities.append(aliens[1].entity)
    game.run(11)
    entities.append(aliens[1].entity)
    assert aliens[1].alive
    aliens[1].becomes("Embryo")
    aliens[1].becomes("Fade")
    marines[1].becomes("Exo")
    entities.append(aliens[1].entity)
    assert len(set(entities)) == 4
    assert seen(game, "J") == []
    assert (aliens[1].class_name, aliens[1].team) == ("Fade", 2)


def test_scenario_31_a_parked_player_is_a_virtual_client_and_gets_the_entity_back(tmp_path: Path) -> None:
    game = probed(tmp_path, nsl=True)
    ann = game.connect(7, "Ann")
    ann.joins(1)
    entity = ann.entity
    seen(game)
    keeper = ann.parks()
    assert seen(game, "CC", "CD", "J") == ["CC 0 Ann", "CD 7 nil"]
    assert game.team(1) == ["Ann"]
    ann.unparks(keeper)
    assert seen(game, "CC", "CD", "J") == ["CC 7 Ann", "J Ann 1 true", "J returns true Ann 1", "CD 0 nil"]
    assert (ann.entity, ann.team) == (entity, 1)
    assert game.team(1) == ["Ann"]
    assert game.errors == []


def test_scenario_37_an_id_may_be_zero_for_a_while(tmp_path: Path) -> None:
    game = probed(tmp_path)
    game.connect(7, "Ann", unknown_for=3)
    assert seen(game, "CC") == ["CC 0 Ann"]
    game.run(2)
    ask = "return Server.GetOwner(GetGamerules():GetTeam(0):GetPlayers()[1]):GetUserId()"
    assert game.execute(ask) == 0
    game.run(2)
    assert game.execute(ask) == 7


@pytest.mark.parametrize(
    "touch",
    [
        "Touch(function(p) return p:GetName() end)",
        "Touch(function(p) return p.anything == nil end)",
        "Touch(function(p) p.mark = 1 end)",
        "pcall(Touch, function(p) return p:isa('Player') end)",
        "Touch(function(p) return Server.GetOwner(p) end)",
    ],
)
def test_scenario_38_a_handle_that_was_kept_throws_at_any_access(tmp_path: Path, touch: str) -> None:
    game = Game([write_mod(tmp_path, "keeps", KEEPS)]).boot()
    ann = game.connect(7, "Ann")
    ann.joins(1)
    game.execute(f"return pcall(function() {touch} end)")
    assert len(game.errors) == 1
    assert "stale ReadyRoomPlayer touched" in game.errors[0]
    assert game.execute("return Touch(IsValid)") is False


def test_a_client_that_left_throws_too_and_its_disconnection_crashes_the_engine(tmp_path: Path) -> None:
    source = 'Event.Hook("ClientConnect", function(client) gone = client end)'
    game = Game([write_mod(tmp_path, "keeps", source)]).boot()
    game.connect(7, "Ann").disconnects()
    game.execute("return pcall(function() return gone:GetUserId() end)")
    game.execute("return pcall(Server.DisconnectClient, gone)")
    assert "stale ServerClient touched: GetUserId" in game.errors[0]
    assert "the engine crashes" in game.errors[1]


def test_a_client_may_be_thrown_out_inside_the_event_of_its_connection(tmp_path: Path) -> None:
    source = 'Event.Hook("ClientConnect", function(client) Server.DisconnectClient(client, "banned") end)'
    game = Game([write_mod(tmp_path, "bans", source)]).boot()
    ann = game.connect(7, "Ann")
    assert not ann.connected
    assert game.errors == []
    assert game.team(0) == []


def test_the_time_away_is_zero_until_the_first_input() -> None:
    game = Game().boot()
    ann = game.connect(7, "Ann")
    ask = "return GetGamerules():GetTeam(0):GetPlayers()[1]:GetAFKTime()"
    game.run(100)
    assert game.execute(ask) == 0
    ann.moves()
    game.run(70)
    assert game.execute(ask) == pytest.approx(70, abs=0.1)


def test_fields_that_a_script_sets_live_as_long_as_the_object(tmp_path: Path) -> None:
    source = """
        Event.Hook("ClientConnect", function(client)
            client.mine = "client"
            client:GetControllingPlayer().mine = "player"
        end)
        function Mine() local client = Server.GetClientById(1)
            return client.mine, client:GetControllingPlayer().mine, type(client)
        end"""
    game = Game([write_mod(tmp_path, "marks", source)]).boot()
    ann = game.connect(7, "Ann")
    assert game.execute("return Mine()") == ("client", "player", "userdata")
    ann.joins(1)
    assert game.execute("return Mine()") == ("client", None, "userdata")


@pytest.mark.parametrize("reset", [True, False])
def test_what_a_player_did_goes_with_them_from_entity_to_entity(reset: bool) -> None:
    """ScoringMixin of SM20: nil before the first, nothing but deaths in the warm-up, and whether a start resets it."""
    game = Game(switches={"scores_reset": reset}).boot()
    ann, bob = game.connect(7, "Ann"), game.connect(8, "Bob")
    ask = """local player = Server.GetClientById(1):GetControllingPlayer()
        return player:GetKills(), player:GetAssistKills(), player:GetDeaths(), player:GetScore()"""
    assert game.execute(ask) == (None, None, None, 0)
    ann.joins(1)
    bob.joins(2)
    ann.scores(kills=1, assists=1, points=5)
    ann.dies()
    game.run(1)
    assert game.execute(ask) == (0, 0, 1, 0)
    game.start_without_pregame()
    game.start_round()
    ann.scores(kills=1, assists=1, points=5)
    ann.becomes("Exo")
    assert game.execute(ask) == (1, 1, 0 if reset else 1, 5)
