// SPDX-License-Identifier: GPL-3.0-or-later
//
// The second half of a probe: in which order events and forwards come until a whole round was played, and what can be
// read at each moment. Players are slots.

// It ends by itself at the latest.
#define RECORD_SECONDS 3600.0
#define RECORD_LINES 4000
// What happens all the time is of interest only so soon after what does not.
#define RECORD_NEAR 3.0

enum struct Watched
{
	char name[40];
	// Of its fields, separated by spaces; a userid is shown as the client's slot.
	char fields[96];
	// It happens all the time while a round runs.
	bool frequent;
}

static const Watched g_Watched[] =
{
	{"teamplay_round_start", "full_reset", false},
	{"teamplay_restart_round", "", false},
	{"teamplay_round_restart_seconds", "seconds", false},
	{"teamplay_ready_restart", "", false},
	{"teamplay_round_active", "", false},
	{"teamplay_setup_finished", "", false},
	{"arena_round_start", "", false},
	{"arena_match_maxstreak", "team streak", false},
	{"teamplay_round_selected", "round", false},
	{"teamplay_round_stalemate", "reason", false},
	{"teamplay_round_win", "team winreason full_round round_time losing_team_num_caps was_sudden_death", false},
	{"teamplay_win_panel", "winning_team winreason round_complete", false},
	{"arena_win_panel", "winning_team winreason", false},
	{"teamplay_game_over", "reason", false},
	{"tf_game_over", "reason", false},
	{"teamplay_point_captured", "cp team", false},
	{"teamplay_flag_event", "player carrier eventtype home team", false},
	{"ctf_flag_captured", "capping_team capping_team_score", false},
	{"teamplay_alert", "alert_type", false},
	{"teamplay_teambalanced_player", "player team", false},
	{"player_connect", "userid bot", false},
	{"player_activate", "userid", false},
	{"player_disconnect", "userid bot", false},
	{"player_team", "userid team oldteam disconnect autoteam silent", false},
	{"player_changeclass", "userid class", false},
	{"player_spawn", "userid team class", true},
	{"player_death", "userid attacker customkill death_flags", true},
	{"post_inventory_application", "userid", true},
	{"object_removed", "userid objecttype", true},
	{"server_cvar", "cvarname", false}
};

static bool g_Hooked[sizeof(g_Watched)];
static int g_Lines;
static int g_Begun;       // which recording: the timer of an earlier one is late
static float g_Loud;      // when something came that is not frequent, in the game's time
static bool g_Started;    // a round began before our eyes, and none has waited for players since
static bool g_Won;        // and was won

void Recorder_Begin()
{
	g_Lines = 0;
	g_Loud = 0.0;
	g_Started = false;
	g_Won = false;
	Probe_Write("== record ==");
	Probe_Write("S round state, W waiting for players, U in setup, O overtime, phase as the plugin has it; \"fired\": before "
		... "the game acts on an event, \"heard\": after");
	for (int i = 0; i < sizeof(g_Watched); i++)
	{
		g_Hooked[i] = HookEventEx(g_Watched[i].name, Event_Fired, EventHookMode_Pre);
		if (!g_Hooked[i])
		{
			Probe_Write("event %s: NOT THERE", g_Watched[i].name);
		}
		else if (!g_Watched[i].frequent)
		{
			HookEvent(g_Watched[i].name, Event_Heard);
		}
	}
	CreateTimer(RECORD_SECONDS, Timer_Late, ++g_Begun);
}

void Recorder_End()
{
	for (int i = 0; i < sizeof(g_Watched); i++)
	{
		if (!g_Hooked[i])
		{
			continue;
		}
		UnhookEvent(g_Watched[i].name, Event_Fired, EventHookMode_Pre);
		if (!g_Watched[i].frequent)
		{
			UnhookEvent(g_Watched[i].name, Event_Heard);
		}
	}
}

static Action Timer_Late(Handle timer, any begun)
{
	if (begun == g_Begun)
	{
		Probe_End("no whole round was played in an hour");
	}
	return Plugin_Stop;
}

