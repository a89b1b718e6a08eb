"""The chair: three ways in, six ways out (ns2_game.md 4.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.probe import probed, seen, two_commanders
from tests.ns2mod.rig import Client, Game


def marine(game: Game) -> Client:
    ann = game.connect(7, "Ann")
    assert ann.joins(1)
    seen(game)
    return ann


def test_scenario_5_the_use_key_leads_to_the_chair_through_the_veto(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann = marine(game)
    ann.uses_chair()
    game.run(1.4)
    assert seen(game) == []
    game.run(0.2)
    notes = seen(game, "veto", "login", "structure", "created")
    assert notes == ["veto asked", "login Ann false", "created Ann", "structure login Ann", "login returns true"]
    assert ann.class_name == "MarineCommander"
    assert game.execute("return GetGamerules().team1:GetCommander():GetName()") == "Ann"
    assert game.execute("return GetGamerules().team1:GetHasCommander()")


def test_scenario_5_a_second_person_does_not_get_an_occupied_chair() -> None:
    game = Game().boot()
    marines, _ = two_commanders(game)
    assert not marines[1].commands()
    assert marines[0].commands_now


@pytest.mark.parametrize("logs_out", [False, True])
def test_scenario_11_leaving_by_jointeam_frees_the_chair_without_logout(tmp_path: Path, logs_out: bool) -> None:
    game = probed(tmp_path, switches={"join_logs_commander_out": logs_out})
    ann = marine(game)
    ann.commands()
    seen(game)
    assert ann.joins(0)
    assert seen(game, "logout") == (["logout"] if logs_out else [])
    assert game.execute("return GetGamerules().team1:GetCommander()") is None
    assert ann.joins(1)
    assert ann.commands()


def test_leaving_by_key_is_a_logout_and_another_entity(tmp_path: Path) -> None:
    game = probed(tmp_path)
    ann = marine(game)
    ann.commands()
    entity = ann.entity
    seen(game)
    ann.leaves_chair()
    assert seen(game, "logout") == ["logout"]
    assert (ann.class_name, ann.team) == ("Marine", 1)
    assert ann.entity != entity


def test_a_commander_who_disconnects_or_is_moved_before_a_reset_is_not_logged_in_again(tmp_path: Path) -> None:
    game = probed(tmp_path)
    marines, aliens = two_commanders(game)
    game.start_round()
    seen(game)
    aliens[0].disconnects()
    assert seen(game, "logout") == []
    game.join(marines[0], 2, force=True)
    game.reset()
    assert game.state == "NotStarted"
    assert game.execute("return GetGamerules().team1:GetHasCommander()") is False
    assert game.execute("return GetGamerules().team2:GetHasCommander()") is False


def test_scenario_28_a_person_throws_a_bot_out_of_the_chair(tmp_path: Path) -> None:
    game = probed(tmp_path)
    bot = game.add_bot(1, "Botty")
    assert bot.commands()
    ann = game.connect(7, "Ann")
    game.join(ann, 1)
    seen(game)
    assert ann.commands()
    assert seen(game, "veto", "CD", "login") == ["veto asked", "CD 0 -1", "login Ann false", "login returns true"]
    assert not bot.connected
    assert game.team(1) == ["Ann"]
