// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a player has done, by the game's statistics. Plugins see a copy of them, m_ScoreData, which the player manager
// refreshes every 0.1 s (CTFPlayerResource::UpdateConnectedPlayer, tf_player_resource.cpp): nothing fresher has assists
// and points. Feigned deaths are in no statistics. They begin anew with a connection and with a restart of the game.

enum
{
	Count_Kills,
	Count_Deaths,
	Count_Assists,
	Count_Points,
	Count_Suicides,
	COUNTS
};

// As m_ScoreData (CTFPlayerScoringDataExclusive, tf_player_shared.cpp) and the protocol name them.
static const char g_Props[][] = {"m_iKills", "m_iDeaths", "m_iKillAssists", "m_iPoints", "m_iSuicides"};
static const char g_Keys[][] = {"kills", "deaths", "assists", "points", "suicides"};

// By TFClassType; the first is no class.
#define CLASSES 10
static const char g_ClassKeys[CLASSES][] =
{
	"", "scout", "sniper", "soldier", "demoman", "medic", "heavy", "pyro", "spy", "engineer"
};

// Nothing is this old: by then every player's statistics were copied once more, also at a server of few ticks.
#define COUNTS_LATE 0.2

// A property that lies farther into a table of some twenty numbers is another table's.
#define TABLE_BYTES 256

static int g_Offsets[COUNTS];  // in a player; 0: this game does not show it

void Counts_Find()
{
	for (int i = 0; i < COUNTS; i++)
	{
		g_Offsets[i] = Find(g_Props[i]);
	}
	if (!Counts_Known())
	{
		LogError("This game's statistics are not as the plugin knows them: rounds are sent without kills, deaths and points.");
	}
}

// m_RoundScoreData has properties of the same names, and a lookup by name finds whichever comes first.
static int Find(const char[] prop)
{
	int map = FindSendPropInfo("CTFPlayer", "m_ScoreData");
	int round = FindSendPropInfo("CTFPlayer", "m_RoundScoreData");
	int found = FindSendPropInfo("CTFPlayer", prop);
	if (map <= 0 || round <= 0 || found <= 0)
	{
		return 0;
	}
	bool inRound = found >= round && (round > map || found < map);
	int inside = found - (inRound ? round : map);
	return 0 <= inside < TABLE_BYTES ? map + inside : 0;
}

bool Counts_Known()
{
	for (int i = 0; i < COUNTS; i++)
	{
		if (g_Offsets[i] == 0)
		{
			return false;
		}
	}
	return true;
}

void Counts_Read(int client, int counts[COUNTS])
{
	for (int i = 0; i < COUNTS && Counts_Known(); i++)
	{
		counts[i] = GetEntData(client, g_Offsets[i]);
	}
}

// The caller deletes it.
JSONObject Counts_Object(const int counts[COUNTS], const float classes[CLASSES])
{
	JSONObject json = new JSONObject();
	for (int i = 0; i < COUNTS; i++)
	{
		// The game counts a death by one's own hand among both (CBasePlayer::Event_KilledOther, player.cpp).
		int own = i == Count_Deaths ? counts[Count_Suicides] : 0;
		json.SetInt(g_Keys[i], counts[i] > own ? counts[i] - own : 0);
	}
	JSONObject seconds = new JSONObject();
	for (int i = 1; i < CLASSES; i++)
	{
		// In quarters, which have few digits. Rounded down, they are not more than the seconds on the sides.
		int quarters = RoundToFloor(classes[i] * 4.0);
		if (quarters > 0)
		{
			seconds.SetFloat(g_ClassKeys[i], quarters / 4.0);
		}
	}
	json.Set("classes", seconds);
	delete seconds;
	return json;
}
