// SPDX-License-Identifier: GPL-3.0-or-later
//
// The splits that the daemon sent last, and how one is fitted to the players who are here: an absent player's place
// goes to the unplaced player nearest to them in the cache's order; unknown players stand in its middle.

static ArrayList g_Ids;      // strongest first
static ArrayList g_Splits;   // per team size a letter per id: A (RED), B (BLU), - (bench); largest last

// A player who is here, and their place in the cache's order.
enum struct Candidate
{
	int client;
	float place;
	TFTeam side;
}

void Cache_Create()
{
	g_Ids = new ArrayList(ByteCountToCells(ID_SIZE));
	g_Splits = new ArrayList(ByteCountToCells(MAX_PLAYERS + 1));
}

void Cache_Read(JSONObject cache)
{
	ReadTexts(cache, "ids", g_Ids, ID_SIZE);
	ReadTexts(cache, "splits", g_Splits, MAX_PLAYERS + 1);
}

static void ReadTexts(JSONObject cache, const char[] key, ArrayList texts, int size)
{
	texts.Clear();
	JSONArray array = Read_Array(cache, key);
	if (array == null)
	{
		return;
	}
	char[] text = new char[size];
	for (int i = 0; i < array.Length; i++)
	{
		array.GetString(i, text, size);
		texts.PushString(text);
	}
	delete array;
}

// Where a cached split puts every eligible player; false when there is no split for them. Who is held stays. With a
// bench the unplaced sit out; without one they fill the smaller side.
bool Cache_Fit(Plan plan, bool bench)
{
	ArrayList present = Present();
	int lead = Lead();
	char split[MAX_PLAYERS + 1];
	bool found = Largest(present.Length, lead, bench, split, sizeof(split));
	if (found)
	{
		Seat(present, split);
		Substitute(present, split);
		AddAll(present, plan, lead, bench);
	}
	delete present;
	return found;
}

// On a side and held there, or immune.
static bool Stays(int client)
{
	return Players_Eligible(client) && (Roster_Held(client) != Held_Not
		|| (Players_Side(client) != TFTeam_Unassigned && Roster_KeepsSide(client)));
}

// By how many more RED has of those who stay.
static int Lead()
{
	int lead = 0;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Stays(client))
		{
			lead += Players_Side(client) == TFTeam_Red ? 1 : -1;
		}
	}
	return lead;
}

// Every eligible player who may be moved, strongest first.
static ArrayList Present()
{
	ArrayList present = new ArrayList(sizeof(Candidate));
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Eligible(client) && !Stays(client))
		{
			Candidate candidate;
			candidate.client = client;
			int known = g_Ids.FindString(g_Players[client].id);
			candidate.place = known == -1 ? float(g_Ids.Length - 1) / 2.0 : float(known);
			Insert(present, candidate);
		}
	}
	return present;
}

// Behind every player whose place is not after theirs.
static void Insert(ArrayList present, Candidate candidate)
{
	int i = present.PushArray(candidate);
	Candidate before;
	while (i > 0)
	{
		present.GetArray(i - 1, before);
		if (before.place <= candidate.place)
		{
			return;
		}
		present.SwapAt(i, i - 1);
		i--;
	}
}

// The largest split that this many can fill; the smallest is two against two, so fewer are never scrambled. An uneven
// one serves only where no player is benched. Who stays may put a side ahead: then the unplaced have to make up for it.
static bool Largest(int present, int lead, bool bench, char[] split, int size)
{
	for (int i = g_Splits.Length - 1; i >= 0; i--)
	{
		g_Splits.GetString(i, split, size);
		int red = Count(split, 'A');
		int blu = Count(split, 'B');
		bool whole = strlen(split) == g_Ids.Length && red + blu > 0;
		int gap = red - blu;
		int unplaced = present - red - blu;
		bool even = Abs(gap + lead) <= 1 || (gap == 0 && unplaced >= Abs(lead) - 1);
		if (whole && unplaced >= 0 && even && (gap == 0 || !bench))
		{
			return true;
		}
	}
	return false;
}

static int Abs(int number)
{
	return number < 0 ? -number : number;
}

static int Count(const char[] split, int letter)
{
	int count = 0;
	for (int i = 0; split[i] != '\0'; i++)
	{
		count += split[i] == letter ? 1 : 0;
	}
	return count;
}

static TFTeam SideAt(const char[] split, int place)
{
	if (split[place] == 'A')
	{
		return TFTeam_Red;
	}
	return split[place] == 'B' ? TFTeam_Blue : TFTeam_Unassigned;
}

// Puts each player whom the split knows where it says.
static void Seat(ArrayList present, const char[] split)
{
	Candidate candidate;
	for (int i = 0; i < present.Length; i++)
	{
		present.GetArray(i, candidate);
		int known = g_Ids.FindString(g_Players[candidate.client].id);
		if (known != -1)
		{
			present.Set(i, SideAt(split, known), Candidate::side);
		}
	}
}

static void Substitute(ArrayList present, const char[] split)
{
	char id[ID_SIZE];
	for (int place = 0; place < g_Ids.Length && split[place] != '\0'; place++)
	{
		g_Ids.GetString(place, id, sizeof(id));
		int client = Players_Find(id);
		bool absent = client == 0 || !Players_Eligible(client) || Stays(client);
		int nearest = Nearest(present, float(place));
		if (absent && SideAt(split, place) != TFTeam_Unassigned && nearest != -1)
		{
			present.Set(nearest, SideAt(split, place), Candidate::side);
		}
	}
}

// The unplaced player nearest to this place, the stronger of two; -1 when all are placed.
static int Nearest(ArrayList present, float place)
{
	int nearest = -1;
	float distance;
	Candidate candidate;
	for (int i = 0; i < present.Length; i++)
	{
		present.GetArray(i, candidate);
		float away = FloatAbs(candidate.place - place);
		if (candidate.side == TFTeam_Unassigned && (nearest == -1 || away < distance))
		{
			nearest = i;
			distance = away;
		}
	}
	return nearest;
}

static void AddAll(ArrayList present, Plan plan, int lead, bool bench)
{
	Candidate candidate;
	for (int i = 0; i < present.Length; i++)
	{
		present.GetArray(i, candidate);
		lead += candidate.side == TFTeam_Red ? 1 : (candidate.side == TFTeam_Blue ? -1 : 0);
	}
	for (int i = 0; i < present.Length; i++)
	{
		present.GetArray(i, candidate);
		TFTeam team = candidate.side;
		if (team == TFTeam_Unassigned && bench && lead == 0)
		{
			team = TFTeam_Spectator;
		}
		else if (team == TFTeam_Unassigned)
		{
			team = lead <= 0 ? TFTeam_Red : TFTeam_Blue;
			lead += team == TFTeam_Red ? 1 : -1;
		}
		plan.Add(candidate.client, team);
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Stays(client))
		{
			plan.Add(client, TF2_GetClientTeam(client));
		}
	}
}

// As a reply has it.
void Cache_Save(JSONObject state)
{
	JSONObject cache = new JSONObject();
	JSONArray ids = Memory_Texts(g_Ids, ID_SIZE);
	JSONArray splits = Memory_Texts(g_Splits, MAX_PLAYERS + 1);
	cache.Set("ids", ids);
	cache.Set("splits", splits);
	state.Set("cache", cache);
	delete ids;
	delete splits;
	delete cache;
}
