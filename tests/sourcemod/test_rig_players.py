"""Clients come, choose sides, die, are moved and go, as the engine has it."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import (
    ALIVE,
    BLU,
    DEAD,
    GHOST,
    KART,
    RED,
    SPECTATOR,
    UBERCHARGED,
    UNASSIGNED,
    Reason,
    State,
)
from tests.sourcemod.rig.game.players import Phase
from tests.sourcemod.scenarios import running

Script = Callable[..., Plugin]


def test_a_client_is_announced_step_by_step(game: Game, script: Script) -> None:
    steps = "OnClientConnected OnClientPutInServer OnClientPostAdminCheck OnClientDisconnect OnClientDisconnect_Post"
    seen = 'PrintToServer("{0} %d", IsClientConnected(client) && IsClientInGame(client));'
    publics = "".join(f"public void {s}(int client) {{ {seen.format(s)} }}\n" for s in steps.split())
    authorized = "public void OnClientAuthorized(int client, const char[] auth)"
    script(f'public void OnPluginStart() {{ }}\n{publics}{authorized} {{ PrintToServer("authorized %s", auth); }}')
    player = game.connect("Ann", 76561197960265728 + 22, authorize=False)
    assert game.sm.console == ["OnClientConnected 0", "OnClientPutInServer 1"]
    game.authorize(player)
    game.leave(player)
    assert game.sm.console[2:] == [
        "authorized STEAM_0:0:11",
        "OnClientPostAdminCheck 1",
        "OnClientDisconnect 1",
        "OnClientDisconnect_Post 0",
    ]


def test_a_steamid_is_known_only_after_steam_answered_and_never_for_bots(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegServerCmd("who", Command_Who); }
        Action Command_Who(int args)
        {
            for (int i = 1; i <= MaxClients; i++)
            {
                char id[32];
                if (IsClientInGame(i) && GetClientAuthId(i, AuthId_SteamID64, id, sizeof(id)))
                {
                    PrintToServer("%d %s", i, id);
                }
            }
            return Plugin_Handled;
        }""")
    game.connect("Ann", 76561198000000001, authorize=False)
    game.connect("Bob", 76561198000000002)
    game.add_bot("Bot", RED)
    game.add_source_tv()
    assert game.rcon("who") == ["2 76561198000000002"]


def test_a_reconnect_is_a_new_userid_of_the_same_person(game: Game) -> None:
    game.start_map("cp_badlands")
    player = game.add("Ann", "red")
    again = game.reconnect(player)
    assert again.userid != player.userid
    assert (again.steamid, again.team) == (player.steamid, 0)


