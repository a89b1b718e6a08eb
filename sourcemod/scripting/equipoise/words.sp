// SPDX-License-Identifier: GPL-3.0-or-later
//
// What players type in chat. Statistics plugins own some of these words too (`!rank`, `!top`): equipoise_words gives
// ours other names. SourceMod cannot take a command back, so a word that was given up is left to the other plugins.

#define WORD_SIZE 32
// One question of a player in this time.
#define ASK_SECONDS 1.0

// The word, what the daemon calls it, what may follow it, and what the console says of it.
static const char g_Words[][][] =
{
	// Made by make texts from daemon/equipoise/core/commands.py.
	{"scramble", "vote", "", "Equipoise: ask for a vote on new teams"},
	{"votescramble", "vote", "", "Equipoise: ask for a vote on new teams"},
	{"rating", "rating", "", "Equipoise: your rating"},
	{"rank", "rank", "", "Equipoise: your rank"},
	{"top", "top", "", "Equipoise: the best players"},
	{"teams", "teams", "", "Equipoise: how even the teams are"},
	{"hide", "hide", "", "Equipoise: be on no leaderboard; rounds are rated as before"},
	{"buddy", "friend", "player", "Equipoise: whom you want to play with: two who named each other, up to four in a group"},
	{"swap", "swap", "player", "Equipoise: swap sides with a player who agrees; without a name: be moved first when the other side needs somebody"}
	// The end of what make texts made.
};

static StringMap g_Meanings;    // what the daemon calls it, by the command it is typed as
static StringMap g_Registered;

void Words_Create()
{
	g_Meanings = new StringMap();
	g_Registered = new StringMap();
}

// Called when the configs have been executed, and when the setting changes.
void Words_Apply()
{
	char setting[256], name[WORD_SIZE], command[WORD_SIZE + 4];
	Settings_Text(Setting_Words, setting, sizeof(setting));
	g_Meanings.Clear();
	for (int i = 0; i < sizeof(g_Words); i++)
	{
		Name(setting, g_Words[i][0], name);
		if (name[0] == '\0')
		{
			continue;
		}
		FormatEx(command, sizeof(command), "sm_%s", name);
		g_Meanings.SetString(command, g_Words[i][1]);
		if (g_Registered.SetValue(command, 1, false))
		{
			RegConsoleCmd(command, Command_Word, g_Words[i][3]);
		}
	}
}

// The name of a word in `setting`, which reads like "rank=skill top=": itself if it is not there.
static void Name(const char[] setting, const char[] word, char name[WORD_SIZE])
{
	strcopy(name, sizeof(name), word);
	char pairs[16][2 * WORD_SIZE], pair[2][WORD_SIZE];
	int count = ExplodeString(setting, " ", pairs, sizeof(pairs), sizeof(pairs[]));
	for (int i = 0; i < count; i++)
	{
		if (ExplodeString(pairs[i], "=", pair, sizeof(pair), sizeof(pair[])) == 2 && StrEqual(pair[0], word, false))
		{
			strcopy(name, sizeof(name), pair[1]);
			Words_Lower(name);
		}
	}
}

static Action Command_Word(int client, int args)
{
	char command[WORD_SIZE + 4], meaning[WORD_SIZE];
	GetCmdArg(0, command, sizeof(command));
	Words_Lower(command);
	if (!g_Meanings.GetString(command, meaning, sizeof(meaning)))
	{
		return Plugin_Continue;  // another plugin's
	}
	Send(client, meaning, args, 1);
	return Plugin_Handled;
}

// What follows "sm_eq": a word by either of its names, as if it had been typed alone.
void Words_Perform(int client, int args)
{
	char word[WORD_SIZE];
	GetCmdArg(1, word, sizeof(word));
	Words_Lower(word);
	for (int i = 0; i < sizeof(g_Words); i++)
	{
		if (StrEqual(word, g_Words[i][0]))
		{
			strcopy(word, sizeof(word), g_Words[i][1]);
			break;
		}
	}
	Send(client, word, args, 2);
}

// The player that follows is named as for every command of SourceMod; the daemon gets their id.
static void Send(int client, const char[] meaning, int args, int first)
{
	char target[MAX_NAME_LENGTH], part[MAX_NAME_LENGTH], id[ID_SIZE];
	if (TakesPlayer(meaning))
	{
		// A name may have spaces.
		for (int i = first; i <= args; i++)
		{
			GetCmdArg(i, part, sizeof(part));
			StrCat(target, sizeof(target), i == first ? "" : " ");
			StrCat(target, sizeof(target), part);
		}
		if (StrEqual(target, "none", false))
		{
			strcopy(id, sizeof(id), "none");
		}
		else if (target[0] != '\0' && !Commands_Resolve(client, target, id))
		{
			return;  // the caller has been shown why
		}
	}
	Words_Send(client, meaning, id);
}

static bool TakesPlayer(const char[] meaning)
{
	for (int i = 0; i < sizeof(g_Words); i++)
	{
		if (StrEqual(meaning, g_Words[i][1]) && StrEqual(g_Words[i][2], "player"))
		{
			return true;
		}
	}
	return false;
}

// As if the client had typed it; `argument` may be empty. A player who asks again within a second is not heard: their
// first question is on its way.
void Words_Send(int client, const char[] meaning, const char[] argument)
{
	bool admin = client == 0 || CheckCommandAccess(client, "sm_eq_rating", ADMFLAG_GENERIC);
	float now = GetEngineTime();
	if (!admin && now < g_Players[client].askedAt + ASK_SECONDS)
	{
		return;
	}
	g_Players[client].askedAt = now;
	if (StrEqual(meaning, "vote") && !Vote_MayAsk(client))
	{
		return;
	}
	JSONArray words = new JSONArray();
	words.PushString(meaning);
	if (argument[0] != '\0')
	{
		words.PushString(argument);
	}
	Commands_Send(client, words, admin);
}

void Words_Lower(char[] text)
{
	for (int i = 0; text[i] != '\0'; i++)
	{
		text[i] = CharToLower(text[i]);
	}
}
