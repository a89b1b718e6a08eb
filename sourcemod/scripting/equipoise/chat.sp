// SPDX-License-Identifier: GPL-3.0-or-later
//
// What players read: the daemon names a phrase and its arguments, each player reads it in their own language.

#define MAX_ARGUMENTS 6
#define ARGUMENT_SIZE 192
#define LINE_SIZE 254

enum struct Text
{
	char phrase[NAME_SIZE];
	char one[ARGUMENT_SIZE];
	char two[ARGUMENT_SIZE];
	char three[ARGUMENT_SIZE];
	char four[ARGUMENT_SIZE];
	char five[ARGUMENT_SIZE];
	char six[ARGUMENT_SIZE];
}

// "say": all players.
void Chat_Say(JSONObject order)
{
	JSONObject text = Read_Object(order, "text");
	if (text == null)
	{
		return;
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		if (IsClientInGame(client) && !IsFakeClient(client))
		{
			Chat_Reason(client, text);
		}
	}
	delete text;
}

// "tell": one player, or the server's console.
void Chat_Tell(JSONObject order)
{
	char id[ID_SIZE];
	Read_Text(order, "id", id, sizeof(id));
	int client = id[0] == '\0' ? 0 : Players_Find(id);
	JSONArray lines = Read_Array(order, "lines");
	if (lines == null)
	{
		return;
	}
	bool here = client != 0 || id[0] == '\0';
	if (here && !Why_Show(client, lines))
	{
		for (int i = 0; i < lines.Length; i++)
		{
			JSONObject text = view_as<JSONObject>(lines.Get(i));
			PlayerMenu_Hear(client, text);
			Chat_Reason(client, text);
			delete text;
		}
	}
	delete lines;
}

// A text of the daemon to one player, if there is one; 0 is the console.
void Chat_Reason(int client, JSONObject json)
{
	if (json == null)
	{
		return;
	}
	Text text;
	ReadText(client, json, text);
	Show(client, text);
}

// A text of the daemon in the language of a player.
void Chat_Text(int client, JSONObject json, char[] line, int size)
{
	Text text;
	ReadText(client, json, text);
	Translate(client, text, line, size);
}

// A phrase of our own.
void Chat_Phrase(int client, const char[] phrase, const char[] one = "", const char[] two = "")
{
	Text text;
	strcopy(text.phrase, sizeof(Text::phrase), phrase);
	strcopy(text.one, sizeof(Text::one), one);
	strcopy(text.two, sizeof(Text::two), two);
	Show(client, text);
}

static void ReadText(int client, JSONObject json, Text text)
{
	Read_Text(json, "phrase", text.phrase, sizeof(Text::phrase));
	JSONArray arguments = Read_Array(json, "args");
	if (arguments != null)
	{
		ReadArgument(client, arguments, 0, text.one);
		ReadArgument(client, arguments, 1, text.two);
		ReadArgument(client, arguments, 2, text.three);
		ReadArgument(client, arguments, 3, text.four);
		ReadArgument(client, arguments, 4, text.five);
		ReadArgument(client, arguments, 5, text.six);
		delete arguments;
	}
}

// "@<id>" is the name of a player; one who is not here stays an id. An object is a text itself.
static void ReadArgument(int client, JSONArray arguments, int index, char argument[ARGUMENT_SIZE])
{
	if (index >= arguments.Length)
	{
		return;
	}
	if (!arguments.GetString(index, argument, ARGUMENT_SIZE))
	{
		JSONObject text = view_as<JSONObject>(arguments.Get(index));
		Chat_Text(client, text, argument, ARGUMENT_SIZE);
		delete text;
		return;
	}
	if (argument[0] != '@')
	{
		return;
	}
	int player = Players_Find(argument[1]);
	if (player != 0)
	{
		GetClientName(player, argument, ARGUMENT_SIZE);
	}
	else
	{
		char id[ARGUMENT_SIZE];
		strcopy(id, sizeof(id), argument[1]);
		strcopy(argument, ARGUMENT_SIZE, id);
	}
}

static void Show(int client, Text text)
{
	char line[LINE_SIZE], prefix[32], whole[LINE_SIZE];
	Translate(client, text, line, sizeof(line));
	if (client == 0)
	{
		PrintToServer("%s", line);
		return;
	}
	Settings_Text(Setting_ChatPrefix, prefix, sizeof(prefix));
	FormatEx(whole, sizeof(whole), "\x04%s\x01 %s", prefix, line);
	DropPart(whole);
	PrintToChat(client, "%s", whole);
}

static void Translate(int client, Text text, char[] line, int size)
{
	if (TranslationPhraseExists(text.phrase))
	{
		FormatEx(line, size, "%T", text.phrase, client == 0 ? LANG_SERVER : client,
			text.one, text.two, text.three, text.four, text.five, text.six);
	}
	else
	{
		FormatEx(line, size, "%s %s %s", text.phrase, text.one, text.two);  // of a newer daemon
	}
	DropPart(line);
}

// SourceMod fills a buffer byte by byte (atcprintf): what it left of a last character goes.
static void DropPart(char[] text)
{
	int end = strlen(text);
	int last = end - 1;
	while (last > 0 && (text[last] & 0xC0) == 0x80)
	{
		last--;
	}
	if (end > 0 && last + GetCharBytes(text[last]) > end)
	{
		text[last] = '\0';
	}
}
