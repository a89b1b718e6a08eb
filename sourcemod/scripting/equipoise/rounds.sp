// SPDX-License-Identifier: GPL-3.0-or-later
//
// The life of a round: idle -> freeze -> (live) running -> over -> freeze ... A full round may have several stages,
// each with a start and a win of its own; it goes live with the first. A round inside Waiting For Players is none.
//
// The game's events say when to look; its state and m_bInWaitingForPlayers say what is so. A start in state PREGAME is
// none (arena fires one when a side is empty after the bonus time), an empty server goes back to PREGAME without any
// event, and another plugin may block an event: Rounds_Look finds out once a second.

enum Phase
{
	Phase_Idle,
	Phase_Freeze,
	Phase_Running,
	Phase_Over
};

static const char g_PhaseNames[][] = {"idle", "freeze", "running", "over"};

static Phase g_Phase;
static int g_Serial;          // how many rounds started: a timer of an earlier one is late
static bool g_StageOver;      // a stage was won, the next start goes on with the same round
static bool g_StageMissed;    // loaded in a staged round, perhaps after its first stage
static int g_Played;          // m_nRoundsPlayed when the round began
static int g_StartTick;       // of the last teamplay_round_start
static bool g_Switched;       // that the sides were switched before this freeze is reported

Phase Rounds_Phase()
{
	return g_Phase;
}

int Rounds_Serial()
{
	return g_Serial;
}

// A round is frozen or running, and no stage of it is over.
bool Rounds_Live()
{
	return (g_Phase == Phase_Freeze || g_Phase == Phase_Running) && !g_StageOver;
}

void Rounds_PhaseName(char[] buffer, int size)
{
	strcopy(buffer, size, g_PhaseNames[g_Phase]);
}

void Rounds_SetPhase(JSONObject event)
{
	event.SetString("phase", g_PhaseNames[g_Phase]);
	event.SetBool("waiting", Waiting_Now());
}

// No round, whatever was seen of one.
void Rounds_Reset()
{
	g_Phase = Phase_Idle;
	g_Serial++;
	g_StageOver = false;
	g_StageMissed = false;
	g_StartTick = -1;
	Record_Drop();
}

// The plugin was loaded or switched on in the middle of a map.
void Rounds_Resume()
{
	Waiting_Begin();
	if (Waiting_Now())
	{
		return;
	}
	g_StageMissed = Facts_Staged();
	g_Played = GameRules_GetProp("m_nRoundsPlayed");
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
	if (Timers_InSetup())
	{
		g_Phase = Phase_Freeze;
	}
	else
	{
		Open(true);
	}
}

// Brings the phase in line with the game, whatever event is missing.
void Rounds_Look()
{
	if (!Session_Watching())
	{
		return;
	}
	bool waitEnded = Waiting_Ended();
	RoundState state = GameRules_GetRoundState();
	g_Switched = g_Switched && state == RoundState_Preround;
	if (Waiting_Now() || state < RoundState_Preround)
	{
		Lose();
	}
	else if (state == RoundState_Preround)
	{
		g_StageOver = false;
		if (!IsOpen())
		{
			Begin(true);
		}
	}
	else if (state == RoundState_RoundRunning || (state == RoundState_Stalemate && Facts_Arena()))
	{
		g_StageOver = false;
		LookRunning(waitEnded);
	}
	else if (state == RoundState_TeamWin)
	{
		// CTeamplayRoundBasedRules::SetWinningTeam counts full rounds only.
		bool full = Facts_Arena() || GameRules_GetProp("m_nRoundsPlayed") != g_Played;
		Won(view_as<TFTeam>(GameRules_GetProp("m_iWinningTeam")), full, 0);
	}
	Presence_Look();
}

static bool IsOpen()
{
	return g_Phase == Phase_Freeze || g_Phase == Phase_Running;
}

// A wait that is cancelled has no restart: the round that runs becomes real at once, or when its setup time is over.
// Nothing could be captured before, so it is a whole round.
static void LookRunning(bool waitEnded)
{
	bool setup = !Facts_Arena() && Timers_InSetup();
	if (!IsOpen() && setup)
	{
		Begin(true);
	}
	else if (!IsOpen())
	{
		ReadFacts(true);
		Freeze();
		GoLive(!waitEnded);
	}
	else if (g_Phase == Phase_Freeze && !setup)
	{
		GoLive(false);
	}
}

// The game has no round any more, and fires no event that says so.
static void Lose()
{
	if (g_Phase != Phase_Idle)
	{
		Rounds_Reset();
		Outbox_WantHello();
	}
}

