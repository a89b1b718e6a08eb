// SPDX-License-Identifier: GPL-3.0-or-later
//
// Players who ask for a side: held until the daemon answers, but never for long.
//
// A request that is handled here never reaches the game. What the game looks at before it obeys is therefore looked at
// here (tf_player.cpp: CTFPlayer::ClientCommand and HandleCommand_JoinTeam).

#define HOLD_SECONDS 1.0
// The game obeys one `jointeam` within this time and forgets the others: a bind makes thirty in a second.
#define JOINTEAM_SECONDS 2.0
// Its limit for `autoteam` and `closedwelcomemenu` (ShouldRunRateLimitedCommand).
#define COMMAND_SECONDS 0.3
// A side in Highlander has one player of each class.
#define HIGHLANDER_SIZE 9

static bool g_Held[MAX_PLAYERS + 1];
static TFTeam g_Wanted[MAX_PLAYERS + 1];
static int g_Hold[MAX_PLAYERS + 1];  // which hold it is: the timer of an earlier one is late
static int g_Holds;
static float g_NextJoinTeam[MAX_PLAYERS + 1];
static float g_NextCommand[MAX_PLAYERS + 1];

static ConVar g_ForceAutoTeam;
static ConVar g_Highlander;

void Joins_Listen()
{
	g_ForceAutoTeam = FindConVar("mp_forceautoteam");
	g_Highlander = FindConVar("mp_highlander");
	AddCommandListener(Command_JoinTeam, "jointeam");
	AddCommandListener(Command_AutoTeam, "autoteam");
	AddCommandListener(Command_Spectate, "spectate");
	// With mp_forceautoteam the game answers these with a side, without any `jointeam`. Who asks for the message of the
	// day does not see it then.
	AddCommandListener(Command_Welcomed, "show_motd");
	AddCommandListener(Command_Welcomed, "closedwelcomemenu");
	AddCommandListener(Command_Welcomed, "team_ui_setup");
}

// The player left.
void Joins_Forget(int client)
{
	g_Held[client] = false;
	g_NextJoinTeam[client] = 0.0;
	g_NextCommand[client] = 0.0;
}

static Action Command_JoinTeam(int client, const char[] command, int argc)
{
	if (!Ours(client))
	{
		return Plugin_Continue;
	}
	if (TooSoon(g_NextJoinTeam[client], JOINTEAM_SECONDS))
	{
		return Plugin_Handled;
	}
	char word[16];
	GetCmdArg(1, word, sizeof(word));
	if (argc == 0 || StrEqual(word, "unassigned", false))
	{
		return Plugin_Continue;  // to the game that is no request
	}
	return Request(client, Wanted(word));
}

// A side, TFTeam_Spectator, or TFTeam_Unassigned for any side. The game takes every word that it does not know for RED.
static TFTeam Wanted(const char[] word)
{
	if (StrEqual(word, "auto", false))
	{
		return TFTeam_Unassigned;
	}
	if (StrEqual(word, "spectate", false) || StrEqual(word, "spectator", false) || StrEqual(word, "spectatearena", false))
	{
		return TFTeam_Spectator;
	}
	return StrEqual(word, "blue", false) ? TFTeam_Blue : TFTeam_Red;
}

static Action Command_AutoTeam(int client, const char[] command, int argc)
{
	if (!Ours(client))
	{
		return Plugin_Continue;
	}
	return TooSoon(g_NextCommand[client], COMMAND_SECONDS) ? Plugin_Handled : Request(client, TFTeam_Unassigned);
}

static Action Command_Spectate(int client, const char[] command, int argc)
{
	return Ours(client) ? Request(client, TFTeam_Spectator) : Plugin_Continue;
}

