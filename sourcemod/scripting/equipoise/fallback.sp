// SPDX-License-Identifier: GPL-3.0-or-later
//
// Without the daemon: decides whether a scramble is due, and carries it out from the cached splits.

// How much of the freeze time an answer may take.
#define PATIENCE_SECONDS 2.0
#define GRACE_SECONDS 0.5

static ArrayList g_DueIf;       // outcomes of the running round that make a scramble due, from the last answer
static bool g_Pending;          // the daemon said so
static JSONObject g_Reason;     // and why; null when it did not
static bool g_Due;              // found out here
static bool g_WaitingDue;       // because waiting ended: no round that is reported later says so
static int g_DueSeq;            // an answer to this batch, or a later one, knows better
static bool g_Heard;            // the daemon answered on this map
static int g_Rounds;            // that ended on this map
static float g_AnsweredAt;
static float g_StartedAt;
static bool g_Alone;            // this round's teams are our own

void Fallback_NewSession()
{
	delete g_DueIf;
	g_DueIf = new ArrayList(ByteCountToCells(8));
	g_Pending = false;
	delete g_Reason;
	NotDue();
	g_Heard = false;
	g_Rounds = 0;
	g_Alone = false;
}

void Fallback_Replied(JSONObject reply, int seq)
{
	g_Heard = true;
	g_AnsweredAt = GetEngineTime();
	g_Pending = Read_Bool(reply, "pending");
	delete g_Reason;
	g_Reason = Read_Object(reply, "reason");
	if (seq >= g_DueSeq)
	{
		NotDue();
	}
	g_DueIf.Clear();
	JSONArray outcomes = Read_Array(reply, "due_if");
	if (outcomes == null)
	{
		return;
	}
	char outcome[8];
	for (int i = 0; i < outcomes.Length; i++)
	{
		outcomes.GetString(i, outcome, sizeof(outcome));
		g_DueIf.PushString(outcome);
	}
	delete outcomes;
}

// A scramble is due, as far as is known here.
bool Fallback_Pending()
{
	return g_Pending || g_Due;
}

// The daemon did not answer when waiting ended: the next hello says so.
bool Fallback_Due()
{
	return g_WaitingDue;
}

// The teams of the round that starts were made here: whatever the daemon orders for it comes too late.
bool Fallback_Alone()
{
	return g_Alone;
}

// The end of waiting is due until the daemon says otherwise.
void Fallback_WaitingEnded()
{
	Due();
	g_WaitingDue = true;
}

void Fallback_RoundEnded(TFTeam winner, int losersCaptures)
{
	g_Rounds++;
	if (!g_Heard && Facts_Arena() && g_Rounds == 1)
	{
		Due();
	}
	if (IsDue(winner, losersCaptures))
	{
		Due();
	}
	if (Facts_Arena())
	{
		g_DueIf.Clear();  // a streak: another round's outcomes are others
	}
}

static void Due()
{
	g_Due = true;
	g_DueSeq = Post_NextSeq();
}

static void NotDue()
{
	g_Due = false;
	g_WaitingDue = false;
}

static bool IsDue(TFTeam winner, int losersCaptures)
{
	char name[8], shutout[8];
	Players_SideName(winner, name, sizeof(name));
	FormatEx(shutout, sizeof(shutout), "%s:0", name);
	return g_DueIf.FindString("any") != -1 || g_DueIf.FindString(name) != -1
		|| (losersCaptures == 0 && g_DueIf.FindString(shutout) != -1);
}

void Fallback_RoundStarted()
{
	g_Alone = false;
	g_StartedAt = GetEngineTime();
	if (!Session_Enforcing())
	{
		return;
	}
	if (Post_Silent())
	{
		Act();
	}
	else
	{
		CreateTimer(PATIENCE_SECONDS, Timer_Patience, Rounds_Serial(), TIMER_FLAG_NO_MAPCHANGE);
	}
}

static Action Timer_Patience(Handle timer, any serial)
{
	bool here = serial == Rounds_Serial() && Rounds_Phase() == Phase_Freeze && Session_Enforcing();
	if (here && g_AnsweredAt < g_StartedAt)
	{
		Act();
	}
	return Plugin_Stop;
}

