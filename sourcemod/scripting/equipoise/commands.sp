// SPDX-License-Identifier: GPL-3.0-or-later
//
// Everything typed is the daemon's to answer; here only names become ids.

#define COMMAND_PREFIX "sm_eq_"

void Commands_Register()
{
	RegAdminCmd("sm_eq_status", Command_Forward, ADMFLAG_GENERIC, "What Equipoise knows of this server");
	RegAdminCmd("sm_eq_why", Command_Forward, ADMFLAG_GENERIC, "The last decisions and their reasons");
	RegAdminCmd("sm_eq_rating", Command_Target, ADMFLAG_GENERIC, "<target>: their rating");
	RegAdminCmd("sm_eq_scramble", Command_Forward, ADMFLAG_KICK, "[now|next|dry|cancel]: make the teams anew");
	RegAdminCmd("sm_eq_balance", Command_Forward, ADMFLAG_KICK, "Close a gap between the sides now");
	RegAdminCmd("sm_eq_set", Command_Target, ADMFLAG_ROOT, "<target> <rating>: set their rating");
	RegAdminCmd("sm_eq_reset", Command_Target, ADMFLAG_ROOT, "<target>: make them a newcomer again");
	RegAdminCmd("sm_eq_on", Command_Forward, ADMFLAG_ROOT, "Go on balancing this server");
	RegAdminCmd("sm_eq_off", Command_Forward, ADMFLAG_ROOT, "Leave this server's teams alone; rounds are still rated");
	RegConsoleCmd("sm_rating", Command_Player, "Your rating");
	RegConsoleCmd("sm_rank", Command_Player, "Your rank");
	RegConsoleCmd("sm_top", Command_Player, "The best players");
	RegConsoleCmd("sm_teams", Command_Player, "How the sides compare");
	RegServerCmd("equipoise_poll", Command_Poll, "Ask the daemon for orders now; it sends this itself");
}

static Action Command_Poll(int args)
{
	Post_Now();
	return Plugin_Handled;
}

static Action Command_Player(int client, int args)
{
	JSONArray words = Words(3);  // without "sm_"
	Send(client, words);
	return Plugin_Handled;
}

static Action Command_Forward(int client, int args)
{
	JSONArray words = Words(strlen(COMMAND_PREFIX));
	AddArguments(words, 1);
	Send(client, words);
	return Plugin_Handled;
}

static Action Command_Target(int client, int args)
{
	char target[MAX_NAME_LENGTH], id[ID_SIZE];
	GetCmdArg(1, target, sizeof(target));
	if (!Resolve(client, target, id))
	{
		return Plugin_Handled;  // the caller has been shown why
	}
	JSONArray words = Words(strlen(COMMAND_PREFIX));
	words.PushString(id);
	AddArguments(words, 2);
	Send(client, words);
	return Plugin_Handled;
}

// A SteamID64 stands for itself, so that an admin can name a player who is not here.
static bool Resolve(int client, const char[] target, char id[ID_SIZE])
{
	if (strlen(target) == 17 && strncmp(target, "7656119", 7) == 0)
	{
		strcopy(id, sizeof(id), target);
		return true;
	}
	int found = FindTarget(client, target, true, false);
	if (found == -1)
	{
		return false;
	}
	strcopy(id, sizeof(id), g_Players[found].id);
	if (id[0] == '\0')
	{
		ReplyToCommand(client, "%t", "Equipoise_UnknownPlayer", target);
	}
	return id[0] != '\0';
}

// The command itself without the first `skip` letters.
static JSONArray Words(int skip)
{
	char command[32];
	GetCmdArg(0, command, sizeof(command));
	JSONArray words = new JSONArray();
	words.PushString(command[skip]);
	return words;
}

static void AddArguments(JSONArray words, int first)
{
	char word[NAME_SIZE];
	for (int i = first; i <= GetCmdArgs() && words.Length < 8; i++)
	{
		GetCmdArg(i, word, sizeof(word));
		words.PushString(word);
	}
}

// Another plugin asks as the console would; false while the daemon does not answer.
bool Commands_RequestScramble(bool now)
{
	if (Post_Silent())
	{
		return false;
	}
	JSONArray words = new JSONArray();
	words.PushString("scramble");
	words.PushString(now ? "now" : "next");
	Send(0, words);
	return true;
}

// Takes over the handle.
static void Send(int client, JSONArray words)
{
	if (Post_Silent() || (client != 0 && !Players_Known(client)))
	{
		ReplyToCommand(client, "%t", "Equipoise_Silent");
		delete words;
		return;
	}
	JSONObject event = Outbox_Event("command");
	event.Set("words", words);
	delete words;
	event.SetString("by", client == 0 ? "" : g_Players[client].id);
	event.SetBool("admin", client == 0 || CheckCommandAccess(client, "sm_eq_status", ADMFLAG_GENERIC));
	Outbox_Add(event);
}
