"""Waiting, restarts and wins in the rig beyond the scenarios."""

from __future__ import annotations

from collections.abc import Callable

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.scenarios import Script, fields, live, names, people, seen, since, watch


def test_waiting_can_be_begun_again(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_badlands")
    seen(game)
    game.rcon("mp_waitingforplayers_restart 1")
    game.advance(20)
    assert seen(game) == ["waiting starts S4 W1 U0"]
    game.rcon("mp_waitingforplayers_restart 1")
    game.advance(25)
    assert seen(game) == []
    game.advance(8)
    assert names(game) == ["teamplay_restart_round", "waiting ends", "teamplay_round_start"]


def test_a_restart_that_is_pending_puts_off_the_end_of_waiting(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("cp_badlands")
    people(game)
    game.advance(20)
    seen(game)
    game.rcon("mp_restartgame 30")
    game.advance(25)
    assert seen(game) == ["teamplay_round_restart_seconds S4 W1 U0"]
    game.advance(7)
    assert names(game) == ["teamplay_restart_round", "waiting ends", "teamplay_round_start"]


def test_a_restart_at_once_comes_within_a_second(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_badlands")
    seen(game)
    game.rcon("mp_restartgame_immediate 1")
    game.advance(1.1)
    assert names(game)[:2] == ["teamplay_round_restart_seconds", "teamplay_restart_round"]


def test_a_restart_asked_for_on_an_empty_server_waits_for_players(game: Game, script: Script) -> None:
    watch(script)
    game.sm.convars["mp_waitingforplayers_time"].set("0")
    game.start_map("cp_badlands")
    game.rcon("mp_restartgame 1")
    game.advance(20)
    assert names(game) == ["teamplay_round_restart_seconds"]
    people(game, 1)
    game.advance(5.2)
    assert names(game) == [
        "teamplay_round_start",
        "teamplay_round_active",
        "teamplay_restart_round",
        "waiting ends",
        "teamplay_round_start",
    ]


def test_a_forced_win_is_a_full_round(game: Game) -> None:
    live(game, "cp_dustbowl")
    game.rcon("mp_forcewin 3")
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["full_round"]) == (BLU, 1, True)


def test_the_last_who_leaves_in_the_bonus_time_leaves_a_round_that_starts_and_goes_live(
    game: Game, script: Script
) -> None:
    watch(script)
    live(game, "koth_harvest_final", 1)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.leave(game.players[1])
    seen(game)
    game.advance(21)
    assert names(game) == ["teamplay_round_start", "teamplay_round_active"]
    assert game.rounds.state is State.PREGAME


def test_a_round_is_won_once(game: Game) -> None:
    live(game, "cp_badlands")
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    assert game.events("teamplay_round_win") == ["teamplay_round_win"]
    assert game.rules.props["m_iWinningTeam"] == RED


def test_captures_are_counted_between_a_plugin_s_hooks(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { HookEvent("teamplay_point_captured", Event_Won); }
        void Event_Won(Event event, const char[] name, bool silent) { ServerCommand("mp_forcewin 2"); }""")
    live(game, "cp_gorge")
    play.capture(game, BLU, 0)
    game.frame()
    assert fields(game, "teamplay_round_win")["losing_team_num_caps"] == 1


def test_the_timer_of_an_emptied_map_goes_on_and_ends_a_round_that_nobody_plays(game: Game, script: Script) -> None:
    # The timer does not ask for players, and neither does game_round_win (entity_roundwin.cpp).
    watch(script)
    game.leave(live(game, "pl_upward", 1)[0])
    seen(game)
    game.advance(330)
    assert seen(game) == [
        "teamplay_win_panel S5 W0 U0",
        "teamplay_round_win S5 W0 U0",
        "teamplay_round_start S3 W0 U1",
        "teamplay_round_active S4 W0 U1",
    ]
    assert (game.rounds.state, game.teams.scores) == (State.PREGAME, [0, 0, 0, 1])


def test_setup_begins_when_waiting_is_cancelled(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("cp_gorge")
    people(game)
    game.until(lambda: game.rounds.state is State.RUNNING)
    seen(game)
    game.rcon("mp_waitingforplayers_cancel 1")
    game.advance(62)
    assert seen(game) == ["waiting ends S4 W0 U1", "teamplay_setup_finished S4 W0 U1"]


def test_a_server_that_hibernates_stands_still_until_somebody_comes(
    new_game: Callable[..., Game], script: Script
) -> None:
    game = new_game(hibernates=True)
    script(
        """
        public void OnPluginStart() { CreateTimer(60.0, Timer_Minute, _, TIMER_REPEAT); }
        Action Timer_Minute(Handle timer) { PrintToServer("a minute"); return Plugin_Continue; }""",
        on=game,
    )
    game.leave(live(game, "pl_upward", 1)[0])
    game.sm.console.clear()
    clock, mark = game.map_time, len(game.history)
    game.advance(601)
    assert (game.rounds.state, game.map_time, since(game, mark)) == (State.RUNNING, clock, [])
    assert game.sm.console == ["a minute"] * 10
    game.connect("Ann")
    game.frame()
    assert game.rounds.state is State.PREGAME


def test_a_restart_is_at_most_a_minute_away(game: Game) -> None:
    live(game, "cp_badlands")
    game.rcon("mp_restartgame 300")
    game.advance(1.1)
    assert fields(game, "teamplay_round_restart_seconds")["seconds"] == 60


def test_waiting_that_ends_by_mp_restartround_makes_the_map_anew_all_the_same(game: Game) -> None:
    game.start_map("cp_gorge")
    people(game)
    game.until(lambda: game.rounds.state is State.RUNNING)
    timer = game.entities.reference(game.clocks.timers[0].index)
    game.rcon("mp_restartround 1")
    game.advance(2.1)
    assert fields(game, "teamplay_round_start")["full_reset"] is False
    assert game.entities.get(timer) is None