// Without a split for the players here the scramble stays due.
static void Act()
{
	Plan plan;
	if (Fallback_Pending() && Cache_Fit(plan, Facts_Arena()) && Api_MayAssign(plan))
	{
		JSONArray stayed = null;
		if (Assign_Scramble(plan, stayed) > 0)
		{
			SayWhy();
		}
		delete stayed;
		g_Alone = true;
		g_Pending = false;
		NotDue();
		g_DueIf.Clear();
		Locks_Clear();
		Report(plan);
	}
	else if (Facts_Arena())
	{
		Arena_Admit();
	}
}

// Which of the daemon's reasons an outcome of `due_if` stands for is not known here.
static void SayWhy()
{
	char phrase[NAME_SIZE] = "Equipoise_ReasonLastRound", why[ARGUMENT_SIZE];
	if (g_WaitingDue)
	{
		phrase = "Equipoise_ReasonWaitingEnded";
	}
	else if (Facts_Arena() && g_Rounds == 1)
	{
		phrase = "Equipoise_ReasonRoundTwo";
	}
	for (int client = 1; client <= MaxClients; client++)
	{
		if (!IsClientInGame(client) || IsFakeClient(client))
		{
			continue;
		}
		if (g_Pending && g_Reason != null)
		{
			Chat_Text(client, g_Reason, why, sizeof(why));
		}
		else
		{
			FormatEx(why, sizeof(why), "%T", phrase, client);
		}
		Chat_Phrase(client, "Equipoise_ScrambledUnknown", why);
	}
}

static void Report(Plan plan)
{
	JSONObject event = Outbox_Event("scrambled_alone");
	AddTeam(event, "red", TFTeam_Red, plan);
	AddTeam(event, "blu", TFTeam_Blue, plan);
	AddTeam(event, "bench", TFTeam_Spectator, plan);
	Outbox_Add(event);
}

static void AddTeam(JSONObject event, const char[] key, TFTeam team, Plan plan)
{
	JSONArray ids = new JSONArray();
	for (int i = 0; i < plan.count; i++)
	{
		if (plan.teams[i] == team)
		{
			ids.PushString(g_Players[plan.clients[i]].id);
		}
	}
	event.Set(key, ids);
	delete ids;
}

// As a reply has it, and what was found out here.
void Fallback_Save(JSONObject state)
{
	JSONArray outcomes = Memory_Texts(g_DueIf, 8);
	state.Set("due_if", outcomes);
	delete outcomes;
	state.SetBool("pending", g_Pending);
	if (g_Reason != null)
	{
		state.Set("reason", g_Reason);
	}
	state.SetBool("due", g_Due);
	state.SetBool("waiting_due", g_WaitingDue);
	state.SetInt("due_seq", g_DueSeq);
	state.SetBool("heard", g_Heard);
	state.SetInt("rounds_ended", g_Rounds);
	state.SetFloat("answered_at", g_AnsweredAt);
	state.SetFloat("freeze_at", g_StartedAt);
	state.SetBool("alone", g_Alone);
}

void Fallback_Restore(JSONObject state)
{
	Fallback_Replied(state, 0);
	g_Due = state.GetBool("due");
	g_WaitingDue = state.GetBool("waiting_due");
	g_DueSeq = state.GetInt("due_seq");
	g_Heard = state.GetBool("heard");
	g_Rounds = state.GetInt("rounds_ended");
	g_AnsweredAt = state.GetFloat("answered_at");
	g_StartedAt = state.GetFloat("freeze_at");
	g_Alone = state.GetBool("alone");
	Fallback_Resume();
}

// The timer was lost. Its time may be over, but an answer is perhaps on its way.
void Fallback_Resume()
{
	float patience = g_StartedAt + PATIENCE_SECONDS - GetEngineTime();
	CreateTimer(patience < GRACE_SECONDS ? GRACE_SECONDS : patience, Timer_Patience, Rounds_Serial(), TIMER_FLAG_NO_MAPCHANGE);
}
