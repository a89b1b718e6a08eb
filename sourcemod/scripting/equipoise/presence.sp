// SPDX-License-Identifier: GPL-3.0-or-later
//
// Who played the running round, by id: seconds on each side and as each class, whether they fought, and what they did.

enum struct Presence
{
	char id[ID_SIZE];
	// The present side, or the last one.
	TFTeam side;
	// The clock runs: on `side` as `class` since `since`.
	bool on;
	TFClassType class;
	float since;
	float red;
	float blu;
	float classes[CLASSES];
	bool fought;
	bool left;
	// What they did in this round, and the statistics up to which that is counted.
	int done[COUNTS];
	int counted[COUNTS];

	void Stop(float now)
	{
		if (!this.on)
		{
			return;
		}
		this.on = false;
		if (this.class > TFClass_Unknown && this.class <= TFClass_Engineer)
		{
			this.classes[this.class] += now - this.since;
		}
		if (this.side == TFTeam_Red)
		{
			this.red += now - this.since;
		}
		else
		{
			this.blu += now - this.since;
		}
	}

	// What they did since it was looked at last. Fewer than then: the game, or another plugin, began at 0 again.
	void Count(int client)
	{
		int now[COUNTS];
		Counts_Read(client, now);
		for (int i = 0; i < COUNTS; i++)
		{
			this.done[i] += now[i] - (now[i] < this.counted[i] ? 0 : this.counted[i]);
			this.counted[i] = now[i];
		}
	}

	// Their next connection begins at 0.
	void CountLast(int client)
	{
		int nothing[COUNTS];
		this.Count(client);
		this.counted = nothing;
	}
}

// The daemon takes no more in one round.
#define MAX_PRESENCES 128

static ArrayList g_Rows;
static StringMap g_RowOf;

void Presence_Create()
{
	g_Rows = new ArrayList(sizeof(Presence));
	g_RowOf = new StringMap();
}

void Presence_Clear()
{
	g_Rows.Clear();
	g_RowOf.Clear();
}

// The round goes live: the clock of every player on a side starts.
void Presence_Begin()
{
	Presence_Clear();
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Human(client))
		{
			Presence_Side(client, TF2_GetClientTeam(client));
		}
	}
}

// Finds changes of side or class whose event another plugin blocked. Who resets their statistics loses no more than
// what they did since the last look.
void Presence_Look()
{
	if (Rounds_Phase() != Phase_Running)
	{
		return;
	}
	Presence presence;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (!Players_Human(client))
		{
			continue;
		}
		TFTeam side = Players_Side(client);
		bool seen = Seen(client);
		if (seen)
		{
			Row(client, presence);
		}
		bool on = seen && presence.on;
		if (on != (side != TFTeam_Unassigned)
			|| (on && (presence.side != side || presence.class != TF2_GetPlayerClass(client))))
		{
			Presence_Side(client, side);
		}
		Presence_Count(client);
	}
}

void Presence_Count(int client)
{
	if (Seen(client))
	{
		Presence presence;
		int row = Row(client, presence);
		presence.Count(client);
		g_Rows.SetArray(row, presence);
	}
}

// The player's next statistics are those of another connection.
void Presence_CountLast(int client)
{
	if (Seen(client))
	{
		Presence presence;
		int row = Row(client, presence);
		presence.CountLast(client);
		g_Rows.SetArray(row, presence);
	}
}

// The player is on this team from now on, as the class that they have.
void Presence_Side(int client, TFTeam team)
{
	if (team <= TFTeam_Spectator && !Seen(client))
	{
		return;
	}
	Presence presence;
	int row = Row(client, presence);
	presence.Stop(GetEngineTime());
	presence.left = false;
	if (team > TFTeam_Spectator)
	{
		presence.side = team;
		presence.on = true;
		presence.class = TF2_GetPlayerClass(client);
		presence.since = GetEngineTime();
	}
	g_Rows.SetArray(row, presence);
}

void Presence_Fought(int client)
{
	if (Seen(client))
	{
		Presence presence;
		g_Rows.Set(Row(client, presence), true, Presence::fought);
	}
}

// `here`: their statistics can still be read.
void Presence_Left(int client, bool here)
{
	if (Seen(client))
	{
		Presence presence;
		int row = Row(client, presence);
		presence.Stop(GetEngineTime());
		if (here)
		{
			presence.CountLast(client);
		}
		presence.left = true;
		g_Rows.SetArray(row, presence);
	}
}

