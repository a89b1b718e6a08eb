// SPDX-License-Identifier: GPL-3.0-or-later
//
// `sm plugins pause equipoise`: no forward, event, timer, frame or answer reaches a plugin that is paused, and single timers
// and requested frames that fall into the pause are lost (core/logic/smn_timers.cpp; IsRunnable). The game gets its
// variables back, as when the plugin ends. When it goes on, so does what had begun; after more than AWAY_SECONDS the round
// that runs was not seen whole.

static float g_PausedAt;
static int g_PausedTick;
static char g_PausedMap[PLATFORM_MAX_PATH];

public void OnPluginPauseChange(bool pause)
{
	if (pause)
	{
		Begin();
	}
	else
	{
		End();
	}
}

static void Begin()
{
	Vote_End();
	Probe_End("the plugin is paused");
	Memory_Write(true);
	Engine_Restore();
	g_PausedAt = GetEngineTime();
	g_PausedTick = GetGameTickCount();
	GetCurrentMap(g_PausedMap, sizeof(g_PausedMap));
}

static void End()
{
	char map[PLATFORM_MAX_PATH];
	GetCurrentMap(map, sizeof(map));
	Players_Reread();
	if (!StrEqual(map, g_PausedMap) || GetGameTickCount() < g_PausedTick)
	{
		Session_Rejoin();
	}
	else
	{
		if (GetEngineTime() > g_PausedAt + AWAY_SECONDS)
		{
			Session_LoseSight();
		}
		Session_Look();
		Record_Resume();
		Fallback_Resume();
		Joins_Resume();
		Moves_Resume();
		Engine_Apply();
	}
	Post_Resume();
}
