// SPDX-License-Identifier: GPL-3.0-or-later
//
// Putting players where a split says, without a death, a suicide or a lost score on anybody's account.

#define LIFE_ALIVE 0
#define LIFE_DEAD 2

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

static bool g_Moving;

// Players are being moved by us: nothing that anybody has to read about.
bool Assign_Moving()
{
	return g_Moving;
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
	if (why[0] == '\0' && !Api_MayAssign(plan))
	{
		why = "vetoed";
	}
	if (why[0] == '\0')
	{
		JSONObject reason = Read_Object(order, "reason");
		Assign_Apply(plan, reason);
		delete reason;
	}
	Orders_Answer(id, why);
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

// `reason`, when there is one, is shown to each player who is moved.
void Assign_Apply(Plan plan, JSONObject reason)
{
	for (int i = 0; i < plan.count; i++)
	{
		int client = plan.clients[i];
		TFTeam team = plan.teams[i];
		bool elsewhere = TF2_GetClientTeam(client) != team;
		if (Assign_Put(client, team) && elsewhere && team != TFTeam_Spectator && reason != null)
		{
			Chat_Reason(client, reason);
		}
	}
}

// False when the game does not let the player go: in a duel, as a ghost, in hell, while coaching.
bool Assign_Put(int client, TFTeam team)
{
	bool moved = TF2_GetClientTeam(client) == team || Change(client, team);
	if (moved && team == TFTeam_Spectator)
	{
		g_Players[client].waiting = true;
		Post_Soon();
	}
	return moved;
}

static bool Change(int client, TFTeam team)
{
	if (TF2_IsPlayerInDuel(client))
	{
		return false;
	}
	// The engine kills a living player who leaves a side. With this life state it takes the player for dead.
	int life = GetEntProp(client, Prop_Send, "m_lifeState");
	g_Moving = true;
	SetEntProp(client, Prop_Send, "m_lifeState", LIFE_DEAD);
	TF2_ChangeClientTeam(client, team);
	g_Moving = false;
	bool moved = TF2_GetClientTeam(client) == team;
	if (!moved || team > TFTeam_Spectator)
	{
		SetEntProp(client, Prop_Send, "m_lifeState", life);
	}
	if (moved && team > TFTeam_Spectator)
	{
		Enter(client, life == LIFE_ALIVE);
	}
	return moved;
}

// The player keeps their position, in the wrong colours, until they are respawned.
static void Enter(int client, bool wasAlive)
{
	if (!Assign_HasClass(client))
	{
		Assign_OfferClass(client);
	}
	else if (wasAlive || Rounds_Phase() == Phase_Freeze)
	{
		TF2_RespawnPlayer(client);
	}
}

bool Assign_HasClass(int client)
{
	return GetEntProp(client, Prop_Send, "m_iDesiredPlayerClass") != 0;
}

// The menu that the engine shows to a player who joined a side.
void Assign_OfferClass(int client)
{
	if (!IsFakeClient(client))
	{
		ShowVGUIPanel(client, TF2_GetClientTeam(client) == TFTeam_Red ? "class_red" : "class_blue");
	}
}
