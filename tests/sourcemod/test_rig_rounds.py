"""The fake game's rounds beyond the scenarios: waiting, deaths after a win, the hill, a map's facts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import BLU, MEDIC, RED, Mode, Reason, State
from tests.sourcemod.scenarios import Script, fields, live, names, people, seen, watch, when

NewGame = Callable[..., Game]


def test_nobody_respawns_after_a_win_and_everybody_does_at_the_next_round(game: Game) -> None:
    live(game, "cp_badlands")
    victim = game.players[1]
    play.kill(game, game.players[2], victim)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.advance(14)
    assert not victim.alive
    play.next_round(game)
    assert all(player.alive for player in game.in_game())


def test_every_call_to_wait_reaches_plugins_and_arena_refuses_it(game: Game, script: Script) -> None:
    watch(script)
    game.sm.configs.arena["tf_arena_use_queue"] = "0"
    live(game, "arena_well")
    seen(game)
    for waiting in (True, False):
        game.rounds.set_waiting(waiting)
        assert game.rules.props["m_bInWaitingForPlayers"] == 0
    assert names(game) == ["waiting starts", "waiting ends"]
    assert game.rounds.live


def test_a_rig_whose_detour_misses_the_calls_waits_all_the_same(new_game: NewGame, script: Script) -> None:
    game = new_game(forwards_seen=False)
    watch(script, on=game)
    game.start_map("cp_badlands")
    people(game)
    game.advance(32)
    assert seen(game) == [
        "teamplay_round_start S3 W1 U0",
        "teamplay_round_active S4 W1 U0",
        "teamplay_restart_round S6 W1 U0",
        "teamplay_round_start S3 W0 U0",
    ]


def test_attackers_who_run_out_of_time_lose(game: Game) -> None:
    live(game, "pl_upward")
    game.advance(300.1)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["losing_team_num_caps"]) == (RED, Reason.DEFENDED, 0)


def test_the_hills_clock_decides_king_of_the_hill(game: Game) -> None:
    live(game, "koth_harvest_final")
    play.capture(game, BLU, 0)
    game.advance(100)
    play.capture(game, RED, 0)
    game.advance(100)
    play.capture(game, BLU, 0)
    game.advance(79.8)
    assert game.rounds.live
    game.advance(0.6)
    won = fields(game, "teamplay_round_win")
    assert (won["team"], won["winreason"], won["losing_team_num_caps"]) == (BLU, 1, 1)


@pytest.mark.parametrize(
    ("name", "facts_"),
    [
        ("arena_well", {"m_nGameType": 4}),
        ("koth_harvest_final", {"m_nGameType": 2, "m_bPlayingKoth": 1}),
        ("plr_hightower", {"m_nGameType": 3, "m_bMultipleTrains": 1}),
        ("pl_upward", {"m_nGameType": 3, "m_bMultipleTrains": 0}),
        ("ctf_2fort", {"m_nGameType": 1}),
        ("mvm_coaltown", {"m_bPlayingMannVsMachine": 1}),
        ("sd_doomsday", {"m_nGameType": 0, "m_bPlayingSpecialDeliveryMode": 1}),
        ("pd_watergate", {"m_nGameType": 8}),
        ("pass_brickyard", {"m_nGameType": 7}),
        ("ctf_foundry", {"m_nGameType": 1, "m_bPowerupMode": 1}),
        ("tr_dustbowl", {"m_bIsInTraining": 1}),
    ],
)
def test_a_map_tells_its_mode_through_the_game_rules(
    game: Game, script: Script, name: str, facts_: dict[str, int]
) -> None:
    reads = "".join(f'PrintToServer("{prop} %d", GameRules_GetProp("{prop}"));' for prop in facts_)
    script(f"public void OnMapStart() {{ {reads} }}\npublic void OnPluginStart() {{ }}")
    game.start_map(name)
    assert game.sm.console == [f"{prop} {value}" for prop, value in facts_.items()]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Payload maps switch by their winning entity, not by their master; only defended maps have roles.
        ("cp_gorge", "master 1, 2 points, second owned by 2, roles 1 2"),
        ("pl_upward", "master 0, 3 points, second owned by 2, roles 1 2"),
        ("cp_badlands", "master 0, 5 points, second owned by 2, roles 0 0"),
        ("tc_hydro", "master 0, 4 points, second owned by 3, roles 0 0"),
    ],
)
def test_a_map_tells_who_defends_by_its_master_owners_and_roles(
    game: Game, script: Script, name: str, expected: str
) -> None:
    script("""
        public void OnPluginStart() { }
        public void OnMapStart()
        {
            int master = FindEntityByClassname(-1, "team_control_point_master");
            int points = FindEntityByClassname(-1, "tf_objective_resource");
            PrintToServer("master %d, %d points, second owned by %d, roles %d %d",
                GetEntProp(master, Prop_Data, "m_bSwitchTeamsOnWin"),
                GetEntProp(points, Prop_Send, "m_iNumControlPoints"), GetEntProp(points, Prop_Send, "m_iOwner", _, 1),
                GetEntProp(GetTeamEntity(2), Prop_Send, "m_iRole"), GetEntProp(GetTeamEntity(3), Prop_Send, "m_iRole"));
        }""")
    game.start_map(name)
    assert game.sm.console == [expected]


def test_a_halloween_scenario_is_known_by_the_map_s_name(game: Game) -> None:
    game.start_map("koth_viaduct_event", Mode(2, owners=(0,), length=180, koth=True, holiday=2))
    assert (game.rules.props["m_halloweenScenario"], game.rules.props["m_nMapHolidayType"]) == (2, 2)


def test_the_timer_on_the_screen_is_named_by_the_objective_resource(game: Game) -> None:
    live(game, "cp_gorge")
    assert game.objective is not None
    shown = game.entities.get(int(game.objective.props["m_iTimerToShowInHUD"]))  # type: ignore[arg-type]
    assert shown is not None
    assert (shown.classname, shown.props["m_nState"]) == ("team_round_timer", 1)
    assert float(shown.props["m_flTimerEndTime"]) - game.map_time == pytest.approx(300, abs=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("factor", "seconds"), [("0", 0), ("2", 10)])
def test_a_servers_variable_stretches_the_freeze(game: Game, factor: str, seconds: int) -> None:
    # State_Enter_PREROUND: 5 * mp_enableroundwaittime.
    game.sm.convars["mp_enableroundwaittime"].set(factor)
    live(game, "cp_badlands")
    frozen = when(game, "teamplay_round_active") - when(game, "teamplay_round_start")
    assert frozen == pytest.approx(seconds, abs=0.05)


def test_a_switch_of_sides_says_so_and_takes_the_humans_team_along(game: Game) -> None:
    # CTFGameRules::HandleSwitchTeams.
    live(game, "cp_gorge")
    game.sm.convars["mp_humans_must_join_team"].set("red")
    for switched, team in ((1, "blue"), (0, "red")):
        game.rounds.win(BLU, Reason.POINTS_CAPTURED)
        play.next_round(game)
        assert (game.rules.props["m_bSwitchedTeamsThisRound"], game.rules.props["m_bTeamsSwitched"]) == (1, switched)
        assert game.sm.convars["mp_humans_must_join_team"].value == team
        play.go_live(game)


def test_time_that_a_capture_adds_is_told_for_the_timer_on_the_screen_only(game: Game) -> None:
    # CTeamRoundTimer::SendTimeAddedEvent.
    live(game, "pl_upward")
    timer = game.clocks.timers[0]
    left = timer.remaining
    timer.add_time(60)
    assert timer.remaining == pytest.approx(left + 60, abs=1)
    told = fields(game, "teamplay_timer_time_added")
    assert (told["timer"], told["seconds_added"]) == (timer.index, 60)
    timer.props["m_bShowInHUD"] = 0
    timer.add_time(60)
    assert game.events("teamplay_timer_time_added") == ["teamplay_timer_time_added"]


def test_another_class_is_allowed_in_sudden_deaths_first_seconds(game: Game) -> None:
    # CTFGameRules::CanChangeClassInStalemate: tf_stalematechangeclasstime.
    live(game, "cp_badlands")
    game.sm.convars["mp_stalemate_enable"].set("1")
    game.rounds.stalemate()
    player = game.players[1]
    game.advance(19)
    game.command(player, "joinclass medic")
    assert (player.current_class, player.alive) == (MEDIC, True)
    game.advance(2)
    game.command(player, "joinclass pyro")
    assert player.desired_class == MEDIC


def test_a_map_that_is_over_changes_after_the_servers_time_to_chat(game: Game) -> None:
    game.sm.convars["mp_chattime"].set("3")
    game.sm.convars["mp_maxrounds"].set("1")
    game.map_cycle = ["cp_badlands", "cp_gorge"]
    live(game, "cp_badlands")
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.until(lambda: game.rounds.state is State.GAME_OVER)
    game.advance(2.9)
    assert game.map == "cp_badlands"
    game.advance(0.2)
    assert game.map == "cp_gorge"
