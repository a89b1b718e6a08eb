// SPDX-License-Identifier: GPL-3.0-or-later
//
// The engine's own balancing: off while the daemon's is on, as the operator had it otherwise.
// `mp_teams_unbalance_limit` stays as it is: it binds only what players ask of the engine, never what is placed here.

#define ENGINE_CVARS 4

static const char g_Names[ENGINE_CVARS][] =
{
	"mp_autoteambalance",
	"mp_scrambleteams_auto",
	"sv_vote_issue_scramble_teams_allowed",
	"tf_arena_use_queue"  // with it the engine owns arena's teams
};

static ConVar g_Cvars[ENGINE_CVARS];
static int g_Operators[ENGINE_CVARS];
static bool g_Replaced[ENGINE_CVARS];

void Engine_Find()
{
	for (int i = 0; i < ENGINE_CVARS; i++)
	{
		g_Cvars[i] = FindConVar(g_Names[i]);
	}
}

// Called at every map's start too: a map's config may have set them again.
void Engine_Apply()
{
	if (!Session_Enforcing())
	{
		Engine_Restore();
		return;
	}
	for (int i = 0; i < ENGINE_CVARS; i++)
	{
		if (g_Cvars[i] != null && g_Cvars[i].IntValue != 0)
		{
			g_Operators[i] = g_Cvars[i].IntValue;
			g_Replaced[i] = true;
			g_Cvars[i].IntValue = 0;
		}
	}
}

void Engine_Restore()
{
	for (int i = 0; i < ENGINE_CVARS; i++)
	{
		if (g_Replaced[i])
		{
			g_Cvars[i].IntValue = g_Operators[i];
			g_Replaced[i] = false;
		}
	}
}
