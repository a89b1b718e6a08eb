// SPDX-License-Identifier: GPL-3.0-or-later
//
// Putting players where a split says, without a death, a suicide or a lost score on anybody's account.

#define LIFE_ALIVE 0
#define LIFE_DEAD 2

// teamplay_alert's alert_type of the game's own scramble (teamplayroundbased_gamerules.cpp 2404)
#define ALERT_SCRAMBLE 0

// Who goes where; TFTeam_Spectator is the bench.
enum struct Plan
{
	int clients[MAX_PLAYERS];
	TFTeam teams[MAX_PLAYERS];
	int count;

	void Add(int client, TFTeam team)
	{
		this.clients[this.count] = client;
		this.teams[this.count] = team;
		this.count++;
	}
}

static int g_Moved;    // who is being moved by us
static int g_MovedAt;  // in which tick: a native error in the middle of a move says nothing of later ones

// The player is being moved by us: nothing that anybody has to read about.
bool Assign_Moving(int client)
{
	return client == g_Moved && GetGameTickCount() == g_MovedAt;
}

// To this team at once, alive or not: to a side only when the game takes the player for dead.
void Assign_Team(int client, TFTeam team)
{
	g_Moved = client;
	g_MovedAt = GetGameTickCount();
	TF2_ChangeClientTeam(client, team);
	g_Moved = 0;
}

void Assign_Obey(JSONObject order)
{
	char id[NAME_SIZE], why[16], moment[8];
	Read_Text(order, "order", id, sizeof(id));
	Read_Text(order, "moment", moment, sizeof(moment));
	Plan plan;
	WhyNot(StrEqual(moment, "now"), why, sizeof(why));
	if (why[0] == '\0' && !ReadPlan(order, plan))
	{
		why = "left";
	}
	JSONArray stayed = why[0] == '\0' ? HeldOf(plan) : null;
	if (stayed != null)
	{
		why = "held";
	}
	else if (why[0] == '\0' && !Api_MayAssign(plan))
	{
		why = "vetoed";
	}
	if (why[0] == '\0')
	{
		char purpose[16];
		Read_Text(order, "purpose", purpose, sizeof(purpose));
		if (StrEqual(purpose, "scramble"))
		{
			Assign_Scramble(plan, stayed);
		}
		else
		{
			// Where the sides were too uneven, one line for all says who changes side, and why.
			JSONObject reason = StrEqual(purpose, "too_uneven") ? null : Read_Object(order, "reason");
			Apply(plan, reason, stayed);
			delete reason;
		}
	}
	Orders_Answer(id, why, stayed);
	delete stayed;
}

// Who would have to move and is held, null for nobody: without them the split would not be even. The caller deletes it.
static JSONArray HeldOf(const Plan plan)
{
	JSONArray held = null;
	for (int i = 0; i < plan.count; i++)
	{
		int client = plan.clients[i];
		if (TF2_GetClientTeam(client) != plan.teams[i] && Roster_Held(client) != Held_Not)
		{
			Roster_Stayed(held, client);
		}
	}
	return held;
}

// Empty: nothing speaks against it at this moment.
static void WhyNot(bool now, char[] why, int size)
{
	Phase phase = Rounds_Phase();
	strcopy(why, size, "");
	if (!Session_Enforcing())
	{
		strcopy(why, size, "off");
	}
	else if (phase == Phase_Freeze && Fallback_Alone())
	{
		strcopy(why, size, "alone");
	}
	else if (phase == Phase_Running && (!now || Facts_Arena()))
	{
		strcopy(why, size, "live");
	}
	else if (!Rounds_Live())
	{
		strcopy(why, size, "no_round");
	}
	else if (phase == Phase_Running && Timers_NoMoves() != NoMoves_Not)
	{
		strcopy(why, size, "no_moves");
	}
}

// False when a player it names has left: the split is no longer even.
static bool ReadPlan(JSONObject order, Plan plan)
{
	return ReadTeam(order, "red", TFTeam_Red, plan) && ReadTeam(order, "blu", TFTeam_Blue, plan)
		&& ReadTeam(order, "bench", TFTeam_Spectator, plan);
}

