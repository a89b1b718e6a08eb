// SPDX-License-Identifier: GPL-3.0-or-later
//
// sm_eq_probe: what only a real server can tell, written to a file that its operator may send us. Names of players, their
// ids, addresses and secrets are not asked for. Nothing of this runs, and nothing is hooked, before the command is typed.

#define TRIPS 20
#define TRIP_SECONDS 3
// A line of a list, or of the console's.
#define PROBE_LINE 256
#define LISTING_SIZE 4096

// Every property that the plugin reads, by the game's class.
static const char g_Properties[][][] =
{
	{"CTFGameRulesProxy", "m_iRoundState"}, {"CTFGameRulesProxy", "m_bInWaitingForPlayers"},
	{"CTFGameRulesProxy", "m_nRoundsPlayed"}, {"CTFGameRulesProxy", "m_iWinningTeam"},
	{"CTFGameRulesProxy", "m_bSwitchedTeamsThisRound"}, {"CTFGameRulesProxy", "m_bInSetup"},
	{"CTFGameRulesProxy", "m_bInOvertime"}, {"CTFGameRulesProxy", "m_hRedKothTimer"},
	{"CTFGameRulesProxy", "m_hBlueKothTimer"}, {"CTFGameRulesProxy", "m_nGameType"},
	{"CTFGameRulesProxy", "m_bPlayingKoth"}, {"CTFGameRulesProxy", "m_bMultipleTrains"},
	{"CTFGameRulesProxy", "m_bPlayingMannVsMachine"}, {"CTFGameRulesProxy", "m_bIsInTraining"},
	{"CTFGameRulesProxy", "m_bPowerupMode"}, {"CTFGameRulesProxy", "m_bHelltowerPlayersInHell"},
	{"CTFGameRulesProxy", "m_flMapResetTime"},
	{"CTFObjectiveResource", "m_iTimerToShowInHUD"}, {"CTFObjectiveResource", "m_bPlayingMiniRounds"},
	{"CTFObjectiveResource", "m_iNumControlPoints"}, {"CTFObjectiveResource", "m_iOwner"},
	{"CTeamRoundTimer", "m_nState"}, {"CTeamRoundTimer", "m_bIsDisabled"},
	{"CTeamRoundTimer", "m_bTimerPaused"}, {"CTeamRoundTimer", "m_flTimerEndTime"},
	{"CTeamRoundTimer", "m_nSetupTimeLength"},
	{"CTFPlayer", "m_lifeState"}, {"CTFPlayer", "m_iClass"}, {"CTFPlayer", "m_iDesiredPlayerClass"},
	{"CTFPlayer", "m_bArenaSpectator"}, {"CTFPlayer", "m_bIsCoaching"}, {"CTFPlayer", "m_hCoach"},
	{"CTFPlayer", "m_bHasPasstimeBall"}, {"CTFPlayer", "m_hItem"}, {"CTFPlayer", "m_nPlayerCondEx2"},
	{"CTFPlayer", "m_ScoreData"}, {"CTFPlayer", "m_RoundScoreData"}, {"CTFPlayer", "m_iKills"},
	{"CTFPlayer", "m_iDeaths"}, {"CTFPlayer", "m_iKillAssists"}, {"CTFPlayer", "m_iPoints"},
	{"CTFPlayer", "m_iSuicides"},
	{"CWeaponMedigun", "m_flChargeLevel"}, {"CWeaponMedigun", "m_bChargeRelease"},
	{"CWeaponMedigun", "m_iItemDefinitionIndex"},
	{"CObjectSentrygun", "m_hBuilder"}, {"CObjectTeleporter", "m_hBuilder"},
	{"CCaptureFlag", "m_nPointValue"}
};

static const char g_TypeNames[][] = {"no simple type", "integer", "float", "entity", "vector", "text", "text", "variant"};

