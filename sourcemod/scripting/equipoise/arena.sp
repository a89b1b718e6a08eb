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
	Arena_Wait(client);
}

// The player watches and wants to play.
void Arena_Wait(int client)
{
	g_Players[client].waiting = true;
	SetEntProp(client, Prop_Send, "m_bArenaSpectator", 0);  // who had chosen only to watch has not any more
	g_Players[client].offered = false;
	Classes_Offer(client);
	Post_Soon();
}

// Those who watch because the game's own queue, or the plugin before it was loaded again, made them: they want to play.
// Who chose to watch, by the menu that the game has for it in arena, is marked.
void Arena_Adopt()
{
	for (int client = 1; client <= MaxClients && Facts_Arena(); client++)
	{
		if (Players_Human(client) && TF2_GetClientTeam(client) == TFTeam_Spectator && Classes_Ready(client)
			&& GetEntProp(client, Prop_Send, "m_bArenaSpectator") == 0 && GetEntProp(client, Prop_Send, "m_bIsCoaching") == 0)
		{
			Arena_Wait(client);
		}
	}
}

// Players without a class cannot be spawned: they are in no duel and no split until they have chosen.
void Arena_RoundStarts()
{
	if (!Session_Enforcing() || !Facts_Arena())
	{
		return;
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Human(client) && Players_Side(client) != TFTeam_Unassigned && !Classes_Ready(client))
		{
			Assign_Put(client, TFTeam_Spectator);
		}
	}
}

// Once a second.
void Arena_Tick()
{
	if (!Session_Enforcing() || !Facts_Arena())
	{
		return;
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Waiting(client) && !g_Players[client].offered)
		{
			Classes_Offer(client);
		}
	}
	// No round can start while a side is empty. In the freeze the daemon fills it, if it answers.
	RoundState state = GameRules_GetRoundState();
	if (state == RoundState_Pregame || (state == RoundState_Preround && Post_Silent()))
	{
		Fill();
	}
}

static void Fill()
{
	if (EmptySide() != TFTeam_Unassigned)
	{
		Arena_Admit();
	}
	TFTeam empty = EmptySide();
	int newcomer = empty == TFTeam_Unassigned ? 0 : Newcomer(Players_Other(empty));
	if (newcomer != 0)
	{
		Assign_Put(newcomer, empty);
	}
}

// Puts every waiting player who has a class on the side that is short of players.
void Arena_Admit()
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Waiting(client) && Players_Eligible(client))
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

// Of those on this side with a class whom nothing holds, who came to the server last; 0: fewer than two have a class,
// bots counted.
static int Newcomer(TFTeam side)
{
	int newcomer = 0;
	int last = 0;
	int ready = 0;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (!Players_Known(client) || Players_Side(client) != side || !Classes_Ready(client))
		{
			continue;
		}
		ready++;
		if (!IsFakeClient(client) && Roster_Held(client) == Held_Not && GetClientUserId(client) > last)
		{
			newcomer = client;
			last = GetClientUserId(client);
		}
	}
	return ready < 2 ? 0 : newcomer;
}

// A frame after the spawn of a player without a side, whom another plugin may have respawned: they would stand in the
// world without weapons. Leaving the spectators for a moment makes them watch again.
void Arena_Unspawn(any userid)
{
	int client = GetClientOfUserId(userid);
	if (client != 0 && TF2_GetClientTeam(client) == TFTeam_Spectator && IsPlayerAlive(client))
	{
		Assign_Team(client, TFTeam_Unassigned);
		Assign_Team(client, TFTeam_Spectator);
	}
}