static bool ReadTeam(JSONObject order, const char[] key, TFTeam team, Plan plan)
{
	JSONArray ids = Read_Array(order, key);
	if (ids == null)
	{
		return true;
	}
	char id[ID_SIZE];
	bool here = true;
	for (int i = 0; i < ids.Length && here && plan.count < MAX_PLAYERS; i++)
	{
		ids.GetString(i, id, sizeof(id));
		int client = Players_Find(id);
		here = client != 0;
		plan.Add(client, team);
	}
	delete ids;
	return here;
}

// How many players change side or come in. Everybody reads why in one line when it is done; the game shows and says that
// the teams are scrambled, if they are. Who could not be moved is added to `stayed`, which the caller deletes.
int Assign_Scramble(Plan plan, JSONArray &stayed)
{
	int moved = Apply(plan, null, stayed);
	if (moved > 0)
	{
		Event alert = CreateEvent("teamplay_alert", true);
		alert.SetInt("alert_type", ALERT_SCRAMBLE);
		alert.Fire();
		Timers_RestartSetup();
	}
	return moved;
}

// How many players change side or come in; `reason`, when there is one, is shown to each of them. Who could not be moved
// is added to `stayed`.
static int Apply(Plan plan, JSONObject reason, JSONArray &stayed)
{
	int moved = 0;
	for (int i = 0; i < plan.count; i++)
	{
		int client = plan.clients[i];
		TFTeam team = plan.teams[i];
		bool elsewhere = TF2_GetClientTeam(client) != team;
		if (!Assign_Put(client, team))
		{
			Roster_Stayed(stayed, client);
		}
		else if (elsewhere && team != TFTeam_Spectator)
		{
			moved++;
			Chat_Reason(client, reason);
		}
	}
	return moved;
}

// False when the player is held, or the game does not let them go.
bool Assign_Put(int client, TFTeam team)
{
	bool moved = TF2_GetClientTeam(client) == team || (Roster_Held(client) == Held_Not && !Facts_Hell() && Change(client, team));
	if (moved && team == TFTeam_Spectator)
	{
		Arena_Wait(client);
	}
	return moved;
}

static bool Change(int client, TFTeam team)
{
	Charge charge;
	Medics_Note(client, charge);
	DropFlag(client);
	Classes_Keep(client);
	// The engine kills a living player who leaves a side. With this life state it takes the player for dead.
	int life = GetEntProp(client, Prop_Send, "m_lifeState");
	SetEntProp(client, Prop_Send, "m_lifeState", LIFE_DEAD);
	Assign_Team(client, team);
	bool moved = TF2_GetClientTeam(client) == team;
	bool spawns = Classes_Desired(client) != 0;  // in Highlander it is gone: dead, they return when they have it back
	if (!moved || (team > TFTeam_Spectator && spawns))
	{
		SetEntProp(client, Prop_Send, "m_lifeState", life);
	}
	if (moved && team > TFTeam_Spectator)
	{
		Enter(client, life == LIFE_ALIVE && spawns, charge);
	}
	return moved;
}

// ChangeTeam leaves it in the player's hands, and the respawn would drop it as a player of the other side.
static void DropFlag(int client)
{
	int flag = GetEntPropEnt(client, Prop_Send, "m_hItem");
	if (flag > 0)
	{
		AcceptEntityInput(flag, "ForceDrop");  // CCaptureFlag::InputForceDrop; other items have no such input
	}
}

// The living keep their position, in the wrong colours, until they are respawned. The dead come back as the game has
// it: in the freeze in the next frame (CTeamplayRoundBasedRules::RespawnPlayers), in arena's too.
static void Enter(int client, bool wasAlive, const Charge charge)
{
	if (wasAlive)
	{
		TF2_RespawnPlayer(client);
		Medics_Restore(client, charge);
	}
	else if (!Classes_Ready(client))
	{
		Classes_Offer(client);
	}
}
