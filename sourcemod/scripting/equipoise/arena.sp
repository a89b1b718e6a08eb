// SPDX-License-Identifier: GPL-3.0-or-later
//
// Waiting to Play: without the engine's queue a player without a side watches, marked as waiting, until placed.

void Arena_Park(int client)
{
	if (TF2_GetClientTeam(client) == TFTeam_Unassigned)
	{
		TF2_ChangeClientTeam(client, TFTeam_Spectator);
	}
	if (Players_Side(client) != TFTeam_Unassigned)
	{
		return;  // players on a side keep playing
	}
	g_Players[client].waiting = true;
	if (!Assign_HasClass(client))
	{
		Assign_OfferClass(client);
	}
	Post_Soon();
}

// No round can start while a side is empty.
void Arena_Tick()
{
	if (!Session_Enforcing() || !Facts_Arena() || GameRules_GetRoundState() != RoundState_Pregame)
	{
		return;
	}
	if (EmptySide() != TFTeam_Unassigned)
	{
		Arena_Admit();
	}
	TFTeam empty = EmptySide();
	int newcomer = empty == TFTeam_Unassigned ? 0 : Newcomer(Players_Other(empty));
	if (newcomer != 0 && (Players_Lead() >= 2 || Players_Lead() <= -2))
	{
		Assign_Put(newcomer, empty);
	}
}

// Puts every waiting player on the side that is short of players.
void Arena_Admit()
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Human(client) && g_Players[client].waiting)
		{
			Assign_Put(client, Players_SmallerSide());
		}
	}
}

static TFTeam EmptySide()
{
	if (GetTeamClientCount(view_as<int>(TFTeam_Red)) == 0)
	{
		return TFTeam_Red;
	}
	return GetTeamClientCount(view_as<int>(TFTeam_Blue)) == 0 ? TFTeam_Blue : TFTeam_Unassigned;
}

// Who of this side came to the server last; 0: only bots are there.
static int Newcomer(TFTeam side)
{
	int newcomer = 0;
	int last = 0;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Human(client) && Players_Side(client) == side && GetClientUserId(client) > last)
		{
			newcomer = client;
			last = GetClientUserId(client);
		}
	}
	return newcomer;
}
