// SPDX-License-Identifier: GPL-3.0-or-later
//
// A vote on new teams: the daemon decides that there is one and what came of it. Here it is the game's own panel where the
// server has NativeVotes, else a menu of SourceMod.

#define VOTE_SECONDS 20.0
#define VOTE_FRACTION 0.6
// The first keys of the menu do nothing: they change weapons, and are often pressed as it opens.
#define IDLE_KEYS 2
#define VOTE_ISSUE "ScrambleTeams"  // of the game's command `callvote`: CScrambleTeams, tf_voteissues.cpp

static char g_Order[NAME_SIZE];  // of the vote that runs; empty: none of ours
static JSONObject g_Question;    // null: the daemon's version gives none
static float g_Fraction;         // of the votes cast with which it passes
static bool g_InHud;

void Vote_Listen()
{
	AddCommandListener(Command_CallVote, "callvote");
}

// The game's vote for a scramble, in its menu of votes or typed: it would scramble without looking at ratings, and counts as
// the word in chat.
static Action Command_CallVote(int client, const char[] command, int argc)
{
	char issue[32];
	GetCmdArg(1, issue, sizeof(issue));
	if (client == 0 || !StrEqual(issue, VOTE_ISSUE, false) || !Session_Enforcing())
	{
		return Plugin_Continue;
	}
	ReplySource before = SetCmdReplySource(SM_REPLY_TO_CHAT);
	Words_Send(client, "vote", "");
	SetCmdReplySource(before);
	return Plugin_Handled;
}

// False where votes have to be some time apart (`sm_vote_delay`); the player has read how long. What basevotes does.
bool Vote_MayAsk(int client)
{
	int seconds = CheckVoteDelay();
	int other = Hud_Delay();
	seconds = other > seconds ? other : seconds;
	if (g_Order[0] != '\0' || seconds == 0 || CheckCommandAccess(client, "sm_vote_delay_bypass", ADMFLAG_CONVARS, true))
	{
		return true;
	}
	if (seconds > 60)
	{
		ReplyToCommand(client, "[SM] %t", "Vote Delay Minutes", seconds / 60);
	}
	else
	{
		ReplyToCommand(client, "[SM] %t", "Vote Delay Seconds", seconds);
	}
	return false;
}

void Vote_Obey(JSONObject order)
{
	char id[NAME_SIZE], why[16];
	Read_Text(order, "order", id, sizeof(id));
	int voters[MAX_PLAYERS];
	int count = Voters(voters);
	if (!Session_Enforcing())
	{
		why = "off";
	}
	else if (count == 0)
	{
		why = "no_voters";
	}
	else if (g_Order[0] != '\0' || IsVoteInProgress() || Hud_Taken())
	{
		why = "vote_running";
	}
	else
	{
		strcopy(g_Order, sizeof(g_Order), id);
		g_Question = Read_Object(order, "text");
		g_Fraction = Read_Float(order, "fraction", VOTE_FRACTION);
		int seconds = RoundToCeil(Read_Float(order, "seconds", VOTE_SECONDS));
		Open(voters, count, seconds < 1 ? 1 : seconds);  // 0 seconds have no end
		return;
	}
	Orders_Answer(id, why);
}

// Humans on a side, or waiting for one.
static int Voters(int voters[MAX_PLAYERS])
{
	int count = 0;
	for (int client = 1; client <= MaxClients; client++)
	{
		if (Players_Human(client) && (Players_Side(client) != TFTeam_Unassigned || g_Players[client].waiting))
		{
			voters[count++] = client;
		}
	}
	return count;
}

static void Open(int[] voters, int count, int seconds)
{
	g_InHud = true;
	if (Hud_Open(voters, count, seconds))
	{
		return;
	}
	g_InHud = false;
	Menu menu = new Menu(Handle_Vote, MENU_ACTIONS_DEFAULT | MenuAction_Display | MenuAction_DisplayItem);
	for (int key = 1; key <= IDLE_KEYS; key++)
	{
		menu.AddItem("", "", ITEMDRAW_DISABLED | ITEMDRAW_SPACER);
	}
	menu.AddItem("yes", "Yes");
	menu.AddItem("no", "No");
	menu.ExitButton = false;
	if (!menu.DisplayVote(voters, count, seconds))
	{
		delete menu;
		Fail("vote_running");
	}
}

// The question in the language of a player.
void Vote_Title(int client, char[] title, int size)
{
	if (g_Question == null)
	{
		FormatEx(title, size, "%T", "Equipoise_VoteQuestion", client);
	}
	else
	{
		Chat_Text(client, g_Question, title, size);
	}
}

static int Handle_Vote(Menu menu, MenuAction action, int param1, int param2)
{
	char text[LINE_SIZE];
	switch (action)
	{
		case MenuAction_Display:
		{
			Vote_Title(param1, text, sizeof(text));
			view_as<Panel>(param2).SetTitle(text);
		}
		case MenuAction_DisplayItem:
		{
			if (param2 >= IDLE_KEYS)
			{
				FormatEx(text, sizeof(text), "%T", param2 == IDLE_KEYS ? "Yes" : "No", param1);
				return RedrawMenuItem(text);
			}
		}
		case MenuAction_VoteEnd:
		{
			int most, total;
			GetMenuVoteInfo(param2, most, total);
			Vote_Counted(param1 == IDLE_KEYS ? most : total - most, total);
		}
		case MenuAction_VoteCancel:
		{
			Vote_Stopped(param1);
		}
		case MenuAction_End:
		{
			delete menu;
		}
	}
	return 0;
}

// What the daemon will say of the result: the game's panel shows it before.
bool Vote_Passes(int yes, int total)
{
	return yes > 0 && yes >= g_Fraction * total - 0.0001;
}

void Vote_Counted(int yes, int total)
{
	if (g_Order[0] == '\0')
	{
		return;
	}
	JSONObject event = Outbox_Event("vote_ended");
	event.SetString("order", g_Order);
	event.SetInt("yes", yes);
	event.SetInt("no", total - yes);
	Outbox_Add(event);
	Forget();
}

// No vote was cast, or `sm_cancelvote` of SourceMod ended it; the cancel of the daemon needs no answer.
void Vote_Stopped(int reason)
{
	if (reason == VoteCancel_NoVotes)
	{
		Vote_Counted(0, 0);
	}
	else if (g_Order[0] != '\0')
	{
		Fail("cancelled");
	}
}

static void Fail(const char[] why)
{
	Orders_Answer(g_Order, why);
	Forget();
}

static void Forget()
{
	g_Order[0] = '\0';
	delete g_Question;
}

// The daemon withdraws an order: it may be the vote.
void Vote_Cancel(JSONObject order)
{
	char id[NAME_SIZE];
	Read_Text(order, "order", id, sizeof(id));
	if (g_Order[0] != '\0' && StrEqual(id, g_Order))
	{
		Forget();
		Withdraw();
	}
}

static void Withdraw()
{
	if (g_InHud)
	{
		NativeVotes_Cancel();
	}
	else
	{
		CancelVote();
	}
}

// NativeVotes ends or is paused, while its natives can still be called: the panel goes with it.
void Vote_HudLeaves()
{
	if (g_Order[0] != '\0' && g_InHud)
	{
		Withdraw();
	}
}

// The plugin ends or is paused, and its vote with it.
void Vote_End()
{
	if (g_Order[0] != '\0')
	{
		Fail("cancelled");
		Withdraw();
	}
}
