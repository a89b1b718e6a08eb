// SPDX-License-Identifier: GPL-3.0-or-later
//
// What kind of game the map plays: facts, which the daemon maps to a mode.

#define GAME_TYPE_CONTROL_POINTS 2
#define GAME_TYPE_ARENA 4

enum struct Facts
{
	int gameType;
	bool koth;
	bool multipleTrains;
	bool attackDefend;
}

static Facts g_Facts;

// Read at a full round's start (`fromStart`) or in the middle, when the owners of the points prove nothing.
// True when they differ from the last reading.
bool Facts_Read(bool fromStart)
{
	Facts before;
	before = g_Facts;
	g_Facts.gameType = GameRules_GetProp("m_nGameType");
	g_Facts.koth = GameRules_GetProp("m_bPlayingKoth") != 0;
	g_Facts.multipleTrains = GameRules_GetProp("m_bMultipleTrains") != 0;
	g_Facts.attackDefend = g_Facts.gameType == GAME_TYPE_CONTROL_POINTS && !g_Facts.koth
		&& (SwitchesOnWin() || (fromStart && AllPointsRed()));
	return before.gameType != g_Facts.gameType || before.koth != g_Facts.koth
		|| before.multipleTrains != g_Facts.multipleTrains || before.attackDefend != g_Facts.attackDefend;
}

bool Facts_Arena()
{
	return g_Facts.gameType == GAME_TYPE_ARENA;
}

// Which the daemon has no use for: it plays for "mvm" or "tournament" rules. Empty: ours to balance.
void Facts_InactiveReason(char[] buffer, int size)
{
	ConVar tournament = FindConVar("mp_tournament");
	if (GameRules_GetProp("m_bPlayingMannVsMachine") != 0)
	{
		strcopy(buffer, size, "mvm");
	}
	else
	{
		strcopy(buffer, size, tournament != null && tournament.BoolValue ? "tournament" : "");
	}
}

// The caller deletes it.
JSONObject Facts_Object()
{
	JSONObject facts = new JSONObject();
	facts.SetInt("game_type", g_Facts.gameType);
	facts.SetBool("koth", g_Facts.koth);
	facts.SetBool("multiple_trains", g_Facts.multipleTrains);
	facts.SetBool("attack_defend", g_Facts.attackDefend);
	return facts;
}

// Seconds until a timer in the HUD ends the round, negative when no such end is known. KOTH has two clocks that stop
// and go.
float Facts_EndsIn()
{
	float seconds = -1.0;
	int timer = -1;
	while (!g_Facts.koth && !Facts_Arena() && (timer = FindEntityByClassname(timer, "team_round_timer")) != -1)
	{
		if (Runs(timer))
		{
			seconds = GetEntPropFloat(timer, Prop_Send, "m_flTimerEndTime") - GetGameTime();
		}
	}
	return seconds;
}

static bool Runs(int timer)
{
	return GetEntProp(timer, Prop_Send, "m_bShowInHUD") != 0 && GetEntProp(timer, Prop_Send, "m_bIsDisabled") == 0
		&& GetEntProp(timer, Prop_Send, "m_bTimerPaused") == 0;
}

static bool SwitchesOnWin()
{
	int master = FindEntityByClassname(-1, "team_control_point_master");
	return master != -1 && GetEntProp(master, Prop_Data, "m_bSwitchTeamsOnWin") != 0;
}

static bool AllPointsRed()
{
	int resource = FindEntityByClassname(-1, "tf_objective_resource");
	if (resource == -1)
	{
		return false;
	}
	int points = GetEntProp(resource, Prop_Send, "m_iNumControlPoints");
	for (int point = 0; point < points; point++)
	{
		if (GetEntProp(resource, Prop_Send, "m_iOwner", 4, point) != view_as<int>(TFTeam_Red))
		{
			return false;
		}
	}
	return points > 0;
}
