// SPDX-License-Identifier: GPL-3.0-or-later
//
// One map on this server, and whether Equipoise has anything to say on it.

static char g_Boot[24];        // names this start of the plugin, which a reload goes on with
static ConVar g_Process;       // the boot of this process: a variable outlives the plugin, but not the process
static int g_Number;           // of the map since then
static bool g_Late;
static bool g_Configured;
static char g_InactiveReason[24];
static bool g_SwitchedOn = true;  // by an admin, at the daemon
static bool g_Watching;        // when it was last looked at
static bool g_Enforcing;

void Session_Load(bool late)
{
	g_Late = late;
	// Neither clock names a load: the system's may be set back, and the engine's begins again with each process. The
	// generator is this load's own. Below 2^53, which is all that JSON keeps, until 2106.
	FormatEx(g_Boot, sizeof(g_Boot), "%u%06d", GetTime(), GetURandomInt() % 1000000);
}

void Session_Create()
{
	g_Process = CreateConVar("equipoise_boot", "", "What this start of the plugin is called.", FCVAR_DONTRECORD);
}

void Session_Begin()
{
	g_Number++;
	g_Configured = false;
	g_InactiveReason[0] = '\0';
	Rounds_Reset();
	Waiting_Forget();
	Facts_Forget();
	Level_NewMap();
	Fallback_NewSession();
	Post_NewSession();
	if (Memory_Begin(true))
	{
		g_Configured = true;  // in this process, a moment ago
		Outbox_WantRoster();
		Session_Look();
		Engine_Apply();
	}
}

// The map and its configs are there: the game's own facts can be read, the engine's settings replaced.
void Session_Configured()
{
	Memory_Begin();  // before now, nobody had named the server
	if (!g_Configured)
	{
		g_Configured = true;
		Facts_Read(!g_Late);
		Session_Look();
		Outbox_WantAll();  // of a map that is left alone no roster
	}
	g_Process.SetString(g_Boot);
	Session_Look();
	Engine_Apply();  // a cfg may have set them again
}

// Another map runs, whose start was not seen.
void Session_Rejoin()
{
	Session_End();
	g_Late = true;
	Session_Begin();
	Session_Configured();
}

// What happened on this map for some time was not seen.
void Session_LoseSight()
{
	if (g_Watching)
	{
		Rounds_Reset();
		Rounds_Resume();
	}
	Outbox_WantAll();
}

void Session_End()
{
	g_Late = false;
	g_Configured = false;
	g_Watching = false;
	g_Enforcing = false;
	Rounds_Reset();
	Waiting_Forget();
	Outbox_Clear();
	Moves_Clear();
	Locks_Clear();
}

// Whether to watch and to enforce may have changed: by the operator, an admin at the daemon, its table of maps, or the
// game, which has players in hell for a while. What was not watched is not known.
void Session_Look()
{
	if (!g_Configured)
	{
		return;
	}
	char reason[sizeof(g_InactiveReason)];
	Facts_InactiveReason(reason, sizeof(reason));
	if (!StrEqual(reason, g_InactiveReason))
	{
		strcopy(g_InactiveReason, sizeof(g_InactiveReason), reason);
		LogMessage(reason[0] == '\0' ? "Active again.%s" : "Inactive on this map (%s): the game keeps its own teams.", reason);
		Outbox_WantHello();
	}
	if (Session_Watching() != g_Watching)
	{
		g_Watching = !g_Watching;
		Rounds_Reset();
		Moves_Clear();
		if (g_Watching)
		{
			Rounds_Resume();
		}
		Outbox_WantAll();
	}
	if (Session_Enforcing() != g_Enforcing)
	{
		g_Enforcing = !g_Enforcing;
		Engine_Apply();
		if (g_Enforcing)
		{
			Arena_Adopt();
		}
	}
}

// Whether events are reported to the daemon. A round in hell is still a round.
bool Session_Watching()
{
	return g_Configured && Settings_Enabled() && (g_InactiveReason[0] == '\0' || StrEqual(g_InactiveReason, "hell"))
		&& Level_Now() != Level_Off;
}

// What the daemon decides is carried out, and its placements are kept.
bool Session_Enforcing()
{
	return g_SwitchedOn && Session_Watching() && g_InactiveReason[0] == '\0' && Level_Now() == Level_Balance
		&& !Engine_HumansTogether();
}

// The whole map is left alone, and the daemon is told of nothing but commands.
bool Session_Aside()
{
	return g_Configured && !Session_Watching();
}

