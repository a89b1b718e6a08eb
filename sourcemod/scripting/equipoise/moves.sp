// SPDX-License-Identifier: GPL-3.0-or-later
//
// Moves in the middle of a round: carried out when the player is next dead or respawning, at the deadline even alive.

enum struct Move
{
	int serial;
	char order[NAME_SIZE];
	char id[ID_SIZE];
	TFTeam side;
	// Not in the last so many seconds of the round.
	float quiet;
	JSONObject reason;
	// On the engine's clock.
	float deadline;
}

static ArrayList g_Moves;
static int g_Serial;

void Moves_Create()
{
	g_Moves = new ArrayList(sizeof(Move));
}

bool Moves_Any()
{
	return g_Moves.Length > 0;
}

void Moves_Clear()
{
	while (g_Moves.Length > 0)
	{
		Erase(0);
	}
}

void Moves_Obey(JSONObject order)
{
	Move move;
	Read_Text(order, "order", move.order, sizeof(Move::order));
	Read_Text(order, "id", move.id, sizeof(Move::id));
	move.side = Read_Side(order, "side");
	move.quiet = Read_Float(order, "quiet");
	int client = Players_Find(move.id);
	char why[16];
	WhyNot(client, move, why, sizeof(why));
	if (why[0] != '\0')
	{
		Say(move, why);
		return;
	}
	move.serial = ++g_Serial;
	move.reason = Read_Object(order, "reason");
	move.deadline = GetEngineTime() + Read_Float(order, "deadline");
	g_Moves.PushArray(move);
	if (!IsPlayerAlive(client))
	{
		CarryOut(move.serial);
		return;
	}
	Await(move);
}

static void Await(Move move)
{
	float seconds = move.deadline - GetEngineTime();
	CreateTimer(seconds < 0.1 ? 0.1 : seconds, Timer_Deadline, move.serial, TIMER_FLAG_NO_MAPCHANGE);
}

// Timers may have been lost.
void Moves_Resume()
{
	Move move;
	for (int i = 0; i < g_Moves.Length; i++)
	{
		g_Moves.GetArray(i, move);
		Await(move);
	}
}

// Empty: nothing speaks against it.
static void WhyNot(int client, const Move move, char[] why, int size)
{
	strcopy(why, size, "");
	if (client == 0)
	{
		strcopy(why, size, "left");
	}
	else if (!Session_Enforcing())
	{
		strcopy(why, size, "off");
	}
	else if (!Rounds_Live())
	{
		strcopy(why, size, "no_round");
	}
	else if (NotNow(move, why, size))
	{
		return;
	}
	else if (Players_Side(client) == TFTeam_Unassigned || move.side == TFTeam_Unassigned)
	{
		strcopy(why, size, "no_side");
	}
	else if (Roster_Held(client) != Held_Not)
	{
		strcopy(why, size, "held");
	}
	else if (!Api_MayMove(client, move.side))
	{
		strcopy(why, size, "vetoed");
	}
}

// The game lets nobody be moved, or the round is about to end: a clock may have begun to run since the order was given.
static bool NotNow(const Move move, char[] why, int size)
{
	float left = Timers_EndsIn();
	if (Timers_NoMoves() != NoMoves_Not)
	{
		strcopy(why, size, "no_moves");
		return true;
	}
	strcopy(why, size, left >= 0.0 && left < move.quiet ? "quiet" : "");
	return why[0] != '\0';
}

void Moves_Cancel(JSONObject order)
{
	char id[NAME_SIZE];
	Read_Text(order, "order", id, sizeof(id));
	int i = IndexOf(id);
	if (i != -1)
	{
		Erase(i);
	}
}

void Moves_Left(int client)
{
	int i = IndexOf(g_Players[client].id);
	if (i != -1)
	{
		Answer(i, "left");
	}
}