static const char g_Cvars[][] =
{
	"mp_autoteambalance", "mp_scrambleteams_auto", "mp_scrambleteams_auto_windifference",
	"sv_vote_issue_scramble_teams_allowed", "sv_vote_issue_autobalance_allowed", "tf_arena_use_queue",
	"mp_teams_unbalance_limit", "mp_forceautoteam", "mp_humans_must_join_team", "mp_highlander", "mp_tournament",
	"mp_tournament_readymode", "mp_tournament_stopwatch", "mp_waitingforplayers_time", "mp_enableroundwaittime",
	"mp_bonusroundtime", "mp_idledealmethod", "mp_idlemaxtime", "mp_allowspectators", "mp_spectators_restricted",
	"mp_stalemate_enable", "mp_stalemate_timelimit", "mp_timelimit", "mp_winlimit", "mp_maxrounds", "mp_windifference",
	"mp_match_end_at_timelimit", "mp_respawnwavetime", "mp_disable_respawn_times", "tf_arena_force_class",
	"tf_arena_max_streak", "tf_arena_preround_time", "tf_arena_round_time", "tf_arena_override_team_size",
	"tf_flag_caps_per_round", "tf_bot_quota", "tf_bot_quota_mode", "tf_mm_servermode", "sv_hibernate_when_empty",
	"fps_max", "tv_enable", "sm_vote_delay", "sm_show_activity", "equipoise_enabled", "equipoise_words"
};

// Where a server keeps the game: which system and which bits.
static const char g_Binaries[][] = {"server_srv.so", "server.so", "server.dll", "linux64/server_srv.so", "linux64/server.so", "x64/server.dll"};

// In the name of a plugin that may decide who is on which side.
static const char g_Suspects[][] = {"scramble", "balanc", "autoteam", "teamlock", "team manager", "teammanager"};

static char g_Path[PLATFORM_MAX_PATH];
static File g_File;  // while a probe runs
static int g_Serial;  // which probe: an answer to an earlier one is late
static int g_Trips[TRIPS];
static int g_TripTicks[TRIPS];
static int g_Tried;
static int g_Came;
static int g_TripAt;
static int g_TripTick;

void Probe_Create()
{
	RegAdminCmd("sm_eq_probe", Command_Probe, ADMFLAG_ROOT, "Write what this server is like to a file, and how its next round goes");
}

static Action Command_Probe(int client, int args)
{
	if (g_File != null)
	{
		ReplyToCommand(client, "%t", "Equipoise_ProbeRuns", g_Path);
		return Plugin_Handled;
	}
	char stamp[24];
	FormatTime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S");
	BuildPath(Path_SM, g_Path, sizeof(g_Path), "logs/equipoise-probe-%s.txt", stamp);
	g_File = OpenFile(g_Path, "w");
	if (g_File == null)
	{
		ReplyToCommand(client, "%t", "Equipoise_ProbeFailed", g_Path);
		return Plugin_Handled;
	}
	ReplyToCommand(client, "%t", "Equipoise_ProbeBegan", g_Path);
	Part(WriteHead);
	Part(WritePlugins);
	Part(WriteProperties);
	Part(WriteCvars);
	Part(WriteArenaConfig);
	Part(WriteVersions);
	Recorder_Begin();
	g_Serial++;
	g_Tried = 0;
	g_Came = 0;
	Trip();
	return Plugin_Handled;
}

// An error ends one part, and SourceMod logs it.
static void Part(Function part)
{
	any nothing;
	Call_StartFunction(null, part);
	if (Call_Finish(nothing) != SP_ERROR_NONE)
	{
		Probe_Write("(an error ended this part: the log of errors has it)");
	}
}

// One line, on the disk at once: the server may crash while we look.
void Probe_Write(const char[] format, any ...)
{
	if (g_File == null)
	{
		return;
	}
	char line[PROBE_LINE];
	VFormat(line, sizeof(line), format, 2);
	g_File.WriteLine("%s", line);
	g_File.Flush();
}

bool Probe_Runs()
{
	return g_File != null;
}

