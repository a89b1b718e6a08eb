// SPDX-License-Identifier: GPL-3.0-or-later
//
// One batch at a time to the daemon. A batch without an answer is sent once more as it was, so that the daemon can
// tell a repetition; after that it is given up for a newer one. The number of a batch is its identity: an answer to
// any other is late.

#define TIMEOUT_SECONDS 3
#define RETRY_SECONDS 1.0
#define POLL_SECONDS 5.0
// Refused for what only an operator can change, or answered by something that is no daemon.
#define PAUSE_SECONDS 30.0
// The extension owes an answer for longer than any timeout allows.
#define OVERDUE_SECONDS 10.0
// So many failures in a row, and the daemon is lost: a batch is not sent a third time.
#define LOST 2

static int g_Seq;
static JSONObject g_Batch;
static bool g_InFlight;
static bool g_Soon;
static bool g_Nudged;          // while a batch was in flight: its answer may not know why
static int g_Failures;
static bool g_Answered;        // a batch of this map
static float g_DueAt;
static float g_SentAt;
static char g_Complaint[320];

// Whatever is new goes out in the next frame, together.
void Post_Soon()
{
	if (!g_Soon)
	{
		g_Soon = true;
		RequestFrame(Frame_Post);
	}
}

static void Frame_Post()
{
	g_Soon = false;
	// Without an answer the next attempt is made when it is due. New events during a post follow its answer.
	if (g_Failures == 0 && !Outbox_Empty())
	{
		Send();
	}
}

void Post_Tick()
{
	if (g_InFlight && GetEngineTime() > g_SentAt + OVERDUE_SECONDS)
	{
		g_InFlight = false;
		Failed("no answer within ten seconds");
	}
	if (GetEngineTime() >= g_DueAt)
	{
		Send();
	}
}

// Asked for from outside: now, whatever was agreed.
void Post_Now()
{
	g_Nudged = g_InFlight;
	Send();
}

// A frame that was asked for may have been lost, and the answer to the batch that was in flight: it is sent again, as it was.
void Post_Resume()
{
	g_Soon = false;
	g_InFlight = false;
	Post_Now();
	Post_Soon();
}

// No answer on this map yet.
void Post_NewSession()
{
	g_Answered = false;
}

// The last post was not answered, or none ever was on this map.
bool Post_Silent()
{
	return g_Failures > 0 || !g_Answered;
}

// The last post was not answered.
bool Post_Failing()
{
	return g_Failures > 0;
}

// Repetition did not help either.
bool Post_Lost()
{
	return g_Failures >= LOST;
}

// The number of the next batch: what happens from now on will be in it, or later.
int Post_NextSeq()
{
	return g_Seq + 1;
}

static void Send()
{
	if (g_InFlight || !Session_Ready() || !Settings_Enabled() || !Configured())
	{
		return;
	}
	if (g_Batch != null && Post_Lost())
	{
		delete g_Batch;
		Outbox_GiveUp();
	}
	if (g_Batch == null)
	{
		g_Batch = Outbox_Batch(++g_Seq);
	}
	Memory_Write();
	HTTPRequest request = Request();
	request.Post(g_Batch, OnAnswer, g_Seq);
	Recorder_Note("batch %d goes out", g_Seq);
	g_InFlight = true;
	g_SentAt = GetEngineTime();
	g_DueAt = g_SentAt + POLL_SECONDS;
}

static bool Configured()
{
	char server[NAME_SIZE], secret[128];
	Settings_Text(Setting_Server, server, sizeof(server));
	Settings_Text(Setting_Secret, secret, sizeof(secret));
	if (server[0] == '\0' || secret[0] == '\0')
	{
		Complain("Set equipoise_server and equipoise_secret in cfg/sourcemod/equipoise.cfg: until then nothing is told.");
		return false;
	}
	return true;
}

static HTTPRequest Request()
{
	char url[256], secret[128];
	Settings_Text(Setting_Url, url, sizeof(url));
	Settings_Text(Setting_Secret, secret, sizeof(secret));
	StrCat(url, sizeof(url), "/v1/events");
	HTTPRequest request = new HTTPRequest(url);
	request.SetHeader("Authorization", "Bearer %s", secret);
	request.MaxRedirects = 0;  // the secret would follow
	request.ConnectTimeout = 1;
	request.Timeout = TIMEOUT_SECONDS;
	return request;
}

static void OnAnswer(HTTPResponse response, any seq, const char[] error)
{
	if (!g_InFlight || seq != g_Seq)
	{
		return;
	}
	g_InFlight = false;
	Recorder_Note("batch %d is answered: status %d", g_Seq, response.Status);
	// A transport that fails in the middle of a body has a status all the same.
	if (error[0] != '\0' || response.Status == HTTPStatus_Invalid)
	{
		Failed(error);
		return;
	}
	// Reading a body that is no JSON ends this function: until it is read it counts as one.
	int failures = g_Failures++;
	g_DueAt = GetEngineTime() + PAUSE_SECONDS;
	JSONObject reply = view_as<JSONObject>(response.Data);
	g_Failures = failures;
	if (Read_Bool(reply, "ok"))
	{
		Accepted(reply);
	}
	else
	{
		Refused(response.Status, reply);
	}
}

