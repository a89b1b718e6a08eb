// SPDX-License-Identifier: GPL-3.0-or-later
//
// Who was placed on a side, and has to stay there: by id, so that reconnecting does not help.

enum struct Lock
{
	TFTeam side;
	// On the engine's clock; 0: until the next scramble.
	float until;
}

static StringMap g_Locks;

void Locks_Create()
{
	g_Locks = new StringMap();
}

void Locks_Clear()
{
	g_Locks.Clear();
}

void Locks_Obey(JSONObject order)
{
	char id[ID_SIZE];
	Read_Text(order, "id", id, sizeof(id));
	Lock lock;
	lock.side = Read_Side(order, "side");
	float seconds = Read_Float(order, "seconds");
	lock.until = seconds > 0.0 ? GetEngineTime() + seconds : 0.0;
	int client = Players_Find(id);
	if (lock.side != TFTeam_Unassigned && (client == 0 || Api_MayLock(client, lock.side, seconds)))
	{
		g_Locks.SetArray(id, lock, sizeof(lock));
	}
}

void Locks_Unlock(JSONObject order)
{
	JSONArray ids = Read_Array(order, "ids");
	if (ids == null)
	{
		return;
	}
	char id[ID_SIZE];
	for (int i = 0; i < ids.Length; i++)
	{
		ids.GetString(i, id, sizeof(id));
		g_Locks.Remove(id);
	}
	delete ids;
}

// The game swapped the sides: locks follow the group, not the colour.
void Locks_Swap()
{
	StringMapSnapshot everybody = g_Locks.Snapshot();
	char id[ID_SIZE];
	Lock lock;
	for (int i = 0; i < everybody.Length; i++)
	{
		everybody.GetKey(i, id, sizeof(id));
		g_Locks.GetArray(id, lock, sizeof(lock));
		lock.side = Players_Other(lock.side);
		g_Locks.SetArray(id, lock, sizeof(lock));
	}
	delete everybody;
}

// The side the player has to stay on; TFTeam_Unassigned: no lock.
TFTeam Locks_Side(int client)
{
	Lock lock;
	return Find(client, lock) ? lock.side : TFTeam_Unassigned;
}

static bool Find(int client, Lock lock)
{
	if (!g_Locks.GetArray(g_Players[client].id, lock, sizeof(lock)))
	{
		return false;
	}
	if (lock.until > 0.0 && lock.until <= GetEngineTime())
	{
		g_Locks.Remove(g_Players[client].id);
		return false;
	}
	return true;
}

// A player on a side asks for the other. True when a lock keeps them, and they are told why. From a side that is
// larger by two every player may leave.
bool Locks_Hold(int client)
{
	Lock lock;
	TFTeam side = Players_Side(client);
	if (!Find(client, lock) || lock.side != side)
	{
		return false;
	}
	int lead = side == TFTeam_Red ? Players_Lead() : -Players_Lead();
	if (lead >= 2)
	{
		return false;
	}
	if (lock.until > 0.0)
	{
		char seconds[16];
		IntToString(RoundToCeil(lock.until - GetEngineTime()), seconds, sizeof(seconds));
		Chat_Phrase(client, "Equipoise_RefusedLocked", seconds);
	}
	else
	{
		Chat_Phrase(client, "Equipoise_RefusedLockedScramble");
	}
	return true;
}

// The caller deletes it.
JSONObject Locks_Save()
{
	JSONObject locks = new JSONObject();
	StringMapSnapshot everybody = g_Locks.Snapshot();
	char id[ID_SIZE];
	Lock lock;
	for (int i = 0; i < everybody.Length; i++)
	{
		everybody.GetKey(i, id, sizeof(id));
		g_Locks.GetArray(id, lock, sizeof(lock));
		JSONArray cells = Memory_Cells(lock, sizeof(lock));
		locks.Set(id, cells);
		delete cells;
	}
	delete everybody;
	return locks;
}

void Locks_Restore(JSONObject locks)
{
	JSONObjectKeys everybody = locks.Keys();
	char id[ID_SIZE];
	Lock lock;
	while (everybody.ReadKey(id, sizeof(id)))
	{
		JSONArray cells = view_as<JSONArray>(locks.Get(id));
		Memory_ReadCells(cells, lock, sizeof(lock));
		delete cells;
		g_Locks.SetArray(id, lock, sizeof(lock));
	}
	delete everybody;
}
