"""The fake game's rounds come in the engine's order (facts: the released server source)."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Plugin, facts, play
from tests.sourcemod.rig.game.facts import BLU, RED, Reason, State
from tests.sourcemod.rig.game.teams import EngineOwnsTeams

Script = Callable[..., Plugin]

WATCHER = """
    public void OnPluginStart()
    {
        char names[][] = {
            "teamplay_round_start", "teamplay_round_active", "teamplay_setup_finished", "teamplay_round_win",
            "teamplay_restart_round", "arena_round_start", "teamplay_win_panel", "arena_win_panel", "teamplay_game_over"
        };
        for (int i = 0; i < sizeof(names); i++)
        {
            HookEvent(names[i], Event_Any);
        }
    }
    void Event_Any(Event event, const char[] name, bool silent)
    {
        int waiting = GameRules_GetProp("m_bInWaitingForPlayers");
        PrintToServer("%s in state %d, waiting %d", name, GameRules_GetRoundState(), waiting);
    }
    public void TF2_OnWaitingForPlayersStart() { PrintToServer("waiting starts"); }
    public void TF2_OnWaitingForPlayersEnd() { PrintToServer("waiting ends"); }"""


def four_players(game: Game) -> None:
    for i in range(4):
        game.add(f"player {i}", "red" if i % 2 else "blue")


def test_a_normal_map_waits_restarts_and_begins_in_one_frame(game: Game, script: Script) -> None:
    script(WATCHER)
    game.start_map("cp_badlands")
    four_players(game)
    play.go_live(game)

    assert game.sm.console == [
        "waiting starts",
        "teamplay_round_start in state 3, waiting 1",
        "teamplay_round_active in state 4, waiting 1",
        "teamplay_restart_round in state 6, waiting 1",
        "waiting ends",
        "teamplay_round_start in state 3, waiting 0",
        "teamplay_round_active in state 4, waiting 0",
    ]
    times = {name: now for now, name, _ in game.history}
    assert times["teamplay_round_start"] == times["teamplay_restart_round"]
    assert times["teamplay_round_active"] - times["teamplay_round_start"] == pytest.approx(5.0, abs=0.02)


def test_waiting_for_players_ends_again_at_every_restart(game: Game, script: Script) -> None:
    script(WATCHER)
    game.start_map("cp_badlands")
    four_players(game)
    play.go_live(game)
    game.sm.console.clear()

    game.rcon("mp_restartgame 1")
    game.advance(1.1)
    assert game.sm.console == [
        "teamplay_restart_round in state 6, waiting 0",
        "waiting ends",
        "teamplay_round_start in state 3, waiting 0",
    ]


def test_without_waiting_time_the_first_round_counts(game: Game, script: Script) -> None:
    script(WATCHER)
    game.sm.convars["mp_waitingforplayers_time"].set("0")
    game.start_map("koth_harvest_final")
    four_players(game)
    play.go_live(game)
    assert [line.split()[0] for line in game.sm.console] == ["teamplay_round_start", "teamplay_round_active"]


def test_setup_ends_a_minute_after_the_round_is_active(game: Game, script: Script) -> None:
    script(WATCHER)
    game.start_map("pl_upward")
    four_players(game)
    play.go_live(game)
    active, finished = (now for now, name, _ in game.history[-2:])
    assert [name for _, name, _ in game.history[-2:]] == ["teamplay_round_active", "teamplay_setup_finished"]
    assert finished - active == pytest.approx(60, abs=0.02)
    assert game.sm.console.count("teamplay_setup_finished in state 4, waiting 0") == 1


def test_the_win_panel_comes_first_and_the_bonus_time_after(game: Game, script: Script) -> None:
    script(WATCHER)
    game.start_map("cp_badlands")
    four_players(game)
    play.go_live(game)
    play.capture(game, RED, 2)
    game.sm.console.clear()
    game.rounds.win(RED, Reason.POINTS_CAPTURED)

    assert [line.split(",")[0] for line in game.sm.console] == [
        "teamplay_win_panel in state 5",
        "teamplay_round_win in state 5",
    ]
    won_at, _, fields = game.history[-1]
    assert {"team": RED, "winreason": 1, "full_round": True, "losing_team_num_caps": 0}.items() <= fields.items()
    assert game.teams.scores == [0, 0, 1, 0]
    play.next_round(game)
    assert game.history[-1][1] == "teamplay_round_start"
    assert game.history[-1][0] - won_at == pytest.approx(15, abs=0.02)


def test_nobody_respawns_after_a_win_and_everybody_does_at_the_next_round(game: Game) -> None:
    game.start_map("cp_badlands")
    four_players(game)
    play.go_live(game)
    victim = game.players[1]
    play.kill(game, game.players[2], victim)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.advance(14)
    assert not victim.alive
    play.next_round(game)
    assert all(player.alive for player in game.in_game())


def test_arena_never_waits_although_the_forward_says_so_and_is_live_in_state_seven(game: Game, script: Script) -> None:
    script(WATCHER)
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    game.advance(5)
    assert game.rounds.state is State.PREGAME
    four_players(game)
    play.go_live(game)

    assert game.sm.console == [
        "waiting starts",
        "teamplay_round_start in state 3, waiting 0",
        "arena_round_start in state 7, waiting 0",
    ]
    assert game.history[-1][0] - game.history[-2][0] == pytest.approx(10, abs=0.02)
    game.sm.console.clear()
    play.wipe_out(game, BLU)
    assert [line.split(",")[0] for line in game.sm.console] == [
        "arena_win_panel in state 5",
        "teamplay_round_win in state 5",
    ]
    assert game.history[-1][2]["team"] == RED
    assert game.history[-1][2]["winreason"] == Reason.OPPONENTS_DEAD


def test_arena_returns_to_pregame_while_a_side_is_empty(game: Game) -> None:
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    four_players(game)
    play.go_live(game)
    for player in game.teams.members(BLU):
        game.leave(player)
    game.frame()
    assert game.history[-1][1] == "teamplay_round_win"
    game.advance(60)
    assert game.rounds.state is State.PREGAME
    game.add("late", "blue")
    game.advance(1)
    assert game.rounds.state is State.PREROUND


def test_every_call_to_wait_reaches_plugins_and_arena_refuses_it(game: Game, script: Script) -> None:
    script(WATCHER)
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    four_players(game)
    play.go_live(game)
    game.sm.console.clear()
    for waiting in (True, False):
        game.rounds.set_waiting(waiting)
        assert game.rules.props["m_bInWaitingForPlayers"] == 0
    assert game.sm.console == ["waiting starts", "waiting ends"]
    assert game.rounds.live


def test_an_arena_side_that_fills_again_makes_the_game_ask_to_wait_again(game: Game, script: Script) -> None:
    script(WATCHER)
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    four_players(game)
    play.go_live(game)
    for player in game.teams.members(BLU):
        game.leave(player)
    game.until(lambda: game.rounds.state is State.PREGAME)
    game.sm.console.clear()
    game.add("late", "blue")
    game.until(lambda: game.rounds.state is State.PREROUND)
    assert game.sm.console == ["waiting starts", "teamplay_round_start in state 3, waiting 0"]


def test_a_class_chosen_in_arenas_freeze_spawns_and_in_the_round_does_not(game: Game) -> None:
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    game.add("Ann", "red")
    in_freeze, in_round = game.connect("Bob"), game.connect("Cid")
    for player in (in_freeze, in_round):
        game.join(player, "blue")
    game.until(lambda: game.rounds.state is State.PREROUND)
    game.command(in_freeze, "joinclass soldier")
    assert in_freeze.alive
    play.go_live(game)
    game.command(in_round, "joinclass soldier")
    game.advance(1)
    assert not in_round.alive


def test_arena_sides_persist_without_the_queue(game: Game) -> None:
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    four_players(game)
    play.go_live(game)
    before = [player.team for player in game.in_game()]
    play.wipe_out(game, RED)
    play.next_round(game)
    assert [player.team for player in game.in_game()] == before


def test_nobody_can_rely_on_teams_while_the_arena_queue_is_on(game: Game) -> None:
    game.start_map("arena_well")
    with pytest.raises(EngineOwnsTeams):
        game.add("early", "red")


def test_both_sides_dead_in_arena_is_a_stalemate(game: Game) -> None:
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    four_players(game)
    play.go_live(game)
    for player in list(game.in_game()):
        play.kill(game, None, player)
    game.frame()
    assert (game.history[-1][2]["team"], game.history[-1][2]["winreason"]) == (0, 5)


def test_a_full_attack_defend_round_switches_players_and_scores(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { HookEvent("teamplay_round_start", Event_Start); }
        void Event_Start(Event event, const char[] name, bool silent)
        {
            int switched = GameRules_GetProp("m_bSwitchedTeamsThisRound");
            PrintToServer("switched %d, first player on %d", switched, GetClientTeam(1));
        }""")
    game.start_map("cp_dustbowl")
    four_players(game)
    play.go_live(game)
    before = {player.index: player.team for player in game.in_game()}
    deaths = [player.deaths for player in game.in_game()]
    game.sm.console.clear()

    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=False)
    play.next_round(game)
    assert game.history[-1][2]["full_reset"] is False
    assert {player.index: player.team for player in game.in_game()} == before
    assert game.teams.scores == [0, 0, 0, 0]

    play.go_live(game)
    game.rounds.win(RED, Reason.DEFENDED)
    game.history.clear()
    play.next_round(game)
    assert {player.index: facts.opponent(player.team) for player in game.in_game()} == before
    assert [player.deaths for player in game.in_game()] == deaths
    assert game.teams.scores == [0, 0, 0, 1]
    assert game.sm.console == ["switched 0, first player on 3", "switched 1, first player on 2"]
    silent = [fields["silent"] for _, name, fields in game.history if name == "player_team"]
    assert silent == [True] * 4


