"""Locks: who may not leave their side, for how long, and what ends it."""

import pytest

from tests.sourcemod.answerer import Daemon, Sides, begin, ids, obliging, placing, poll, seconds_of_play, settle
from tests.sourcemod.rig import Game, Player, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR


def lock(game: Game, daemon: Daemon, player: Player, side: str, seconds: float = 180.0) -> None:
    """The daemon locks a player."""
    daemon.order("lock", id=str(player.steamid), side=side, seconds=seconds)
    poll(game)


def test_a_lock_refuses_the_other_side_without_asking_until_its_time_or_an_order_ends_it(
    game: Game, daemon: Daemon, live: Sides
) -> None:
    red, _ = live
    daemon.answers["side_wanted"] = obliging
    for player, seconds, told in ((red[0], 10, "stay there for another 10 s"), (red[1], 0, "until the next scramble")):
        lock(game, daemon, player, "red", seconds)
        game.join(player, "blue")
        settle(game)
        assert player.team == RED
        assert told in player.chat[-1]
    assert not daemon.events("side_wanted")
    seconds_of_play(game, 11)
    daemon.order("unlock", ids=ids([red[1]]))
    poll(game)
    for player in red:
        game.join(player, "blue")
        settle(game)
    assert [player.team for player in red] == [BLU, BLU]


def test_who_was_taken_from_the_side_of_their_lock_may_go_back(game: Game, daemon: Daemon, live: Sides) -> None:
    red, _ = live
    game.teams.change(game.connect("Third"), RED)
    lock(game, daemon, red[0], "red")
    game.teams.change(red[0], BLU)  # by an admin: two against three
    daemon.answers["side_wanted"] = placing("red")
    game.join(red[0], "red")
    settle(game)
    assert red[0].team == RED


def test_from_a_side_that_is_larger_by_two_even_the_locked_may_go(game: Game, daemon: Daemon, live: Sides) -> None:
    red, blu = live
    lock(game, daemon, red[0], "red")
    daemon.answers["side_wanted"] = obliging
    game.leave(blu[0])
    settle(game)
    game.join(red[0], "blue")
    settle(game)
    assert red[0].team == RED  # larger by one
    game.leave(blu[1])
    seconds_of_play(game, 2)
    game.join(red[0], "blue")
    settle(game)
    assert red[0].team == BLU


@pytest.mark.parametrize("way", ["a reconnect", "watching", "the next map"])
def test_in_silence_a_lock_holds_until_the_map_ends(game: Game, daemon: Daemon, live: Sides, way: str) -> None:
    player = live[0][0]
    lock(game, daemon, player, "red", 0)
    game.sm.http.offline = True
    game.advance(8)
    if way == "a reconnect":
        player = game.reconnect(player)
    elif way == "watching":
        game.command(player, "spectate")
        assert player.team == SPECTATOR
    else:
        game.start_map("cp_gorge")
    game.join(player, "blue")
    settle(game)
    assert player.team == (BLU if way == "the next map" else RED)


def test_locks_follow_the_group_when_the_game_switches_sides(game: Game, daemon: Daemon, plugin: Plugin) -> None:
    daemon.answers["side_wanted"] = obliging
    red, _ = begin(game, "cp_gorge", 2, 2)
    lock(game, daemon, red[0], "red", 0)
    game.rounds.win(RED, 4)
    play.next_round(game)
    settle(game)
    assert red[0].team == BLU
    game.join(red[0], "red")
    settle(game)
    assert red[0].team == BLU
    assert "until the next scramble" in red[0].chat[-1]
