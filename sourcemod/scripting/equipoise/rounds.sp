// SPDX-License-Identifier: GPL-3.0-or-later
//
// The life of a round: idle -> freeze -> (live) running -> over -> freeze ... A full round may have several stages,
// each with a start and a win of its own; it goes live with the first. A round inside Waiting For Players is none.

enum Phase
{
	Phase_Idle,
	Phase_Freeze,
	Phase_Running,
	Phase_Over
};

static const char g_PhaseNames[][] = {"idle", "freeze", "running", "over"};

static Phase g_Phase;
static bool g_Waiting;        // m_bInWaitingForPlayers when it was last read
static int g_Serial;          // how many rounds started: a timer of an earlier one is late
static int g_Number;          // how many rounds went live
static char g_Round[NAME_SIZE];
static bool g_Partial;
static bool g_StageOver;      // a stage was won, the next start goes on with the same round
static int g_StartedAt;       // seconds since the epoch, when the round went live
static float g_LiveAt;
static JSONArray g_Lineup;
static int g_Captures[4];     // by TFTeam, over the stages that ended
static int g_Stage[4];        // by TFTeam, in this stage

Phase Rounds_Phase()
{
	return g_Phase;
}

int Rounds_Serial()
{
	return g_Serial;
}

// A round is frozen or running.
bool Rounds_Live()
{
	return g_Phase == Phase_Freeze || g_Phase == Phase_Running;
}

void Rounds_SetPhase(JSONObject event)
{
	event.SetString("phase", g_PhaseNames[g_Phase]);
	event.SetBool("waiting", g_Waiting);
}

// No round, whatever was seen of one.
void Rounds_Reset()
{
	g_Phase = Phase_Idle;
	g_Serial++;
	g_StageOver = false;
	delete g_Lineup;
	Presence_Clear();
}

// The plugin was loaded in the middle of a map.
void Rounds_Resume()
{
	g_Waiting = GameRules_GetProp("m_bInWaitingForPlayers") != 0;
	if (g_Waiting)
	{
		return;
	}
	switch (GameRules_GetRoundState())
	{
		case RoundState_Preround: g_Phase = Phase_Freeze;
		case RoundState_RoundRunning: ResumeRunning();
		case RoundState_Stalemate: Open(true);  // arena's running round, or sudden death
		case RoundState_TeamWin: g_Phase = Phase_Over;
	}
}

static void ResumeRunning()
{
	if (GameRules_GetProp("m_bInSetup") != 0)
	{
		g_Phase = Phase_Freeze;
	}
	else
	{
		Open(true);
	}
}

// The game went back to waiting for players, for which it fires no event.
void Rounds_Tick()
{
	if (Session_Watching() && g_Phase != Phase_Idle && GameRules_GetRoundState() <= RoundState_Pregame)
	{
		Rounds_Reset();
	}
}

// SourceMod calls both forwards after every call of the game's SetInWaitingForPlayers, even if the game refused it
// (arena never waits) or nothing changed (every restart ends a wait). They only say when to read the property.
public void TF2_OnWaitingForPlayersStart()
{
	if (Session_Watching())
	{
		ReadWaiting();
	}
}

public void TF2_OnWaitingForPlayersEnd()
{
	if (Session_Watching())
	{
		ReadWaiting();
	}
}

static void ReadWaiting()
{
	bool waiting = GameRules_GetProp("m_bInWaitingForPlayers") != 0;
	if (waiting == g_Waiting)
	{
		return;
	}
	g_Waiting = waiting;
	if (waiting)
	{
		Rounds_Reset();
	}
	else
	{
		Outbox_Add(Outbox_Event("waiting_ended"));
		Fallback_WaitingEnded();
	}
}

void Rounds_ForgetWaiting()
{
	g_Waiting = false;
}

void Rounds_Start()
{
	if (GameRules_GetProp("m_bSwitchedTeamsThisRound") != 0)
	{
		SwitchSides();
	}
	ReadWaiting();
	if (g_Waiting)
	{
		return;
	}
	if (g_Phase == Phase_Running && g_StageOver)
	{
		g_StageOver = false;
		return;
	}
	Rounds_Reset();
	g_Phase = Phase_Freeze;
	if (Facts_Read(true))
	{
		Outbox_WantHello();
	}
	Outbox_Add(Rounds_Started());
	Fallback_RoundStarted();
}

