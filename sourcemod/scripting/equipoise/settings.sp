// SPDX-License-Identifier: GPL-3.0-or-later
//
// What an operator may set: one table.

enum Setting
{
	Setting_Enabled,
	Setting_Url,
	Setting_Server,
	Setting_Secret,
	Setting_ChatPrefix,
	Setting_Words,
	SETTINGS
};

enum struct SettingRow
{
	char name[32];
	char value[32];
	int flags;
	char help[160];
}

static const SettingRow g_Table[] =
{
	// Not in the plugin's own cfg: that one is executed last (CoreConfig.cpp) and would overrule a map's cfg.
	{"equipoise_enabled", "1", FCVAR_DONTRECORD, "1: observe and obey the daemon. 0: leave the game alone."},
	{"equipoise_url", "http://127.0.0.1:27500", FCVAR_NONE, "Where the daemon listens, without a path."},
	{"equipoise_server", "", FCVAR_NONE, "This server's name in the daemon's configuration."},
	{"equipoise_secret", "", FCVAR_PROTECTED, "This server's secret, as `equipoise init` printed it."},
	{"equipoise_chat_prefix", "[Equipoise]", FCVAR_NONE, "Stands before every chat line of the plugin."},
	{"equipoise_words", "", FCVAR_NONE, "Other names for chat words, as in \"rank=skill top=best\"; \"rank=\" gives a word up."}
};

static ConVar g_Settings[SETTINGS];

void Settings_Create()
{
	CreateConVar("equipoise_version", PLUGIN_VERSION, "Version of the plugin.", FCVAR_NOTIFY | FCVAR_DONTRECORD);
	for (int i = 0; i < view_as<int>(SETTINGS); i++)
	{
		g_Settings[i] = CreateConVar(g_Table[i].name, g_Table[i].value, g_Table[i].help, g_Table[i].flags);
	}
	g_Settings[Setting_Enabled].AddChangeHook(OnEnabledChanged);
	g_Settings[Setting_Words].AddChangeHook(OnWordsChanged);
	AutoExecConfig(true, "equipoise");
	char server[NAME_SIZE], file[NAME_SIZE + 16];
	if (CommandLine(Setting_Server, server, sizeof(server)))
	{
		FormatEx(file, sizeof(file), "equipoise-%s", server);
		AutoExecConfig(false, file);  // of this server alone: several may run from one install
	}
}

// What the server was started with (`+equipoise_server eu-1`) wins over every config file. SourceMod executes the
// plugin's own after server.cfg and the map's, so that it would win otherwise.
void Settings_Configured()
{
	char value[256];
	for (int i = 0; i < view_as<int>(SETTINGS); i++)
	{
		if (CommandLine(view_as<Setting>(i), value, sizeof(value)))
		{
			g_Settings[i].SetString(value);
		}
	}
	Words_Apply();
}

static bool CommandLine(Setting setting, char[] value, int size)
{
	char parameter[40];
	FormatEx(parameter, sizeof(parameter), "+%s", g_Table[setting].name);
	GetCommandLineParam(parameter, value, size);
	return value[0] != '\0';
}

// What a map's cfg said of it ends with the map; server.cfg is executed again on the next one.
void Settings_EndMap()
{
	g_Settings[Setting_Enabled].RestoreDefault();
}

bool Settings_Enabled()
{
	return g_Settings[Setting_Enabled].BoolValue;
}

void Settings_Text(Setting setting, char[] buffer, int size)
{
	g_Settings[setting].GetString(buffer, size);
}

static void OnEnabledChanged(ConVar cvar, const char[] before, const char[] after)
{
	Session_Look();
}

static void OnWordsChanged(ConVar cvar, const char[] before, const char[] after)
{
	Words_Apply();
}