void Probe_End(const char[] why)
{
	if (g_File == null)
	{
		return;
	}
	Recorder_End();
	Probe_Write("== the end: %s ==", why);
	delete g_File;
	LogMessage("The probe is complete (%s): %s.", why, g_Path);
}

static void WriteHead()
{
	char time[32], map[PLATFORM_MAX_PATH], boot[24];
	int humans, bots;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (IsClientInGame(client))
		{
			humans += IsFakeClient(client) ? 0 : 1;
			bots += IsFakeClient(client) ? 1 : 0;
		}
	}
	FormatTime(time, sizeof(time), "%Y-%m-%d %H:%M:%S");
	GetCurrentMap(map, sizeof(map));
	Session_Boot(boot, sizeof(boot));
	Probe_Write("Equipoise %s: what this server is like, and how its next round goes", PLUGIN_VERSION);
	Probe_Write("Names of players, their SteamIDs, addresses and secrets are left out. Read it before you send it.");
	Probe_Write("%s by the server's clock, up for %.0f s, map %s, %d humans and %d bots in %d slots", time, GetEngineTime(),
		map, humans, bots, MaxClients);
	Probe_Write("tick interval %.6f s", GetTickInterval());
	for (int i = 0; i < sizeof(g_Binaries); i++)
	{
		char path[64];
		FormatEx(path, sizeof(path), "bin/%s", g_Binaries[i]);
		if (FileExists(path))
		{
			Probe_Write("%s is there", path);
		}
	}
	WriteLines("steam.inf", false, "PatchVersion", "ServerVersion");
}

// The lines of a file of the game that begin with one of two words.
static void WriteLines(const char[] path, bool packed, const char[] one, const char[] other)
{
	File file = OpenFile(path, "r", packed);
	if (file == null)
	{
		Probe_Write("%s: not there", path);
		return;
	}
	char line[PROBE_LINE];
	while (file.ReadLine(line, sizeof(line)))
	{
		TrimString(line);
		if (StrContains(line, one) == 0 || StrContains(line, other) == 0)
		{
			Probe_Write("%s: %s", path, line);
		}
	}
	delete file;
}

// What the game's own file for arena sets: it is in no repository.
static void WriteArenaConfig()
{
	Probe_Write("== config_arena.cfg ==");
	WriteLines("cfg/config_arena.cfg", true, "tf_arena", "mp_");
}

static void WritePlugins()
{
	char file[PLATFORM_MAX_PATH];
	Probe_Write("== plugins (file, status, name, version) ==");
	PluginIterator plugins = new PluginIterator();
	while (plugins.Next())
	{
		char name[64], version[32];  // a plugin that failed has none
		Handle plugin = plugins.Plugin;
		GetPluginFilename(plugin, file, sizeof(file));
		GetPluginInfo(plugin, PlInfo_Name, name, sizeof(name));
		GetPluginInfo(plugin, PlInfo_Version, version, sizeof(version));
		bool ours = plugin == GetMyHandle();
		Probe_Write("%s, %d, %s, %s%s", file, GetPluginStatus(plugin), name, version,
			!ours && (Suspicious(file) || Suspicious(name)) ? "  <- may balance too" : "");
	}
	delete plugins;
}

static bool Suspicious(const char[] name)
{
	for (int i = 0; i < sizeof(g_Suspects); i++)
	{
		if (StrContains(name, g_Suspects[i], false) != -1)
		{
			return true;
		}
	}
	return false;
}