static Action Command_Welcomed(int client, const char[] command, int argc)
{
	if (!Ours(client) || !On(g_ForceAutoTeam))
	{
		return Plugin_Continue;
	}
	if (StrEqual(command, "closedwelcomemenu") && TF2_GetClientTeam(client) != TFTeam_Unassigned)
	{
		return Plugin_Continue;  // offers a class
	}
	return TooSoon(g_NextCommand[client], COMMAND_SECONDS) ? Plugin_Handled : Request(client, TFTeam_Unassigned);
}

static bool On(ConVar cvar)
{
	return cvar != null && cvar.BoolValue;
}

static bool Ours(int client)
{
	return client != 0 && Session_Enforcing() && Players_Human(client)
		&& GameRules_GetRoundState() != RoundState_GameOver;  // then the game ignores them
}

// Whether less than `seconds` passed since the last request; if not, the time starts again.
static bool TooSoon(float &next, float seconds)
{
	if (GetEngineTime() < next)
	{
		return true;
	}
	next = GetEngineTime() + seconds;
	return false;
}

static Action Request(int client, TFTeam wanted)
{
	if (wanted == TFTeam_Spectator)
	{
		g_Players[client].waiting = false;
		g_Held[client] = false;
		Post_Soon();
		return Plugin_Continue;
	}
	TFTeam side = Players_Side(client);
	Held held = Roster_Held(client);
	bool stuck = held == Held_Ghost || held == Held_Kart || held == Held_Coaching;
	if (stuck || (side != TFTeam_Unassigned && wanted == side))
	{
		return Plugin_Continue;  // the game does nothing for them
	}
	if (InsideArenaRound(client))
	{
		Park(client);
	}
	else if (side == TFTeam_Unassigned || (Leaves(client, wanted) && !Locks_Hold(client)))
	{
		Ask(client, wanted);
	}
	return Plugin_Handled;
}

// Arena's round goes on without who is on no side.
static bool InsideArenaRound(int client)
{
	return Players_Side(client) == TFTeam_Unassigned && Facts_Arena() && Rounds_Live();
}

static void Park(int client)
{
	Arena_Park(client);
	Chat_Phrase(client, "Equipoise_ReasonWaits");
}

// A player on a side who asks for any side leaves it only if it is larger by two, nothing holds them, and players may be
// moved: they would be respawned.
static bool Leaves(int client, TFTeam wanted)
{
	int lead = Players_Side(client) == TFTeam_Red ? Players_Lead() : -Players_Lead();
	bool may = Roster_Held(client) == Held_Not && Timers_NoMoves() == NoMoves_Not;
	return wanted != TFTeam_Unassigned || (lead >= 2 && may);
}

static void Ask(int client, TFTeam wanted)
{
	if (Post_Silent())
	{
		PlaceAlone(client, wanted);
		return;
	}
	if (g_Held[client])
	{
		g_Wanted[client] = wanted;
		return;  // already asked
	}
	Joins_Hold(client, wanted);

	JSONObject event = Outbox_Event("side_wanted");
	event.SetString("id", g_Players[client].id);
	if (wanted == TFTeam_Unassigned)
	{
		event.SetString("side", "any");
	}
	else
	{
		Players_SetSide(event, "side", wanted);
	}
	Outbox_Add(event);
}

// Until the daemon answers, but not for long.
void Joins_Hold(int client, TFTeam wanted)
{
	g_Wanted[client] = wanted;
	g_Held[client] = true;
	g_Hold[client] = ++g_Holds;
	CreateTimer(HOLD_SECONDS, Timer_Hold, g_Hold[client], TIMER_FLAG_NO_MAPCHANGE);
}

// Timers may have been lost.
void Joins_Resume()
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (g_Held[client])
		{
			Joins_Hold(client, g_Wanted[client]);
		}
	}
}

static Action Timer_Hold(Handle timer, any hold)
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (g_Held[client] && g_Hold[client] == hold && IsClientInGame(client))
		{
			g_Held[client] = false;
			PlaceAlone(client, g_Wanted[client]);
		}
	}
	return Plugin_Stop;
}

