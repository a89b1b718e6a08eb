// SPDX-License-Identifier: GPL-3.0-or-later
//
// The round's timers: whether setup time runs, when the round ends, and whether players may be moved in it.

#define TIMER_SETUP 0  // RT_STATE_SETUP, teamplay_round_timer.h

// Every timer that changes its state writes m_bInSetup, even one that players do not see
// (CTeamRoundTimer::SetState, teamplay_round_timer.cpp): the timer in the HUD knows better, where there is one.
bool Timers_InSetup()
{
	int timer = InHud();
	if (timer != -1)
	{
		return GetEntProp(timer, Prop_Send, "m_nState") == TIMER_SETUP;
	}
	return GameRules_GetProp("m_bInSetup") != 0;
}

// Who was moved has lost what they built in it: setup time begins anew.
void Timers_RestartSetup()
{
	int timer = InHud();
	if (timer != -1 && GameRules_GetRoundState() == RoundState_RoundRunning && Timers_InSetup())
	{
		SetVariantInt(GetEntProp(timer, Prop_Send, "m_nSetupTimeLength"));
		AcceptEntityInput(timer, "SetTime");
	}
}

static int InHud()
{
	int resource = FindEntityByClassname(-1, "tf_objective_resource");
	int timer = resource == -1 ? 0 : GetEntProp(resource, Prop_Send, "m_iTimerToShowInHUD");
	if (timer <= MaxClients || !IsValidEntity(timer) || !HasEntProp(timer, Prop_Send, "m_nState"))
	{
		return -1;
	}
	return timer;
}

// Why nobody may be moved in the running round.
enum NoMoves
{
	NoMoves_Not,
	NoMoves_SuddenDeath,
	NoMoves_Overtime
}

static const char g_NoMoves[][] = {"", "sudden_death", "overtime"};

// An end that differs by less is the same: it is a time of the game's clock.
#define END_SLACK 0.5

// What the last roster told.
static NoMoves g_ToldNoMoves;
static float g_ToldEnd = -1.0;
static float g_ToldMapEnd = -1.0;

// The game balances in RND_RUNNING alone: in Sudden Death, its state STALEMATE, nobody respawns, and a move would give a
// life. Nor does it while its timer shows less than 60 s, and in overtime that shows 0
// (CTeamplayRoundBasedRules::BalanceTeams). Arena's every round is such a state, and closes no gap.
NoMoves Timers_NoMoves()
{
	if (Facts_Arena())
	{
		return NoMoves_Not;
	}
	if (GameRules_GetRoundState() == RoundState_Stalemate)
	{
		return NoMoves_SuddenDeath;
	}
	return GameRules_GetProp("m_bInOvertime") != 0 ? NoMoves_Overtime : NoMoves_Not;
}

// Seconds until the round ends, negative when no such end is known.
float Timers_EndsIn()
{
	float end = End();
	if (end < 0.0)
	{
		return -1.0;
	}
	float left = end - GetGameTime();
	return left < 0.0 ? 0.0 : left;
}

// When, in the game's time: at any moment in overtime. Of KOTH's two clocks the owner's alone runs, and both have their
// place in the HUD by turns.
static float End()
{
	if (Facts_Arena())
	{
		return -1.0;
	}
	if (GameRules_GetProp("m_bInOvertime") != 0)
	{
		return 0.0;
	}
	if (!Facts_Koth() || GameRules_GetRoundState() == RoundState_Stalemate)
	{
		return EndOf(InHud());
	}
	float red = EndOf(GameRules_GetPropEnt("m_hRedKothTimer"));
	return red < 0.0 ? EndOf(GameRules_GetPropEnt("m_hBlueKothTimer")) : red;
}

// Negative while the timer, if there is one, stands.
static float EndOf(int timer)
{
	if (timer <= 0 || GetEntProp(timer, Prop_Send, "m_bIsDisabled") != 0
		|| GetEntProp(timer, Prop_Send, "m_bTimerPaused") != 0)
	{
		return -1.0;
	}
	return GetEntPropFloat(timer, Prop_Send, "m_flTimerEndTime");
}

// When the map's time is over, in the game's time; negative without a limit
// (CTeamplayRoundBasedRules::GetTimeLeft). The round that runs then may go on.
static float MapEnd()
{
	static ConVar limit;
	if (limit == null)
	{
		limit = FindConVar("mp_timelimit");
	}
	float minutes = limit == null ? 0.0 : limit.FloatValue;
	return minutes > 0.0 ? GameRules_GetPropFloat("m_flMapResetTime") + minutes * 60.0 : -1.0;
}

// Adds to a roster when the map and the round end, and whether players may be moved in the round.
void Timers_Tell(JSONObject roster)
{
	g_ToldMapEnd = MapEnd();
	if (g_ToldMapEnd >= 0.0)
	{
		float left = g_ToldMapEnd - GetGameTime();
		roster.SetFloat("map_ends_in", left < 0.0 ? 0.0 : left);
	}
	bool running = Rounds_Phase() == Phase_Running;
	g_ToldEnd = running ? End() : -1.0;
	g_ToldNoMoves = running ? Timers_NoMoves() : NoMoves_Not;
	if (g_ToldEnd >= 0.0)
	{
		roster.SetFloat("ends_in", Timers_EndsIn());
	}
	if (g_ToldNoMoves != NoMoves_Not)
	{
		roster.SetString("moves", "no");
		roster.SetString("moves_reason", g_NoMoves[g_ToldNoMoves]);
	}
}

// Once a second: a clock of KOTH stopped and the other goes on, a capture added time, overtime or Sudden Death began or
// is over, the map is longer than before.
void Timers_Tick()
{
	if ((Rounds_Phase() == Phase_Running && !Facts_Arena() && Moved()) || (Session_Watching() && MapMoved()))
	{
		Outbox_WantRoster();
	}
}

static bool Moved()
{
	return FloatAbs(End() - g_ToldEnd) > END_SLACK || Timers_NoMoves() != g_ToldNoMoves;
}

static bool MapMoved()
{
	return FloatAbs(MapEnd() - g_ToldMapEnd) > END_SLACK;
}