static void Accepted(JSONObject reply)
{
	int seq = g_Seq;
	bool outdated = Outbox_Outdated();
	Settle();
	Outbox_Answered();
	float wait = Read_Float(reply, "next", POLL_SECONDS);
	g_DueAt = GetEngineTime() + (wait < RETRY_SECONDS ? RETRY_SECONDS : wait);
	if (g_Complaint[0] != '\0')
	{
		LogMessage("The daemon answers again.");
		g_Complaint[0] = '\0';
	}
	if (outdated)
	{
		Reply_Rounds(reply);  // all else is about another map
	}
	else
	{
		Reply_Obey(reply, seq);
	}
	if (g_Nudged)
	{
		Post_Now();
	}
	Post_Soon();
}

// The batch is over, and the daemon answers.
static void Settle()
{
	delete g_Batch;
	g_Failures = 0;
	g_Answered = !Outbox_Outdated();
}

static void Refused(HTTPStatus status, JSONObject reply)
{
	char code[32], message[96], path[64];
	JSONObject error = Read_Object(reply, "error");
	if (error != null)
	{
		Read_Text(error, "code", code, sizeof(code));
		Read_Text(error, "message", message, sizeof(message));
		Read_Text(error, "path", path, sizeof(path));
		delete error;
	}
	if (StrEqual(code, "stale"))
	{
		Complain("The daemon serves another start of this server (stale): is equipoise_server used on two servers?");
		Reply_Rounds(reply);
		Settle();
		Outbox_Answered();
		Outbox_WantAll();
		g_DueAt = GetEngineTime() + PAUSE_SECONDS;
		g_Failures = 1;
	}
	else if (status > HTTPStatus_InternalServerError || StrEqual(code, "busy"))
	{
		Failed(message);
	}
	else if (OperatorsFault(status))
	{
		Unwelcome(status, message);
	}
	else
	{
		Drop(path, message);
	}
}

static bool OperatorsFault(HTTPStatus status)
{
	return status == HTTPStatus_Unauthorized || status == HTTPStatus_Forbidden || status == HTTPStatus_NotFound
		|| status == HTTPStatus_MisdirectedRequest || status == HTTPStatus_TooManyRequests
		|| status < HTTPStatus_BadRequest;
}

// Nothing is wrong with what was sent: it waits until an operator has changed something.
static void Unwelcome(HTTPStatus status, const char[] message)
{
	Complain("The daemon refuses this server (%d): compare equipoise_server, equipoise_secret and equipoise_url in "
		... "cfg/sourcemod/equipoise.cfg with the daemon's configuration. It says: %s", status, message);
	g_Failures = LOST;
	g_DueAt = GetEngineTime() + PAUSE_SECONDS;
}

// Something in the batch is not understood, and would not be the next time either.
static void Drop(const char[] path, const char[] message)
{
	LogError("The daemon refuses %s: %s", path[0] == '\0' ? "a batch" : path, message);
	Settle();
	if (StrContains(path, "$.events[") == 0)
	{
		Outbox_Refused(StringToInt(path[9]));
		Post_Soon();
	}
	else
	{
		Outbox_RefusedAll();
	}
}

static void Failed(const char[] error)
{
	g_Failures++;
	g_DueAt = GetEngineTime() + (Post_Lost() ? POLL_SECONDS : RETRY_SECONDS);
	if (Post_Lost())
	{
		Complain("The daemon does not answer (%s): the game goes on with the splits it gave last.", error);
	}
}

// Says a thing once, until something else is wrong or all is well.
static void Complain(const char[] format, any ...)
{
	char complaint[sizeof(g_Complaint)];
	VFormat(complaint, sizeof(complaint), format, 2);
	if (!StrEqual(complaint, g_Complaint))
	{
		strcopy(g_Complaint, sizeof(g_Complaint), complaint);
		LogError("%s", complaint);
	}
}

void Post_Save(JSONObject state)
{
	state.SetInt("seq", g_Seq);
	state.SetBool("answered", g_Answered);
	state.SetInt("failures", g_Failures);
	state.SetBool("hello", Outbox_Hello());
	if (g_Batch != null)
	{
		state.Set("batch", g_Batch);
	}
}

// What is due is due at once: an operator may have mended what was refused.
void Post_Restore(JSONObject state)
{
	g_Seq = state.GetInt("seq");
	g_Answered = state.GetBool("answered");
	g_Failures = state.GetInt("failures");
	if (state.GetBool("hello"))
	{
		Outbox_WantHello();
	}
	JSONObject batch = Read_Object(state, "batch");
	JSONArray events = view_as<JSONArray>(state.Get("events"));
	Outbox_Restore(events, batch);
	delete events;
	g_Batch = batch;
}
