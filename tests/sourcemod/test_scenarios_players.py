"""Scenarios 18, 19, 21, 28 to 30, 33 to 35 and 39: lives, moves, respawns and idling, as the game's source has them."""

import pytest

from tests.sourcemod.rig import Game, play
from tests.sourcemod.rig.game.facts import ALIVE, BLU, DEAD, DYING, RED, SPECTATOR, UNASSIGNED, State, Value
from tests.sourcemod.rig.game.players import Player
from tests.sourcemod.scenarios import Script, running

Event = tuple[str, dict[str, Value]]

MOVER = """
    public void OnPluginStart()
    {
        RegServerCmd("plainly", Command_Plainly);
        RegServerCmd("gently", Command_Gently);
        RegServerCmd("respawn", Command_Respawn);
        HookEvent("player_team", Event_Person);
        HookEvent("player_death", Event_Person);
    }
    void Next(any client) { PrintToServer("a frame later alive %d", IsPlayerAlive(client)); }
    void Event_Person(Event event, const char[] name, bool silent)
    {
        int client = GetClientOfUserId(event.GetInt("userid"));
        PrintToServer("%s team %d alive %d flag %d deaths %d", name, GetClientTeam(client), IsPlayerAlive(client),
            GetEntPropEnt(client, Prop_Send, "m_hItem") != -1, GetClientDeaths(client));
        RequestFrame(Next, client);
    }
    Action Command_Plainly(int args) { ChangeClientTeam(1, 3); return Plugin_Handled; }
    Action Command_Gently(int args)
    {
        SetEntProp(1, Prop_Send, "m_lifeState", 2);
        ChangeClientTeam(1, 3);
        SetEntProp(1, Prop_Send, "m_lifeState", 0);
        return Plugin_Handled;
    }
    Action Command_Respawn(int args) { TF2_RespawnPlayer(1); return Plugin_Handled; }"""


def told(game: Game, *names: str) -> list[Event]:
    """The events of those names, with their fields."""
    return [(name, fields) for _, name, fields in game.history if name in names]


def enter_freeze(game: Game) -> None:
    game.until(lambda: game.rounds.state == State.PREROUND)


# 18 and 19: HandleCommand_JoinClass and ForceRespawn (tf_player.cpp) in arena.


def test_scenario_18_who_joins_arenas_live_round_without_the_queue_spawns_in_the_next_freeze(game: Game) -> None:
    running(game, "red", "blue", map_name="arena_well")
    late = game.connect("late")
    game.join(late, "red", "soldier")
    game.advance(5)
    assert (game.events("player_changeclass", "post_inventory_application"), late.alive) == (
        ["player_changeclass"],
        False,
    )
    play.wipe_out(game, BLU)
    enter_freeze(game)
    assert late.alive


def test_scenario_18_who_had_no_class_at_arenas_round_start_cannot_spawn_by_choosing_the_same_twice(game: Game) -> None:
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    undecided = game.connect("undecided")
    game.join(undecided, "red")
    game.add("Bob", "blue")
    game.add("Ann", "red")
    play.go_live(game)
    game.command(undecided, "joinclass scout")
    game.advance(1)
    game.command(undecided, "joinclass scout")
    assert (game.rounds.live, undecided.desired_class, undecided.alive) == (True, 1, False)


@pytest.mark.parametrize(
    ("state", "spawns"), [(State.PREROUND, True), (State.STALEMATE, False), (State.TEAM_WIN, False)]
)
def test_scenario_19_a_spectator_who_picks_a_class_in_arenas_freeze_lives_as_a_spectator(
    game: Game, state: State, *, spawns: bool
) -> None:
    running(game, "red", "blue", map_name="arena_well")
    watcher = game.connect("watcher")
    game.join(watcher, SPECTATOR)
    if state != State.STALEMATE:
        play.wipe_out(game, BLU)
    game.until(lambda: game.rounds.state == state)
    game.history.clear()
    game.command(watcher, "joinclass soldier")
    spawned = [(f["team"], f["class"]) for name, f in told(game, "player_spawn")]
    assert (spawned, watcher.alive) == (([(SPECTATOR, 3)], True) if spawns else ([], False))
    assert not watcher.weapons
    assert "post_inventory_application" not in game.events()
    assert game.events("player_changeclass") == ["player_changeclass"]


