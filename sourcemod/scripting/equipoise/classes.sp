// SPDX-License-Identifier: GPL-3.0-or-later
//
// Which class a player has chosen, and when they may choose. In arena CTFPlayer::HandleCommand_JoinClass (tf_player.cpp)
// treats every player as standing in their own spawn room while the state is neither STALEMATE nor TEAM_WIN, and
// ForceRespawn asks for no side: a spectator who chooses in the freeze becomes a living spectator at the world's origin.
// So the choice of a spectator is kept here and given to the game when they get a side.

// In the order of TFClassType; the last two are what the game calls a random one.
static const char g_Words[][] =
{
	"scout", "sniper", "soldier", "demoman", "medic", "heavyweapons", "pyro", "spy", "engineer", "random", "auto"
};

static ConVar g_Highlander;
static ConVar g_Forced;

void Classes_Listen()
{
	g_Highlander = FindConVar("mp_highlander");
	g_Forced = FindConVar("tf_arena_force_class");
	AddCommandListener(Command_JoinClass, "joinclass");
	HookEvent("player_changeclass", Event_ChangeClass, EventHookMode_PostNoCopy);
}

// The game can spawn the player, or could with the choice that is kept.
bool Classes_Ready(int client)
{
	return g_Players[client].choice[0] != '\0' || Classes_Desired(client) != 0 || Forced();
}

// The class that the game knows of; 0: none.
int Classes_Desired(int client)
{
	return GetEntProp(client, Prop_Send, "m_iDesiredPlayerClass");
}

// The game chooses a class at each spawn and lets no player choose. Without its queue it would yet wait until somebody
// has one (CTFPlayer::IsReadyToPlay, tf_player.cpp).
static bool Forced()
{
	return Facts_Arena() && g_Forced != null && g_Forced.BoolValue;
}

// In Highlander a change of team takes the class (CTFPlayer::ChangeTeam): it is chosen again when all are moved.
void Classes_Keep(int client)
{
	int chosen = Classes_Desired(client);
	if (g_Highlander != null && g_Highlander.BoolValue && chosen > 0 && chosen <= view_as<int>(TFClass_Engineer))
	{
		strcopy(g_Players[client].choice, sizeof(Player::choice), g_Words[chosen - 1]);
	}
}

static Action Command_JoinClass(int client, const char[] command, int argc)
{
	bool watches = client != 0 && IsClientInGame(client) && TF2_GetClientTeam(client) == TFTeam_Spectator;
	if (!watches || !Facts_Arena() || !Session_Enforcing())
	{
		return Plugin_Continue;
	}
	char word[16];
	GetCmdArg(1, word, sizeof(word));
	for (int i = 0; i < sizeof(g_Words); i++)
	{
		if (StrEqual(word, g_Words[i], false))
		{
			strcopy(g_Players[client].choice, sizeof(Player::choice), g_Words[i]);
			Post_Soon();
			return Plugin_Handled;
		}
	}
	return Plugin_Continue;  // no class: the game ignores it too
}

static void Event_ChangeClass(Event event, const char[] name, bool silent)
{
	Post_Soon();
}

// A frame after the player got a side: before the game's next frame, so that its respawn uses the choice.
void Classes_Give(any userid)
{
	int client = GetClientOfUserId(userid);
	if (client == 0 || Players_Side(client) == TFTeam_Unassigned)
	{
		return;
	}
	if (Forced() && Classes_Desired(client) == 0)
	{
		SetEntProp(client, Prop_Send, "m_iDesiredPlayerClass", GetRandomInt(1, view_as<int>(TFClass_Engineer)));
	}
	if (g_Players[client].choice[0] == '\0' || Forced())
	{
		return;
	}
	char word[sizeof(Player::choice)];
	strcopy(word, sizeof(word), g_Players[client].choice);
	g_Players[client].choice[0] = '\0';
	FakeClientCommand(client, "joinclass %s", word);
}

// The menu that the engine shows to a player who joined a side; never in the freeze to a player who watches.
void Classes_Offer(int client)
{
	bool watches = Players_Side(client) == TFTeam_Unassigned;
	if (IsFakeClient(client) || Forced()
		|| (watches && (Classes_Ready(client) || GameRules_GetRoundState() == RoundState_Preround)))
	{
		return;
	}
	g_Players[client].offered = true;
	ShowVGUIPanel(client, TF2_GetClientTeam(client) == TFTeam_Red ? "class_red" : "class_blue");
}
