// SPDX-License-Identifier: GPL-3.0-or-later
//
// What admins type. The daemon answers it; here names become ids, and what an admin does is logged and shown as
// SourceMod's own commands do (`sm_show_activity`).

#define COMMAND_PREFIX "sm_eq_"

void Commands_Register()
{
	// Made by make texts from daemon/equipoise/core/commands.py.
	RegAdminCmd("sm_eq_status", Command_Status, ADMFLAG_GENERIC, "What Equipoise knows of this server");
	RegAdminCmd("sm_eq_why", Command_Forward, ADMFLAG_GENERIC, "The last decisions and their reasons");
	RegAdminCmd("sm_eq_rating", Command_Target, ADMFLAG_GENERIC, "<target>: their rating, also before it is shown to all");
	RegAdminCmd("sm_eq_scramble", Command_Forward, ADMFLAG_KICK, "[now|next|dry|cancel]: make new teams; cancel also ends a vote");
	RegAdminCmd("sm_eq_balance", Command_Forward, ADMFLAG_KICK, "Close a gap between the sides now");
	RegAdminCmd("sm_eq_move", Command_Target, ADMFLAG_KICK, "<target>: put them on the other side now");
	RegAdminCmd("sm_eq_set", Command_Target, ADMFLAG_ROOT, "<target> <rating>: set their rating");
	RegAdminCmd("sm_eq_reset", Command_Target, ADMFLAG_ROOT, "<target>: make them a newcomer again");
	RegAdminCmd("sm_eq_on", Command_Forward, ADMFLAG_ROOT, "Go on balancing this server");
	RegAdminCmd("sm_eq_off", Command_Forward, ADMFLAG_ROOT, "Leave this server's teams alone; rounds are still rated");
	// The end of what make texts made.
	RegServerCmd("equipoise_poll", Command_Poll, "Ask the daemon for orders now; it sends this itself");
}

static Action Command_Poll(int args)
{
	Post_Now();
	return Plugin_Handled;
}

// What is known here is answered at once, the rest by the daemon.
static Action Command_Status(int client, int args)
{
	char level[16], reason[NAME_SIZE];
	Session_Level(level, sizeof(level), reason, sizeof(reason));
	if (StrEqual(level, "off") || StrEqual(level, "rate"))
	{
		ReplyToCommand(client, "%t", StrEqual(level, "off") ? "Equipoise_MapOff" : "Equipoise_MapRate", reason);
	}
	Engine_Describe(client);
	return Command_Forward(client, args);
}

static Action Command_Forward(int client, int args)
{
	char word[WORD_SIZE], argument[WORD_SIZE];
	Word(word);
	GetCmdArg(1, argument, sizeof(argument));
	Words_Lower(argument);
	Commands_Perform(client, word, argument);
	return Plugin_Handled;
}

// As if the client had typed it.
void Commands_Perform(int client, const char[] word, const char[] argument)
{
	JSONArray words = new JSONArray();
	words.PushString(word);
	if (argument[0] != '\0')
	{
		words.PushString(argument);
	}
	if (Commands_Send(client, words, true))
	{
		Announce(client, word, argument);
	}
}

static void Announce(int client, const char[] word, const char[] argument)
{
	if (StrEqual(word, "scramble"))
	{
		if (argument[0] == '\0' || StrEqual(argument, "now"))
		{
			Activity(client, -1, "Equipoise_DidScrambleNow");
		}
		else if (StrEqual(argument, "next"))
		{
			Activity(client, -1, "Equipoise_DidScrambleNext");
		}
		else if (StrEqual(argument, "cancel"))
		{
			Activity(client, -1, "Equipoise_DidScrambleCancel");
		}
	}
	else if (StrEqual(word, "balance"))
	{
		Activity(client, -1, "Equipoise_DidBalance");
	}
	else if (StrEqual(word, "on"))
	{
		Activity(client, -1, "Equipoise_DidOn");
	}
	else if (StrEqual(word, "off"))
	{
		Activity(client, -1, "Equipoise_DidOff");
	}
}