def test_a_map_change_takes_everybody_through_the_door_again(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            CreateTimer(1.0, Timer_Stays);
            CreateTimer(1.0, Timer_Goes, 0, TIMER_FLAG_NO_MAPCHANGE);
        }
        Action Timer_Stays(Handle timer) { PrintToServer("stayed"); return Plugin_Stop; }
        Action Timer_Goes(Handle timer) { PrintToServer("went on"); return Plugin_Stop; }
        public void OnMapStart()
        {
            char name[32];
            GetCurrentMap(name, sizeof(name));
            PrintToServer("start %s %.0f", name, GetGameTime());
        }
        public void OnMapEnd() { PrintToServer("end"); }
        public void OnConfigsExecuted() { PrintToServer("configs"); }
        public void OnClientPutInServer(int client) { PrintToServer("in %d", GetClientUserId(client)); }
        public void OnClientDisconnect(int client) { PrintToServer("out %d", GetClientUserId(client)); }""")
    game.start_map("cp_badlands")
    player = game.add("Ann", "red")
    game.add_bot("Bot", BLU)
    engine_time = game.now
    game.start_map("arena_well")
    assert game.sm.console == [
        "start cp_badlands 0", "configs", "in 2", "in 3", "out 2", "out 3", "end", "start arena_well 0", "in 2",
        "configs",
    ]  # fmt: skip
    assert (player.team, player.deaths, game.map_time) == (0, 0, 2 * game.tick)
    assert game.now == engine_time + 2 * game.tick
    game.advance(1.5)
    assert game.sm.console[-1] == "stayed"


def test_a_late_load_is_told_so_and_sees_the_running_map(game: Game, script: Script) -> None:
    game.start_map("cp_badlands")
    game.add("Ann", "red")
    script("""
        bool g_Late;
        public APLRes AskPluginLoad2(Handle self, bool late, char[] error, int size)
        {
            g_Late = late;
            return APLRes_Success;
        }
        public void OnPluginStart() { PrintToServer("late %d, in game %d", g_Late, IsClientInGame(1)); }
        public void OnClientPutInServer(int client) { PrintToServer("not for those already here"); }
        public void OnMapStart() { PrintToServer("map"); }
        public void OnConfigsExecuted() { PrintToServer("configs"); }""")
    assert game.sm.console == ["late 1, in game 1", "map", "configs"]


def test_buildings_charge_and_the_flag_can_be_observed(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegServerCmd("look", Command_Look); }
        Action Command_Look(int args)
        {
            int sentry = FindEntityByClassname(-1, "obj_sentrygun");
            PrintToServer("builder %d", sentry == -1 ? 0 : GetEntPropEnt(sentry, Prop_Send, "m_hBuilder"));
            PrintToServer("charge %.2f", GetEntPropFloat(GetPlayerWeaponSlot(2, 1), Prop_Send, "m_flChargeLevel"));
            PrintToServer("ubered %d", TF2_IsPlayerInCondition(2, TFCond_Ubercharged));
            PrintToServer("flag %d", GetEntPropEnt(3, Prop_Send, "m_hItem") != -1);
            return Plugin_Handled;
        }""")
    game.start_map("ctf_2fort")
    engineer, medic, scout = (
        game.add("E", "red", "engineer"),
        game.add("M", "blue", "medic"),
        game.add("S", "red", "scout"),
    )
    play.go_live(game)
    play.build(game, engineer, "obj_sentrygun")
    medic.charge = 0.75
    medic.set_condition(UBERCHARGED, True)
    play.pick_up_flag(game, scout)
    assert game.rcon("look") == ["builder 1", "charge 0.75", "ubered 1", "flag 1"]

    game.teams.change(engineer, BLU)
    play.drop_flag(game, scout)
    assert game.rcon("look")[0::3] == ["builder 0", "flag 0"]


@pytest.mark.parametrize("side", [RED, None])
def test_a_leaver_loses_buildings_and_flag_before_the_team_and_dies_no_death(
    game: Game, script: Script, side: int | None
) -> None:
    script("""
        public void OnPluginStart() { HookEvent("player_team", Event_Team); }
        void Event_Team(Event event, const char[] name, bool silent)
        {
            int client = GetClientOfUserId(event.GetInt("userid"));
            PrintToServer("%s in game %d on %d", name, IsClientInGame(client), GetClientTeam(client));
        }
        public void OnClientDisconnect(int client) { PrintToServer("disconnect on %d", GetClientTeam(client)); }
        public void OnClientDisconnect_Post(int client) { PrintToServer("gone"); }""")
    game.start_map("ctf_2fort")
    player, _ = game.add("Ann", side or UNASSIGNED, "engineer"), game.add("Bob", "blue")
    game.frame()
    if side:
        play.go_live(game)
        play.build(game, player, "obj_dispenser")
        play.pick_up_flag(game, player)
    game.history.clear()
    game.sm.console.clear()
    game.leave(player)
    forgets = "remove_nemesis_relationships"
    sides = ["object_removed", "object_detonated", forgets, "teamplay_flag_event", "player_team", forgets]
    assert game.events() == ["player_disconnect", *(sides if side else [forgets])]
    team = ["player_team in game 1 on 2"] if side else []
    assert game.sm.console == [f"disconnect on {side or 0}", *team, "gone"]


def test_a_leavers_place_is_empty_on_the_scoreboard_and_in_arenas_queue(game: Game) -> None:
    game.start_map("arena_well")
    leaver = game.add("Ann", "spectate", "scout")
    game.advance(0.2)
    manager = game.entities.get(game.entities.after(-1, "tf_player_manager"))
    assert manager is not None
    connected = manager.props["m_bConnected"]
    assert isinstance(connected, list)
    assert (connected[1], game.arena.queue) == (1, [leaver])
    game.leave(leaver)
    assert (connected[1], game.arena.queue) == (0, [])


