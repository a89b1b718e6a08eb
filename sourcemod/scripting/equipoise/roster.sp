// SPDX-License-Identifier: GPL-3.0-or-later
//
// The whole roster: which side each player is on, and what forbids moving them.

// The override that makes a player immune from autobalance.
#define IMMUNITY_OVERRIDE "equipoise_immunity"

static bool g_Builder[MAX_PLAYERS + 1];

// Every player the daemon may know of. The caller deletes it.
JSONArray Roster_Players()
{
	FindBuilders();
	JSONArray players = new JSONArray();
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Known(client))
		{
			Players_Told(client);
			JSONObject line = Line(client);
			players.Push(line);
			delete line;
		}
	}
	return players;
}

static JSONObject Line(int client)
{
	TFTeam side = Players_Side(client);
	JSONObject line = new JSONObject();
	line.SetString("id", g_Players[client].id);
	Players_SetSide(line, "side", side);
	if (Players_Waiting(client))
	{
		line.SetBool("waiting", true);
	}
	if (!Classes_Ready(client))
	{
		line.SetBool("ready", false);
	}
	if (!IsPlayerAlive(client))
	{
		line.SetBool("alive", false);
	}
	if (!IsFakeClient(client))
	{
		line.SetFloat("connected", GetClientTime(client));
		AddHumanFlags(line, client);
	}
	return line;
}

static void AddHumanFlags(JSONObject line, int client)
{
	if (CheckCommandAccess(client, IMMUNITY_OVERRIDE, ADMFLAG_ROOT, true))
	{
		line.SetBool("immune", true);
	}
	if (Players_Side(client) == TFTeam_Unassigned)
	{
		return;
	}
	if (GetEntPropEnt(client, Prop_Send, "m_hItem") > 0)  // an intelligence, a ball, an Australium
	{
		line.SetBool("carrier", true);
	}
	if (g_Builder[client])
	{
		line.SetBool("building", true);
	}
	float charge = Medics_Charge(client);
	if (charge > 0.0)
	{
		line.SetFloat("charge", charge);
	}
}

static void FindBuilders()
{
	for (int client = 1; client <= MaxClients; client++)
	{
		g_Builder[client] = false;
	}
	MarkBuilders("obj_sentrygun");
	MarkBuilders("obj_teleporter");
}

static void MarkBuilders(const char[] classname)
{
	int building = -1;
	while ((building = FindEntityByClassname(building, classname)) != -1)
	{
		int builder = GetEntPropEnt(building, Prop_Send, "m_hBuilder");
		if (builder > 0 && builder <= MaxClients)
		{
			g_Builder[builder] = true;
		}
	}
}
