"""Scenarios 1 to 13, 22 and 23: rounds, stages, restarts and empty servers as the game's source has them."""

from __future__ import annotations

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.scenarios import Script, fields, live, names, people, seen, since, watch, when

FRAME = 0.02


def test_scenario_1_the_first_round_waits_restarts_and_begins_again_in_one_frame(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("cp_badlands")
    people(game, 2)
    began = game.now
    game.advance(40)

    assert seen(game) == [
        "waiting starts S2 W1 U0",
        "teamplay_round_start S3 W1 U0",
        "teamplay_round_active S4 W1 U0",
        "teamplay_restart_round S6 W1 U0",
        "waiting ends S6 W0 U0",
        "teamplay_round_start S3 W0 U0",
        "teamplay_round_active S4 W0 U0",
    ]
    starts = [now for now, name, _ in game.history if name == "teamplay_round_start"]
    assert starts[0] == pytest.approx(began + FRAME, abs=2 * FRAME)
    assert starts[1] == when(game, "teamplay_restart_round")
    assert 30 <= starts[1] - starts[0] <= 31 + FRAME
    assert when(game, "teamplay_round_active") - starts[1] == pytest.approx(5, abs=FRAME)


def test_scenario_2_nothing_begins_before_somebody_has_a_class(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("cp_badlands")
    players = [game.connect("Ann"), game.connect("Bob")]
    for player, side in zip(players, ("red", "blue"), strict=True):
        game.join(player, side)
    game.advance(60)

    assert game.rounds.state is State.PREGAME
    assert seen(game) == []
    game.command(players[0], "joinclass soldier")
    game.advance(0.1)
    assert names(game) == ["waiting starts", "teamplay_round_start"]


def test_scenario_3_setup_runs_from_the_round_s_start(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("cp_gorge")
    people(game)
    game.until(lambda: game.events("teamplay_restart_round"))
    assert seen(game)[-1] == "teamplay_round_start S3 W0 U1"
    game.advance(60.2)

    assert seen(game) == ["teamplay_round_active S4 W0 U1", "teamplay_setup_finished S4 W0 U1"]
    assert game.rules.props["m_bInSetup"] == 0
    start = when(game, "teamplay_round_start")
    assert when(game, "teamplay_setup_finished") - start == pytest.approx(60, abs=0.1)
    game.advance(start + 70 - game.now)
    game.rounds.win(RED, Reason.DEFENDED)
    assert fields(game, "teamplay_round_win")["round_time"] == pytest.approx(70, abs=0.1)


def test_scenario_4_the_waiting_timer_clears_the_setup_flag(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("cp_gorge")
    people(game)
    game.advance(29)

    assert seen(game) == [
        "waiting starts S2 W1 U1",
        "teamplay_round_start S3 W1 U1",
        "teamplay_round_active S4 W1 U0",
    ]


def test_scenario_5_the_last_capture_of_attackers_nests_the_win_and_switches_sides(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_gorge", 4)
    attackers = game.teams.members(BLU)
    play.capture(game, BLU, 0, attackers[0])
    seen(game)
    play.capture(game, BLU, 1, attackers[0])

    assert seen(game) == [
        "teamplay_point_captured S4 W0 U0",
        "teamplay_win_panel S5 W0 U0",
        "teamplay_round_win S5 W0 U0",
    ]
    assert fields(game, "teamplay_win_panel")["round_complete"] == 1
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["full_round"], won["losing_team_num_caps"]) == (BLU, 1, True, 0)
    before, mark = {p.userid: p.team for p in game.in_game()}, len(game.history)
    game.until(lambda: "teamplay_round_start" in since(game, mark), within=16)

    moves = [values for _, name, values in game.history[mark:] if name == "player_team"]
    assert [move["userid"] for move in moves] == list(before)
    assert all(move["silent"] and move["oldteam"] == before[move["userid"]] for move in moves)  # type: ignore[index]
    assert all(p.team != before[p.userid] for p in game.in_game())
    assert game.teams.scores == [0, 0, 1, 0]
    assert game.rules.props["m_bSwitchedTeamsThisRound"] == 1
    assert fields(game, "teamplay_round_start")["full_reset"] is True
    order = since(game, mark, "player_team", "player_spawn", "teamplay_round_start")
    assert order == ["player_team"] * 4 + ["player_spawn"] * 4 + ["teamplay_round_start"]


def test_scenario_6_a_duellist_stays_when_sides_switch(game: Game) -> None:
    live(game, "cp_gorge", 4)
    duellist, *others = game.in_game()
    sides = [player.team for player in others]
    game.rounds.win(RED, Reason.DEFENDED)
    duellist.duel = True  # the win ends those before it
    play.next_round(game)

    assert duellist.team == RED
    assert [RED + BLU - player.team for player in others] == sides


def test_scenario_7_a_stage_is_no_full_round(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_dustbowl")
    sides = [player.team for player in game.in_game()]
    play.capture(game, BLU, 0)
    play.capture(game, BLU, 1)

    assert fields(game, "teamplay_round_win")["full_round"] is False
    assert (game.teams.scores, game.rules.props["m_nRoundsPlayed"]) == ([0] * 4, 0)
    seen(game)
    game.until(lambda: game.rounds.state is State.PREROUND)
    assert seen(game) == ["teamplay_round_selected S3 W0 U1", "teamplay_round_start S3 W0 U1"]
    assert fields(game, "teamplay_round_start")["full_reset"] is False
    assert [player.team for player in game.in_game()] == sides
    assert game.points.owners[:4] == [BLU, BLU, RED, RED]
    assert game.rules.props["m_iWinningTeam"] == BLU
    play.go_live(game)
    game.advance(300.2)

    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["full_round"]) == (RED, Reason.DEFENDED, True)
    play.next_round(game)
    assert [RED + BLU - player.team for player in game.in_game()] == sides


def test_scenario_8_a_restart_voids_the_running_round(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_badlands")
    game.teams.scores[RED] = 2
    seen(game)
    game.rcon("mp_restartgame 1")
    game.advance(2.1)

    assert seen(game) == [
        "teamplay_round_restart_seconds S4 W0 U0",
        "teamplay_restart_round S6 W0 U0",
        "waiting ends S6 W0 U0",
        "teamplay_round_start S3 W0 U0",
    ]
    gap = when(game, "teamplay_restart_round") - when(game, "teamplay_round_restart_seconds")
    assert gap == pytest.approx(1, abs=FRAME)
    assert game.teams.scores == [0] * 4
    assert fields(game, "teamplay_round_start")["full_reset"] is True
    assert "teamplay_map_time_remaining" in game.events()


def test_scenario_9_a_restart_asked_for_after_a_stage_comes_in_the_next_round(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_dustbowl")
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    seen(game)
    game.rcon("mp_restartgame 1")
    game.advance(14)

    assert seen(game) == ["teamplay_round_restart_seconds S5 W0 U0"]
    game.advance(7)
    assert names(game) == [
        "teamplay_round_selected",
        "teamplay_round_start",
        "teamplay_round_active",
        "teamplay_restart_round",
        "waiting ends",
        "teamplay_round_selected",
        "teamplay_round_start",
    ]
    resets = [values["full_reset"] for _, name, values in game.history if name == "teamplay_round_start"]
    assert resets[-2:] == [True, True]
    assert when(game, "teamplay_restart_round") - when(game, "teamplay_round_active") <= FRAME


def test_scenario_10_a_restart_asked_for_in_the_freeze_waits_for_its_end(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_badlands")
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.until(lambda: game.rounds.state is State.PREROUND)
    seen(game)
    game.rcon("mp_restartgame 1")
    game.advance(5.2)

    assert names(game) == [
        "teamplay_round_restart_seconds",
        "teamplay_round_active",
        "teamplay_restart_round",
        "waiting ends",
        "teamplay_round_start",
    ]


def test_scenario_11_arena_never_restarts(game: Game, script: Script) -> None:
    watch(script)
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    live(game, "arena_well")
    seen(game)
    game.rcon("mp_restartgame 1")
    game.advance(60)

    assert seen(game) == ["teamplay_round_restart_seconds S7 W0 U0"]
    play.wipe_out(game, BLU)
    game.advance(30)
    assert names(game) == ["arena_win_panel", "teamplay_round_win", "teamplay_round_start", "arena_round_start"]


def test_scenario_12_a_restarted_round_keeps_the_map_s_entities(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_badlands")
    game.teams.scores[BLU] = 1
    seen(game)
    game.rcon("mp_restartround 1")
    game.advance(2.1)

    assert names(game)[1:] == ["teamplay_restart_round", "waiting ends", "teamplay_round_start"]
    assert fields(game, "teamplay_round_start")["full_reset"] is False
    assert game.teams.scores == [0] * 4


def test_scenario_13_a_cancelled_waiting_makes_the_round_real(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("cp_badlands")
    people(game)
    game.until(lambda: game.rounds.state is State.RUNNING)
    seen(game)
    game.rcon("mp_waitingforplayers_cancel 1")
    game.advance(40)

    assert seen(game) == ["waiting ends S4 W0 U0"]
    play.capture(game, RED, 2)
    play.capture(game, RED, 3)
    play.capture(game, RED, 4)
    assert fields(game, "teamplay_round_win")["team"] == RED


def test_scenario_22_a_server_that_empties_and_fills_waits_once_more(game: Game, script: Script) -> None:
    watch(script)
    live(game, "koth_harvest_final", 1)
    seen(game)
    mark = len(game.history)
    game.leave(game.players[1])
    assert since(game, mark, "player_disconnect", "player_team") == ["player_disconnect", "player_team"]
    team = fields(game, "player_team")
    assert (team["team"], team["disconnect"]) == (0, True)
    game.frame()
    assert (game.rounds.state, names(game)) == (State.PREGAME, ["client leaves"])

    people(game, 1)
    game.advance(25)
    assert seen(game) == ["waiting starts S2 W1 U0", "teamplay_round_start S3 W1 U0", "teamplay_round_active S4 W1 U0"]
    game.advance(7)
    assert names(game) == ["teamplay_restart_round", "waiting ends", "teamplay_round_start"]


def test_scenario_23_a_server_that_emptied_while_waiting_restarts_at_once(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("koth_harvest_final")
    players = people(game)
    game.until(lambda: game.rounds.state is State.RUNNING)
    game.advance(5)
    for player in players:
        game.leave(player)
    game.advance(60)
    assert (game.rounds.state, game.rounds.waiting) == (State.PREGAME, True)
    seen(game)
    people(game, 1)
    game.advance(6.2)

    assert names(game) == [
        "waiting starts",
        "teamplay_round_start",
        "teamplay_round_active",
        "teamplay_restart_round",
        "waiting ends",
        "teamplay_round_start",
    ]


def test_without_waiting_time_the_first_round_counts(game: Game, script: Script) -> None:
    watch(script)
    game.sm.convars["mp_waitingforplayers_time"].set("0")
    live(game, "koth_harvest_final")
    assert names(game) == ["teamplay_round_start", "teamplay_round_active"]