// The daemon answers.
void Joins_Obey(JSONObject order)
{
	char id[ID_SIZE];
	Read_Text(order, "id", id, sizeof(id));
	int client = Players_Find(id);
	if (client == 0 || !Session_Enforcing())
	{
		return;
	}
	TFTeam wanted = g_Held[client] ? g_Wanted[client] : TFTeam_Unassigned;
	TFTeam side = Read_Side(order, "side");
	bool late = !g_Held[client] && Players_Side(client) != TFTeam_Unassigned;  // placed without an answer: they stay
	g_Held[client] = false;
	if (!late && !Api_MayPlace(client, side))
	{
		PlaceAlone(client, wanted);
	}
	else if (!late)
	{
		Put(client, side, wanted);
		JSONObject reason = Read_Object(order, "reason");
		Chat_Reason(client, reason);
		delete reason;
	}
	if (Players_Side(client) != side)
	{
		Outbox_WantRoster();  // the daemon takes them for placed
	}
}

// The daemon answers with a text instead.
void Joins_Told(JSONObject order)
{
	char id[ID_SIZE];
	Read_Text(order, "id", id, sizeof(id));
	int client = Players_Find(id);
	if (client != 0)
	{
		g_Held[client] = false;
	}
}

static void Put(int client, TFTeam side, TFTeam wanted)
{
	TFTeam current = Players_Side(client);
	if (side == TFTeam_Unassigned)
	{
		Arena_Park(client);
	}
	else if (current == side || GameRules_GetRoundState() == RoundState_GameOver)
	{
		return;
	}
	else if (Full(side))
	{
		ShowVGUIPanel(client, "team");  // as the game does
	}
	else if (current != TFTeam_Unassigned && wanted == TFTeam_Unassigned)
	{
		Assign_Put(client, side);  // they did not ask to leave: no death
	}
	else
	{
		TF2_ChangeClientTeam(client, side);
		Classes_Offer(client);
	}
}

static bool Full(TFTeam side)
{
	return On(g_Highlander) && GetTeamClientCount(view_as<int>(side)) >= HIGHLANDER_SIZE;
}

// Without an answer: the side of the lock, or the wanted one, if the sizes allow it; otherwise the smaller one.
static void PlaceAlone(int client, TFTeam wanted)
{
	if (InsideArenaRound(client))
	{
		Park(client);
		return;
	}
	TFTeam locked = Locks_Side(client);
	TFTeam side = locked != TFTeam_Unassigned ? locked : wanted;
	if (side == TFTeam_Unassigned || !Fits(client, side))
	{
		TFTeam current = Players_Side(client);
		side = current != TFTeam_Unassigned && Fits(client, current) ? current : Players_SmallerSide(client);
	}
	if (wanted != TFTeam_Unassigned && wanted != side)
	{
		SayWhy(client, wanted);
	}
	Put(client, side, wanted);
}

// With the player the side has at most one more than the other.
static bool Fits(int client, TFTeam side)
{
	int lead = Players_Lead(client);
	return (side == TFTeam_Red ? lead : -lead) <= 0;
}

static void SayWhy(int client, TFTeam wanted)
{
	int red = GetTeamClientCount(view_as<int>(TFTeam_Red));
	int blu = GetTeamClientCount(view_as<int>(TFTeam_Blue));
	TFTeam current = Players_Side(client);
	red += (wanted == TFTeam_Red ? 1 : 0) - (current == TFTeam_Red ? 1 : 0);
	blu += (wanted == TFTeam_Blue ? 1 : 0) - (current == TFTeam_Blue ? 1 : 0);
	char more[8], less[8];
	IntToString(red > blu ? red : blu, more, sizeof(more));
	IntToString(red > blu ? blu : red, less, sizeof(less));
	Chat_Phrase(client, "Equipoise_RefusedGap", more, less);
}

// The side that the player is held for, TFTeam_Unassigned for any; -1: they are not held.
int Joins_Wanted(int client)
{
	return g_Held[client] ? view_as<int>(g_Wanted[client]) : -1;
}
