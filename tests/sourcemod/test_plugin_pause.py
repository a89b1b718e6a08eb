"""`sm plugins pause equipoise`, and what goes on when it is unpaused."""

import pytest

from tests.sourcemod.answerer import Daemon, Sides, obliging, seat, seconds_of_play, settle, win
from tests.sourcemod.orders import move, unharmed
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.test_plugin_fallback import prepare, scrambled

DUE = 0.1
"""Seconds in which a plugin that goes on posts: the next frames, not the next look of a second."""


def test_what_was_under_way_at_the_pause_goes_on_after_it(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    """A frame that was asked for in the moment of the pause never comes."""
    (asker, mover), _ = live
    joiner = game.connect("New")
    settle(game)
    daemon.order("vote", order="v-1", seconds=20.0)
    move(game, daemon, mover, "blu", deadline=2.0)
    daemon.forget()
    game.join(joiner, "red")
    game.say(asker, "!rank")
    game.sm.pause(plugin)
    assert game.sm.menus.of(asker.index) is None, "the vote ends"
    game.advance(20)
    assert daemon.events("command") == []
    assert mover.team == RED
    game.sm.resume(plugin)
    game.advance(DUE)
    game.settle()
    assert [event["words"] for event in daemon.events("command")] == [["rank"]]
    assert daemon.events("hello")[-1]["phase"] == "running"
    seconds_of_play(game, 2)
    assert joiner.team in (RED, BLU)
    assert mover.team == BLU
    assert unharmed(mover)
    assert daemon.results() == {"v-1": "cancelled", "m-1": ""}
    daemon.forget()
    game.say(asker, "!top")
    game.advance(DUE)
    game.settle()
    assert [event["words"] for event in daemon.events("command")] == [["top"]], "as soon as before"


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


def test_a_batch_whose_answer_fell_into_the_pause_is_sent_again_as_it_was(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    game.say(live[0][0], "!rank")
    game.sm.http.held = True
    game.frame()
    game.frame()
    assert game.sm.http.flying
    game.sm.pause(plugin)
    game.sm.http.held = False
    game.advance(1)
    game.sm.resume(plugin)
    game.advance(DUE)
    game.settle()
    first, again = [batch for batch in daemon.batches if any(each["kind"] == "command" for each in batch["events"])][:2]
    assert first == again


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


@pytest.mark.parametrize(("seconds", "partial"), [(1.0, False), (20.0, True)])
def test_a_round_goes_on_with_who_left_and_who_came_meanwhile_and_is_partial_after_a_longer_pause(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin, seconds: float, partial: bool
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
    assert ended["partial"] is partial
    assert {line["id"] for line in ended["players"]} >= {str(player.steamid) for player in (new, red[1], blu[0])}


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


def test_a_plugin_that_is_loaded_again_while_it_is_paused_loses_no_round_and_goes_on_with_the_next(
    game: Game, daemon: Daemon, live: Sides, plugin: Plugin
) -> None:
    """SourceMod calls no OnPluginEnd of a plugin that is paused."""
    game.sm.http.offline = True
    win(game)
    play.next_round(game)
    play.go_live(game)
    game.advance(5)
    game.sm.pause(plugin)
    game.sm.http.offline = False
    game.advance(1)
    game.reload(plugin)
    seconds_of_play(game, 8)
    assert [event["winner"] for event in daemon.events("round_ended")] == ["red"]
    win(game, BLU)
    assert [(event["winner"], event["partial"]) for event in daemon.events("round_ended")][-1] == ("blu", False)