// Why less than all is done on this map: "off" or "rate", and the reason as text. Else "balance", or nothing yet.
void Session_Level(char[] level, int size, char[] reason, int reasonSize)
{
	static const char reasons[][][] =
	{
		{"mvm", "Mann vs Machine"}, {"training", "training"}, {"tournament", "mp_tournament 1"},
		{"mannpower", "Mannpower"}, {"hell", "hell"}, {"freak_fortress_2", "Freak Fortress 2"},
		{"ff2r", "Freak Fortress 2"}, {"saxtonhale", "VS Saxton Hale"}, {"VSH2", "VS Saxton Hale 2"}
	};
	Level_Name(Level_Now(), level, size);
	Level_Reason(reason, reasonSize);
	for (int i = 0; i < sizeof(reasons); i++)
	{
		if (StrEqual(g_InactiveReason, reasons[i][0]))
		{
			strcopy(level, size, "off");
			strcopy(reason, reasonSize, reasons[i][1]);
		}
	}
	if (StrEqual(level, "balance") && Engine_HumansTogether())
	{
		strcopy(level, size, "rate");
		strcopy(reason, reasonSize, "mp_humans_must_join_team");
	}
}

// Tells each player once that this map is left alone.
void Session_Inform()
{
	char level[16], reason[NAME_SIZE];
	Session_Level(level, sizeof(level), reason, sizeof(reason));
	bool off = StrEqual(level, "off");
	if (!g_Configured || !Settings_Enabled() || !(off || StrEqual(level, "rate")))
	{
		return;
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		if (!g_Players[client].informed && Players_Human(client) && TF2_GetClientTeam(client) != TFTeam_Unassigned)
		{
			g_Players[client].informed = true;
			Chat_Phrase(client, off ? "Equipoise_MapOff" : "Equipoise_MapRate", reason);
		}
	}
}

void Session_SwitchOn(bool on)
{
	g_SwitchedOn = on;
	Session_Look();
}

void Session_Boot(char[] buffer, int size)
{
	strcopy(buffer, size, g_Boot);
}

// A name that is unique on this server: "<boot>-<number>".
void Session_Name(char[] buffer, int size, int number)
{
	FormatEx(buffer, size, "%s-%d", g_Boot, number);
}

// Whether this start of the plugin, which a reload goes on with, gave this name.
bool Session_Named(const char[] name)
{
	return StrContains(name, g_Boot) == 0;
}

// Which map, which of its lives.
void Session_Describe(JSONObject event)
{
	char file[PLATFORM_MAX_PATH], map[MAP_SIZE], session[NAME_SIZE];
	GetCurrentMap(file, sizeof(file));
	if (!GetMapDisplayName(file, map, sizeof(map)))  // "workshop/cp_x.ugc123" is cp_x, whatever its number
	{
		strcopy(map, sizeof(map), file);
	}
	Session_Name(session, sizeof(session), g_Number);
	event.SetString("game", "tf2");
	event.SetString("map", map);
	event.SetString("session", session);
}

// Whether a map is loaded far enough to introduce it.
bool Session_Ready()
{
	return g_Configured;
}

// The caller deletes it.
JSONObject Session_Hello()
{
	JSONObject hello = Outbox_Event("hello");
	Session_Describe(hello);
	Rounds_SetPhase(hello);
	hello.SetString("plugin", PLUGIN_VERSION);
	hello.SetInt("slots", MaxClients);
	hello.SetBool("late", g_Late);
	hello.SetBool("due", Fallback_Due());
	hello.SetString("inactive_reason", g_InactiveReason);
	JSONObject facts = Facts_Object();
	hello.Set("facts", facts);
	delete facts;
	return hello;
}

void Session_Save(JSONObject state)
{
	state.SetInt("session", g_Number);
	state.SetBool("late", g_Late);
	state.SetBool("enabled", g_SwitchedOn);
	state.SetBool("watching", g_Watching);
	state.SetBool("enforcing", g_Enforcing);
	state.SetString("inactive_reason", g_InactiveReason);
	state.SetString("version", PLUGIN_VERSION);
}

void Session_Restore(JSONObject state)
{
	g_Number = state.GetInt("session");
	g_Late = state.GetBool("late");
	g_SwitchedOn = state.GetBool("enabled");
	g_Watching = state.GetBool("watching");
	g_Enforcing = state.GetBool("enforcing");
	state.GetString("inactive_reason", g_InactiveReason, sizeof(g_InactiveReason));
	char version[64];
	state.GetString("version", version, sizeof(version));
	if (!StrEqual(version, PLUGIN_VERSION))
	{
		Outbox_WantHello();
	}
	g_Process.GetString(g_Boot, sizeof(g_Boot));
}

// Whether the last start of the plugin in this process was called so.
bool Session_Started(const char[] boot)
{
	char before[sizeof(g_Boot)];
	g_Process.GetString(before, sizeof(before));
	return StrEqual(boot, before);
}
