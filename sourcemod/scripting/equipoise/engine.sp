// SPDX-License-Identifier: GPL-3.0-or-later
//
// The engine's own balancing: held off while the daemon's is on, as the operator had it otherwise.
//
// A change hook puts a held variable back at once and remembers the value that was set, which the variable gets when the
// plugin lets go: at the end of a map (so that the configs of the next one start from the operator's values), when it
// stands aside, and when it is unloaded. SourceMod does not say who set a variable; only who uses `sm_cvar` or `sm_rcon`
// at that moment is known.
//
// The engine tells all players of a change of most of them ("Server cvar … changed to …"): not while one is held, nor when
// it gets its value back.
//
// `mp_teams_unbalance_limit` stays as it is: it binds only what players ask of the engine, never what is placed here. So does
// `sv_vote_issue_scramble_teams_allowed`, by which the game's menu of votes has a scramble: who calls it asks us (vote.sp).

#define HELD_CVARS 4
#define VALUE_SIZE 32
#define HELD_VALUE "0"
// So many corrections within a second: another plugin holds the variable too.
#define PATIENCE 5
// A change of the same variable is logged once in this time.
#define LOG_SECONDS 60.0

static const char g_Names[HELD_CVARS][] =
{
	"mp_autoteambalance",
	"mp_scrambleteams_auto",
	"sv_vote_issue_autobalance_allowed",  // its vote sets mp_autoteambalance
	"tf_arena_use_queue"                  // with it the engine owns arena's teams
};

enum struct Variable
{
	ConVar cvar;
	// What it gets when it is no longer held.
	char operators[VALUE_SIZE];
	bool held;
	bool givenUp;
	int corrections;
	float correctedAt;
	float loggedAt;
}

static Variable g_Variables[HELD_CVARS];
static bool g_Restoring;
static ConVar g_HumansTeam;

// Who uses `sm_cvar` or `sm_rcon` in this tick.
static int g_Caller;
static int g_CallTick = -1;

void Engine_Find()
{
	for (int i = 0; i < HELD_CVARS; i++)
	{
		g_Variables[i].cvar = FindConVar(g_Names[i]);
		if (g_Variables[i].cvar != null)
		{
			g_Variables[i].cvar.AddChangeHook(OnChanged);
		}
	}
	g_HumansTeam = FindConVar("mp_humans_must_join_team");
	if (g_HumansTeam != null)
	{
		g_HumansTeam.AddChangeHook(OnHumansTeamChanged);
	}
	HookEvent("server_cvar", Event_VariableTold, EventHookMode_Pre);
	AddCommandListener(Command_Caller, "sm_cvar");
	AddCommandListener(Command_Caller, "sm_rcon");
}

static Action Command_Caller(int client, const char[] command, int argc)
{
	g_Caller = client;
	g_CallTick = GetGameTickCount();
	return Plugin_Continue;
}

// With mp_humans_must_join_team the game puts every human on one side, against bots: there is nothing to make even.
bool Engine_HumansTogether()
{
	char team[16];
	if (g_HumansTeam != null)
	{
		g_HumansTeam.GetString(team, sizeof(team));
	}
	return StrEqual(team, "red", false) || StrEqual(team, "blue", false) || StrEqual(team, "spectator", false);
}

static void OnHumansTeamChanged(ConVar cvar, const char[] before, const char[] after)
{
	Session_Look();
}

void Engine_Apply()
{
	if (!Session_Enforcing())
	{
		Engine_Restore();
		return;
	}
	for (int i = 0; i < HELD_CVARS; i++)
	{
		ConVar cvar = g_Variables[i].cvar;
		if (cvar != null && !g_Variables[i].held && !g_Variables[i].givenUp)
		{
			cvar.GetString(g_Variables[i].operators, VALUE_SIZE);
			g_Variables[i].held = true;
			cvar.SetString(HELD_VALUE);
		}
	}
}

void Engine_Restore()
{
	g_Restoring = true;
	for (int i = 0; i < HELD_CVARS; i++)
	{
		g_Variables[i].givenUp = false;
		if (g_Variables[i].held)
		{
			g_Variables[i].held = false;
			g_Variables[i].cvar.SetString(g_Variables[i].operators);
		}
	}
	g_Restoring = false;
}

static Action Event_VariableTold(Event event, const char[] name, bool dontBroadcast)
{
	char cvar[64];
	event.GetString("cvarname", cvar, sizeof(cvar));
	for (int i = 0; i < HELD_CVARS; i++)
	{
		if ((g_Variables[i].held || g_Restoring) && StrEqual(cvar, g_Names[i], false))
		{
			event.BroadcastDisabled = true;
			return Plugin_Changed;
		}
	}
	return Plugin_Continue;
}

// The variable is read, not `after`: a hook that runs before this one may have set it again.
static void OnChanged(ConVar cvar, const char[] before, const char[] after)
{
	int i = 0;
	while (g_Variables[i].cvar != cvar)
	{
		i++;
	}
	if (!g_Variables[i].held || cvar.IntValue == 0)
	{
		return;
	}
	cvar.GetString(g_Variables[i].operators, VALUE_SIZE);
	if (Exhausted(i))
	{
		g_Variables[i].held = false;
		g_Variables[i].givenUp = true;
		LogError("%s is given up on this map: another plugin sets it to %s as often as Equipoise sets it to 0. Let only "
			... "one of them balance.", g_Names[i], g_Variables[i].operators);
		return;
	}
	Report(i);
	cvar.SetString(HELD_VALUE);
}

static bool Exhausted(int i)
{
	float now = GetEngineTime();
	if (now > g_Variables[i].correctedAt + 1.0)
	{
		g_Variables[i].correctedAt = now;
		g_Variables[i].corrections = 0;
	}
	return ++g_Variables[i].corrections > PATIENCE;
}

static void Report(int i)
{
	bool known = g_CallTick == GetGameTickCount();
	if (known && g_Caller != 0 && IsClientInGame(g_Caller))
	{
		Chat_Phrase(g_Caller, "Equipoise_VariableHeld", g_Names[i], g_Variables[i].operators);
	}
	float now = GetEngineTime();
	if (g_Variables[i].loggedAt > 0.0 && now < g_Variables[i].loggedAt + LOG_SECONDS)
	{
		return;
	}
	g_Variables[i].loggedAt = now;
	char by[128] = "the console, RCON, a config or another plugin";
	if (known)
	{
		FormatEx(by, sizeof(by), "%L", g_Caller);
	}
	LogMessage("%s stays 0 while Equipoise balances; %s wanted %s, which it gets back when Equipoise stops.", g_Names[i], by,
		g_Variables[i].operators);
}

// Whether this variable is held, and what it would be otherwise.
bool Engine_Wanted(const char[] name, char[] value, int size)
{
	for (int i = 0; i < HELD_CVARS; i++)
	{
		if (g_Variables[i].held && StrEqual(name, g_Names[i]))
		{
			strcopy(value, size, g_Variables[i].operators);
			return true;
		}
	}
	return false;
}

// One line each for what is held, and for what another plugin won.
void Engine_Describe(int client)
{
	for (int i = 0; i < HELD_CVARS; i++)
	{
		if (g_Variables[i].held)
		{
			ReplyToCommand(client, "%t", "Equipoise_StatusHeld", g_Names[i], g_Variables[i].operators);
		}
		else if (g_Variables[i].givenUp)
		{
			ReplyToCommand(client, "%t", "Equipoise_StatusGivenUp", g_Names[i], g_Variables[i].operators);
		}
	}
}
