// SPDX-License-Identifier: GPL-3.0-or-later
//
// What kind of game the map plays: facts, which the daemon maps to a mode, and why a map is none of ours.

#define GAME_TYPE_CONTROL_POINTS 2
#define GAME_TYPE_ARENA 4
#define GAME_TYPE_PLAYER_DESTRUCTION 8

enum struct Facts
{
	int gameType;
	bool koth;
	bool multipleTrains;
	bool attackDefend;
}

static Facts g_Facts;

void Facts_Forget()
{
	Facts nothing;
	g_Facts = nothing;
}

// Read at a full round's start (`fromStart`), when the owners of the points are those of the map, or in the middle, when
// they prove nothing. True when the facts differ from the last reading.
bool Facts_Read(bool fromStart)
{
	Facts before;
	before = g_Facts;
	g_Facts.gameType = GameRules_GetProp("m_nGameType");
	g_Facts.koth = GameRules_GetProp("m_bPlayingKoth") != 0;
	g_Facts.multipleTrains = GameRules_GetProp("m_bMultipleTrains") != 0;
	bool allRed = fromStart ? AllPointsRed() : before.attackDefend;
	g_Facts.attackDefend = g_Facts.gameType == GAME_TYPE_CONTROL_POINTS && !g_Facts.koth && (SwitchesOnWin() || allRed);
	return before.gameType != g_Facts.gameType || before.koth != g_Facts.koth
		|| before.multipleTrains != g_Facts.multipleTrains || before.attackDefend != g_Facts.attackDefend;
}

bool Facts_Arena()
{
	return g_Facts.gameType == GAME_TYPE_ARENA;
}

bool Facts_PlayerDestruction()
{
	return g_Facts.gameType == GAME_TYPE_PLAYER_DESTRUCTION;
}

bool Facts_Koth()
{
	return g_Facts.koth;
}

// A round may have several stages.
bool Facts_Staged()
{
	int resource = FindEntityByClassname(-1, "tf_objective_resource");
	return resource != -1 && GetEntProp(resource, Prop_Send, "m_bPlayingMiniRounds") != 0;
}

// Why the game's own rules for teams stand above ours. Empty: ours to balance.
void Facts_InactiveReason(char[] buffer, int size)
{
	static ConVar tournament;
	if (tournament == null)
	{
		tournament = FindConVar("mp_tournament");
	}
	buffer[0] = '\0';
	if (GameRules_GetProp("m_bPlayingMannVsMachine") != 0)
	{
		strcopy(buffer, size, "mvm");
	}
	else if (GameRules_GetProp("m_bIsInTraining") != 0)
	{
		strcopy(buffer, size, "training");
	}
	else if (tournament != null && tournament.BoolValue)
	{
		strcopy(buffer, size, "tournament");
	}
	else if (GameRules_GetProp("m_bPowerupMode") != 0)
	{
		strcopy(buffer, size, "mannpower");
	}
	else if (Facts_Hell())
	{
		strcopy(buffer, size, "hell");
	}
	else if (Facts_Arena())
	{
		Boss(buffer, size);
	}
}

// Plugins that play one boss against all others by the rules of arena. Their names as libraries: RegPluginLibrary in
// freak_fortress_2.sp, in Freak Fortress 2 Rewrite, in the plugins called VS Saxton Hale, and in VSH2.
static void Boss(char[] buffer, int size)
{
	static const char libraries[][] = {"freak_fortress_2", "ff2r", "saxtonhale", "VSH2"};
	for (int i = 0; i < sizeof(libraries) && buffer[0] == '\0'; i++)
	{
		if (LibraryExists(libraries[i]))
		{
			strcopy(buffer, size, libraries[i]);
		}
	}
}

// The game releases no player from their side (CTFGameRules::CanChangeTeam), and a change of team may end the round
// inside its event (CTFHolidayEntity::FireGameEvent, tf_gamerules.cpp).
bool Facts_Hell()
{
	return GameRules_GetProp("m_bHelltowerPlayersInHell") != 0;
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

// The caller deletes it.
JSONArray Facts_Save()
{
	return Memory_Cells(g_Facts, sizeof(Facts));
}

void Facts_Restore(JSONArray cells)
{
	Memory_ReadCells(cells, g_Facts, sizeof(Facts));
}
