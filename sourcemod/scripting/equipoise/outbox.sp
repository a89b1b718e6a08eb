// SPDX-License-Identifier: GPL-3.0-or-later
//
// Events that wait for the next batch, and the batch that is under way. Finished rounds wait in the ring; of everything
// else only the newest state is worth sending: without an answer it gives way to a fresh hello and roster.

// A batch takes 256. It also holds the ring's rounds, a hello, a roster, and a change for every player.
#define MAX_EVENTS 128

// An event in the batch on its way. A round is the ring's, which may have let go of it meanwhile.
enum struct Sent
{
	JSONObject event;
	bool round;
}

static ArrayList g_Events;      // JSONObject: not sent yet
static ArrayList g_Sent;
static bool g_Hello;
static bool g_Roster;
static bool g_Outdated;
static int g_SentDropped;

void Outbox_Create()
{
	g_Events = new ArrayList();
	g_Sent = new ArrayList(sizeof(Sent));
}

// A new event. The caller hands it on to Outbox_Add.
JSONObject Outbox_Event(const char[] kind)
{
	JSONObject event = new JSONObject();
	event.SetString("kind", kind);
	event.SetFloat("at", GetEngineTime());
	return event;
}

// Takes over the handle.
void Outbox_Add(JSONObject event)
{
	if (!Settings_Enabled() || !Wanted(event) || (Post_Lost() && !Durable(event)))
	{
		delete event;
		return;
	}
	g_Events.Push(event);
	if (g_Events.Length > MAX_EVENTS)
	{
		Shrink(g_Events);
		Outbox_WantAll();
	}
	Post_Soon();
}

// Of a map that is left alone the daemon hears nothing but commands and what became of its orders.
static bool Wanted(JSONObject event)
{
	return !Session_Aside() || Is(event, "command") || Is(event, "order_done") || Is(event, "order_failed");
}

void Outbox_WantHello()
{
	g_Hello = true;
	Post_Soon();
}

void Outbox_WantRoster()
{
	g_Roster = !Session_Aside();
	Post_Soon();
}

// With the next batch, whenever that is sent.
void Outbox_TakeRosterAlong()
{
	g_Roster = !Session_Aside();
}

void Outbox_WantAll()
{
	Outbox_WantHello();
	Outbox_WantRoster();
}

// Events of this kind that were not sent yet are out of date. What their rosters told, a new one has to tell.
void Outbox_Forget(const char[] kind)
{
	for (int i = g_Events.Length - 1; i >= 0; i--)
	{
		JSONObject event = g_Events.Get(i);
		if (Is(event, kind))
		{
			g_Events.Erase(i);
			delete event;
			Outbox_WantRoster();
		}
	}
}

// The map is over, and with it everything but its rounds.
void Outbox_Clear()
{
	g_Outdated = true;
	while (g_Events.Length > 0)
	{
		JSONObject event = g_Events.Get(0);
		g_Events.Erase(0);
		delete event;
	}
}

bool Outbox_Empty()
{
	return !g_Hello && !g_Roster && g_Events.Length == 0 && !Ring_Due() && (Session_Aside() || !Players_AnyChange());
}

// The batch on its way is of a map that is over.
bool Outbox_Outdated()
{
	return g_Outdated;
}

// Everything there is to say, as a batch. The caller deletes it when it was answered or given up.
JSONObject Outbox_Batch(int seq)
{
	Collect();
	JSONArray events = new JSONArray();
	for (int i = 0; i < g_Sent.Length; i++)
	{
		events.Push(g_Sent.Get(i, Sent::event));
	}
	char server[NAME_SIZE], boot[24];
	Settings_Text(Setting_Server, server, sizeof(server));
	Session_Boot(boot, sizeof(boot));
	g_SentDropped = Ring_Dropped();

	JSONObject batch = new JSONObject();
	batch.SetInt("v", 1);
	batch.SetString("server", server);
	batch.SetInt64("boot", boot);
	batch.SetInt("seq", seq);
	batch.SetFloat("at", GetEngineTime());
	batch.SetInt("dropped", g_SentDropped);
	batch.Set("events", events);
	delete events;
	return batch;
}

// Who we are comes first, then rounds that ended and events, as they happened; the roster, last, is the truth after
// everything before it. Each part is made before its mark is cleared, and what a native error leaves in g_Sent goes with
// the next batch.
static void Collect()
{
	g_Outdated = false;
	if (g_Hello)
	{
		Take(Session_Hello());
		g_Hello = false;
	}
	ArrayList rounds = Ring_Take();
	for (int i = 0; i < rounds.Length; i++)
	{
		JSONObject round = rounds.Get(i);
		while (g_Events.Length > 0 && CameBefore(g_Events.Get(0), round))
		{
			TakeEvent();
		}
		Take(round, true);
	}
	delete rounds;
	if (Ring_Due())
	{
		return;  // the rest came after a round that goes with the next batch
	}

	int told = g_Events.Length;
	if (!g_Roster && !Session_Aside())
	{
		Players_PushChanges(g_Events);
	}
	bool moved = g_Events.Length > told;
	while (g_Events.Length > 0)
	{
		moved = moved || Is(g_Events.Get(0), "player_left");
		TakeEvent();
	}
	if (g_Roster || (moved && UnevenRound()))
	{
		Take(Roster());
		g_Roster = false;
	}
}

