// SPDX-License-Identifier: GPL-3.0-or-later
//
// The whole roster: which side each player is on, and what forbids moving them.

// Overrides of SourceMod that make a player immune: from all of it, or from one thing each.
#define IMMUNITY_OVERRIDE "equipoise_immunity"

enum Immunity
{
	Immunity_Scramble,
	Immunity_Autobalance,
	Immunity_Lock
}

#define IMMUNITIES 3

static const char g_Immunities[IMMUNITIES][] = {"scramble", "autobalance", "lock"};
static const char g_ImmunityOverrides[IMMUNITIES][] =
{
	"sm_eq_immune_scramble", "sm_eq_immune_autobalance", "sm_eq_immune_lock"
};

static const char g_HeldNames[][] = {"", "duel", "ghost", "kart", "coaching", "coached", "ball"};

// Who defends a point blocks its capture many times.
#define AGAIN_SECONDS 10.0

static bool g_Builder[MAX_PLAYERS + 1];
static bool g_Named[IMMUNITIES];  // the operator has named who
static bool g_AllNamed;
static bool g_AnyNamed;
static bool g_DuelsFail;

// The player captured or defended a point, a flag or a cart. The daemon hears it with the next poll, which is soon enough
// for who may be moved one day; not again a moment later; and at once while somebody is about to be moved.
void Roster_Objective(int client)
{
	if (client <= 0 || client > MaxClients || !Players_Known(client))
	{
		return;
	}
	float now = GetEngineTime();
	bool again = g_Players[client].objectiveAt > 0.0 && now - g_Players[client].objectiveAt < AGAIN_SECONDS;
	g_Players[client].objectiveAt = now;
	if (Moves_Any())
	{
		Outbox_WantRoster();
	}
	else if (!again)
	{
		Outbox_TakeRosterAlong();
	}
}

// Every player the daemon may know of. The caller deletes it.
JSONArray Roster_Players()
{
	FindBuilders();
	ReadOverrides();
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

// What was noted as told a moment ago, and more.
static JSONObject Line(int client)
{
	JSONObject line = new JSONObject();
	line.SetString("id", g_Players[client].id);
	Players_SetSide(line, "side", g_Players[client].toldSide);
	if (g_Players[client].toldWaiting)
	{
		line.SetBool("waiting", true);
	}
	if (!g_Players[client].toldReady)
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

// Whom CTFPlayer::ChangeTeam does not let go (ghosts, karts, coaches), and whom the game's own balancing spares because
// of what they would lose (CTFPlayer::CanBeAutobalanced): a duel, a coach; and the ball, which a respawn leaves to the
// other side (CTFPlayer::RemoveAllItems, after the change of team). A duel ends with every win
// (CTFGameRules::SetWinningTeam), the others end with a respawn or by the player.
Held Roster_Held(int client)
{
	if (IsFakeClient(client))
	{
		return Held_Not;
	}
	if (Duels(client))
	{
		return Held_Duel;
	}
	if (TF2_IsPlayerInCondition(client, TFCond_HalloweenGhostMode))
	{
		return Held_Ghost;
	}
	if (TF2_IsPlayerInCondition(client, TFCond_HalloweenKart))
	{
		return Held_Kart;
	}
	if (GetEntProp(client, Prop_Send, "m_bIsCoaching") != 0)
	{
		return Held_Coaching;
	}
	if (GetEntPropEnt(client, Prop_Send, "m_hCoach") > 0)
	{
		return Held_Coached;
	}
	return GetEntProp(client, Prop_Send, "m_bHasPasstimeBall") != 0 ? Held_Ball : Held_Not;
}

// Once a second: no event of the game says that a duel began, and the next order should leave its players.
void Roster_Tick()
{
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Known(client) && g_Players[client].toldHeld != Roster_Held(client))
		{
			Post_Soon();
		}
	}
}

// The native fails when SourceMod does not know a new version of the game. Asked for everybody all the time, it would
// then keep everything from being reported: it is not asked again.
static bool Duels(int client)
{
	if (g_DuelsFail)
	{
		return false;
	}
	g_DuelsFail = true;
	bool duels = TF2_IsPlayerInDuel(client);
	g_DuelsFail = false;
	return duels;
}

bool Roster_DuelsFail()
{
	return g_DuelsFail;
}

// "held" of an event, where something holds the player.
void Roster_SetHeld(JSONObject json, Held held)
{
	if (held != Held_Not)
	{
		json.SetString("held", g_HeldNames[held]);
	}
}

// Adds a player to those whom an order could not move. Makes the list if there is none.
void Roster_Stayed(JSONArray &stayed, int client)
{
	Held held = Roster_Held(client);
	JSONObject line = new JSONObject();
	line.SetString("id", g_Players[client].id);
	line.SetString("held", held == Held_Not ? "refused" : g_HeldNames[held]);
	if (stayed == null)
	{
		stayed = new JSONArray();
	}
	stayed.Push(line);
	delete line;
}

static void AddHumanFlags(JSONObject line, int client)
{
	Roster_SetHeld(line, g_Players[client].toldHeld);
	AddImmunities(line, client);
	if (g_Players[client].toldSide == TFTeam_Unassigned)
	{
		return;
	}
	if (Carries(client))
	{
		line.SetBool("carrier", true);
	}
	if (g_Players[client].objectiveAt > 0.0)
	{
		line.SetFloat("objective", GetEngineTime() - g_Players[client].objectiveAt);
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

static void ReadOverrides()
{
	g_AllNamed = Named(IMMUNITY_OVERRIDE);
	g_AnyNamed = g_AllNamed;
	for (int i = 0; i < IMMUNITIES; i++)
	{
		g_Named[i] = Named(g_ImmunityOverrides[i]);
		g_AnyNamed = g_AnyNamed || g_Named[i];
	}
}

static bool Named(const char[] override)
{
	int flags;
	return GetCommandOverride(override, Override_Command, flags);
}

static bool HasAll(int client)
{
	return CheckCommandAccess(client, IMMUNITY_OVERRIDE, ADMFLAG_ROOT, true);
}

// `all`: HasAll. Without a word of the operator's, root is immune from autobalance and from nothing else.
static bool Immune(int client, Immunity from, bool all)
{
	return (all && (g_AllNamed || from == Immunity_Autobalance))
		|| (g_Named[from] && CheckCommandAccess(client, g_ImmunityOverrides[from], ADMFLAG_ROOT, true));
}

// The split of a scramble that is made without the daemon leaves them too.
bool Roster_KeepsSide(int client)
{
	ReadOverrides();
	return !Facts_Arena() && Immune(client, Immunity_Scramble, HasAll(client));
}

static void AddImmunities(JSONObject line, int client)
{
	bool all = HasAll(client);
	if (!all && !g_AnyNamed)
	{
		return;
	}
	JSONArray from = null;
	for (int i = 0; i < IMMUNITIES; i++)
	{
		if (Immune(client, view_as<Immunity>(i), all))
		{
			from = from == null ? new JSONArray() : from;
			from.PushString(g_Immunities[i]);
		}
	}
	if (from == null)
	{
		return;
	}
	if (Immune(client, Immunity_Autobalance, all))
	{
		line.SetBool("immune", true);  // for a daemon that knows no other
	}
	line.Set("immune_from", from);
	delete from;
}

// An intelligence, an Australium; in Player Destruction, where everybody may have an item, one with points in it.
static bool Carries(int client)
{
	int item = GetEntPropEnt(client, Prop_Send, "m_hItem");
	return item > 0 && (!Facts_PlayerDestruction() || GetEntProp(item, Prop_Send, "m_nPointValue") > 0);
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
