// SPDX-License-Identifier: GPL-3.0-or-later
//
// Who waits to play has no reason to touch a key, and the game kicks idle spectators (CTFPlayer::CheckForIdle): after
// mp_idlemaxtime, 30 seconds at the least, in arena's live rounds after half of mp_stalemate_timelimit, 120 seconds. Any
// client command restarts the clock (CTFPlayer::ClientCommand), so one that does nothing outside Mann vs Machine is given
// in their name. mp_disable_autokick is no remedy: it lasts for the whole connection and protects from vote kicks.

#define IDLE_SECONDS 25
#define IDLE_COMMAND "done_viewing_loot"

static int g_Seconds;

// Once a second.
void Idle_Tick()
{
	if (++g_Seconds < IDLE_SECONDS)
	{
		return;
	}
	g_Seconds = 0;
	if (!Session_Enforcing())
	{
		return;
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Waiting(client))
		{
			FakeClientCommand(client, IDLE_COMMAND);
		}
	}
}