static void WriteProperties()
{
	Probe_Write("== properties (class, name: type, bits, offset, elements) ==");
	for (int i = 0; i < sizeof(g_Properties); i++)
	{
		PropFieldType type;
		int bits, local, elements;
		int offset = FindSendPropInfo(g_Properties[i][0], g_Properties[i][1], type, bits, local, elements);
		if (offset == -1)
		{
			Probe_Write("%s %s: NOT FOUND", g_Properties[i][0], g_Properties[i][1]);
		}
		else
		{
			Probe_Write("%s %s: %s, %d, %d, %d", g_Properties[i][0], g_Properties[i][1], g_TypeNames[type], bits, offset, elements);
		}
	}
	int master = FindEntityByClassname(-1, "team_control_point_master");
	Probe_Write("team_control_point_master m_bSwitchTeamsOnWin (data): %s", master == -1 ? "no such entity on this map"
		: HasEntProp(master, Prop_Data, "m_bSwitchTeamsOnWin") ? "found" : "NOT FOUND");
	Probe_Write("statistics of players: %s", Counts_Known() ? "as expected" : "NOT AS EXPECTED");
	Probe_Write("native TF2_IsPlayerInDuel: %s", Roster_DuelsFail() ? "FAILED" : "has not failed");
}

static void WriteCvars()
{
	char value[64], usual[64], wanted[64];
	Probe_Write("== variables (value, default) ==");
	for (int i = 0; i < sizeof(g_Cvars); i++)
	{
		ConVar cvar = FindConVar(g_Cvars[i]);
		if (cvar == null)
		{
			Probe_Write("%s: NOT THERE", g_Cvars[i]);
			continue;
		}
		cvar.GetString(value, sizeof(value));
		cvar.GetDefault(usual, sizeof(usual));
		bool held = Engine_Wanted(g_Cvars[i], wanted, sizeof(wanted));
		Probe_Write("%s: \"%s\", \"%s\"%s%s", g_Cvars[i], value, usual, held ? ", held; wanted: " : "", held ? wanted : "");
	}
}

static void WriteVersions()
{
	WriteListing("sm version");
	WriteListing("sm exts list");
	WriteListing("meta list");
}

// What a command of the server prints.
static void WriteListing(const char[] command)
{
	char text[LISTING_SIZE], line[PROBE_LINE];
	ServerCommandEx(text, sizeof(text), "%s", command);
	Probe_Write("== %s ==", command);
	int start = 0;
	int length = SplitString(text, "\n", line, sizeof(line));
	while (length != -1)
	{
		Probe_Write("%s", line);
		start += length;
		length = SplitString(text[start], "\n", line, sizeof(line));
	}
	Probe_Write("%s", text[start]);
}

// A request that asks for nothing, one after the other.
static void Trip()
{
	char url[256];
	Settings_Text(Setting_Url, url, sizeof(url));
	StrCat(url, sizeof(url), "/healthz");
	HTTPRequest request = new HTTPRequest(url);
	request.MaxRedirects = 0;
	request.ConnectTimeout = 1;
	request.Timeout = TRIP_SECONDS;
	g_Tried++;
	// The engine's clock is a float: after a day it counts in steps of 8 ms.
	g_TripAt = GetSysTickCount();
	g_TripTick = GetGameTickCount();
	request.Get(OnTrip, g_Serial);
}

static void OnTrip(HTTPResponse response, any serial, const char[] error)
{
	if (g_File == null || serial != g_Serial)
	{
		return;
	}
	if (error[0] == '\0')
	{
		g_Trips[g_Came] = GetSysTickCount() - g_TripAt;
		g_TripTicks[g_Came] = GetGameTickCount() - g_TripTick;
		g_Came++;
	}
	if (g_Tried < TRIPS)
	{
		Trip();
		return;
	}
	Probe_Write("round trips to the daemon: %d of %d answered", g_Came, TRIPS);
	if (g_Came > 0)
	{
		SortIntegers(g_Trips, g_Came);
		SortIntegers(g_TripTicks, g_Came);
		Probe_Write("round trips in ms: min %d, median %d, max %d", g_Trips[0], g_Trips[g_Came / 2], g_Trips[g_Came - 1]);
		Probe_Write("round trips in ticks: min %d, median %d, max %d", g_TripTicks[0], g_TripTicks[g_Came / 2], g_TripTicks[g_Came - 1]);
	}
}