def test_robots_leave_their_buildings_and_defenders_do_not(game: Game) -> None:
    game.start_map("mvm_coaltown")
    robot, defender = game.add_bot("Robot", BLU, "engineer"), game.add("Ann", "red", "engineer")
    sentries = [play.build(game, player, "obj_sentrygun") for player in (robot, defender)]
    for player in (robot, defender):
        game.teams.change(player, SPECTATOR)
    assert [game.entities.get(sentry.index) is sentry for sentry in sentries] == [True, False]


def test_nothing_of_a_leaver_is_announced_after_the_map_is_over(game: Game) -> None:
    game.sm.convars["mp_maxrounds"].set("1")
    game.start_map("koth_harvest_final")
    player, _ = game.add("Ann", "red"), game.add("Bob", "blue")
    play.go_live(game)
    game.rounds.win(RED, 1)
    game.until(lambda: game.rounds.state == State.GAME_OVER)
    game.history.clear()
    game.leave(player)
    assert game.events() == ["player_disconnect"]


@pytest.mark.parametrize(("respawn", "charge"), [(True, 0.0), (False, 0.75)])
def test_a_respawn_empties_a_medigun_and_a_move_without_one_does_not(
    game: Game, *, respawn: bool, charge: float
) -> None:
    game.start_map("koth_harvest_final")
    medic, _ = game.add("M", "blue", "medic"), game.add("S", "red")
    play.go_live(game)
    medic.charge = 0.75
    medic.props["m_lifeState"] = DEAD
    game.teams.change(medic, RED)
    medic.props["m_lifeState"] = ALIVE
    if respawn:
        game.teams.force_respawn(medic)
    assert medic.charge == charge


