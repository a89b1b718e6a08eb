"""Scenarios 27 and 37: how a map ends, and the game's own scrambles and side switches."""

from __future__ import annotations

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED, SPECTATOR, Reason, State
from tests.sourcemod.scenarios import Script, fields, live, names, seen, since, watch, when


def win(game: Game, side: int) -> None:
    """One side wins a full round; the next is live."""
    game.rounds.win(side, Reason.POINTS_CAPTURED)
    play.next_round(game)
    play.go_live(game)


def test_scenario_27_a_win_limit_ends_the_map_with_an_event_of_its_own(game: Game, script: Script) -> None:
    watch(script)
    game.map_cycle = ["koth_harvest_final", "cp_badlands"]
    live(game, "koth_harvest_final")
    game.sm.convars["mp_winlimit"].set("1")
    seen(game)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    assert fields(game, "teamplay_win_panel")["game_over"] == 1
    game.until(lambda: game.rounds.state is State.GAME_OVER)

    assert seen(game)[2:] == ["tf_game_over S5 W0 U0"]
    assert fields(game, "tf_game_over")["reason"] == "Reached Win Limit"
    over = game.now
    assert over - when(game, "teamplay_round_win") == pytest.approx(15, abs=0.05)
    mark = len(game.history)
    game.until(lambda: game.map == "cp_badlands")
    assert names(game) == ["client leaves"] * 4 + ["map ends"]
    assert game.now - over == pytest.approx(10, abs=0.1)
    assert since(game, mark, "player_team", "player_disconnect") == []
    assert [player.team for player in game.in_game()] == [0] * 4


def test_scenario_27_a_round_limit(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_badlands")
    game.sm.convars["mp_maxrounds"].set("1")
    seen(game)
    game.rounds.stalemate()
    game.advance(15.1)
    assert seen(game)[2:] == ["teamplay_game_over S5 W0 U0"]
    assert fields(game, "teamplay_game_over")["reason"] == "Reached Round Limit"
    game.advance(60)
    assert game.rounds.state is State.GAME_OVER


@pytest.mark.parametrize("map_name", ["cp_badlands", "arena_well"])
def test_scenario_27_no_round_begins_in_a_map_s_last_minutes_but_in_arena(game: Game, map_name: str) -> None:
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    live(game, map_name)
    game.sm.convars["mp_timelimit"].set("30")
    game.advance(26 * 60)
    if map_name == "cp_badlands":
        game.until(lambda: game.rounds.live)
        game.rounds.win(RED, Reason.POINTS_CAPTURED)
    else:
        play.wipe_out(game, BLU)
    game.advance(15.1)
    over = game.rounds.state is State.GAME_OVER
    assert over is (map_name == "cp_badlands")
    if over:
        assert fields(game, "teamplay_game_over")["reason"] == "Reached Time Limit"


def test_the_time_limit_is_not_looked_at_in_a_running_round(game: Game) -> None:
    live(game, "pl_upward")
    game.sm.convars["mp_timelimit"].set("1")
    game.advance(120)
    assert game.rounds.state is State.RUNNING
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    # Time is up, so even a stage counts.
    assert game.teams.scores[BLU] == 1


def test_capture_the_flag_ends_with_the_map_s_time(game: Game) -> None:
    game.sm.convars["mp_timelimit"].set("2")
    red, *_ = live(game, "ctf_2fort")
    play.pick_up_flag(game, red)
    game.advance(117)
    assert (game.rounds.state, game.rules.props["m_bInOvertime"]) == (State.RUNNING, 1)
    play.drop_flag(game, red)
    game.flags.give_back(BLU)
    game.frame()
    assert fields(game, "teamplay_round_win")["winreason"] == Reason.STALEMATE
    game.advance(15.1)
    assert fields(game, "teamplay_game_over")["reason"] == "Reached Time Limit"


def test_a_last_flag_that_comes_home_in_overtime_wins_a_drawn_map(game: Game) -> None:
    game.sm.convars["mp_timelimit"].set("2")
    red, *_ = live(game, "ctf_2fort")
    for _ in range(2):
        play.capture_flag(game, red)
    play.pick_up_flag(game, red)
    game.advance(117)
    assert game.rules.props["m_bInOvertime"]
    play.capture_flag(game, red)
    game.frame()
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"]) == (RED, Reason.FLAG_CAPTURE_LIMIT)


def test_the_side_ahead_wins_capture_the_flag_when_the_map_s_time_is_up(game: Game) -> None:
    game.sm.convars["mp_timelimit"].set("2")
    live(game, "ctf_2fort")
    game.teams.scores[BLU] = 1
    game.advance(117)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], game.teams.scores[BLU]) == (BLU, Reason.TIME_LIMIT, 1)


def test_a_win_difference_ends_the_map(game: Game) -> None:
    live(game, "cp_badlands")
    game.sm.convars["mp_windifference"].set("2")
    game.teams.scores[BLU] = 2
    game.advance(1.1)
    assert fields(game, "tf_game_over")["reason"] == "Reached Win Difference Limit"


def test_nextlevel_ends_the_map_after_a_full_round_and_chooses_the_next(game: Game) -> None:
    live(game, "cp_dustbowl")
    game.rcon("nextlevel cp_gorge")
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    game.advance(16)
    assert game.rounds.state is State.PREROUND
    game.rounds.win(RED, Reason.DEFENDED)
    game.advance(15.1)
    assert fields(game, "teamplay_game_over")["reason"] == "NextLevel CVAR"
    game.advance(10.2)
    assert game.map == "cp_gorge"


