// SPDX-License-Identifier: GPL-3.0-or-later
//
// How far Equipoise goes on this map, by the daemon's table of maps: "off", "rate" (rounds are rated, the teams are left
// alone) or "balance". A map that the daemon has not spoken of yet is left alone until it does, or does not answer.

#define LEVELS 4

enum Level
{
	Level_Unknown,
	Level_Off,
	Level_Rate,
	Level_Balance
}

enum struct MapLevel
{
	Level level;
	char reason[NAME_SIZE];
}

static const char g_Names[LEVELS][] = {"", "off", "rate", "balance"};

static MapLevel g_Level;
static StringMap g_Told;  // what the daemon said of each map, for the day it is silent there

void Level_Create()
{
	g_Told = new StringMap();
}

void Level_NewMap()
{
	char map[PLATFORM_MAX_PATH];
	GetCurrentMap(map, sizeof(map));
	if (!g_Told.GetArray(map, g_Level, sizeof(g_Level)))
	{
		g_Level.level = Level_Unknown;
		g_Level.reason[0] = '\0';
	}
}

void Level_Replied(JSONObject reply)
{
	char name[16], map[PLATFORM_MAX_PATH];
	Read_Text(reply, "level", name, sizeof(name));
	Read_Text(reply, "level_reason", g_Level.reason, sizeof(MapLevel::reason));
	g_Level.level = Level_Balance;
	for (int i = view_as<int>(Level_Off); i < LEVELS; i++)
	{
		if (StrEqual(name, g_Names[i]))
		{
			g_Level.level = view_as<Level>(i);
		}
	}
	GetCurrentMap(map, sizeof(map));
	g_Told.SetArray(map, g_Level, sizeof(g_Level));
}

Level Level_Now()
{
	return g_Level.level == Level_Unknown && Post_Failing() ? Level_Balance : g_Level.level;
}

void Level_Name(Level level, char[] buffer, int size)
{
	strcopy(buffer, size, g_Names[level]);
}

// The entry of the daemon's table that matched this map.
void Level_Reason(char[] buffer, int size)
{
	strcopy(buffer, size, g_Level.reason);
}

// As a reply has it; nothing while the daemon has not said.
void Level_Save(JSONObject state)
{
	if (g_Level.level != Level_Unknown)
	{
		state.SetString("level", g_Names[g_Level.level]);
		state.SetString("level_reason", g_Level.reason);
	}
}

void Level_Restore(JSONObject state)
{
	if (state.HasKey("level"))
	{
		Level_Replied(state);
	}
}