def test_a_regenerated_player_is_whole_and_keeps_the_charge(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegServerCmd("heal", Command_Heal); }
        Action Command_Heal(int args) { TF2_RegeneratePlayer(1); return Plugin_Handled; }""")
    game.start_map("koth_harvest_final")
    medic, soldier = game.add("M", "blue", "medic"), game.add("S", "red")
    play.go_live(game)
    medic.charge = 0.75
    play.hurt(game, soldier, medic)
    game.history.clear()
    game.rcon("heal")
    assert game.events() == ["post_inventory_application"]
    assert (medic.health, medic.charge) == (150, 0.75)


def test_arenas_first_blood_is_the_first_kill_of_an_enemy_who_has_a_team_mate(game: Game) -> None:
    game.start_map("arena_well")
    game.sm.convars["tf_arena_use_queue"].set("0")
    red, blu, mate, lone = (game.add(n, s) for n, s in (("R", "red"), ("B", "blue"), ("M", "blue"), ("L", "red")))
    play.go_live(game)
    game.history.clear()
    play.kill(game, None, lone)
    play.kill(game, mate, red)
    flags = [fields["death_flags"] for _, name, fields in game.history if name == "player_death"]
    assert (flags, blu.alive) == ([0, 0x10], True)


def test_a_dead_medic_has_no_charge_and_dies_for_six_seconds_before_they_observe(game: Game) -> None:
    game.start_map("koth_harvest_final")
    medic, soldier = game.add("M", "blue", "medic"), game.add("S", "red")
    play.go_live(game)
    medic.charge = 0.75
    play.kill(game, soldier, medic)
    assert (medic.charge, medic.phase) == (0.0, Phase.DYING)
    game.advance(6.3)
    assert medic.phase == Phase.DYING
    game.advance(0.2)
    assert medic.phase == Phase.OBSERVER


def test_ghosts_and_karts_cannot_kill_themselves(game: Game) -> None:
    game.start_map("koth_harvest_final")
    players = game.add("G", "red"), game.add("K", "blue")
    play.go_live(game)
    for player, condition in zip(players, (GHOST, KART), strict=True):
        player.set_condition(condition, True)
        game.command(player, "kill")
    assert all(player.alive for player in players)


def test_the_wish_to_die_is_granted_once_in_five_seconds_and_never_to_losers(game: Game) -> None:
    game.start_map("koth_harvest_final")
    winner, loser = game.add("W", "red"), game.add("L", "blue")
    play.go_live(game)
    game.command(winner, "kill")
    game.teams.force_respawn(winner)
    game.command(winner, "explode")
    assert (winner.alive, winner.deaths) == (True, 1)
    game.rounds.win(RED, 1)
    game.command(loser, "kill")
    assert (loser.alive, loser.deaths) == (True, 0)


@pytest.mark.parametrize("full_round", [True, False])
def test_every_win_ends_every_duel(game: Game, full_round: bool) -> None:
    """CTFGameRules::SetWinningTeam (tf_gamerules.cpp) calls DuelMiniGame_AssignWinners (tf_duel.cpp): stages too."""
    players = running(game, "red", "blue", map_name="cp_dustbowl")
    for player in players:
        player.duel = True
    game.rounds.win(BLU, Reason.POINTS_CAPTURED, full_round=full_round)
    assert not any(player.duel for player in players)


@pytest.mark.parametrize("sudden_death", [0, 1])
def test_a_stalemate_ends_every_duel(game: Game, sudden_death: int) -> None:
    """CTFGameRules::SetStalemate (tf_gamerules.cpp), into Sudden Death as well."""
    game.sm.convars["mp_stalemate_enable"].set(str(sudden_death))
    players = running(game, "red", "blue", map_name="cp_badlands")
    players[0].duel = True
    game.rounds.stalemate()
    assert not players[0].duel


def test_the_ball_is_no_item_and_a_respawn_after_a_move_takes_it(game: Game) -> None:
    """m_bHasPasstimeBall (tf_player_shared.cpp); CTFPlayer::ChangeTeam keeps it, ForceRespawn's RemoveAllItems ejects
    it, by then in the colours of the other side (tf_player.cpp)."""
    carrier, _ = running(game, "red", "blue", map_name="pass_brickyard")
    play.pick_up_ball(game, carrier)
    assert carrier.props["m_hItem"] == -1
    carrier.set("m_lifeState", DEAD)
    game.teams.change(carrier, BLU)
    assert (carrier.team, carrier.props["m_bHasPasstimeBall"]) == (BLU, 1)
    game.teams.force_respawn(carrier)
    assert carrier.props["m_bHasPasstimeBall"] == 0


@pytest.mark.parametrize("loss", ["death", "win", "other"])
def test_how_the_ball_is_lost(game: Game, loss: str) -> None:
    """RemoveAllItems in Event_Killed (tf_player.cpp), SetStateOutOfPlay in SetWinningTeam (tf_gamerules.cpp)."""
    carrier, other = running(game, "red", "blue", map_name="pass_brickyard")
    play.pick_up_ball(game, carrier)
    if loss == "death":
        play.kill(game, other, carrier)
    elif loss == "win":
        game.rounds.win(RED, Reason.SCORED)
    else:
        play.pick_up_ball(game, other)
    assert (carrier.props["m_bHasPasstimeBall"], other.props["m_bHasPasstimeBall"]) == (0, int(loss == "other"))


@pytest.mark.parametrize("leaver", ["coach", "student"])
def test_a_coach_watches_until_either_leaves(game: Game, leaver: str) -> None:
    """Coaching_Start (tf_gamerules.cpp), TeamFortress_ClientDisconnected (tf_player.cpp)."""
    coach, student = running(game, "red", "blue")
    game.teams.coach(coach, student)
    assert (coach.team, coach.coaching, student.props["m_hCoach"]) == (SPECTATOR, True, coach.index)
    game.teams.change(coach, RED)
    assert coach.team == SPECTATOR
    assert not game.teams.balancing.may_be_moved(student)
    game.leave(coach if leaver == "coach" else student)
    stays = student if leaver == "coach" else coach
    assert (stays.coaching, stays.props["m_hCoach"], stays.props["m_hStudent"]) == (False, -1, -1)
