// SPDX-License-Identifier: GPL-3.0-or-later
//
// The game's events, handed to the files that need them.

#define FLAG_CAPTURED 2
#define FLAG_DEFENDED 3

void Observe_Hook()
{
	HookEvent("teamplay_round_start", Event_RoundStart);
	HookEvent("teamplay_restart_round", Event_Restart, EventHookMode_PostNoCopy);
	HookEvent("teamplay_round_active", Event_RoundLive, EventHookMode_PostNoCopy);
	HookEvent("teamplay_setup_finished", Event_SetupFinished, EventHookMode_PostNoCopy);
	HookEvent("arena_round_start", Event_RoundLive, EventHookMode_PostNoCopy);
	HookEvent("teamplay_round_win", Event_RoundWin);
	HookEvent("teamplay_point_captured", Event_PointCaptured);
	HookEvent("teamplay_capture_blocked", Event_CaptureBlocked);
	HookEvent("teamplay_flag_event", Event_Flag);
	HookEvent("player_team", Event_Team);
	HookEvent("player_team", Event_TeamSilenced, EventHookMode_Pre);
	HookEvent("player_hurt", Event_Hurt);
	HookEvent("player_healed", Event_Healed);
	HookEvent("player_death", Event_Death);
	HookEvent("player_spawn", Event_Spawn);
}

static void Event_RoundStart(Event event, const char[] name, bool silent)
{
	if (Session_Watching())
	{
		Rounds_Start(event.GetBool("full_reset", true));
	}
}

static void Event_Restart(Event event, const char[] name, bool silent)
{
	if (Session_Watching())
	{
		Rounds_Restart();
	}
}

static void Event_RoundLive(Event event, const char[] name, bool silent)
{
	Rounds_Look();
}

static void Event_SetupFinished(Event event, const char[] name, bool silent)
{
	if (Session_Watching())
	{
		Rounds_SetupFinished();
	}
}

// The one end that every mode has.
static void Event_RoundWin(Event event, const char[] name, bool silent)
{
	if (Session_Watching())
	{
		TFTeam winner = view_as<TFTeam>(event.GetInt("team"));
		Rounds_Won(winner, event.GetBool("full_round", true), event.GetInt("losing_team_num_caps"));
	}
}

// A copy that another plugin fires of an event that it blocked is no second capture.
static void Event_PointCaptured(Event event, const char[] name, bool silent)
{
	static int lastTick, lastPoint;
	int tick = GetGameTickCount();
	int point = event.GetInt("cp");
	if (tick != lastTick || point != lastPoint)
	{
		lastTick = tick;
		lastPoint = point;
		Rounds_Captured(view_as<TFTeam>(event.GetInt("team")));
	}
	char cappers[16];  // each an index
	event.GetString("cappers", cappers, sizeof(cappers));
	for (int i = 0; cappers[i] != '\0'; i++)
	{
		Roster_Objective(cappers[i]);
	}
}

// Of a point or a cart.
static void Event_CaptureBlocked(Event event, const char[] name, bool silent)
{
	Roster_Objective(event.GetInt("blocker"));
}

static void Event_Flag(Event event, const char[] name, bool silent)
{
	int player = event.GetInt("player");  // an index, not a userid
	int type = event.GetInt("eventtype");
	if (type == FLAG_CAPTURED && player > 0 && player <= MaxClients && IsClientInGame(player))
	{
		Rounds_Captured(TF2_GetClientTeam(player));
	}
	if (type == FLAG_CAPTURED || type == FLAG_DEFENDED)
	{
		Roster_Objective(player);
	}
}

// Fired before the change.
static void Event_Team(Event event, const char[] name, bool silent)
{
	int client = GetClientOfUserId(event.GetInt("userid"));
	TFTeam team = view_as<TFTeam>(event.GetInt("team"));
	if (client == 0 || event.GetBool("disconnect") || team > TFTeam_Blue)
	{
		return;
	}
	if (team > TFTeam_Spectator)
	{
		g_Players[client].waiting = false;
	}
	if (Rounds_Phase() == Phase_Running && Players_Human(client))
	{
		Presence_Side(client, team);
	}
	if (team > TFTeam_Spectator)
	{
		RequestFrame(Classes_Give, event.GetInt("userid"));
	}
	Post_Soon();
}

// The moves that the plugin makes would flood the chat.
static Action Event_TeamSilenced(Event event, const char[] name, bool silent)
{
	int client = GetClientOfUserId(event.GetInt("userid"));
	if (client == 0 || !Assign_Moving(client))
	{
		return Plugin_Continue;
	}
	event.BroadcastDisabled = true;
	return Plugin_Changed;
}

static void Event_Hurt(Event event, const char[] name, bool silent)
{
	if (Rounds_Phase() == Phase_Running)
	{
		Fought(event.GetInt("userid"));
		Fought(event.GetInt("attacker"));
	}
}

static void Event_Healed(Event event, const char[] name, bool silent)
{
	if (Rounds_Phase() == Phase_Running && event.GetInt("patient") != event.GetInt("healer"))
	{
		Fought(event.GetInt("healer"));
	}
}

// Self-damage counts as damage taken: either way the victim fought. The world has userid 0.
static void Fought(int userid)
{
	int client = GetClientOfUserId(userid);
	if (client != 0)
	{
		Presence_Fought(client);
	}
}

// The engine is still at it: who waits to be moved is moved in the next frame.
static void Event_Death(Event event, const char[] name, bool silent)
{
	if (Moves_Any())
	{
		RequestFrame(Moves_Dead, event.GetInt("userid"));
	}
}

static void Event_Spawn(Event event, const char[] name, bool silent)
{
	int client = GetClientOfUserId(event.GetInt("userid"));
	if (client != 0 && Rounds_Phase() == Phase_Running && Players_Human(client))
	{
		Presence_Side(client, TF2_GetClientTeam(client));  // perhaps as another class
	}
	if (Moves_Any())
	{
		RequestFrame(Moves_Spawned, event.GetInt("userid"));
	}
	if (Session_Enforcing() && view_as<TFTeam>(event.GetInt("team")) == TFTeam_Spectator)
	{
		RequestFrame(Arena_Unspawn, event.GetInt("userid"));
	}
}