// teamplay_round_start. A plugin that blocks the event and fires a copy has it heard twice: hooks that come after an
// event hear the blocked one too (EventManager::OnFireEvent_Post, core/EventManager.cpp).
void Rounds_Start(bool fullReset)
{
	RoundState state = GameRules_GetRoundState();
	int tick = GetGameTickCount();
	if (state > RoundState_Preround || tick == g_StartTick)
	{
		return;  // not the game's
	}
	if (!g_Switched && GameRules_GetProp("m_bSwitchedTeamsThisRound") != 0)
	{
		g_Switched = true;
		SwitchSides();
	}
	Waiting_Ended();
	if (Waiting_Now() || state < RoundState_Preround)
	{
		Lose();
	}
	else if (g_StageOver && !fullReset)
	{
		g_StageOver = false;  // the next stage of the same round
	}
	else
	{
		Begin(fullReset);
	}
	g_StartTick = tick;
}

// teamplay_restart_round: the open round is void.
void Rounds_Restart()
{
	if (GameRules_GetRoundState() == RoundState_Restart)
	{
		Rounds_Reset();
	}
}

// The phase comes last: a native error on the way leaves a start that Rounds_Look makes up for.
static void Begin(bool fullReset)
{
	bool stageMissed = g_StageMissed && !fullReset;
	Rounds_Reset();
	ReadFacts(fullReset);
	Arena_RoundStarts();
	JSONObject event = Rounds_Started();
	Freeze();
	g_StageMissed = stageMissed;
	Outbox_Add(event);
	Fallback_RoundStarted();
}

static void ReadFacts(bool fromStart)
{
	if (Facts_Read(fromStart))
	{
		Outbox_WantHello();
	}
}

static void Freeze()
{
	g_Played = GameRules_GetProp("m_nRoundsPlayed");
	g_Phase = Phase_Freeze;
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
	Record_Swap();
	Outbox_Add(Outbox_Event("sides_switched"));
}

// teamplay_setup_finished: m_bInSetup and the timer's state change after it.
void Rounds_SetupFinished()
{
	if (g_Phase == Phase_Freeze && GameRules_GetRoundState() == RoundState_RoundRunning)
	{
		GoLive(false);
	}
}

static void GoLive(bool missed)
{
	Open(missed || g_StageMissed);
	JSONObject event = Outbox_Event("round_live");
	JSONArray players = Roster_Players();
	Record_SetRound(event);
	event.Set("players", players);
	delete players;
	Outbox_Add(event);
}

static void Open(bool partial)
{
	Record_Open(partial);
	g_Phase = Phase_Running;
}

void Rounds_Captured(TFTeam side)
{
	if (g_Phase == Phase_Running && (side == TFTeam_Red || side == TFTeam_Blue))
	{
		Record_Captured(side);
	}
}

// teamplay_round_win: a stage or a round is won by `winner`, no side in a stalemate. `losersCaptures` is the engine's
// count for this stage.
void Rounds_Won(TFTeam winner, bool full, int losersCaptures)
{
	if (GameRules_GetRoundState() == RoundState_TeamWin && !Waiting_Now())
	{
		Won(winner, full, losersCaptures);
	}
}

static void Won(TFTeam winner, bool full, int losersCaptures)
{
	if (!Rounds_Live())
	{
		return;  // there is no round, or this win is known
	}
	if (g_Phase == Phase_Freeze)
	{
		Open(true);  // the plugin did not see it go live
	}
	Record_EndStage(winner, losersCaptures);
	g_StageOver = !full;
	if (full)
	{
		g_Phase = Phase_Over;
		Record_Close(winner);
	}
}

void Rounds_Save(JSONObject state)
{
	state.SetInt("phase", view_as<int>(g_Phase));
	state.SetBool("stage_over", g_StageOver);
	state.SetBool("stage_missed", g_StageMissed);
	state.SetInt("played", g_Played);
	state.SetInt("start_tick", g_StartTick);
	state.SetBool("switched", g_Switched);
}

// What the game did meanwhile, Rounds_Look finds out; but not that it began the round anew.
void Rounds_Restore(JSONObject state)
{
	g_Phase = view_as<Phase>(state.GetInt("phase"));
	g_StageOver = state.GetBool("stage_over");
	g_StageMissed = state.GetBool("stage_missed");
	g_Played = state.GetInt("played");
	g_StartTick = state.GetInt("start_tick");
	g_Switched = state.GetBool("switched");
	if (g_Phase == Phase_Running && !g_StageOver && GameRules_GetRoundState() == RoundState_Preround)
	{
		Rounds_Reset();
	}
}