def test_scenario_19_a_spectator_who_picks_a_class_before_arena_has_players_stays_dead(game: Game) -> None:
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    watcher = game.connect("watcher")
    game.join(watcher, SPECTATOR, "soldier")
    assert (game.rounds.state, watcher.alive) == (State.PREGAME, False)


# 21: CheckForIdle (tf_player.cpp). Arena's live round is STALEMATE, where everybody has 120 s.


def idle_bench(game: Game) -> Player:
    """A spectator of arena's live round who does not touch anything any more."""
    running(game, "red", "red", "blue", map_name="arena_well")
    bench = game.connect("bench")
    game.join(bench, SPECTATOR)
    bench.idle = True
    game.frame()
    return bench


def gone(player: Player) -> bool:
    return not player.in_game


def test_scenario_21_the_idle_bench_is_kicked_two_minutes_into_arenas_live_round(game: Game) -> None:
    bench = idle_bench(game)
    game.advance(119)
    assert not gone(bench)
    game.advance(2)
    assert gone(bench)
    assert told(game, "player_disconnect")[0][1]["reason"] == "#TF_Idle_kicked"


def test_scenario_21_another_target_because_the_watched_player_left_restarts_the_idle_clock(game: Game) -> None:
    bench = idle_bench(game)
    game.advance(100)
    assert bench.watched is game.players[1]
    game.leave(game.players[1])
    game.advance(119)
    assert not gone(bench)
    game.advance(2)
    assert gone(bench)


def test_scenario_21_a_watched_player_who_only_dies_does_not_restart_the_idle_clock(game: Game) -> None:
    bench = idle_bench(game)
    game.advance(100)
    assert bench.watched is not None
    play.kill(game, None, bench.watched)
    game.advance(21)
    assert gone(bench)


def test_scenario_21_a_command_restarts_the_idle_clock_but_not_chat_nor_kill(game: Game) -> None:
    talker, commander = idle_bench(game), game.connect("commander")
    game.join(commander, SPECTATOR)
    commander.idle = True
    game.advance(100)
    game.say(talker, "still here")
    game.command(talker, "kill")
    game.command(commander, "a_word_the_game_does_not_know")
    game.advance(25)
    assert (gone(talker), gone(commander)) == (True, False)


def test_scenario_21_who_is_named_by_mp_disable_autokick_stays_for_the_whole_connection(game: Game) -> None:
    bench = idle_bench(game)
    game.rcon(f"mp_disable_autokick {bench.userid}")
    game.advance(400)
    assert not gone(bench)


@pytest.mark.parametrize(("method", "team"), [("1", SPECTATOR), ("0", RED)])
def test_an_idle_player_is_benched_after_three_minutes_and_kicked_after_six(game: Game, method: str, team: int) -> None:
    idler, _ = running(game, "red", "blue", map_name="cp_badlands")
    game.sm.convars["mp_idledealmethod"].set(method)
    game.advance(100)
    idler.idle = True
    game.advance(178)
    assert idler.team == RED
    game.advance(4)
    assert idler.team == team
    assert [f["silent"] for _, f in told(game, "player_team")] == ([True] if method == "1" else [])
    game.advance(182)
    assert gone(idler) == (method == "1")


# 28 to 30 and 35: ChangeTeam, CommitSuicide, Event_Killed (tf_player.cpp).


