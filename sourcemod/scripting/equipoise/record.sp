// SPDX-License-Identifier: GPL-3.0-or-later
//
// What the running round has gathered for its report: when it went live and with whom, and captures over all stages.

static int g_Number;          // how many rounds went live
static char g_Round[NAME_SIZE];
static bool g_Partial;
static char g_StartedAt[12];  // seconds since the epoch, when the round went live
static float g_LiveAt;
static JSONArray g_Lineup;
static int g_Captures[4];     // by TFTeam, over the stages that ended
static int g_Stage[4];        // by TFTeam, in this stage
static JSONObject g_Closed;   // the report of the round that was won, until the statistics have its last moment

// The round goes live. `partial`: not before our eyes.
void Record_Open(bool partial)
{
	HandOver();
	g_Partial = partial;
	FormatEx(g_StartedAt, sizeof(g_StartedAt), "%u", GetTime());  // negative from 2038 on, if read with a sign
	g_LiveAt = GetEngineTime();
	Session_Name(g_Round, sizeof(g_Round), ++g_Number);
	g_Captures[TFTeam_Red] = g_Captures[TFTeam_Blue] = 0;
	g_Stage[TFTeam_Red] = g_Stage[TFTeam_Blue] = 0;
	delete g_Lineup;
	g_Lineup = Lineup();
	Presence_Begin();
}

void Record_Drop()
{
	HandOver();
	delete g_Lineup;
	Presence_Clear();
}

void Record_SetRound(JSONObject event)
{
	event.SetString("round", g_Round);
}

// In arena only the living: players without a class are on a side too, and are not spawned.
static JSONArray Lineup()
{
	JSONArray lineup = new JSONArray();
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Known(client) && Players_Side(client) != TFTeam_Unassigned
			&& (IsPlayerAlive(client) || !Facts_Arena()))
		{
			JSONObject seat = new JSONObject();
			seat.SetString("id", g_Players[client].id);
			Players_SetSide(seat, "side", Players_Side(client));
			lineup.Push(seat);
			delete seat;
		}
	}
	return lineup;
}

// An arena round that a side went into with no living player counts for nothing.
static bool CountsForScrambles()
{
	if (!Facts_Arena())
	{
		return true;
	}
	bool red, blu;
	for (int i = 0; i < g_Lineup.Length; i++)
	{
		JSONObject seat = view_as<JSONObject>(g_Lineup.Get(i));
		TFTeam side = Read_Side(seat, "side");
		delete seat;
		red = red || side == TFTeam_Red;
		blu = blu || side == TFTeam_Blue;
	}
	return red && blu;
}

// The game swapped the sides: all that was gathered follows the players.
void Record_Swap()
{
	Presence_Swap();
	int players = g_Lineup == null ? 0 : g_Lineup.Length;
	for (int i = 0; i < players; i++)
	{
		JSONObject seat = view_as<JSONObject>(g_Lineup.Get(i));
		Players_SetSide(seat, "side", Players_Other(Read_Side(seat, "side")));
		delete seat;
	}
	int red = g_Captures[TFTeam_Red];
	g_Captures[TFTeam_Red] = g_Captures[TFTeam_Blue];
	g_Captures[TFTeam_Blue] = red;
}

void Record_Captured(TFTeam side)
{
	g_Stage[side]++;
}

// `losersCaptures` is the engine's count for this stage.
void Record_EndStage(TFTeam winner, int losersCaptures)
{
	if (winner > TFTeam_Spectator)
	{
		TFTeam loser = Players_Other(winner);
		// Points without a printed name are captured in silence; a late load missed some.
		g_Stage[loser] = g_Stage[loser] > losersCaptures ? g_Stage[loser] : losersCaptures;
	}
	for (int side = view_as<int>(TFTeam_Red); side <= view_as<int>(TFTeam_Blue); side++)
	{
		g_Captures[side] += g_Stage[side];
		g_Stage[side] = 0;
	}
}