def test_attackers_who_run_out_of_time_lose(game: Game) -> None:
    game.start_map("pl_upward")
    four_players(game)
    play.go_live(game)
    game.advance(300.1)
    win = game.history[-1][2]
    assert (win["team"], win["winreason"], win["losing_team_num_caps"]) == (RED, Reason.DEFENDED, 0)


def test_the_hills_clock_decides_king_of_the_hill(game: Game) -> None:
    game.start_map("koth_harvest_final")
    four_players(game)
    play.go_live(game)
    play.capture(game, BLU, 0)
    game.advance(100)
    play.capture(game, RED, 0)
    game.advance(100)
    play.capture(game, BLU, 0)
    game.advance(79.9)
    assert game.rounds.live
    game.advance(0.2)
    assert game.history[-1][2]["team"] == BLU
    assert game.history[-1][2]["losing_team_num_caps"] == 1


def test_the_third_flag_wins_capture_the_flag(game: Game) -> None:
    game.start_map("ctf_2fort")
    four_players(game)
    play.go_live(game)
    scout = game.teams.members(BLU)[0]
    for _ in range(3):
        play.capture_flag(game, scout)
    assert game.history[-1][2]["winreason"] == Reason.FLAG_CAPTURE_LIMIT
    assert game.events("ctf_flag_captured") == ["ctf_flag_captured"] * 3


