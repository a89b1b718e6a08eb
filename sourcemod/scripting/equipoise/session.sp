// SPDX-License-Identifier: GPL-3.0-or-later
//
// One map on this server, and whether Equipoise has anything to say on it.

static char g_Boot[24];        // the plugin's start, milliseconds since the epoch
static int g_Number;           // of the map since then
static bool g_Late;
static bool g_Configured;
static char g_InactiveReason[16];
static bool g_SwitchedOn = true;  // by an admin, at the daemon

void Session_Load(bool late)
{
	g_Late = late;
	FormatEx(g_Boot, sizeof(g_Boot), "%d%03d", GetTime(), RoundToFloor(GetEngineTime() * 1000.0) % 1000);
}

void Session_Begin()
{
	g_Number++;
	g_Configured = false;
	g_InactiveReason[0] = '\0';
	Rounds_Reset();
	Rounds_ForgetWaiting();
	Fallback_NewSession();
	Post_NewSession();
}

// The map and its configs are there: the game's own facts can be read, the engine's settings replaced.
void Session_Configured()
{
	g_Configured = true;
	Facts_Read(!g_Late);
	Facts_InactiveReason(g_InactiveReason, sizeof(g_InactiveReason));
	if (g_InactiveReason[0] != '\0')
	{
		LogMessage("Inactive on this map (%s): the game keeps its own teams.", g_InactiveReason);
	}
	else if (g_Late)
	{
		Rounds_Resume();
	}
	Engine_Apply();
	Outbox_WantAll();
}

// The operator switched the plugin on or off: what it has not seen it does not know.
void Session_Toggled()
{
	Rounds_Reset();
	Moves_Clear();
	if (Session_Watching())
	{
		Rounds_Resume();
	}
	Engine_Apply();
	Outbox_WantAll();
}

void Session_End()
{
	g_Late = false;
	g_Configured = false;
	Rounds_Reset();
	Rounds_ForgetWaiting();
	Outbox_Clear();
	Moves_Clear();
	Locks_Clear();
}

// Whether events are reported to the daemon.
bool Session_Watching()
{
	return g_Configured && g_InactiveReason[0] == '\0' && Settings_Enabled();
}

// What the daemon decides is carried out, and its placements are kept.
bool Session_Enforcing()
{
	return g_SwitchedOn && Session_Watching() && !Engine_HumansTogether();
}

void Session_SwitchOn(bool on)
{
	if (on != g_SwitchedOn)
	{
		g_SwitchedOn = on;
		Engine_Apply();
	}
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

// Which map, which of its lives.
void Session_Describe(JSONObject event)
{
	char map[PLATFORM_MAX_PATH], session[NAME_SIZE];
	GetCurrentMap(map, sizeof(map));
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
