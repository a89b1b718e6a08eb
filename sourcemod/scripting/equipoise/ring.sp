// SPDX-License-Identifier: GPL-3.0-or-later
//
// The last finished rounds that the daemon has not stored yet, oldest first. They survive map changes.

#define RING_SLOTS 8
// Rounds that go with one batch: of 100 players who all tried every class, these and the rest are below the 256 KiB
// that the daemon takes.
#define ROUNDS_AT_ONCE 4

enum struct Slot
{
	char round[NAME_SIZE];
	JSONObject event;
	// Goes with the next batch. A round that the daemon only kept is asked about again after the next round.
	bool due;
}

static ArrayList g_Slots;
static int g_Dropped;

void Ring_Create()
{
	g_Slots = new ArrayList(sizeof(Slot));
}

// Takes over the handle.
void Ring_Add(const char[] round, JSONObject event)
{
	if (g_Slots.Length == RING_SLOTS)
	{
		Erase(0);
		g_Dropped++;
		LogMessage("The daemon took no round for a long time: the oldest of %d was given up.", RING_SLOTS);
	}
	Slot slot;
	strcopy(slot.round, sizeof(slot.round), round);
	slot.event = event;
	g_Slots.PushArray(slot);
	Ring_Retry();
	// Unsent events of this round's beginning are older than its end.
	Outbox_Forget("round_started");
	Outbox_Forget("round_live");
	Post_Soon();
}

// Every round goes with the next batch.
void Ring_Retry()
{
	for (int i = 0; i < g_Slots.Length; i++)
	{
		g_Slots.Set(i, true, Slot::due);
	}
}

bool Ring_Due()
{
	return g_Slots.Length > 0 && g_Slots.FindValue(true, Slot::due) != -1;
}

// The oldest rounds that are due, oldest first; the events stay the ring's, further ones stay due. The caller deletes
// the list.
ArrayList Ring_Take()
{
	ArrayList events = new ArrayList();
	Slot slot;
	for (int i = 0; i < g_Slots.Length && events.Length < ROUNDS_AT_ONCE; i++)
	{
		g_Slots.GetArray(i, slot);
		if (slot.due)
		{
			events.Push(slot.event);
			g_Slots.Set(i, false, Slot::due);
		}
	}
	return events;
}

// Only "stored" frees a slot.
void Ring_Answered(JSONObject rounds)
{
	Slot slot;
	char fate[16];
	for (int i = g_Slots.Length - 1; i >= 0; i--)
	{
		g_Slots.GetArray(i, slot);
		Read_Text(rounds, slot.round, fate, sizeof(fate));
		if (StrEqual(fate, "stored"))
		{
			Erase(i);
		}
	}
}

// The daemon will never take this round.
void Ring_Refused(JSONObject event)
{
	int i = g_Slots.FindValue(event, Slot::event);
	if (i != -1)
	{
		Erase(i);
	}
}

int Ring_Dropped()
{
	return g_Dropped;
}

// So many dropped rounds were reported to the daemon.
void Ring_Told(int dropped)
{
	g_Dropped -= dropped;
}

static void Erase(int i)
{
	JSONObject event = g_Slots.Get(i, Slot::event);
	g_Slots.Erase(i);
	delete event;
}

bool Ring_Empty()
{
	return g_Slots.Length == 0;
}

// Every round, due or not. The caller deletes the list.
JSONArray Ring_Save()
{
	JSONArray rounds = new JSONArray();
	for (int i = 0; i < g_Slots.Length; i++)
	{
		rounds.Push(g_Slots.Get(i, Slot::event));
	}
	return rounds;
}

// A native error for what is no round; those before it are kept.
void Ring_Restore(JSONArray rounds, int dropped)
{
	g_Dropped += dropped;
	char round[NAME_SIZE];
	for (int i = 0; i < rounds.Length; i++)
	{
		JSONObject event = view_as<JSONObject>(rounds.Get(i));
		if (!Record_Name(event, round, sizeof(round)))
		{
			ThrowError("round %d of %d is none", i + 1, rounds.Length);
		}
		Ring_Add(round, event);
	}
}

// The event of this round, which stays the ring's; null when it is not here.
JSONObject Ring_Find(const char[] round)
{
	int i = g_Slots.FindString(round);
	if (i == -1)
	{
		return null;
	}
	return g_Slots.Get(i, Slot::event);
}