// The game swapped the sides in the middle of a round: RED's seconds become BLU's. A player whose clock runs already
// has the new side.
void Presence_Swap()
{
	Presence presence;
	for (int row = 0; row < g_Rows.Length; row++)
	{
		g_Rows.GetArray(row, presence);
		float red = presence.red;
		presence.red = presence.blu;
		presence.blu = red;
		if (!presence.on)
		{
			presence.side = Players_Other(presence.side);
		}
		g_Rows.SetArray(row, presence);
	}
}

// The round is over, the clocks stop: every player who was on a side at any time. The caller deletes it.
JSONArray Presence_Players()
{
	JSONArray players = new JSONArray();
	Presence presence;
	for (int row = 0; row < g_Rows.Length; row++)
	{
		g_Rows.GetArray(row, presence);
		presence.Stop(GetEngineTime());
		g_Rows.SetArray(row, presence);
	}
	Cut();
	for (int row = 0; row < g_Rows.Length; row++)
	{
		g_Rows.GetArray(row, presence);
		JSONObject line = Describe(presence);
		players.Push(line);
		delete line;
	}
	return players;
}

// Of too many, those who played longest stay.
static void Cut()
{
	if (g_Rows.Length <= MAX_PRESENCES)
	{
		return;
	}
	g_Rows.SortCustom(Longest);
	g_Rows.Resize(MAX_PRESENCES);
	char id[ID_SIZE];
	g_RowOf.Clear();
	for (int row = 0; row < g_Rows.Length; row++)
	{
		g_Rows.GetString(row, id, sizeof(id));
		g_RowOf.SetValue(id, row);
	}
}

static int Longest(int one, int other, Handle rows, Handle nothing)
{
	return FloatCompare(Seconds(other), Seconds(one));
}

static float Seconds(int row)
{
	float red = g_Rows.Get(row, Presence::red), blu = g_Rows.Get(row, Presence::blu);
	return red + blu;
}

// Adds what they did to the list that Presence_Players made, when the statistics have the round's last moment.
void Presence_AddCounts(JSONArray players)
{
	if (!Counts_Known())
	{
		return;
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		Presence_Count(client);
	}
	Presence presence;
	for (int row = 0; row < g_Rows.Length; row++)
	{
		g_Rows.GetArray(row, presence);
		JSONObject line = view_as<JSONObject>(players.Get(row));
		JSONObject counts = Counts_Object(presence.done, presence.classes);
		line.Set("counts", counts);
		delete counts;
		delete line;
	}
}

static JSONObject Describe(const Presence presence)
{
	JSONObject seconds = new JSONObject();
	seconds.SetFloat("red", presence.red);
	seconds.SetFloat("blu", presence.blu);
	JSONObject line = new JSONObject();
	line.SetString("id", presence.id);
	Players_SetSide(line, "side", presence.side);
	line.Set("seconds", seconds);
	line.SetBool("fought", presence.fought);
	line.SetBool("left", presence.left);
	delete seconds;
	return line;
}

static bool Seen(int client)
{
	int row;
	return Players_Human(client) && g_RowOf.GetValue(g_Players[client].id, row);
}

// The player's row, made when there is none yet.
static int Row(int client, Presence presence)
{
	int row;
	if (g_RowOf.GetValue(g_Players[client].id, row))
	{
		g_Rows.GetArray(row, presence);
		return row;
	}
	strcopy(presence.id, sizeof(presence.id), g_Players[client].id);
	Counts_Read(client, presence.counted);
	row = g_Rows.PushArray(presence);
	g_RowOf.SetValue(presence.id, row);
	return row;
}

// The cells of each row. The caller deletes it.
JSONArray Presence_Save()
{
	JSONArray rows = new JSONArray();
	Presence presence;
	for (int row = 0; row < g_Rows.Length; row++)
	{
		g_Rows.GetArray(row, presence);
		JSONArray cells = Memory_Cells(presence, sizeof(Presence));
		rows.Push(cells);
		delete cells;
	}
	return rows;
}

// Who is not here any more left meanwhile.
void Presence_Restore(JSONArray rows)
{
	Presence presence;
	Presence_Clear();
	for (int row = 0; row < rows.Length; row++)
	{
		JSONArray cells = view_as<JSONArray>(rows.Get(row));
		Memory_ReadCells(cells, presence, sizeof(Presence));
		delete cells;
		if (Players_Find(presence.id) == 0)
		{
			presence.Stop(GetEngineTime());
			presence.left = true;
		}
		g_RowOf.SetValue(presence.id, g_Rows.PushArray(presence));
	}
}