def test_scenario_28_a_plain_change_of_a_living_engineer_costs_the_sentry_and_a_life(
    game: Game, script: Script
) -> None:
    script(MOVER)
    engineer, *_ = running(game, "red", "blue", map_name="cp_badlands", cls="engineer")
    sentry = play.build(game, engineer, "obj_sentrygun")
    game.history.clear()
    game.rcon("plainly")
    assert game.events() == [
        "object_removed",
        "object_detonated",
        "player_team",
        "remove_nemesis_relationships",
        "player_death",
    ]
    assert game.sm.console == [
        "player_team team 2 alive 1 flag 0 deaths 0",
        "player_death team 3 alive 1 flag 0 deaths 0",
    ]
    removed, detonated, _, _, death = (fields for _, _, fields in game.history)
    assert (removed["userid"], removed["objecttype"], removed["index"]) == (engineer.userid, 2, sentry.index)
    assert detonated["index"] == sentry.index
    assert (death["userid"], death["attacker"], death["customkill"]) == (engineer.userid, engineer.userid, 6)
    assert (engineer.team, engineer.deaths, engineer.frags, engineer.buildings) == (BLU, 1, 0, [])


def test_scenario_28_with_life_state_2_there_is_no_death_and_a_respawn_makes_the_move_whole(
    game: Game, script: Script
) -> None:
    script(MOVER)
    player, *_ = running(game, "red", "blue", map_name="cp_badlands")
    game.rcon("gently")
    assert (game.events(), player.misplaced) == (["player_team", "remove_nemesis_relationships"], True)
    game.rcon("respawn")
    assert game.events()[2:] == ["post_inventory_application", "player_spawn"]
    assert (player.team, player.alive, player.deaths, player.misplaced) == (BLU, True, 0, False)


def test_scenario_29_a_carrier_moved_with_the_trick_drops_the_flag_only_at_the_respawn(
    game: Game, script: Script
) -> None:
    script(MOVER)
    carrier, *_ = running(game, "red", "blue", map_name="ctf_2fort", cls="scout")
    play.pick_up_flag(game, carrier)
    game.history.clear()
    game.rcon("gently")
    assert (game.events(), carrier.props["m_hItem"] != -1) == (["player_team", "remove_nemesis_relationships"], True)
    game.rcon("respawn")
    (_, drop) = told(game, "teamplay_flag_event")[0]
    assert (drop["eventtype"], drop["player"], drop["team"]) == (4, carrier.index, BLU)
    assert game.events()[2:] == ["teamplay_flag_event", "post_inventory_application", "player_spawn"]
    assert carrier.props["m_hItem"] == -1


def test_scenario_30_going_to_watch_by_command_is_a_death_and_by_a_plugin_is_none(game: Game) -> None:
    commander, moved, _ = running(game, "red", "red", "blue", map_name="cp_badlands")
    game.command(commander, "spectate")
    assert game.events() == ["player_death", "player_team", "remove_nemesis_relationships"]
    assert (commander.team, commander.deaths, commander.props["m_lifeState"]) == (SPECTATOR, 1, DEAD)
    game.history.clear()
    game.teams.change(moved, SPECTATOR)
    assert game.events() == ["player_team", "remove_nemesis_relationships"]
    assert (moved.team, moved.deaths, moved.props["m_lifeState"]) == (SPECTATOR, 0, DEAD)


def test_scenario_35_at_the_death_event_the_victim_still_lives_and_carries_and_a_frame_later_not(
    game: Game, script: Script
) -> None:
    script(MOVER)
    victim, killer = running(game, "red", "blue", map_name="ctf_2fort")
    play.pick_up_flag(game, victim)
    game.history.clear()
    play.kill(game, killer, victim)
    assert game.sm.console == ["player_death team 2 alive 1 flag 1 deaths 0"]
    assert (victim.props["m_lifeState"], victim.deaths, killer.frags) == (DYING, 1, 1)
    assert [f["eventtype"] for _, f in told(game, "teamplay_flag_event")] == [3, 4]
    assert game.events()[1:] == ["teamplay_flag_event", "player_death", "teamplay_flag_event"]
    game.frame()
    assert (game.sm.console[1:], victim.props["m_lifeState"]) == (["a frame later alive 0"], DEAD)


