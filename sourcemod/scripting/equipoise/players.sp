// SPDX-License-Identifier: GPL-3.0-or-later
//
// Who is here: ids, sides, and what the daemon knows of each.

// Why nobody moves a player.
enum Held
{
	Held_Not,
	Held_Duel,
	Held_Ghost,
	Held_Kart,
	Held_Coaching,
	Held_Coached,
	Held_Ball
}

enum struct Player
{
	// Empty until Steam has confirmed it: a player without an id is not reported.
	char id[ID_SIZE];
	// Of this connection.
	int userid;
	// The player is back by another connection: this one is nobody.
	bool replaced;
	// Parked on the spectator team, but wants to play.
	bool waiting;
	// The class they chose there, until the game gets to know it; empty for none.
	char choice[16];
	// They were shown the class menu while they wait.
	bool offered;
	// When they last typed a word of ours, on the engine's clock.
	float askedAt;
	// They were told that this map is left alone.
	bool informed;
	// When they last captured or defended what the map is about, on the engine's clock; 0: never.
	float objectiveAt;
	// What was reported last.
	TFTeam toldSide;
	bool toldWaiting;
	bool toldReady;
	Held toldHeld;
	// Who last asked them to be friends, and to swap sides.
	char friendAsks[ID_SIZE];
	char swapAsks[ID_SIZE];
	// What the daemon sent last.
	bool known;
	float rating;
	int rounds;
	bool visible;
}

Player g_Players[MAX_PLAYERS + 1];

// Somebody may be here whose id is not known yet: else the tick has nothing to do.
static bool g_Strangers;

static const char g_SideNames[][] = {"none", "none", "red", "blu"};

public void OnClientPutInServer(int client)
{
	g_Strangers = true;
	Recorder_Note("OnClientPutInServer, client %d, userid %d", client, GetClientUserId(client));
	if (IsFakeClient(client) && !IsClientSourceTV(client) && !IsClientReplay(client))
	{
		char id[ID_SIZE];
		FormatEx(id, sizeof(id), "bot:%d", GetClientUserId(client));
		Arrive(client, id);
	}
}

public void OnClientPostAdminCheck(int client)
{
	Recorder_Note("OnClientPostAdminCheck, client %d", client);
	Identify(client);
}

// Whom Steam knows by now.
static void Identify(int client)
{
	char id[ID_SIZE];
	if (!IsFakeClient(client) && IsClientAuthorized(client) && GetClientAuthId(client, AuthId_SteamID64, id, sizeof(id)))
	{
		Arrive(client, id);
	}
}

// Once a second: Steam's answer may come late, and OnClientPostAdminCheck waits for every plugin that reads admins from
// a database (OnClientPreAdminCheck).
void Players_Tick()
{
	if (!g_Strangers)
	{
		return;
	}
	g_Strangers = false;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (g_Players[client].id[0] == '\0' && !g_Players[client].replaced && IsClientInGame(client) && !IsFakeClient(client))
		{
			Identify(client);
			g_Strangers = true;  // they are looked at once more, known or not
		}
	}
}

public void OnClientDisconnect(int client)
{
	Recorder_Note("OnClientDisconnect, client %d", client);
	if (Players_Known(client))
	{
		Leave(client, true);
	}
	Forget(client);
}

static void Forget(int client)
{
	Joins_Forget(client);
	Player nobody;
	g_Players[client] = nobody;
}

// `here`: they are in the game still.
static void Leave(int client, bool here)
{
	JSONObject left = Outbox_Event("player_left");
	left.SetString("id", g_Players[client].id);
	Outbox_Add(left);
	Presence_Left(client, here);
	Moves_Left(client);
}

// Players who came, and who left, before the plugin was loaded or while it was paused.
void Players_Reread()
{
	for (int client = 1; client <= MaxClients; client++)
	{
		bool here = IsClientInGame(client);
		if (g_Players[client].id[0] != '\0' && (!here || GetClientUserId(client) != g_Players[client].userid))
		{
			Leave(client, false);
			Forget(client);
		}
		if (here)
		{
			OnClientPutInServer(client);
			Identify(client);
		}
	}
}

static void Arrive(int client, const char[] id)
{
	if (StrEqual(g_Players[client].id, id))
	{
		return;  // they are known already
	}
	// They may be back before the game has noticed that their old connection is dead: that one is nobody.
	int ghost = Players_Find(id);
	if (ghost != 0)
	{
		Presence_CountLast(ghost);
		g_Players[ghost].id[0] = '\0';
		g_Players[ghost].replaced = true;
		Outbox_WantRoster();
	}
	Player arrived;
	strcopy(arrived.id, sizeof(arrived.id), id);
	arrived.userid = GetClientUserId(client);
	g_Players[client] = arrived;

	char name[MAX_NAME_LENGTH];
	GetClientName(client, name, sizeof(name));
	JSONObject joined = Outbox_Event("player_joined");
	joined.SetString("id", id);
	joined.SetString("name", name);  // refuses a name that is no UTF-8: then it goes without
	Outbox_Add(joined);
}

bool Players_Known(int client)
{
	return g_Players[client].id[0] != '\0' && IsClientInGame(client);
}

