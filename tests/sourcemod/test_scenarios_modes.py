"""Scenarios 24 to 26, 36 and 38: flags, the hill's overtime, stalemates, map entities and Mann vs Machine."""

from __future__ import annotations

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, RED, Mode, Reason, State
from tests.sourcemod.scenarios import Script, fields, live, names, people, seen, since, watch, when


def test_scenario_24_the_third_flag_wins_within_a_second(game: Game) -> None:
    red, blu, *_ = live(game, "ctf_2fort")
    for _ in range(2):
        play.capture_flag(game, blu)
        play.capture_flag(game, red)
    play.pick_up_flag(game, blu)
    play.pick_up_flag(game, red)
    mark = len(game.history)
    play.capture_flag(game, red)

    assert since(game, mark) == ["teamplay_flag_event", "ctf_flag_captured"]
    flag, captured = fields(game, "teamplay_flag_event"), fields(game, "ctf_flag_captured")
    assert (flag["eventtype"], flag["team"], flag["player"]) == (2, BLU, red.index)
    assert (captured["capping_team"], captured["capping_team_score"]) == (RED, 3)
    assert game.rounds.live
    game.advance(1.1)
    wanted = ["teamplay_flag_event", "teamplay_win_panel", "teamplay_round_win"]
    assert since(game, mark + 2, *wanted) == wanted
    dropped, won = fields(game, "teamplay_flag_event"), fields(game, "teamplay_round_win")
    assert (dropped["eventtype"], dropped["team"], dropped["player"]) == (4, RED, blu.index)
    assert (won["team"], won["winreason"], won["losing_team_num_caps"], won["flagcaplimit"]) == (RED, 3, 0, 3)
    assert game.teams.entity(RED).props["m_nFlagCaptures"] == 3
    play.next_round(game)
    assert game.teams.entity(RED).props["m_nFlagCaptures"] == 0


def test_nothing_is_won_by_flags_while_the_game_waits(game: Game) -> None:
    game.start_map("ctf_2fort")
    red, *_ = people(game)
    game.until(lambda: game.rounds.state is State.RUNNING)
    for _ in range(3):
        play.capture_flag(game, red)
    game.advance(2)
    assert "teamplay_round_win" not in game.events()


def test_scenario_25_the_hills_clock_waits_for_those_who_capture(game: Game, script: Script) -> None:
    watch(script)
    red, *_ = live(game, "koth_harvest_final")
    play.capture(game, BLU, 0)
    game.advance(179)
    game.points.start_capture(0, RED, [red])
    seen(game)
    game.advance(10)

    assert (game.rules.props["m_bInOvertime"], game.rules.props["m_bInSetup"], seen(game)) == (1, 0, [])
    game.points.stop_capture(0)
    assert not game.clocks.may_expire()
    left = game.now
    game.advance(0.5)
    assert names(game) == ["teamplay_win_panel", "teamplay_round_win"]
    assert when(game, "teamplay_round_win") - left <= 0.35
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"]) == (BLU, Reason.POINTS_CAPTURED)


def test_scenario_26_a_symmetric_map_whose_timer_runs_out_has_no_winner(game: Game) -> None:
    live(game, "cp_badlands")
    game.advance(601)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["full_round"]) == (0, Reason.STALEMATE, True)
    assert game.teams.scores == [0] * 4


def test_scenario_26_sudden_death_respawns_everybody_once(game: Game, script: Script) -> None:
    watch(script)
    red, blu, *others = live(game, "cp_badlands")
    game.sm.convars["mp_stalemate_enable"].set("1")
    play.kill(game, blu, red)
    game.advance(590)
    seen(game)
    play.kill(game, blu, red)
    mark = len(game.history)
    game.until(lambda: game.rounds.state is State.STALEMATE)

    assert seen(game) == ["teamplay_round_stalemate S7 W0 U0"]
    assert since(game, mark, "player_spawn") == ["player_spawn"] * 4
    assert fields(game, "teamplay_round_stalemate")["reason"] == 1
    assert red.alive
    for player in (blu, *(p for p in others if p.team == BLU)):
        play.kill(game, red, player)
    game.advance(1)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["was_sudden_death"]) == (RED, Reason.OPPONENTS_DEAD, True)


