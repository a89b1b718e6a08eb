"""`sm plugins pause equipoise`, and what goes on when it is unpaused."""

from pathlib import Path

import pytest

from tests.sourcemod.answerer import Daemon, Sides, ids, obliging, poll, seat, seconds_of_play, settle, win
from tests.sourcemod.orders import move, unharmed
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.test_plugin_fallback import prepare, scrambled

DUE = 0.1
"""Seconds in which a plugin that goes on posts: the next frames, not the next look of a second."""


def test_it_posts_at_once_when_it_goes_on(game: Game, daemon: Daemon, live: Sides, plugin: Plugin) -> None:
    """A frame that was asked for in the moment of the pause never comes."""
    game.say(live[0][0], "!rank")
    game.sm.pause(plugin)
    game.advance(20)
    assert daemon.events("command") == []
    game.sm.resume(plugin)
    game.advance(DUE)
    game.settle()
    assert [event["words"] for event in daemon.events("command")] == [["rank"]]
    assert daemon.events("hello")[-1]["phase"] == "running"
    seconds_of_play(game, 1)
    daemon.forget()
    game.say(live[0][1], "!top")
    game.advance(DUE)
    game.settle()
    assert [event["words"] for event in daemon.events("command")] == [["top"]], "as soon as before"


def test_a_batch_whose_answer_fell_into_the_pause_is_sent_again_as_it_was(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    game.say(live[0][0], "!rank")
    game.sm.http.patience = 0.0
    game.frame()
    game.frame()
    assert game.sm.http.flying
    game.sm.pause(plugin)
    game.sm.http.patience = 5.0
    game.advance(1)
    game.sm.resume(plugin)
    game.advance(DUE)
    game.settle()
    first, again = [batch for batch in daemon.batches if any(each["kind"] == "command" for each in batch["events"])][:2]
    assert first == again


def test_the_game_has_its_variables_back_while_it_is_paused(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    balance = game.sm.convars["mp_autoteambalance"]
    assert balance.value == "0"
    game.sm.pause(plugin)
    assert balance.value == "1"
    game.rcon("mp_autoteambalance 2")
    game.sm.resume(plugin)
    assert balance.value == "0"
    game.unload(plugin)
    assert balance.value == "2"


def test_a_move_whose_deadline_fell_into_a_pause_is_carried_out_after_it(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    red, _ = live
    move(game, daemon, red[0], "blu", deadline=2.0)
    game.sm.pause(plugin)
    game.advance(2.5)
    assert red[0].team == RED
    game.sm.resume(plugin)
    seconds_of_play(game, 1)
    assert red[0].team == BLU
    assert unharmed(red[0])
    assert daemon.results() == {"m-1": ""}


def test_a_player_who_asked_for_a_side_before_the_pause_is_placed_after_it(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    daemon.answers["side_wanted"] = lambda event: []
    joiner = game.connect("New")
    settle(game)
    game.join(joiner, "red")
    game.sm.pause(plugin)
    game.advance(3)
    game.sm.resume(plugin)
    seconds_of_play(game, 2)
    assert joiner.team in (RED, BLU)


def test_a_vote_ends_with_the_pause(game: Game, daemon: Daemon, live: Sides, plugin: Plugin) -> None:
    red, _ = live
    daemon.order("vote", order="v-1", seconds=20.0)
    poll(game)
    game.sm.pause(plugin)
    assert game.sm.menus.of(red[0].index) is None
    game.advance(1)
    game.sm.resume(plugin)
    settle(game)
    assert daemon.results() == {"v-1": "cancelled"}


@pytest.mark.parametrize(("seconds", "partial"), [(1.0, False), (20.0, True)])
def test_a_round_goes_on_after_a_moment_and_is_partial_after_a_longer_pause(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin, seconds: float, partial: bool
) -> None:
    game.sm.pause(plugin)
    game.advance(seconds)
    game.sm.resume(plugin)
    seconds_of_play(game, 2)
    win(game)
    (ended,) = daemon.events("round_ended")
    assert ended["partial"] is partial
    assert {line["id"] for line in ended["players"]} == set(ids(live[0] + live[1]))


@pytest.mark.parametrize("before", [False, True], ids=["in it", "a moment before it"])
def test_a_win_that_fell_into_a_short_pause_is_reported(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin, before: bool
) -> None:
    if before:
        game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    game.sm.pause(plugin)
    if not before:
        game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    game.advance(1)
    game.sm.resume(plugin)
    game.advance(1.5)
    game.settle()
    assert [event["winner"] for event in daemon.events("round_ended")] == ["blu"]


@pytest.mark.parametrize("seconds", [1.0, 20.0])
def test_who_left_and_who_came_meanwhile_is_known_after_it(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin, seconds: float
) -> None:
    red, blu = live
    game.sm.pause(plugin)
    gone, index = str(red[0].steamid), red[0].index
    game.leave(red[0])
    new = game.connect("New")
    assert new.index == index, "in the same slot"
    game.join(new, "red")
    game.leave(blu[1])
    game.advance(seconds)
    game.sm.resume(plugin)
    seconds_of_play(game, 2)
    assert [event["id"] for event in daemon.events("player_left")][:1] == [gone]
    roster = daemon.events("roster")
    here = {line["id"] for line in roster[-1]["players"]} if roster else set()
    joined = [event["id"] for event in daemon.events("player_joined")]
    assert joined == [str(new.steamid)]
    assert not here or here == {str(player.steamid) for player in (new, red[1], blu[0])}
    win(game)
    (ended,) = daemon.events("round_ended")
    assert str(new.steamid) in {line["id"] for line in ended["players"]}


def test_a_map_that_began_in_the_pause_is_another_one(game: Game, daemon: Daemon, live: Sides, plugin: Plugin) -> None:
    game.sm.pause(plugin)
    game.start_map("cp_gorge")
    game.advance(5)
    game.sm.resume(plugin)
    daemon.answers["side_wanted"] = obliging
    seconds_of_play(game, 2)
    hello = daemon.events("hello")[-1]
    assert (hello["map"], hello["late"]) == ("cp_gorge", True)
    assert game.sm.convars["mp_autoteambalance"].value == "0"
    seat(game, "New", "red")
    settle(game)
    assert daemon.events("player_joined")


def test_without_the_daemon_a_scramble_whose_moment_fell_into_the_pause_is_made_after_it(
    game: Game, daemon: Daemon, plugin: Plugin
) -> None:
    players = prepare(game, daemon, ["red"])
    daemon.sticky = {"pending": True}
    win(game)
    game.until(lambda: game.rounds.state is State.PREROUND, within=60)
    game.sm.http.offline = True
    game.sm.pause(plugin)
    game.advance(2.5)
    game.sm.resume(plugin)
    assert not scrambled(players)
    game.advance(1)
    assert game.rounds.state is State.PREROUND
    assert scrambled(players)


def test_a_round_goes_on_in_a_plugin_that_is_loaded_again_while_it_is_paused(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    """SourceMod calls no OnPluginEnd of a plugin that is paused."""
    game.advance(5)
    game.sm.pause(plugin)
    game.advance(1)
    game.reload(plugin)
    seconds_of_play(game, 2)
    win(game)
    (ended,) = daemon.events("round_ended")
    assert not ended["partial"]


def test_a_plugin_that_is_paused_and_unloaded_loses_no_round(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin, equipoise_smx: Path
) -> None:
    game.sm.http.offline = True
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.advance(1)
    game.sm.pause(plugin)
    game.sm.http.offline = False
    game.reload(plugin)
    play.next_round(game)
    seconds_of_play(game, 8)
    assert [event["winner"] for event in daemon.events("round_ended")][:1] == ["red"]