// The round is won. Its report goes to the ring when what players did last is known.
void Record_Close(TFTeam winner)
{
	JSONObject event = Outbox_Event("round_ended");
	event.SetString("round", g_Round);
	Session_Describe(event);
	event.SetInt64("started_at", g_StartedAt);
	event.SetFloat("seconds", GetEngineTime() - g_LiveAt);
	Players_SetSide(event, "winner", winner);
	event.SetBool("partial", g_Partial);
	event.SetBool("waiting", false);
	AddChildren(event);
	g_Closed = event;
	CreateTimer(COUNTS_LATE, Timer_HandOver, g_Number);
	if (CountsForScrambles())
	{
		Fallback_RoundEnded(winner, winner > TFTeam_Spectator ? g_Captures[Players_Other(winner)] : 0);
	}
	delete g_Lineup;
}

static Action Timer_HandOver(Handle timer, any number)
{
	if (number == g_Number)
	{
		HandOver();
	}
	return Plugin_Stop;
}

// The timer may have been lost.
void Record_Resume()
{
	HandOver();
}

// Sooner than the timer if the map ends, or the next round begins. An error on the way costs the counts, not the round.
static void HandOver()
{
	if (g_Closed == null)
	{
		return;
	}
	JSONObject event = g_Closed;
	g_Closed = null;
	Ring_Add(g_Round, event);
	JSONArray players = view_as<JSONArray>(event.Get("players"));
	Presence_AddCounts(players);
	delete players;
	Memory_Write();
}

static void AddChildren(JSONObject event)
{
	JSONObject captures = new JSONObject();
	captures.SetInt("red", g_Captures[TFTeam_Red]);
	captures.SetInt("blu", g_Captures[TFTeam_Blue]);
	event.Set("captures", captures);
	delete captures;

	JSONObject facts = Facts_Object();
	event.Set("facts", facts);
	delete facts;

	JSONArray players = Presence_Players();
	event.Set("players", players);
	delete players;

	event.Set("lineup", g_Lineup);
}

// A round runs, or waits for its last moment.
bool Record_Any()
{
	return g_Lineup != null || g_Closed != null;
}

// The id of a round that ended; false when the event is something else.
bool Record_Name(JSONObject event, char[] round, int size)
{
	char kind[16];
	return event.GetString("kind", kind, sizeof(kind)) && StrEqual(kind, "round_ended")
		&& event.GetString("round", round, size);
}

// What Record_Any says is here. The caller deletes it.
JSONObject Record_Save()
{
	JSONObject running = new JSONObject();
	running.SetString("round", g_Round);
	running.SetBool("partial", g_Partial);
	running.SetString("started_at", g_StartedAt);
	running.SetFloat("live_at", g_LiveAt);
	JSONArray captures = Memory_Cells(g_Captures, sizeof(g_Captures));
	JSONArray stage = Memory_Cells(g_Stage, sizeof(g_Stage));
	JSONArray rows = Presence_Save();
	running.Set("captures", captures);
	running.Set("stage", stage);
	running.Set("rows", rows);
	delete captures;
	delete stage;
	delete rows;
	if (g_Lineup != null)
	{
		running.Set("lineup", g_Lineup);
	}
	if (g_Closed != null)
	{
		running.Set("closed", g_Closed);
	}
	return running;
}

void Record_Restore(JSONObject running)
{
	running.GetString("round", g_Round, sizeof(g_Round));
	g_Partial = running.GetBool("partial");
	running.GetString("started_at", g_StartedAt, sizeof(g_StartedAt));
	g_LiveAt = running.GetFloat("live_at");
	JSONArray captures = view_as<JSONArray>(running.Get("captures"));
	JSONArray stage = view_as<JSONArray>(running.Get("stage"));
	Memory_ReadCells(captures, g_Captures, sizeof(g_Captures));
	Memory_ReadCells(stage, g_Stage, sizeof(g_Stage));
	delete captures;
	delete stage;
	JSONArray rows = view_as<JSONArray>(running.Get("rows"));
	Presence_Restore(rows);
	delete rows;
	g_Lineup = Read_Array(running, "lineup");
	g_Closed = Read_Object(running, "closed");
	if (g_Closed != null)
	{
		CreateTimer(COUNTS_LATE, Timer_HandOver, g_Number);
	}
}

// How many rounds went live.
int Record_Number()
{
	return g_Number;
}

void Record_SetNumber(int number)
{
	g_Number = number;
}