def test_sudden_death_that_outlasts_its_timer_is_drawn(game: Game) -> None:
    live(game, "cp_badlands")
    game.sm.convars["mp_stalemate_enable"].set("1")
    game.rounds.stalemate()
    game.advance(240.2)
    assert fields(game, "teamplay_round_win")["winreason"] == Reason.STALEMATE


def test_scenario_36_a_full_reset_kills_references_and_a_stage_keeps_them(game: Game, script: Script) -> None:
    script("""
        int g_Timer = INVALID_ENT_REFERENCE;
        public void OnPluginStart() { HookEvent("teamplay_round_start", Event_Start); }
        void Event_Start(Event event, const char[] name, bool silent)
        {
            PrintToServer("full %d, held %d", event.GetBool("full_reset"), IsValidEntity(g_Timer));
            g_Timer = EntIndexToEntRef(FindEntityByClassname(-1, "team_round_timer"));
        }""")
    live(game, "cp_dustbowl")
    game.sm.console.clear()
    timer = game.entities.after(-1, "team_round_timer")
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    play.next_round(game)
    play.go_live(game)
    game.rounds.win(RED, Reason.DEFENDED)
    play.next_round(game)

    assert game.sm.console == ["full 0, held 1", "full 1, held 0"]
    assert game.entities.after(-1, "team_round_timer") == timer


def test_a_map_is_made_anew_after_waiting(game: Game) -> None:
    game.start_map("koth_harvest_final")
    people(game)
    game.until(lambda: game.rounds.state is State.RUNNING)
    clock = game.entities.reference(int(game.rules.props["m_hRedKothTimer"]))  # type: ignore[call-overload]
    play.go_live(game)
    assert game.entities.get(clock) is None
    assert game.rules.props["m_hRedKothTimer"] != -1


def test_scenario_38_mann_vs_machine_waits_between_its_waves(game: Game, script: Script) -> None:
    watch(script)
    game.start_map("mvm_coaltown")
    game.add("Ann", "red")
    game.advance(1)
    assert names(game) == ["waiting starts", "teamplay_round_start", "waiting starts"]
    assert (game.rounds.state, game.rounds.waiting) == (State.BETWEEN_ROUNDS, True)
    game.mvm.players_ready()
    game.advance(10.1)
    assert seen(game) == [
        "waiting ends S10 W0 U1",
        "mvm_begin_wave S4 W0 U0",
        "teamplay_round_active S4 W0 U0",
    ]
    game.mvm.win_wave()
    assert seen(game) == ["waiting starts S10 W1 U1"]
    game.mvm.players_ready()
    game.advance(10.1)
    seen(game)
    game.mvm.lose_wave()
    game.advance(6)
    assert seen(game) == [
        "pve_win_panel S5 W0 U0",
        "teamplay_round_win S5 W0 U0",
        "teamplay_round_start S3 W0 U0",
        "waiting starts S10 W1 U1",
    ]


def test_a_point_given_by_the_map_is_no_capture(game: Game) -> None:
    red, *_ = live(game, "cp_badlands")
    game.points.give(2, RED)
    assert "teamplay_point_captured" not in game.events()
    assert game.points.owners[2] == RED
    play.capture(game, RED, 3, red)
    captured = fields(game, "teamplay_point_captured")
    assert (captured["cp"], captured["team"], captured["cappers"]) == (3, RED, chr(red.index))


