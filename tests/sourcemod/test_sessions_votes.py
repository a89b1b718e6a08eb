"""Players vote on new teams: the plugin's menus and chat, the real daemon's rules, end to end."""

from __future__ import annotations

from tests.sourcemod.rig.game.facts import BLU, RED
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.sessions import Evening, NewEvening


def stacked(new_evening: NewEvening, settings: str = "") -> Evening:
    """A running round of KOTH in which all strong players are on RED."""
    evening = new_evening("koth_harvest_final", settings)
    for number in range(8):
        evening.seat(f"P{number}")
    evening.freeze()
    evening.rate(**dict.fromkeys(evening.side(RED), 2500.0), **dict.fromkeys(evening.side(BLU), 800.0))
    evening.live()
    evening.wait(1.0)
    return evening


def say(evening: Evening, player: Player, text: str) -> None:
    """A player says something, and the daemon hears of it."""
    evening.game.say(player, text)
    evening.wait(1.0)


def choose(evening: Evening, *texts: str) -> None:
    """The players choose, in the order of their slots."""
    for player, text in zip(evening.game.humans(), texts, strict=False):
        evening.game.sm.menus.choose(player, text)
    evening.wait(1.0)


def voting(evening: Evening) -> int:
    """How many players see a menu."""
    return sum(evening.game.sm.menus.of(player.index) is not None for player in evening.game.humans())


PENDING = "New teams at the next round (the players voted for it)."


def test_enough_voices_open_a_menu_and_enough_votes_scramble_at_the_next_round_start(new_evening: NewEvening) -> None:
    evening = stacked(new_evening, '[vote]\nwhen = "next"\n')
    first, second, third, *_ = evening.game.humans()
    before = set(evening.side(RED))

    say(evening, first, "!scramble")
    players = evening.game.humans()
    assert all("P0 wants balanced teams: 1 of 3 for a vote" in player.chat[-1] for player in players)
    say(evening, second, "!VOTESCRAMBLE")
    assert voting(evening) == 0
    say(evening, third, "!scramble")
    assert voting(evening) == 8
    panels = [evening.game.sm.menus.of(player.index) for player in players]
    assert {panel and panel.title for panel in panels} == {"Balance the teams at the next round start?"}
    choose(evening, *["Yes"] * 6, *["No"] * 2)
    for player in players:
        assert "The vote passed: 6 of 8 for balanced teams" in player.chat[-2]
        assert PENDING in player.chat[-1]
    assert set(evening.side(RED)) == before

    evening.win(RED)
    evening.freeze()

    assert set(evening.side(RED)) != before
    assert [one["reason"] for one in evening.decisions("scramble")][-1] == "the players voted for it"
    assert any("the players voted for it" in line for line in first.chat)