// What an admin did: for the log, and for the players who may see it.
static void Activity(int client, int target, const char[] phrase, const char[] one = "", const char[] two = "")
{
	char line[LINE_SIZE], prefix[32];
	FormatEx(line, sizeof(line), "%T", phrase, LANG_SERVER, one, two);
	LogAction(client, target, "\"%L\": %s", client, line);
	Settings_Text(Setting_ChatPrefix, prefix, sizeof(prefix));
	StrCat(prefix, sizeof(prefix), " ");
	ShowActivity2(client, prefix, "%t", phrase, one, two);
}

static Action Command_Target(int client, int args)
{
	char word[WORD_SIZE], target[MAX_NAME_LENGTH], id[ID_SIZE], rating[WORD_SIZE];
	Word(word);
	bool sets = StrEqual(word, "set");
	GetCmdArg(2, rating, sizeof(rating));
	if (args < 1 || (sets && !IsNumber(rating)))
	{
		ReplyToCommand(client, "[SM] Usage: %s%s <#userid|name|steamid64>%s", COMMAND_PREFIX, word, sets ? " <rating>" : "");
		return Plugin_Handled;
	}
	GetCmdArg(1, target, sizeof(target));
	if (!Commands_Resolve(client, target, id))
	{
		return Plugin_Handled;  // the caller has been shown why
	}
	JSONArray words = new JSONArray();
	words.PushString(word);
	words.PushString(id);
	if (sets)
	{
		words.PushString(rating);
	}
	int found = Players_Find(id);
	if (found != 0)
	{
		GetClientName(found, target, sizeof(target));
	}
	if (!Commands_Send(client, words, true) || StrEqual(word, "rating"))
	{
		return Plugin_Handled;
	}
	int whom = found == 0 ? -1 : found;
	if (StrEqual(word, "move"))
	{
		Activity(client, whom, "Equipoise_DidMove", target);
	}
	else
	{
		Activity(client, whom, sets ? "Equipoise_DidSet" : "Equipoise_DidReset", target, rating);
	}
	return Plugin_Handled;
}

static bool IsNumber(const char[] text)
{
	float number;
	return text[0] != '\0' && StringToFloatEx(text, number) == strlen(text);
}

// A SteamID64 stands for itself, so that an admin can name a player who is not here.
bool Commands_Resolve(int client, const char[] target, char id[ID_SIZE])
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

// The command itself without its prefix.
static void Word(char word[WORD_SIZE])
{
	char command[WORD_SIZE];
	GetCmdArg(0, command, sizeof(command));
	strcopy(word, sizeof(word), command[strlen(COMMAND_PREFIX)]);
	Words_Lower(word);
}

// Another plugin asks as the console would; false while the daemon does not answer.
bool Commands_RequestScramble(Handle plugin, bool now)
{
	if (Post_Silent())
	{
		return false;
	}
	char name[PLATFORM_MAX_PATH];
	GetPluginFilename(plugin, name, sizeof(name));
	LogMessage("%s asks for a scramble.", name);
	JSONArray words = new JSONArray();
	words.PushString("scramble");
	words.PushString(now ? "now" : "next");
	return Commands_Send(0, words, true);
}

// Takes over the handle. `admin`: SourceMod let them use a command that is not for every player, by flag or override.
// False when the daemon cannot be asked; the caller has read why.
bool Commands_Send(int client, JSONArray words, bool admin)
{
	if (!Settings_Enabled() || Post_Silent() || (client != 0 && !Players_Known(client)))
	{
		ReplyToCommand(client, "%t", Settings_Enabled() ? "Equipoise_Silent" : "Equipoise_StatusOff");
		delete words;
		return false;
	}
	JSONObject event = Outbox_Event("command");
	event.Set("words", words);
	delete words;
	event.SetString("by", client == 0 ? "" : g_Players[client].id);
	event.SetBool("admin", admin);
	Outbox_Add(event);
	return true;
}
