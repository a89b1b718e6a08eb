"""Moves of many people: Shine's, and what a mod finds when an answer comes late (ns2_game.md 3.5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import PROBE, probed, seen, two_commanders
from tests.ns2mod.rig import Game, write_mod

BY_PLAYER = """
    local wanted
    function Remember()
        wanted = {}
        for _, player in ipairs(GetGamerules().team1:GetPlayers()) do table.insert(wanted, player) end
    end
    function Apply()
        for _, player in ipairs(wanted) do GetGamerules():JoinTeam(player, 2, true) end
    end"""
"""The fault of a known mod: players by the objects that were there when the request was sent (ns2.md 1.5)."""

BY_CLIENT = """
    local wanted
    function Remember()
        wanted = {}
        for _, player in ipairs(GetGamerules().team1:GetPlayers()) do table.insert(wanted, Server.GetOwner(player)) end
    end
    function Apply()
        for _, client in ipairs(wanted) do
            if IsValid(client) then
                local player = client:GetControllingPlayer()
                if player and not player:isa("Commander") then GetGamerules():JoinTeam(player, 2, true) end
            end
        end
    end"""


def test_scenario_22_a_shuffle_of_shine_moves_with_force_and_then_resets_the_round(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "probe", PROBE)], shine="outside").boot()
    marines, aliens = two_commanders(game)
    game.start_round()
    seen(game)
    game.shine_shuffle({marines[1]: 2, aliens[1]: 1, marines[2]: 1})
    assert seen(game, "J", "R") == [
        *["J A1 1 true", "J returns true A1 1", "J M1 2 true", "J returns true M1 2"],
        *["R", "R done"],
    ]
    assert (marines[1].team, aliens[1].team, marines[2].team) == (2, 1, 1)
    assert game.state == "NotStarted"
    assert marines[0].commands_now


def test_scenario_22_a_veto_of_ours_is_overruled_because_shine_listens_first(tmp_path: Path) -> None:
    source = 'Shine.Hook.Add("JoinTeam", "lock", function() return false end)'
    game = Game([write_mod(tmp_path, "locks", source)], shine="outside").boot()
    ann = game.connect(7, "Ann")
    assert not game.join(ann, 1)
    game.shine_shuffle({ann: 1})
    assert ann.team == 1


def test_scenario_23_a_shuffle_at_countdown_keeps_the_commanders_and_freezes_those_moved(tmp_path: Path) -> None:
    game = probed(tmp_path)
    marines, aliens = two_commanders(game)
    game.until(lambda: game.state == "Countdown")
    assert game.join(marines[1], 2, force=True)
    assert game.join(aliens[1], 1, force=True)
    assert (marines[1].frozen, aliens[1].frozen) == (True, True)
    game.start_round()
    assert (marines[0].commands_now, aliens[0].commands_now) == (True, True)
    assert not marines[1].frozen
    assert game.resets == 2  # the first frame's and the start's


def test_scenario_23_a_commander_moved_at_countdown_leaves_the_side_without_one() -> None:
    game = Game().boot()
    marines, _ = two_commanders(game)
    game.until(lambda: game.state == "Countdown")
    game.join(marines[0], 2, force=True)
    game.start_round()
    assert game.execute("return GetGamerules().team1:GetHasCommander()") is False


@pytest.mark.parametrize(("source", "faults"), [(BY_PLAYER, 1), (BY_CLIENT, 0)])
def test_scenario_24_players_remembered_before_the_reset_of_a_start_are_stale(
    tmp_path: Path, source: str, faults: int
) -> None:
    game = Game([write_mod(tmp_path, "late", source)]).boot()
    marines, _ = two_commanders(game)
    game.execute("Remember()")
    game.until(lambda: game.state == "Countdown")
    game.execute("pcall(Apply)")
    assert len(game.errors) == faults
    assert marines[1].team == (1 if faults else 2)
    assert marines[0].team == 1


def test_scenario_25_a_client_who_left_meanwhile_is_found_gone(tmp_path: Path) -> None:
    game = Game([write_mod(tmp_path, "late", BY_CLIENT)]).boot()
    marines, _ = two_commanders(game)
    game.execute("Remember()")
    marines[1].disconnects()
    game.execute("Apply()")
    assert game.errors == []
    assert marines[2].team == 2
    assert len(game.team(2)) - len(game.team(1)) == 3  # 1 against 4: sizes are the mod's business


def test_a_side_that_is_empty_between_two_frames_of_a_shuffle_loses() -> None:
    game = Game().boot()
    marines, aliens = two_commanders(game, 1)
    game.start_round()
    game.join(marines[0], 2, force=True)
    game.join(aliens[0], 1, force=True)
    game.run(2)
    assert game.state == "Started"
    game.join(marines[0], 1, force=True)
    game.run(1)
    assert game.ends == [1]