def test_a_capture_event_that_a_plugin_blocks_is_not_counted(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { HookEvent("teamplay_point_captured", Event_Block, EventHookMode_Pre); }
        Action Event_Block(Event event, const char[] name, bool silent) { return Plugin_Handled; }""")
    live(game, "cp_gorge")
    play.capture(game, BLU, 0)
    game.rounds.win(RED, Reason.DEFENDED)
    assert fields(game, "teamplay_round_win")["losing_team_num_caps"] == 0


def test_passtime_is_won_by_five_goals_or_by_more_when_time_is_up(game: Game) -> None:
    live(game, "pass_brickyard")
    game.flags.score(BLU)
    game.advance(901)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["flagcaplimit"]) == (BLU, Reason.TIME_LIMIT, 5)
    play.next_round(game)
    play.go_live(game)
    for _ in range(5):
        game.flags.score(RED)
    game.advance(1.1)
    assert fields(game, "teamplay_round_win")["winreason"] == Reason.SCORED


def test_a_map_without_a_timer_shows_the_map_s_time(game: Game) -> None:
    game.sm.convars["mp_timelimit"].set("20")
    live(game, "ctf_2fort")
    timer = game.clocks.active
    assert timer is not None
    assert timer.remaining == pytest.approx(20 * 60 - 5, abs=2)


def test_training_neither_waits_nor_says_so(game: Game, script: Script) -> None:
    watch(script)
    live(game, "tr_dustbowl")
    assert names(game) == ["teamplay_round_start", "teamplay_round_active"]


def test_a_setup_of_seconds_counts_down_in_events(game: Game) -> None:
    game.start_map("cp_custom", Mode(2, owners=(RED, RED), setup=5, length=100, switch_sides=True))
    people(game)
    game.until(lambda: game.events("teamplay_restart_round"))
    mark = len(game.history)
    game.advance(5.2)
    left = [values["time"] for _, name, values in game.history[mark:] if name == "teamplay_pre_round_time_left"]
    assert left[-5:] == [4, 3, 2, 1, 0]


def test_a_stage_decided_by_sudden_death_goes_to_its_survivors_with_its_points(game: Game) -> None:
    live(game, "cp_dustbowl")
    game.sm.convars["mp_stalemate_enable"].set("1")
    game.rounds.stalemate(full_round=False)
    for player in game.teams.members(RED):
        play.kill(game, None, player)
    game.frame()
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["full_round"], won["was_sudden_death"]) == (BLU, 1, False, True)
    assert game.points.owners[:2] == [BLU, BLU]


def test_territorial_control_counts_the_round_when_all_is_taken(game: Game) -> None:
    live(game, "tc_hydro")
    play.capture(game, RED, 1)
    assert fields(game, "teamplay_round_win")["full_round"] is False
    assert fields(game, "teamplay_win_panel")["rounds_remaining"] == 1
    play.next_round(game)
    play.go_live(game)
    play.capture(game, RED, 3)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["full_round"], game.teams.scores[RED]) == (RED, True, 1)


def test_a_multi_stage_payload_map_sets_up_again_for_each_stage(game: Game) -> None:
    live(game, "pl_goldrush")
    sides = [player.team for player in game.in_game()]
    play.capture(game, BLU, 0)
    play.capture(game, BLU, 1)
    play.next_round(game)
    mark = len(game.history)
    play.go_live(game)
    assert "teamplay_setup_finished" in since(game, mark)
    play.capture(game, BLU, 2)
    play.capture(game, BLU, 3)
    assert fields(game, "teamplay_round_win")["full_round"] is True
    play.next_round(game)
    assert [RED + BLU - player.team for player in game.in_game()] == sides
    assert game.points.owners[:4] == [RED] * 4


def test_a_point_of_arena_captured_wins_although_both_sides_live(game: Game) -> None:
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    live(game, "arena_well")
    play.capture(game, BLU, 0)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["was_sudden_death"]) == (BLU, 1, True)


def test_nothing_can_be_captured_while_the_game_waits(game: Game) -> None:
    game.start_map("cp_badlands")
    people(game)
    game.until(lambda: game.rounds.state is State.RUNNING)
    with pytest.raises(AssertionError, match="nothing can be captured"):
        play.capture(game, RED, 2)


def test_nothing_can_be_captured_in_setup(game: Game) -> None:
    game.start_map("cp_gorge")
    people(game)
    game.until(lambda: game.rounds.live and not game.rounds.waiting)
    with pytest.raises(AssertionError, match="nothing can be captured"):
        play.capture(game, BLU, 0)


def test_a_win_stops_the_map_s_timer(game: Game) -> None:
    live(game, "pl_upward")
    game.rounds.win(BLU, Reason.POINTS_CAPTURED)
    game.advance(0.1)
    left = game.clocks.timers[0].remaining
    game.advance(10)
    assert game.clocks.timers[0].remaining == left
