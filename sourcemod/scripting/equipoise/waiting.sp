// SPDX-License-Identifier: GPL-3.0-or-later
//
// Waiting For Players, as m_bInWaitingForPlayers says. SourceMod's forwards come after every call of the game's
// SetInWaitingForPlayers (teamplayroundbased_gamerules.cpp), even if the game refused it (arena never waits) or nothing
// changed (every restart ends a wait), and it is not certain that they come at all. They only say when to look.

static bool g_Waiting;  // when it was last read

public void TF2_OnWaitingForPlayersStart()
{
	Recorder_Note("TF2_OnWaitingForPlayersStart");
	Rounds_Look();
}

public void TF2_OnWaitingForPlayersEnd()
{
	Recorder_Note("TF2_OnWaitingForPlayersEnd");
	Rounds_Look();
}

bool Waiting_Now()
{
	return GameRules_GetProp("m_bInWaitingForPlayers") != 0;
}

// What came before is not known: nothing has ended.
void Waiting_Begin()
{
	g_Waiting = Waiting_Now();
}

void Waiting_Forget()
{
	g_Waiting = false;
}

// True when a wait has ended since the last look, which is reported. A wait that begins needs a hello: a server that was
// emptied waits again while the phase is idle already, and the daemon ignores the end of a wait it has not heard of.
bool Waiting_Ended()
{
	bool before = g_Waiting;
	g_Waiting = Waiting_Now();
	if (!before && g_Waiting)
	{
		Outbox_WantHello();
	}
	if (!before || g_Waiting)
	{
		return false;
	}
	Outbox_Add(Outbox_Event("waiting_ended"));
	Fallback_WaitingEnded();
	return true;
}

// When it was last read.
bool Waiting_Before()
{
	return g_Waiting;
}

void Waiting_Restore(bool waiting)
{
	g_Waiting = waiting;
}
