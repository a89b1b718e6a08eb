"""Anything in any order leaves a server that agrees with itself, under every switch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from random import Random

import pytest

from tests.ns2mod.probe import two_commanders
from tests.ns2mod.rig import FRAME, Client, Game, Switches

BOTH_WAYS = [field.name for field in fields(Switches) if field.type == "bool"]

CLASSES = {
    0: {"ReadyRoomPlayer"},
    1: {"Marine", "MarineSpectator", "MarineCommander", "JetpackMarine"},
    2: {"Skulk", "AlienSpectator", "AlienCommander", "Fade"},
    3: {"Spectator"},
}


def agrees(game: Game, people: list[Client]) -> None:
    assert game.errors == []
    assert game.clients == [each for each in game.clients if each.connected]
    for number, classes in CLASSES.items():
        names = sorted(each.name for each in people if each.connected and each.team == number)
        assert sorted(name for name in game.team(number) if name != "Bot") == names
        assert {each.class_name for each in people if each.connected and each.team == number} <= classes
    commanding = [each.team for each in people if each.connected and each.commands_now]
    assert sorted(commanding) == sorted(set(commanding))
    chairs = "return GetGamerules().team1:GetHasCommander(), GetGamerules().team2:GetHasCommander()"
    assert game.execute(chairs) == (1 in commanding, 2 in commanding)


def acts(game: Game, people: list[Client], random: Random) -> None:
    one = random.choice(people)
    if not one.connected:
        one.reconnects()
        return
    inside = one.team in (1, 2)
    living = inside and one.alive and not one.commands_now
    actions: list[Callable[[], object]] = [
        lambda: one.joins(random.randrange(4)),
        lambda: game.join(one, random.randrange(4), random.random() < 0.5),
        lambda: one.disconnects(),
        lambda: game.run(random.choice([FRAME, 1, 12])),
        lambda: random.random() < 0.2 and game.reset(),
        lambda: random.random() < 0.2 and game.end_game(random.choice([None, 1, 2])),
        lambda: random.random() < 0.05 and game.change_map("ns2_tram"),
        lambda: game.setting("filler_bots", random.choice([0, 0, 6])),
    ]
    if living:
        actions += [
            one.dies,
            one.commands,
            one.uses_chair,
            lambda: one.becomes(["JetpackMarine", "Fade"][one.team - 1]),
        ]
    if inside and one.commands_now:
        actions += [one.leaves_chair] * 3
    random.choice(actions)()


@pytest.mark.parametrize("switch", [None, *BOTH_WAYS])
@pytest.mark.parametrize("shine", ["none", "outside"])
def test_anything_in_any_order_leaves_teams_and_chairs_in_order(switch: str | None, shine: str) -> None:
    random = Random(f"{switch} {shine}")
    changed = {switch: not getattr(Switches(), switch)} if switch else {}
    game = Game(shine=shine, nsl=True, switches=changed).boot()
    marines, aliens = two_commanders(game, 4)
    people = marines + aliens
    for _ in range(150):
        acts(game, people, random)
        agrees(game, people)
