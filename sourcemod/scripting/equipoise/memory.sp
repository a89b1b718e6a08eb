// SPDX-License-Identifier: GPL-3.0-or-later
//
// What outlives the plugin: one file per server, data/equipoise-<server>.json. Before each post it holds the rounds that
// the daemon has not stored and the round that runs; at the plugin's end everything. A plugin that is back at once, in
// the same process and on the same map, goes on where it ended: the daemon has not seen another start of the script.
// Otherwise the rounds are sent, and the round that ran is given up.

// Of everything but the rounds.
#define MEMORY_FORMAT 1
// Who is away for longer may miss that the game began the round anew: no freeze is shorter.
#define AWAY_SECONDS 3.0

static bool g_Read;         // nothing is written over what was not read
static bool g_Begins;       // the plugin does
static bool g_GoesOn;       // where it ended
static bool g_Nothing;      // is in the file
static bool g_Failing;      // to write, which is said once
static JSONObject g_File;  // while it is read

// Reads the file, once, as soon as the server has a name. True when the plugin goes on where it ended, which only the
// first map start can say.
bool Memory_Begin(bool begins = false)
{
	char path[PLATFORM_MAX_PATH], fresh[PLATFORM_MAX_PATH], aside[PLATFORM_MAX_PATH];
	if (g_Read || !Paths(path, fresh))
	{
		return false;
	}
	g_Read = true;
	g_Begins = begins;
	// The server may have been killed between the two steps of Write.
	if (!FileExists(path) && !(FileExists(fresh) && RenameFile(path, fresh)))
	{
		return false;
	}
	bool whole = Succeeds(Recall);
	delete g_File;
	if (!whole)
	{
		FormatEx(aside, sizeof(aside), "%s.damaged-%u", path, GetTime());
		RenameFile(aside, path);
		LogError("Rounds may be lost: %s is damaged or of another program, and is now %s.", path, aside);
	}
	return g_GoesOn;
}

// What cannot be read ends the function that reads it with a native error, which SourceMod logs.
static bool Succeeds(Function step)
{
	any nothing;
	Call_StartFunction(null, step);
	return Call_Finish(nothing) == SP_ERROR_NONE;
}

static void Recall()
{
	char path[PLATFORM_MAX_PATH], fresh[PLATFORM_MAX_PATH], name[NAME_SIZE], server[NAME_SIZE];
	Paths(path, fresh);
	g_File = JSONObject.FromFile(path);
	g_File.GetString("server", server, sizeof(server));
	Settings_Text(Setting_Server, name, sizeof(name));
	if (!StrEqual(server, name))
	{
		ThrowError("It is of server \"%s\".", server);
	}
	JSONArray rounds = view_as<JSONArray>(g_File.Get("rounds"));
	Ring_Restore(rounds, g_File.GetInt("dropped"));
	delete rounds;
	if (StillHere())
	{
		g_GoesOn = Succeeds(GoOn);
		if (!g_GoesOn)
		{
			Session_Begin();  // of what was restored nothing holds
			Moves_Clear();
			Locks_Clear();
		}
	}
	if (!g_GoesOn)
	{
		GiveUp();
	}
}

// In this process, on this map, and a moment ago.
static bool StillHere()
{
	char boot[24], map[PLATFORM_MAX_PATH], before[PLATFORM_MAX_PATH];
	g_File.GetString("map", before, sizeof(before));
	GetCurrentMap(map, sizeof(map));
	return g_File.GetInt("format") == MEMORY_FORMAT && g_File.HasKey("state") && g_Begins
		&& g_File.GetInt64("boot", boot, sizeof(boot)) && Session_Started(boot)
		&& StrEqual(map, before) && GetGameTickCount() >= g_File.GetInt("tick")
		&& GetEngineTime() <= g_File.GetFloat("at") + AWAY_SECONDS;
}

static void GoOn()
{
	JSONObject state = view_as<JSONObject>(g_File.Get("state"));
	JSONArray players = view_as<JSONArray>(state.Get("players"));
	JSONArray facts = view_as<JSONArray>(state.Get("facts"));
	JSONArray moves = view_as<JSONArray>(state.Get("moves"));
	JSONObject locks = view_as<JSONObject>(state.Get("locks"));
	JSONObject cache = view_as<JSONObject>(state.Get("cache"));
	JSONObject running = Read_Object(g_File, "running");
	Facts_Restore(facts);
	Level_Restore(state);
	Record_SetNumber(state.GetInt("number"));
	if (running != null)
	{
		Record_Restore(running);
	}
	Waiting_Restore(state.GetBool("waiting"));
	Rounds_Restore(state);
	Players_Restore(players);
	Moves_Restore(moves);
	Locks_Restore(locks);
	Cache_Read(cache);
	Fallback_Restore(state);
	Post_Restore(state);
	Session_Restore(state);
	delete state;
	delete players;
	delete facts;
	delete moves;
	delete locks;
	delete cache;
	delete running;
}

