// SPDX-License-Identifier: GPL-3.0-or-later
//
// A vote on new teams: the daemon decides that there is one and what came of it, here it is a menu.

#define VOTE_SECONDS 20.0

static char g_Order[NAME_SIZE];  // of the vote that runs; empty: none of ours

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
	else if (IsVoteInProgress() || !Open(id, voters, count, RoundToCeil(Read_Float(order, "seconds", VOTE_SECONDS))))
	{
		why = "vote_running";
	}
	if (why[0] != '\0')
	{
		Orders_Answer(id, why);
	}
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

static bool Open(const char[] id, int[] voters, int count, int seconds)
{
	strcopy(g_Order, sizeof(g_Order), id);
	Menu menu = new Menu(Handle_Vote, MENU_ACTIONS_ALL);
	menu.AddItem("yes", "Yes");  // the first item: MenuAction_VoteEnd names it 0
	menu.AddItem("no", "No");
	menu.ExitButton = false;
	if (menu.DisplayVote(voters, count, seconds < 1 ? 1 : seconds))  // 0 seconds have no end
	{
		return true;
	}
	g_Order[0] = '\0';
	delete menu;
	return false;
}

static int Handle_Vote(Menu menu, MenuAction action, int param1, int param2)
{
	char text[LINE_SIZE];
	switch (action)
	{
		case MenuAction_Display:
		{
			FormatEx(text, sizeof(text), "%T", "Equipoise_VoteQuestion", param1);
			view_as<Panel>(param2).SetTitle(text);
		}
		case MenuAction_DisplayItem:
		{
			FormatEx(text, sizeof(text), "%T", param2 == 0 ? "Yes" : "No", param1);
			return RedrawMenuItem(text);
		}
		case MenuAction_VoteEnd:
		{
			int most, total;
			GetMenuVoteInfo(param2, most, total);
			Ended(param1 == 0 ? most : total - most, total);
		}
		case MenuAction_VoteCancel:
		{
			Cancelled(param1);
		}
		case MenuAction_End:
		{
			delete menu;
		}
	}
	return 0;
}

static void Ended(int yes, int total)
{
	JSONObject event = Outbox_Event("vote_ended");
	event.SetString("order", g_Order);
	event.SetInt("yes", yes);
	event.SetInt("no", total - yes);
	Outbox_Add(event);
	g_Order[0] = '\0';
}

// No vote was cast, or `sm_cancelvote` of SourceMod ended it; the cancel of the daemon needs no answer.
static void Cancelled(int reason)
{
	if (g_Order[0] == '\0')
	{
		return;
	}
	if (reason == VoteCancel_NoVotes)
	{
		Ended(0, 0);
		return;
	}
	Orders_Answer(g_Order, "cancelled");
	g_Order[0] = '\0';
}

// The daemon withdraws an order: it may be the vote.
void Vote_Cancel(JSONObject order)
{
	char id[NAME_SIZE];
	Read_Text(order, "order", id, sizeof(id));
	if (g_Order[0] != '\0' && StrEqual(id, g_Order))
	{
		g_Order[0] = '\0';
		CancelVote();
	}
}

// The plugin ends, and its menu with it.
void Vote_End()
{
	if (g_Order[0] != '\0')
	{
		Orders_Answer(g_Order, "cancelled");
		g_Order[0] = '\0';
	}
}
