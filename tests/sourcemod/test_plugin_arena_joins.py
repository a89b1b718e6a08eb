"""Asking for a side in arena: parked during a round, and let in when a side is empty."""

import pytest

from tests.sourcemod.answerer import Daemon, Sides, crowd, go_live, obliging, placing, seconds_of_play, settle
from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, State


@pytest.fixture
def arena(game: Game, daemon: Daemon, plugin: Plugin) -> Sides:
    """Two against two in arena's running round."""
    daemon.answers["side_wanted"] = obliging
    game.start_map("arena_well")
    sides = crowd(game, 2, 2)
    go_live(game)
    daemon.forget()
    return sides


@pytest.mark.parametrize("command", ["jointeam red", "autoteam"])
def test_during_an_arena_round_a_joiner_is_parked(game: Game, daemon: Daemon, arena: Sides, command: str) -> None:
    joiner = game.connect("New")
    game.command(joiner, command)
    settle(game)
    assert joiner.team == SPECTATOR
    assert not daemon.events("side_wanted")
    assert daemon.events("side_changed")[-1] | {"at": 0} == {
        "kind": "side_changed", "at": 0, "id": str(joiner.steamid), "side": "none", "waiting": True, "ready": False,
    }  # fmt: skip


def test_choosing_to_watch_ends_the_waiting(game: Game, daemon: Daemon, arena: Sides) -> None:
    joiner = game.connect("New")
    game.join(joiner, "red")
    settle(game)
    game.command(joiner, "spectate")
    settle(game)
    assert [event["waiting"] for event in daemon.events("side_changed")] == [True, False]


def test_placed_nowhere_means_waiting(game: Game, daemon: Daemon, arena: Sides) -> None:
    play.wipe_out(game, BLU)
    daemon.answers["side_wanted"] = placing("none", "Equipoise_ReasonWaits")
    joiner = game.connect("New")
    game.join(joiner, "red")
    settle(game)
    assert joiner.team == SPECTATOR
    assert daemon.events("side_changed")[-1]["waiting"]


def test_when_a_side_walks_out_the_waiting_are_let_in(game: Game, daemon: Daemon, arena: Sides) -> None:
    _, blu = arena
    joiner = game.connect("New")
    game.join(joiner, "red")
    settle(game)
    joiner.choose("pyro")
    for player in blu:
        game.leave(player)
    game.until(lambda: game.rounds.state is State.PREGAME)
    seconds_of_play(game, 3)
    assert joiner.team == BLU
    game.until(lambda: game.rounds.state is State.PREROUND)
    assert joiner.alive


def test_when_a_side_walks_out_and_no_player_waits_the_newcomer_crosses(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    red, blu = arena
    for player in blu:
        game.leave(player)
    game.until(lambda: game.rounds.state is State.PREGAME)
    seconds_of_play(game, 3)
    assert [player.team for player in red] == [RED, BLU]
    assert red[1].suicides == 0


def test_who_is_held_into_the_next_rounds_freeze_without_an_answer_waits(
    game: Game, daemon: Daemon, arena: Sides
) -> None:
    play.wipe_out(game, BLU)
    settle(game)
    ends = float(game.rules.props["m_flStateTransitionTime"])  # type: ignore[arg-type]
    game.until(lambda: game.map_time > ends - 1.0, within=30)
    game.sm.http.held = True
    joiner = game.connect("New")
    game.join(joiner, "red", "scout")
    assert game.rounds.state is State.TEAM_WIN
    game.advance(2.5)
    assert game.rounds.state is State.PREROUND
    assert (joiner.team, joiner.alive) == (SPECTATOR, False)
    assert "you play in the next one" in joiner.chat[-1]