def test_the_map_is_over_at_its_round_limit(game: Game) -> None:
    game.start_map("cp_badlands")
    game.sm.convars["mp_maxrounds"].set("1")
    four_players(game)
    play.go_live(game)
    game.rounds.win(RED, Reason.POINTS_CAPTURED)
    game.advance(16)
    assert game.history[-1][1:] == ("teamplay_game_over", {"reason": "Reached Round Limit", "silenced": False})
    assert game.rounds.state is State.GAME_OVER


def test_mann_vs_machine_has_no_rounds_of_its_own_here(game: Game) -> None:
    game.start_map("mvm_coaltown")
    four_players(game)
    game.advance(60)
    assert game.rounds.state is State.BETWEEN_ROUNDS
    assert "teamplay_round_start" not in game.events()


def test_a_tournament_awaits_readiness_instead_of_players(game: Game, script: Script) -> None:
    script(WATCHER)
    game.sm.convars["mp_tournament"].set("1")
    game.start_map("cp_badlands")
    four_players(game)
    game.advance(1)
    assert game.rules.props["m_bAwaitingReadyRestart"] == 1
    assert "waiting starts" not in game.sm.console


@pytest.mark.parametrize(
    ("name", "facts_"),
    [
        ("arena_well", {"m_nGameType": 4}),
        ("koth_harvest_final", {"m_nGameType": 2, "m_bPlayingKoth": 1}),
        ("plr_hightower", {"m_nGameType": 3, "m_bMultipleTrains": 1}),
        ("pl_upward", {"m_nGameType": 3, "m_bMultipleTrains": 0}),
        ("ctf_2fort", {"m_nGameType": 1}),
        ("mvm_coaltown", {"m_bPlayingMannVsMachine": 1}),
        ("sd_doomsday", {"m_nGameType": 0}),
    ],
)
def test_a_map_tells_its_mode_through_the_game_rules(
    game: Game, script: Script, name: str, facts_: dict[str, int]
) -> None:
    reads = "".join(f'PrintToServer("{prop} %d", GameRules_GetProp("{prop}"));' for prop in facts_)
    script(f"public void OnMapStart() {{ {reads} }}\npublic void OnPluginStart() {{ }}")
    game.start_map(name)
    assert game.sm.console == [f"{prop} {value}" for prop, value in facts_.items()]


def test_attack_defend_differs_from_five_points_by_its_master_and_owners(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { }
        public void OnMapStart()
        {
            int master = FindEntityByClassname(-1, "team_control_point_master");
            int points = FindEntityByClassname(-1, "tf_objective_resource");
            PrintToServer("%d %d %d", GetEntProp(master, Prop_Data, "m_bSwitchTeamsOnWin"),
                GetEntProp(points, Prop_Send, "m_iNumControlPoints"), GetEntProp(points, Prop_Send, "m_iOwner", _, 1));
        }""")
    game.start_map("cp_gorge")
    game.start_map("cp_badlands")
    assert game.sm.console == ["1 2 2", "0 5 2"]
