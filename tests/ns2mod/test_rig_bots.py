"""Bots: filled up to a number, and refilled inside other calls (ns2_game.md 3.9)."""

from __future__ import annotations

from pathlib import Path

from tests.ns2mod.probe import probed, seen
from tests.ns2mod.rig import Game


def filled(tmp_path: Path, number: int, **switches: bool) -> Game:
    game = probed(tmp_path, switches=switches)
    game.setting("filler_bots", number)
    return game


def test_scenario_2_bots_are_added_inside_the_join_that_asked_for_them(tmp_path: Path) -> None:
    game = filled(tmp_path, 4)
    ann = game.connect(7, "Ann")
    seen(game)
    ann.joins(1)
    notes = seen(game, "J", "CC")
    assert notes[0] == "J Ann 1 nil"
    assert notes[-1] == "J returns true Ann 1"
    assert notes.count("CC 0 Bot") == 3
    assert notes.count("J returns true Bot 2") == 2
    game.frame()  # the rule of even sides had refused the first bot, which asks again
    assert [len(game.team(1)), len(game.team(2))] == [2, 2]


def test_scenario_2_bots_may_join_later_by_their_own_thinking(tmp_path: Path) -> None:
    game = filled(tmp_path, 4, bots_join_inside=False)
    ann = game.connect(7, "Ann")
    seen(game)
    ann.joins(1)
    assert seen(game, "J", "CC") == ["J Ann 1 nil", "CC 0 Bot", "CC 0 Bot", "CC 0 Bot", "J returns true Ann 1"]
    assert game.team(0) == ["Bot"] * 3
    game.frame()
    assert seen(game, "J").count("J returns true Bot 2") == 2


def test_scenario_2_a_bot_makes_room_inside_the_join_of_a_person(tmp_path: Path) -> None:
    game = filled(tmp_path, 4)
    game.connect(7, "Ann").joins(1)
    bob = game.connect(8, "Bob")
    seen(game)
    assert bob.joins(2)
    assert seen(game, "J", "CD") == ["J Bob 2 nil", "CD 0 -1", "J returns true Bob 2"]
    assert sorted(game.team(2)) == ["Bob", "Bot"]


def test_scenario_29_without_people_on_a_side_all_bots_go_inside_the_last_join(tmp_path: Path) -> None:
    game = filled(tmp_path, 4)
    ann = game.connect(7, "Ann")
    ann.joins(1)
    seen(game)
    ann.joins(0)
    assert seen(game, "J", "CD") == ["J Ann 0 nil", "CD 0 -1", "CD 0 -1", "CD 0 -1", "J returns true Ann 0"]
    assert game.team(1) == game.team(2) == []


def test_the_client_of_a_bot_is_virtual_and_must_go_by_its_own_method() -> None:
    game = Game().boot()
    bot = game.add_bot(1, "Botty")
    assert game.execute("return Server.GetClientById(1):GetIsVirtual(), Server.GetClientById(1):GetUserId()") == (
        True,
        0,
    )
    game.execute("return pcall(Server.DisconnectClient, Server.GetClientById(1))")
    assert game.errors == ["DisconnectClient of a bot"]
    game.execute("Server.GetClientById(1).bot:Disconnect()")
    assert not bot.connected
