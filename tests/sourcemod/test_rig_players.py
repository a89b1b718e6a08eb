"""Clients come, choose sides, die, are moved and go, as the engine has it."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Plugin, play
from tests.sourcemod.rig.game.facts import BLU, GHOST, RED, SPECTATOR, UBERCHARGED

Script = Callable[..., Plugin]

MOVER = """
    public void OnPluginStart()
    {
        RegServerCmd("plainly", Command_Plainly);
        RegServerCmd("gently", Command_Gently);
        HookEvent("player_team", Event_Team);
    }
    void Event_Team(Event event, const char[] name, bool silent)
    {
        int client = GetClientOfUserId(event.GetInt("userid"));
        PrintToServer("%d to %d, still on %d", event.GetInt("oldteam"), event.GetInt("team"), GetClientTeam(client));
    }
    Action Command_Plainly(int args) { ChangeClientTeam(1, 3); return Plugin_Handled; }
    Action Command_Gently(int args)
    {
        SetEntProp(1, Prop_Send, "m_lifeState", 2);
        ChangeClientTeam(1, 3);
        SetEntProp(1, Prop_Send, "m_lifeState", 0);
        if (args == 0)
        {
            TF2_RespawnPlayer(1);
        }
        return Plugin_Handled;
    }"""


@pytest.fixture
def live(game: Game, script: Script) -> Game:
    """A live 5CP round with a mover plugin: client 1 on RED, 2 on BLU, 3 on RED, 4 on BLU."""
    script(MOVER)
    game.sm.convars["mp_autoteambalance"].set("0")
    game.start_map("cp_badlands")
    for i in range(4):
        game.add(f"player {i + 1}", "blue" if i % 2 else "red")
    play.go_live(game)
    game.sm.console.clear()
    game.history.clear()
    return game


def test_moving_the_living_plainly_costs_them_a_death(live: Game) -> None:
    live.rcon("plainly")
    player = live.players[1]
    assert (player.team, player.alive, player.deaths, player.suicides) == (BLU, False, 1, 1)
    assert live.events() == ["player_team", "player_death"]
    assert live.sm.console == ["2 to 3, still on 2"]


def test_moving_with_the_life_state_trick_and_a_respawn_costs_nothing(live: Game) -> None:
    live.rcon("gently")
    player = live.players[1]
    assert (player.team, player.alive, player.deaths, player.misplaced) == (BLU, True, 0, False)
    assert live.events() == ["player_team", "player_spawn"]


def test_without_a_respawn_the_moved_player_stands_in_wrong_colours(live: Game) -> None:
    live.rcon("gently norespawn")
    assert live.players[1].misplaced


def test_a_ghost_is_not_moved_and_nothing_says_so(live: Game) -> None:
    live.players[1].set_condition(GHOST, True)
    live.rcon("plainly")
    assert (live.players[1].team, live.events()) == (RED, [])


def test_going_to_watch_by_command_is_a_suicide_and_by_plugin_is_not(live: Game) -> None:
    live.command(live.players[1], "jointeam spectate")
    live.teams.change(live.players[3], SPECTATOR, by_plugin=True)
    assert [(p.team, p.alive, p.deaths) for p in (live.players[1], live.players[3])] == [(1, False, 1), (1, False, 0)]


def test_the_jointeam_command_refuses_what_unbalances_and_plugins_may_do_it(live: Game) -> None:
    live.command(live.players[2], "jointeam red")
    assert live.players[2].team == BLU
    live.teams.change(live.players[2], RED, by_plugin=True)
    assert live.players[2].team == RED


def test_a_feigned_death_is_an_event_and_nothing_else(live: Game) -> None:
    play.feign(live, live.players[1], live.players[2])
    assert live.history[-1][2]["death_flags"] == 32
    assert (live.players[2].alive, live.players[2].deaths, live.players[1].frags) == (True, 0, 0)


def test_the_dead_come_back_in_a_wave(live: Game) -> None:
    victim = live.players[2]
    play.kill(live, live.players[1], victim)
    assert (victim.alive, victim.deaths, live.players[1].frags) == (False, 1, 1)
    live.advance(8.1)
    assert victim.alive


def test_a_dead_player_joining_the_smaller_side_spawns_at_once(live: Game) -> None:
    live.leave(live.players[4])
    play.kill(live, live.players[2], live.players[1])
    live.rcon("plainly")
    live.advance(0.1)
    assert (live.players[1].alive, live.players[1].deaths) == (True, 1)


@pytest.mark.parametrize("setting", ["0", "1"])
def test_the_engine_balances_sides_only_while_it_is_told_to(live: Game, setting: str) -> None:
    live.sm.convars["mp_autoteambalance"].set(setting)
    for index in (2, 4):
        live.leave(live.players[index])
    live.advance(12)
    sizes = len(live.teams.members(RED)), len(live.teams.members(BLU))
    balanced = "teamplay_teambalanced_player" in live.events()
    assert (sizes, balanced) == (((1, 1), True) if setting == "1" else ((2, 0), False))


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