bool Players_Human(int client)
{
	return Players_Known(client) && !IsFakeClient(client);
}

// The client with this id, 0 when they are not here.
int Players_Find(const char[] id)
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Known(client) && StrEqual(g_Players[client].id, id))
		{
			return client;
		}
	}
	return 0;
}

// TFTeam_Red, TFTeam_Blue, or TFTeam_Unassigned for no side.
TFTeam Players_Side(int client)
{
	TFTeam team = TF2_GetClientTeam(client);
	return team > TFTeam_Spectator ? team : TFTeam_Unassigned;
}

// Watches and wants to play.
bool Players_Waiting(int client)
{
	return g_Players[client].waiting && Players_Human(client) && Players_Side(client) == TFTeam_Unassigned;
}

// Whether a split may place the player. In arena the game would not spawn them without a class.
bool Players_Eligible(int client)
{
	bool waits = Players_Waiting(client) && Roster_Held(client) == Held_Not;
	return Players_Human(client) && (Players_Side(client) != TFTeam_Unassigned || waits)
		&& (Classes_Ready(client) || !Facts_Arena());
}

TFTeam Players_Other(TFTeam side)
{
	return side == TFTeam_Red ? TFTeam_Blue : TFTeam_Red;
}

void Players_SideName(TFTeam team, char[] buffer, int size)
{
	strcopy(buffer, size, g_SideNames[team]);
}

void Players_SetSide(JSONObject json, const char[] key, TFTeam team)
{
	json.SetString(key, g_SideNames[team]);
}

// By how many RED outnumbers BLU, bots counted; `without` is left out.
int Players_Lead(int without = 0)
{
	int lead = GetTeamClientCount(view_as<int>(TFTeam_Red)) - GetTeamClientCount(view_as<int>(TFTeam_Blue));
	if (without != 0 && Players_Side(without) != TFTeam_Unassigned)
	{
		lead += Players_Side(without) == TFTeam_Red ? -1 : 1;
	}
	return lead;
}

// The side that is short of players; BLU when they are even, as the engine gives newcomers to the attackers.
TFTeam Players_SmallerSide(int without = 0)
{
	return Players_Lead(without) < 0 ? TFTeam_Red : TFTeam_Blue;
}

// A `side_changed` for each player whose side, readiness or hold differs from what was reported. Sent at the end of a batch and not when
// it happens: the game swaps sides player by player before it says so.
void Players_PushChanges(ArrayList events)
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (!Players_Known(client) || !Changed(client))
		{
			continue;
		}
		Players_Told(client);
		JSONObject event = Outbox_Event("side_changed");
		event.SetString("id", g_Players[client].id);
		Players_SetSide(event, "side", g_Players[client].toldSide);
		event.SetBool("waiting", g_Players[client].toldWaiting);
		event.SetBool("ready", g_Players[client].toldReady);
		Roster_SetHeld(event, g_Players[client].toldHeld);
		events.Push(event);
	}
}

bool Players_AnyChange()
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Known(client) && Changed(client))
		{
			return true;
		}
	}
	return false;
}

static bool Changed(int client)
{
	return g_Players[client].toldSide != Players_Side(client)
		|| g_Players[client].toldWaiting != Players_Waiting(client)
		|| g_Players[client].toldReady != Classes_Ready(client)
		|| g_Players[client].toldHeld != Roster_Held(client);
}

void Players_Told(int client)
{
	g_Players[client].toldSide = Players_Side(client);
	g_Players[client].toldWaiting = Players_Waiting(client);
	g_Players[client].toldReady = Classes_Ready(client);
	g_Players[client].toldHeld = Roster_Held(client);
}

// What nobody but the plugin knows of them. The caller deletes it.
JSONArray Players_Save()
{
	JSONArray players = new JSONArray();
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Known(client))
		{
			JSONObject line = new JSONObject();
			line.SetString("id", g_Players[client].id);
			line.SetBool("waiting", g_Players[client].waiting);
			line.SetString("choice", g_Players[client].choice);
			line.SetBool("offered", g_Players[client].offered);
			line.SetBool("informed", g_Players[client].informed);
			line.SetFloat("objective", g_Players[client].objectiveAt);
			line.SetInt("wanted", Joins_Wanted(client));
			players.Push(line);
			delete line;
		}
	}
	return players;
}

void Players_Restore(JSONArray players)
{
	char id[ID_SIZE];
	for (int i = 0; i < players.Length; i++)
	{
		JSONObject line = view_as<JSONObject>(players.Get(i));
		line.GetString("id", id, sizeof(id));
		int client = Players_Find(id);
		if (client != 0)
		{
			g_Players[client].waiting = line.GetBool("waiting");
			line.GetString("choice", g_Players[client].choice, sizeof(Player::choice));
			g_Players[client].offered = line.GetBool("offered");
			g_Players[client].informed = line.GetBool("informed");
			g_Players[client].objectiveAt = Read_Float(line, "objective");
			int wanted = line.GetInt("wanted");
			if (wanted != -1)
			{
				Joins_Hold(client, view_as<TFTeam>(wanted));
			}
		}
		delete line;
	}
}