// A frame after a death; a Dead Ringer's victim is alive.
void Moves_Dead(any userid)
{
	int client = GetClientOfUserId(userid);
	if (client != 0 && Players_Known(client) && !IsPlayerAlive(client))
	{
		CarryOutFor(client);
	}
}

// A frame after a spawn.
void Moves_Spawned(any userid)
{
	int client = GetClientOfUserId(userid);
	if (client != 0 && Players_Known(client))
	{
		CarryOutFor(client);
	}
}

static Action Timer_Deadline(Handle timer, any serial)
{
	CarryOut(serial);
	return Plugin_Stop;
}

static void CarryOutFor(int client)
{
	int i = IndexOf(g_Players[client].id);
	if (i != -1)
	{
		CarryOut(g_Moves.Get(i, Move::serial));
	}
}

static void CarryOut(int serial)
{
	int i = g_Moves.FindValue(serial, Move::serial);
	if (i == -1)
	{
		return;  // cancelled or done
	}
	Move move;
	g_Moves.GetArray(i, move);
	char why[16];
	int client = Players_Find(move.id);
	if (!Rounds_Live())
	{
		Answer(i, "no_round");  // players do not respawn between rounds
	}
	else if (!Session_Enforcing())
	{
		Answer(i, "off");
	}
	else if (client == 0 || Players_Side(client) == TFTeam_Unassigned)
	{
		Answer(i, "left");
	}
	else if (NotNow(move, why, sizeof(why)))
	{
		Answer(i, why);
	}
	else if (Roster_Held(client) != Held_Not)
	{
		Answer(i, "held");
	}
	else if (!Assign_Put(client, move.side))
	{
		Answer(i, "dead_end");
	}
	else
	{
		Chat_Reason(client, move.reason);
		Answer(i, "");
	}
}

// The move with this order's id, or of this player; -1 when there is none.
static int IndexOf(const char[] id)
{
	Move move;
	for (int i = 0; i < g_Moves.Length; i++)
	{
		g_Moves.GetArray(i, move);
		if (StrEqual(id, move.order) || StrEqual(id, move.id))
		{
			return i;
		}
	}
	return -1;
}

static void Answer(int i, const char[] why)
{
	Move move;
	g_Moves.GetArray(i, move);
	Say(move, why);
	Erase(i);
}

static void Say(const Move move, const char[] why)
{
	JSONArray stayed = null;
	if (StrEqual(why, "held"))
	{
		Roster_Stayed(stayed, Players_Find(move.id));
	}
	Orders_Answer(move.order, why, stayed);
	delete stayed;
}

static void Erase(int i)
{
	JSONObject reason = g_Moves.Get(i, Move::reason);
	g_Moves.Erase(i);
	delete reason;
}

// The caller deletes it.
JSONArray Moves_Save()
{
	JSONArray moves = new JSONArray();
	Move move;
	for (int i = 0; i < g_Moves.Length; i++)
	{
		g_Moves.GetArray(i, move);
		JSONObject line = new JSONObject();
		line.SetString("order", move.order);
		line.SetString("id", move.id);
		Players_SetSide(line, "side", move.side);
		line.SetFloat("quiet", move.quiet);
		line.SetFloat("deadline", move.deadline);
		if (move.reason != null)
		{
			line.Set("reason", move.reason);
		}
		moves.Push(line);
		delete line;
	}
	return moves;
}

void Moves_Restore(JSONArray moves)
{
	Move move;
	for (int i = 0; i < moves.Length; i++)
	{
		JSONObject line = view_as<JSONObject>(moves.Get(i));
		line.GetString("order", move.order, sizeof(Move::order));
		line.GetString("id", move.id, sizeof(Move::id));
		move.serial = ++g_Serial;
		move.side = Read_Side(line, "side");
		move.quiet = line.GetFloat("quiet");
		move.deadline = line.GetFloat("deadline");
		move.reason = Read_Object(line, "reason");
		delete line;
		g_Moves.PushArray(move);
		Await(move);
	}
}