// `round_started`, with the roster of this moment. The caller deletes it.
JSONObject Rounds_Started()
{
	JSONObject event = Outbox_Event("round_started");
	JSONArray players = Roster_Players();
	event.Set("players", players);
	delete players;
	return event;
}

static void SwitchSides()
{
	Locks_Swap();
	Presence_Swap();
	SwapLineup();
	int red = g_Captures[TFTeam_Red];
	g_Captures[TFTeam_Red] = g_Captures[TFTeam_Blue];
	g_Captures[TFTeam_Blue] = red;
	Outbox_Add(Outbox_Event("sides_switched"));
}

static void SwapLineup()
{
	int players = g_Lineup == null ? 0 : g_Lineup.Length;
	for (int i = 0; i < players; i++)
	{
		JSONObject line = view_as<JSONObject>(g_Lineup.Get(i));
		Players_SetSide(line, "side", Players_Other(Read_Side(line, "side")));
		delete line;
	}
}

// Play starts, unless a setup time comes first.
void Rounds_Active()
{
	if (!Facts_Arena() && GameRules_GetProp("m_bInSetup") == 0)
	{
		Rounds_GoLive();
	}
}

void Rounds_GoLive()
{
	if (g_Phase == Phase_Freeze)
	{
		Open(false);
		JSONObject event = Outbox_Event("round_live");
		JSONArray players = Roster_Players();
		event.SetString("round", g_Round);
		event.Set("players", players);
		delete players;
		Outbox_Add(event);
	}
}

static void Open(bool partial)
{
	g_Phase = Phase_Running;
	g_Partial = partial;
	g_StageOver = false;
	g_StartedAt = GetTime();
	g_LiveAt = GetEngineTime();
	Session_Name(g_Round, sizeof(g_Round), ++g_Number);
	g_Captures[TFTeam_Red] = g_Captures[TFTeam_Blue] = 0;
	g_Stage[TFTeam_Red] = g_Stage[TFTeam_Blue] = 0;
	delete g_Lineup;
	g_Lineup = Seats();
	Presence_Begin();
}

static JSONArray Seats()
{
	JSONArray seats = new JSONArray();
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Known(client) && Players_Side(client) != TFTeam_Unassigned)
		{
			JSONObject seat = new JSONObject();
			seat.SetString("id", g_Players[client].id);
			Players_SetSide(seat, "side", Players_Side(client));
			seats.Push(seat);
			delete seat;
		}
	}
	return seats;
}

void Rounds_Captured(TFTeam side)
{
	if (g_Phase == Phase_Running && side > TFTeam_Spectator)
	{
		g_Stage[side]++;
	}
}

// A stage or a round is won by `winner`, no side in a stalemate. `losersCaptures` is the engine's count for this stage.
void Rounds_Won(TFTeam winner, bool full, int losersCaptures)
{
	if (g_Waiting)
	{
		return;
	}
	if (g_Phase == Phase_Freeze)
	{
		Open(true);  // the plugin did not see it go live
	}
	if (g_Phase == Phase_Running)
	{
		EndStage(winner, losersCaptures);
		g_StageOver = !full;
		if (full)
		{
			Finish(winner);
		}
	}
}

static void EndStage(TFTeam winner, int losersCaptures)
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

static void Finish(TFTeam winner)
{
	g_Phase = Phase_Over;
	JSONObject event = Outbox_Event("round_ended");
	event.SetString("round", g_Round);
	Session_Describe(event);
	event.SetInt("started_at", g_StartedAt);
	event.SetFloat("seconds", GetEngineTime() - g_LiveAt);
	Players_SetSide(event, "winner", winner);
	event.SetBool("partial", g_Partial);
	event.SetBool("waiting", false);
	AddChildren(event);
	Ring_Add(g_Round, event);
	Fallback_RoundEnded(winner, winner > TFTeam_Spectator ? g_Captures[Players_Other(winner)] : 0);
	delete g_Lineup;
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