// The daemon gets a round that was won already.
static void GiveUp()
{
	char round[NAME_SIZE];
	JSONObject running = Read_Object(g_File, "running");
	if (running == null)
	{
		return;
	}
	JSONObject closed = Read_Object(running, "closed");
	if (closed != null && Record_Name(closed, round, sizeof(round)))
	{
		Ring_Add(round, closed);
	}
	else if (running.HasKey("lineup") && running.GetString("round", round, sizeof(round)))
	{
		LogMessage("Round %s is given up: its end was not seen.", round);
	}
	delete running;
}

// `ends`: the plugin does, and the next one may begin at once.
void Memory_Write(bool ends = false)
{
	char path[PLATFORM_MAX_PATH], fresh[PLATFORM_MAX_PATH];
	Memory_Begin();
	if (!Paths(path, fresh))
	{
		if (ends && !Ring_Empty())
		{
			LogError("Finished rounds are lost: the server has no name (equipoise_server).");
		}
		return;
	}
	bool nothing = !ends && Ring_Empty() && !Record_Any();
	if (nothing && g_Nothing)
	{
		return;
	}
	JSONObject file = Everything(ends);
	// Never into one that a kill has left: a power loss could mix the two, and that may be JSON. Of a new file it loses
	// parts, and what is left is none.
	DeleteFile(fresh);
	bool written = file.ToFile(fresh, JSON_COMPACT) && Replace(path, fresh);
	delete file;
	if (!written && !g_Failing)
	{
		LogError("%s cannot be written: if the server or the plugin stops now, rounds are lost.", path);
	}
	g_Failing = !written;
	g_Nothing = nothing && written;
}

// Before 1.12.0.7137 RenameFile does not replace a file on Windows.
static bool Replace(const char[] path, const char[] fresh)
{
	return RenameFile(path, fresh) || (DeleteFile(path) && RenameFile(path, fresh));
}

static JSONObject Everything(bool ends)
{
	char name[NAME_SIZE], boot[24], map[PLATFORM_MAX_PATH];
	Settings_Text(Setting_Server, name, sizeof(name));
	Session_Boot(boot, sizeof(boot));
	GetCurrentMap(map, sizeof(map));
	JSONObject file = new JSONObject();
	file.SetInt("format", MEMORY_FORMAT);
	file.SetString("server", name);
	file.SetInt64("boot", boot);
	file.SetString("map", map);
	file.SetInt("tick", GetGameTickCount());
	file.SetFloat("at", GetEngineTime());
	file.SetInt("dropped", Ring_Dropped());
	Put(file, "rounds", Ring_Save());
	if (Record_Any())
	{
		Put(file, "running", Record_Save());
	}
	if (ends)
	{
		Put(file, "state", State());
	}
	return file;
}

static JSONObject State()
{
	JSONObject state = new JSONObject();
	state.SetInt("number", Record_Number());
	state.SetBool("waiting", Waiting_Before());
	Rounds_Save(state);
	Level_Save(state);
	Fallback_Save(state);
	Post_Save(state);
	Session_Save(state);
	Cache_Save(state);
	Put(state, "facts", Facts_Save());
	Put(state, "players", Players_Save());
	Put(state, "moves", Moves_Save());
	Put(state, "locks", Locks_Save());
	Put(state, "events", Outbox_Save());
	return state;
}

// Takes over the handle.
static void Put(JSONObject json, const char[] key, JSON value)
{
	json.Set(key, value);
	delete value;
}

// The file of this server, and what becomes it. False while nobody has named the server. Several servers may have one
// folder.
static bool Paths(char path[PLATFORM_MAX_PATH], char fresh[PLATFORM_MAX_PATH])
{
	char name[NAME_SIZE];
	Settings_Text(Setting_Server, name, sizeof(name));
	for (int i = 0; name[i] != '\0'; i++)
	{
		if (!IsCharAlpha(name[i]) && !IsCharNumeric(name[i]) && name[i] != '-')
		{
			name[i] = '_';
		}
	}
	BuildPath(Path_SM, path, sizeof(path), "data/equipoise-%s.json", name);
	FormatEx(fresh, sizeof(fresh), "%s.new", path);
	return name[0] != '\0';
}

// The cells of an array or an enum struct. The caller deletes it.
JSONArray Memory_Cells(const any[] cells, int count)
{
	JSONArray list = new JSONArray();
	for (int i = 0; i < count; i++)
	{
		list.PushInt(cells[i]);
	}
	return list;
}

void Memory_ReadCells(JSONArray list, any[] cells, int count)
{
	if (list.Length != count)
	{
		ThrowError("%d cells instead of %d.", list.Length, count);
	}
	for (int i = 0; i < count; i++)
	{
		cells[i] = list.GetInt(i);
	}
}

// The texts of a list, each shorter than `size`. The caller deletes it.
JSONArray Memory_Texts(ArrayList texts, int size)
{
	JSONArray list = new JSONArray();
	char[] text = new char[size];
	for (int i = 0; i < texts.Length; i++)
	{
		texts.GetString(i, text, size);
		list.PushString(text);
	}
	return list;
}