// A forward of SourceMod, or something that the plugin does. Costs a look at a variable while no probe runs.
void Recorder_Note(const char[] format, any ...)
{
	if (!Probe_Runs())
	{
		return;
	}
	char what[PROBE_LINE - 64];
	VFormat(what, sizeof(what), format, 2);
	Line(what);
}

static Action Event_Fired(Event event, const char[] name, bool silent)
{
	int i = IndexOf(name);
	if (!g_Watched[i].frequent)
	{
		g_Loud = GetGameTime();
	}
	if (GetGameTime() >= g_Loud && GetGameTime() <= g_Loud + RECORD_NEAR)
	{
		Note(event, i, "fired");
	}
	return Plugin_Continue;
}

static void Event_Heard(Event event, const char[] name, bool silent)
{
	Note(event, IndexOf(name), "heard");
	Advance(event, name);
}

static int IndexOf(const char[] name)
{
	int i = 0;
	while (!StrEqual(g_Watched[i].name, name))
	{
		i++;
	}
	return i;
}

static void Note(Event event, int i, const char[] when)
{
	char what[PROBE_LINE - 64];
	FormatEx(what, sizeof(what), "%s %s", g_Watched[i].name, when);
	Fields(event, g_Watched[i].fields, what, sizeof(what));
	Line(what);
}

static void Fields(Event event, const char[] fields, char[] what, int size)
{
	char names[8][24], value[32], part[96];
	int count = fields[0] == '\0' ? 0 : ExplodeString(fields, " ", names, sizeof(names), sizeof(names[]));
	for (int i = 0; i < count; i++)
	{
		if (StrEqual(names[i], "userid") || StrEqual(names[i], "attacker"))
		{
			int client = GetClientOfUserId(event.GetInt(names[i]));
			FormatEx(part, sizeof(part), ", %s %d is client %d", names[i], event.GetInt(names[i]), client);
			if (client != 0 && IsClientInGame(client))
			{
				Format(part, sizeof(part), "%s (team %d, %s%s)", part, GetClientTeam(client),
					IsPlayerAlive(client) ? "alive" : "dead", Assign_Moving(client) ? ", moved by us" : "");
			}
		}
		else
		{
			event.GetString(names[i], value, sizeof(value));
			FormatEx(part, sizeof(part), ", %s %s", names[i], value);
		}
		StrCat(what, size, part);
	}
}

// The game has no rules to ask between two maps.
static void Line(const char[] what)
{
	char now[64], phase[16];
	if (++g_Lines == RECORD_LINES)
	{
		RequestFrame(Frame_Full);
	}
	Rounds_PhaseName(phase, sizeof(phase));
	if (FindEntityByClassname(-1, "tf_gamerules") == -1)
	{
		strcopy(now, sizeof(now), "no rules");
	}
	else
	{
		FormatEx(now, sizeof(now), "S%d W%d U%d O%d", GameRules_GetRoundState(), GameRules_GetProp("m_bInWaitingForPlayers"),
			GameRules_GetProp("m_bInSetup"), GameRules_GetProp("m_bInOvertime"));
	}
	Probe_Write("%.3f, tick %d, %s, %s: %s", GetGameTime(), GetGameTickCount(), now, phase, what);
}

// A round from its start to its end, and the next one until it is live.
static void Advance(Event event, const char[] name)
{
	if (StrEqual(name, "teamplay_round_start"))
	{
		g_Started = !Waiting_Now() && (g_Started || event.GetBool("full_reset", true));
	}
	else if (StrEqual(name, "teamplay_round_win"))
	{
		g_Won = g_Started && event.GetBool("full_round", true);
	}
	else if (g_Won && (StrEqual(name, "teamplay_round_active") || StrEqual(name, "arena_round_start")))
	{
		g_Won = false;
		RequestFrame(Frame_Whole);  // not inside the event that we stop to watch
	}
}

static void Frame_Whole()
{
	Probe_End("a whole round was played");
}

static void Frame_Full()
{
	Probe_End("too many lines");
}

public void OnClientConnected(int client)
{
	Recorder_Note("OnClientConnected, client %d", client);
}

public void OnClientDisconnect_Post(int client)
{
	Recorder_Note("OnClientDisconnect_Post, client %d", client);
}