def test_a_restart_gives_the_map_its_whole_time_again(game: Game) -> None:
    live(game, "cp_badlands")
    game.sm.convars["mp_timelimit"].set("20")
    game.advance(120)
    game.rcon("mp_restartgame 1")
    game.advance(2.1)
    assert fields(game, "teamplay_map_time_remaining")["seconds"] == 20 * 60


def test_scenario_37_two_wins_scramble_at_the_next_round_without_a_restart(game: Game, script: Script) -> None:
    watch(script)
    players = live(game, "koth_harvest_final", 6)
    win(game, RED)
    seen(game)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    assert names(game) == ["teamplay_win_panel", "teamplay_round_win", "teamplay_alert"]
    assert fields(game, "teamplay_alert")["alert_type"] == 0
    mark = len(game.history)
    play.next_round(game)

    moves = [values for _, name, values in game.history[mark:] if name == "player_team"]
    for player in players:
        own = [move["team"] for move in moves if move["userid"] == player.userid]
        assert own[0] == SPECTATOR
        assert own[-1] == player.team
    assert all(move["silent"] for move in moves)
    assert since(game, mark, "player_death", "teamplay_restart_round") == []
    assert [len(game.teams.members(side)) for side in (RED, BLU)] == [3, 3]
    assert game.teams.scores == [0, 0, 2, 0]


def test_a_duellist_is_not_scrambled(game: Game) -> None:
    duellist, *_ = live(game, "koth_harvest_final", 6)
    game.sides.scramble_pending = True
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    duellist.duel = True
    mark = len(game.history)
    play.next_round(game)
    assert duellist.userid not in [v["userid"] for _, name, v in game.history[mark:] if name == "player_team"]


def test_the_game_never_scrambles_arena(game: Game) -> None:
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    live(game, "arena_well")
    for _ in range(3):
        play.wipe_out(game, BLU)
        play.next_round(game)
        play.go_live(game)
    assert "teamplay_alert" not in game.events()


def test_a_scramble_by_command_restarts_and_keeps_the_players_scores(game: Game, script: Script) -> None:
    watch(script)
    red, blu, *_ = live(game, "koth_harvest_final", 6)
    play.kill(game, red, blu)
    game.teams.scores[RED] = 1
    seen(game)
    game.rcon("mp_scrambleteams")
    game.advance(6.2)
    assert names(game) == [
        "teamplay_round_restart_seconds",
        "teamplay_alert",
        "teamplay_restart_round",
        "waiting ends",
        "teamplay_round_start",
    ]
    assert (red.frags, game.teams.scores) == (1, [0] * 4)


def test_a_switch_by_command_keeps_everything(game: Game) -> None:
    players = live(game, "cp_badlands")
    sides = [player.team for player in players]
    game.teams.scores[RED] = 3
    game.rcon("mp_switchteams")
    game.advance(6.2)
    assert [RED + BLU - player.team for player in players] == sides
    assert game.teams.scores == [0, 0, 0, 3]
    assert game.rules.props["m_bSwitchedTeamsThisRound"] == 1


def test_a_win_forgets_a_switch_that_was_asked_for(game: Game) -> None:
    players = live(game, "cp_badlands")
    sides = [player.team for player in players]
    game.rcon("mp_switchteams")
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.until(lambda: game.events("teamplay_restart_round")[1:], within=40)
    assert [player.team for player in players] == sides


def test_a_scramble_evens_the_points_of_the_sides(game: Game) -> None:
    players = live(game, "koth_harvest_final", 6)
    for player, kills in zip(players, (20, 10, 9, 8, 7, 6), strict=True):
        game.teams.scoreboard.count(player, "m_iKills", kills)
    game.advance(0.2)
    game.sides.scramble_pending = True
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    play.next_round(game)
    best = next(p for p in players if p.map_stats["m_iKills"] == 20)
    beside = sum(p.map_stats["m_iKills"] for p in players if p.team == best.team)
    assert [len(game.teams.members(side)) for side in (RED, BLU)] == [3, 3]
    assert abs(beside - (60 - beside)) <= 10


def test_a_level_change_by_command_ends_no_round(game: Game, script: Script) -> None:
    watch(script)
    live(game, "cp_badlands")
    seen(game)
    game.rcon("changelevel koth_harvest_final")
    game.frame()
    assert game.map == "koth_harvest_final"
    assert names(game) == ["client leaves"] * 4 + ["map ends"]


def test_the_map_does_not_end_between_the_stages_of_a_round(game: Game) -> None:
    live(game, "cp_dustbowl")
    game.sm.convars["mp_timelimit"].set("1")
    game.advance(60)
    play.capture(game, BLU, 0)
    play.capture(game, BLU, 1)
    game.advance(16)
    assert game.rounds.state is State.PREROUND


def test_wins_are_counted_for_people_when_sides_switch(game: Game) -> None:
    live(game, "cp_gorge")
    win(game, BLU)
    game.rounds.win(RED, Reason.DEFENDED)
    assert "teamplay_alert" in game.events()


def test_one_win_before_the_limit_nothing_is_scrambled(game: Game) -> None:
    live(game, "koth_harvest_final")
    game.sm.convars["mp_winlimit"].set("3")
    win(game, RED)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    assert "teamplay_alert" not in game.events()