// Two times can be compared where one clock gave both. Rounds of another process were over before this one began.
static bool CameBefore(JSONObject event, JSONObject round)
{
	char name[NAME_SIZE];
	return Record_Name(round, name, sizeof(name)) && Session_Named(name) && event.GetFloat("at") < round.GetFloat("at");
}

// The oldest.
static void TakeEvent()
{
	JSONObject event = g_Events.Get(0);
	g_Events.Erase(0);
	Take(event);
}

static void Take(JSONObject event, bool round = false)
{
	Sent sent;
	sent.event = event;
	sent.round = round;
	g_Sent.PushArray(sent);
}

// A player may have to be moved: the daemon must know now who is dead, builds or carries the objective.
static bool UnevenRound()
{
	int lead = Players_Lead();
	return Rounds_Phase() == Phase_Running && !Facts_Arena() && (lead >= 2 || lead <= -2);
}

static JSONObject Roster()
{
	JSONObject event = Outbox_Event("roster");
	JSONArray players = Roster_Players();
	event.Set("players", players);
	delete players;
	Timers_Tell(event);
	return event;
}

// The batch was taken.
void Outbox_Answered()
{
	Ring_Told(g_SentDropped);
	while (g_Sent.Length > 0)
	{
		Drop(0);
	}
}

// No answer: events that are still worth sending wait for the next attempt.
void Outbox_GiveUp()
{
	Restore();
	Shrink(g_Events);
	Ring_Retry();
	Outbox_WantAll();
	if (Rounds_Phase() == Phase_Freeze)
	{
		g_Events.Push(Rounds_Started());  // there is still time to answer
	}
}

// The daemon refuses one event of the batch: the others are sent again.
void Outbox_Refused(int index)
{
	if (index >= 0 && index < g_Sent.Length)
	{
		Refuse(index);
	}
	Restore();
	Ring_Retry();
}

// The daemon refuses the whole batch, for a reason that another attempt would not change.
void Outbox_RefusedAll()
{
	while (g_Sent.Length > 0)
	{
		Refuse(0);
	}
}

static void Refuse(int index)
{
	JSONObject event = g_Sent.Get(index, Sent::event);
	bool round = g_Sent.Get(index, Sent::round);
	Drop(index);
	if (round)
	{
		Ring_Refused(event);
	}
}

// What was sent is not sent yet. Rounds are still in the ring.
static void Restore()
{
	for (int i = g_Sent.Length - 1; i >= 0; i--)
	{
		if (g_Outdated || g_Sent.Get(i, Sent::round))
		{
			Drop(i);
		}
		else
		{
			PutFirst(g_Sent.Get(i, Sent::event));
		}
	}
	g_Sent.Clear();
}

static void PutFirst(JSONObject event)
{
	if (g_Events.Length == 0)
	{
		g_Events.Push(event);
		return;
	}
	g_Events.ShiftUp(0);
	g_Events.Set(0, event);
}

// Only what a later hello and roster do not say.
static void Shrink(ArrayList events)
{
	for (int i = events.Length - 1; i >= 0; i--)
	{
		JSONObject event = events.Get(i);
		if (!Durable(event))
		{
			events.Erase(i);
			delete event;
		}
	}
}

static bool Durable(JSONObject event)
{
	return Is(event, "sides_switched") || Is(event, "scrambled_alone")
		|| Is(event, "order_done") || Is(event, "order_failed") || Is(event, "vote_ended");
}

static void Drop(int index)
{
	JSONObject event = g_Sent.Get(index, Sent::event);
	bool round = g_Sent.Get(index, Sent::round);
	g_Sent.Erase(index);
	if (!round)
	{
		delete event;
	}
}

static bool Is(JSONObject event, const char[] kind)
{
	char text[24];
	event.GetString("kind", text, sizeof(text));
	return StrEqual(text, kind);
}

// A hello is due.
bool Outbox_Hello()
{
	return g_Hello;
}

// What was not sent yet. The caller deletes it.
JSONArray Outbox_Save()
{
	JSONArray events = new JSONArray();
	for (int i = 0; i < g_Events.Length; i++)
	{
		events.Push(g_Events.Get(i));
	}
	return events;
}

// `batch`, which may be null, is under way, or to be sent once more. What has happened since comes behind `events`.
void Outbox_Restore(JSONArray events, JSONObject batch)
{
	char round[NAME_SIZE];
	for (int i = events.Length - 1; i >= 0; i--)
	{
		PutFirst(view_as<JSONObject>(events.Get(i)));
	}
	if (batch == null)
	{
		return;
	}
	g_SentDropped = batch.GetInt("dropped");
	JSONArray sent = view_as<JSONArray>(batch.Get("events"));
	for (int i = 0; i < sent.Length; i++)
	{
		JSONObject event = view_as<JSONObject>(sent.Get(i));
		JSONObject ours = Record_Name(event, round, sizeof(round)) ? Ring_Find(round) : null;
		if (ours != null)
		{
			delete event;
		}
		Take(ours != null ? ours : event, ours != null);
	}
	delete sent;
}
