// SPDX-License-Identifier: GPL-3.0-or-later
//
// Players who ask for a side: held until the daemon answers, but never for long.

#define HOLD_SECONDS 2.0

static bool g_Held[MAX_PLAYERS + 1];
static TFTeam g_Wanted[MAX_PLAYERS + 1];
static int g_Hold[MAX_PLAYERS + 1];  // which hold it is: the timer of an earlier one is late
static int g_Holds;

void Joins_Listen()
{
	AddCommandListener(Command_Join, "jointeam");
	AddCommandListener(Command_Join, "autoteam");
	AddCommandListener(Command_Join, "spectate");
}

void Joins_Forget(int client)
{
	g_Held[client] = false;
}

static Action Command_Join(int client, const char[] command, int argc)
{
	if (client == 0 || !Session_Enforcing() || !Players_Human(client))
	{
		return Plugin_Continue;
	}
	TFTeam wanted = Wanted(command);
	if (wanted == TFTeam_Spectator)
	{
		g_Players[client].waiting = false;
		Joins_Forget(client);
		Post_Soon();
		return Plugin_Continue;
	}
	TFTeam side = Players_Side(client);
	if (side != TFTeam_Unassigned && wanted == side)
	{
		return Plugin_Continue;
	}
	if (side == TFTeam_Unassigned && Facts_Arena() && Rounds_Live())
	{
		Arena_Park(client);
	}
	else if (side == TFTeam_Unassigned || !Locks_Hold(client))
	{
		Ask(client, wanted);
	}
	return Plugin_Handled;
}

// TFTeam_Spectator, a side, or TFTeam_Unassigned for any.
static TFTeam Wanted(const char[] command)
{
	char name[16];
	if (StrEqual(command, "spectate", false))
	{
		return TFTeam_Spectator;
	}
	if (StrEqual(command, "jointeam", false))
	{
		GetCmdArg(1, name, sizeof(name));
	}
	if (StrContains(name, "spectat", false) == 0)  // "spectate", "spectatearena"
	{
		return TFTeam_Spectator;
	}
	if (StrEqual(name, "red", false))
	{
		return TFTeam_Red;
	}
	return StrEqual(name, "blue", false) ? TFTeam_Blue : TFTeam_Unassigned;
}

static void Ask(int client, TFTeam wanted)
{
	if (Post_Silent())
	{
		PlaceAlone(client, wanted);
		return;
	}
	g_Wanted[client] = wanted;
	if (g_Held[client])
	{
		return;  // already asked
	}
	g_Held[client] = true;
	g_Hold[client] = ++g_Holds;
	CreateTimer(HOLD_SECONDS, Timer_Hold, g_Hold[client], TIMER_FLAG_NO_MAPCHANGE);

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

static Action Timer_Hold(Handle timer, any hold)
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (g_Held[client] && g_Hold[client] == hold && IsClientInGame(client))
		{
			Joins_Forget(client);
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
	if (client == 0 || !Session_Enforcing() || !(g_Held[client] || Players_Side(client) == TFTeam_Unassigned))
	{
		return;  // gone, or placed without an answer
	}
	Joins_Forget(client);
	TFTeam side = Read_Side(order, "side");
	if (!Api_MayPlace(client, side))
	{
		PlaceAlone(client, g_Wanted[client]);
		return;
	}
	Put(client, side);
	JSONObject reason = Read_Object(order, "reason");
	if (reason != null)
	{
		Chat_Reason(client, reason);
		delete reason;
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
		Joins_Forget(client);
	}
}

static void Put(int client, TFTeam side)
{
	if (side == TFTeam_Unassigned)
	{
		Arena_Park(client);
	}
	else if (Players_Side(client) != side)
	{
		TF2_ChangeClientTeam(client, side);
		Classes_Offer(client);
	}
}

// Without an answer: the side of the lock, or the wanted one, if the sizes allow it; otherwise the smaller one.
static void PlaceAlone(int client, TFTeam wanted)
{
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
	Put(client, side);
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
