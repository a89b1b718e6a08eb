"""Arena evenings with people as they are: slow, late, away from the keyboard, walking out. End to end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Player, play
from tests.sourcemod.rig.game.facts import BLU, RED, SIDES, SPECTATOR, State
from tests.sourcemod.sessions import Evening

NewEvening = Callable[..., Evening]

pytestmark = pytest.mark.slow


def arena(new_evening: NewEvening, players: int) -> Evening:
    """People who asked for a side and chose a class, before the first round's freeze."""
    evening = new_evening("arena_well")
    names = [f"P{number}" for number in range(players)]
    for name in names:
        evening.game.connect(name)
    evening.game.settle()
    evening.seat_together(*names)
    return evening


def joins(evening: Evening, name: str) -> Player:
    """Somebody connects and asks for a side, in no hurry to choose a class."""
    player = evening.game.connect(name)
    evening.game.settle()
    evening.game.join(player, "auto")
    evening.game.settle()
    return player


def nobody_watches_alive(evening: Evening) -> bool:
    return not any(player.alive for player in evening.game.humans() if player.team not in SIDES)


def walk_out(evening: Evening, side: int) -> None:
    for player in list(evening.game.teams.members(side)):
        evening.game.leave(player)
    evening.game.settle()


def test_two_who_are_ready_play_the_duel_though_twenty_come_in_its_freeze(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 2)
    evening.freeze()
    late = [evening.game.connect(f"L{number}") for number in range(20)]
    evening.wait(1)
    for player in late:
        evening.game.join(player, "auto")
    evening.wait(1)
    for player in late:
        evening.game.command(player, "joinclass soldier")
    evening.wait(1)
    assert sorted(evening.side(RED) + evening.side(BLU)) == ["P0", "P1"]
    evening.live()
    assert nobody_watches_alive(evening)
    evening.win(RED)
    assert {evening.rounds(player) for player in late} == {0}

    evening.freeze()

    assert evening.sizes() == [11, 11]
    assert all(player.alive for player in evening.game.humans())
    (scramble,) = evening.decisions("scramble")
    assert scramble["reason"] == "round 2 is always balanced"


def test_who_has_no_class_waits_and_plays_when_they_have_chosen(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 4)
    slow = joins(evening, "Slow")
    evening.round(RED)
    evening.freeze()
    assert evening.sizes() == [2, 2]
    assert evening.sitting_out() == ["Slow"]

    evening.game.command(slow, "joinclass medic")  # in the freeze: kept
    evening.wait(1)
    assert (slow.team, slow.alive) == (SPECTATOR, False)
    evening.live()
    evening.win(RED)
    evening.freeze()

    assert slow.team in SIDES
    assert (slow.alive, slow.props["m_iClass"]) == (True, 5)
    assert evening.sizes() == [2, 2]


def test_a_side_that_walks_out_in_the_freeze_is_filled_again_and_round_one_is_still_to_come(
    new_evening: NewEvening,
) -> None:
    evening = arena(new_evening, 4)
    evening.freeze()
    assert evening.sizes() == [1, 1]
    walk_out(evening, BLU)
    evening.wait(1)
    assert evening.sizes() == [1, 1]  # a duel for those who are left
    evening.live()
    evening.win(RED)
    assert evening.status()["round"] == 1


def test_a_round_without_an_opponent_counts_for_nothing(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 2)
    evening.freeze()
    (stays,) = evening.game.teams.members(RED)
    walk_out(evening, BLU)
    evening.game.until(lambda: evening.game.rounds.state is State.TEAM_WIN, within=20)
    evening.wait(1)
    assert evening.rounds(stays) == 0
    assert (evening.status()["round"], evening.status()["streak"]) == (1, 0)

    evening.game.until(lambda: evening.game.rounds.state is State.PREGAME, within=30)
    other = evening.seat("Other")
    evening.freeze()
    evening.live()
    evening.win(RED)
    assert [evening.rounds(player) for player in (stays, other)] == [1, 1]
    assert evening.status()["round"] == 1


def test_a_walk_out_in_the_round_is_a_win_and_rated_if_both_sides_fought(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 2)
    evening.freeze()
    evening.live()
    play.fight(evening.game)
    (stays,), (leaves,) = (evening.game.teams.members(side) for side in SIDES)
    evening.game.leave(leaves)
    evening.wait(2)
    assert evening.rounds(stays) == 1
    assert evening.status()["round"] == 1


def test_a_walk_out_in_the_bonus_time_ends_in_a_phantom_start_and_then_a_round(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 6)
    evening.round(RED)
    evening.freeze()
    assert evening.sizes() == [3, 3]
    evening.live()
    evening.win(RED)
    walk_out(evening, BLU)
    assert evening.sizes() == [3, 0]
    starts = len(evening.game.events("teamplay_round_start"))
    evening.game.until(lambda: len(evening.game.events("teamplay_round_start")) > starts, within=30)
    assert evening.game.rounds.state is State.PREGAME
    evening.freeze()
    assert evening.sizes() == [1, 1]
    evening.live()
    evening.win(BLU)
    assert evening.status()["round"] == 3


def test_when_the_last_human_has_left_the_evening_begins_anew(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 5)
    for _ in range(2):
        evening.round(RED)
    for player in list(evening.game.humans()):
        evening.game.leave(player)
    evening.wait(40)
    assert (evening.status()["round"], evening.status()["pending"]) == (1, None)

    for name in ("Ann", "Bob", "Cid", "Dee"):
        evening.seat(name)
    evening.freeze()
    assert evening.sizes() == [1, 1]


def test_who_sits_out_is_not_kicked_while_the_others_play_on(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 5)
    evening.round(RED)
    evening.freeze()
    (bench,) = [player for player in evening.game.humans() if player.team not in SIDES]
    bench.idle = True
    evening.live()
    evening.wait(300)
    assert bench in evening.game.humans()
    evening.win(RED)
    evening.freeze()
    assert bench.team in SIDES
    assert bench.alive


def test_choosing_classes_at_every_moment_leaves_nobody_alive_without_a_side(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 7)
    classes = ("scout", "medic", "pyro", "random")
    for turn in range(4):
        evening.freeze()
        for moment in range(3):
            for player in evening.game.humans():
                if player.team not in SIDES:
                    evening.game.command(player, f"joinclass {classes[(turn + moment) % 4]}")
            evening.wait(0.6)
            assert nobody_watches_alive(evening)
        evening.live()
        assert nobody_watches_alive(evening)
        assert all(player.alive for side in SIDES for player in evening.game.teams.members(side))
        evening.win(RED)
    assert all(player.suicides == 0 and not player.misplaced for player in evening.game.humans())


def test_restarts_and_cancelled_waits_mean_nothing_to_arena(new_evening: NewEvening) -> None:
    evening = arena(new_evening, 4)
    for convar in ("mp_restartgame", "mp_waitingforplayers_cancel", "mp_restartround"):
        evening.freeze()
        evening.game.sm.convars[convar].set("1")
        evening.live()
        evening.game.sm.convars[convar].set("1")
        evening.wait(3)
        evening.win(RED)
    assert evening.status()["round"] == 3
    assert {evening.rounds(player) for player in evening.game.humans()} == {2, 3}