def test_scenario_35_a_feigned_death_is_an_event_of_somebody_who_lives_on(game: Game, script: Script) -> None:
    script(MOVER)
    spy, killer = running(game, "red", "blue", map_name="cp_badlands", cls="spy")
    play.feign(game, killer, spy)
    game.frame()
    (_, death) = told(game, "player_death")[0]
    assert (death["death_flags"], death["customkill"]) == (0x20, 0)
    assert game.sm.console[-1] == "a frame later alive 1"
    assert (spy.deaths, killer.frags, spy.props["m_lifeState"]) == (0, 0, ALIVE)


# 33: BalanceTeams (teamplayroundbased_gamerules.cpp).


def test_scenario_33_the_engine_moves_the_newest_dead_humans_of_the_heavy_side_one_a_second(game: Game) -> None:
    names = [f"red {number}" for number in range(6)]
    game.start_map("koth_harvest_final")
    game.sm.convars["mp_teams_unbalance_limit"].set("0")
    reds = [game.add(name, "red", "engineer" if name == "red 4" else "soldier") for name in names[:5]]
    reds.append(game.add_bot(names[5], RED))
    for number in range(3):
        game.add(f"blue {number}", "blue")
        game.advance(1)
    play.go_live(game)
    game.sm.convars["mp_teams_unbalance_limit"].set("1")
    game.history.clear()
    started = game.rounds.round_start_at
    for red in reds:
        play.kill(game, None, red)
        red.connected_at = game.now - 10 * (6 - reds.index(red))
    game.sm.convars["mp_respawnwavetime"].set("500")
    game.until(lambda: game.events("teamplay_teambalanced_player"))
    assert 60 < game.now - started < 62
    assert [p.name for p in reds if p.team == BLU] == ["red 3"]
    game.advance(5)
    assert [f["autoteam"] for _, f in told(game, "player_team")] == [False]
    assert len(game.events("teamplay_teambalanced_player")) == 1
    assert not reds[3].alive


# 34: CheckRespawnWaves, GetMinTimeWhenPlayerMaySpawn, GetRespawnWaveMaxLength (teamplayroundbased_gamerules.cpp).


def death_lasts(game: Game, victim: Player) -> float:
    play.kill(game, None, victim)
    died_at = game.now
    game.until(lambda: victim.alive, within=60)
    return game.now - died_at


@pytest.mark.parametrize(("reds", "wave"), [(8, 10.0), (1, 5.0)])
def test_scenario_34_the_dead_return_in_the_first_wave_after_their_freeze_panel_and_one_whole_wave(
    game: Game, reds: int, wave: float
) -> None:
    victim, *_ = running(game, *["red"] * reds, "blue", map_name="koth_harvest_final")
    active_at = game.now
    lasted = death_lasts(game, victim)
    assert 16.4 < lasted <= 16.4 + wave + 0.1
    assert (game.now - active_at) / wave == pytest.approx(round((game.now - active_at) / wave), abs=0.02)


def test_scenario_34_in_the_freeze_the_dead_return_in_the_next_frame_and_in_arena_too(game: Game) -> None:
    victim, *_ = running(game, "red", "blue", map_name="arena_well")
    play.wipe_out(game, BLU)
    enter_freeze(game)
    assert death_lasts(game, victim) < 0.1


def test_scenario_34_nobody_returns_while_their_class_menu_is_open_but_then_at_once(game: Game) -> None:
    victim, *_ = running(game, "red", "blue", map_name="koth_harvest_final")
    play.kill(game, None, victim)
    game.command(victim, "menuopen")
    game.advance(40)
    assert not victim.alive
    game.command(victim, "joinclass pyro")
    assert victim.alive
    assert death_lasts(game, victim) < 30


# 39: InitialSpawn and Spawn (tf_player.cpp).


def test_scenario_39_a_client_who_enters_spawns_on_no_team_and_is_dead(game: Game) -> None:
    game.start_map("cp_badlands")
    player = game.connect("Ann")
    assert [(name, fields.get("team"), fields.get("class")) for _, name, fields in game.history] == [
        ("remove_nemesis_relationships", None, None),
        ("player_initial_spawn", None, None),
        ("player_spawn", UNASSIGNED, 0),
    ]
    assert (game.history[1][2]["index"], player.props["m_lifeState"]) == (player.index, DEAD)
