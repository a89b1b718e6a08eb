// SPDX-License-Identifier: GPL-3.0-or-later
//
// The menu of every player, `!eq`: it sends what they could type. Players are its items by userid, as one may leave, and
// another come with the same name, while it is open.

#define PLAYER_MENU_SECONDS 60

enum List
{
	List_Main,
	List_Friends,
	List_Swap
}

static const char g_MainItems[][][] =
{
	{"rating", "Equipoise_MenuRating"},
	{"rank", "Equipoise_MenuRank"},
	{"top", "Equipoise_MenuTop"},
	{"teams", "Equipoise_MenuTeams"},
	{"vote", "Equipoise_MenuVote"},
	{">friend", "Equipoise_MenuFriends"},
	{">swap", "Equipoise_MenuSwap"}
};

void PlayerMenu_Register()
{
	RegConsoleCmd("sm_eq", Command_Menu, "Equipoise: a menu of what you can do; or one of its words at once");
}

static Action Command_Menu(int client, int args)
{
	if (args > 0)
	{
		Words_Perform(client, args);
	}
	else if (client == 0)
	{
		ReplyToCommand(client, "[SM] %t", "Command is in-game only");
	}
	else
	{
		Show(client, List_Main);
	}
	return Plugin_Handled;
}

// What the daemon tells a player: an invitation becomes an item of the menu.
void PlayerMenu_Hear(int client, JSONObject text)
{
	char phrase[NAME_SIZE], id[ID_SIZE + 1];
	Read_Text(text, "phrase", phrase, sizeof(phrase));
	bool friends = StrEqual(phrase, "Equipoise_FriendAsks");
	if (client == 0 || (!friends && !StrEqual(phrase, "Equipoise_SwapAsks")))
	{
		return;
	}
	JSONArray arguments = Read_Array(text, "args");
	if (arguments == null)
	{
		return;
	}
	if (arguments.Length > 0 && arguments.GetString(0, id, sizeof(id)) && id[0] == '@')
	{
		if (friends)
		{
			strcopy(g_Players[client].friendAsks, sizeof(Player::friendAsks), id[1]);
		}
		else
		{
			strcopy(g_Players[client].swapAsks, sizeof(Player::swapAsks), id[1]);
		}
	}
	delete arguments;
}

static void Show(int client, List list)
{
	Menu menu = new Menu(list == List_Main ? Handle_Main : list == List_Friends ? Handle_Friends : Handle_Swap);
	if (list == List_Main)
	{
		menu.SetTitle("Equipoise");
		for (int i = 0; i < sizeof(g_MainItems); i++)
		{
			AddPhrase(menu, client, g_MainItems[i][0], g_MainItems[i][1]);
		}
	}
	else if (list == List_Friends)
	{
		menu.SetTitle("%T", "Equipoise_MenuFriends", client);
		AddAsking(menu, client, g_Players[client].friendAsks);
		AddPhrase(menu, client, "", "Equipoise_MenuGroup");
		AddPhrase(menu, client, "none", "Equipoise_MenuFriendsEnd");
		AddPlayers(menu, client, TFTeam_Unassigned);
	}
	else
	{
		menu.SetTitle("%T", "Equipoise_MenuSwap", client);
		AddAsking(menu, client, g_Players[client].swapAsks);
		AddPhrase(menu, client, "", "Equipoise_MenuOffer");
		AddPhrase(menu, client, "none", "Equipoise_MenuOfferEnd");
		TFTeam side = Players_Side(client);
		if (side != TFTeam_Unassigned)
		{
			AddPlayers(menu, client, side == TFTeam_Red ? TFTeam_Blue : TFTeam_Red);
		}
	}
	menu.ExitBackButton = list != List_Main;
	menu.Display(client, PLAYER_MENU_SECONDS);
}

static void AddPhrase(Menu menu, int client, const char[] info, const char[] phrase)
{
	char line[LINE_SIZE];
	FormatEx(line, sizeof(line), "%T", phrase, client);
	menu.AddItem(info, line);
}

// Who asked, if they are still here.
static void AddAsking(Menu menu, int client, const char[] id)
{
	int other = id[0] == '\0' ? 0 : Players_Find(id);
	if (other != 0)
	{
		char line[LINE_SIZE], info[16], name[MAX_NAME_LENGTH];
		GetClientName(other, name, sizeof(name));
		FormatEx(line, sizeof(line), "%T", "Equipoise_MenuAccept", client, name);
		FormatEx(info, sizeof(info), "#%d", GetClientUserId(other));
		menu.AddItem(info, line);
	}
}

// All others, or those of a side.
static void AddPlayers(Menu menu, int client, TFTeam side)
{
	char name[MAX_NAME_LENGTH], info[16];
	for (int other = 1; other <= MaxClients; other++)
	{
		if (other == client || !Players_Human(other) || (side != TFTeam_Unassigned && Players_Side(other) != side))
		{
			continue;
		}
		GetClientName(other, name, sizeof(name));
		FormatEx(info, sizeof(info), "#%d", GetClientUserId(other));
		menu.AddItem(info, name);
	}
}

static int Handle_Main(Menu menu, MenuAction action, int param1, int param2)
{
	if (action == MenuAction_Select)
	{
		char info[16];
		menu.GetItem(param2, info, sizeof(info));
		if (info[0] == '>')
		{
			Show(param1, StrEqual(info, ">friend") ? List_Friends : List_Swap);
		}
		else
		{
			Perform(param1, info, "");
		}
	}
	else if (action == MenuAction_End)
	{
		delete menu;
	}
	return 0;
}

static int Handle_Friends(Menu menu, MenuAction action, int param1, int param2)
{
	return Handle_List(menu, action, param1, param2, "friend");
}

static int Handle_Swap(Menu menu, MenuAction action, int param1, int param2)
{
	return Handle_List(menu, action, param1, param2, "swap");
}

static int Handle_List(Menu menu, MenuAction action, int param1, int param2, const char[] word)
{
	if (action == MenuAction_Select)
	{
		char info[16], id[ID_SIZE];
		menu.GetItem(param2, info, sizeof(info));
		strcopy(id, sizeof(id), info);
		if (info[0] == '#')
		{
			int other = GetClientOfUserId(StringToInt(info[1]));
			if (other == 0 || !Players_Known(other))
			{
				Chat_Phrase(param1, "Player no longer available");
				return 0;
			}
			strcopy(id, sizeof(id), g_Players[other].id);
		}
		Perform(param1, word, id);
	}
	else if (action == MenuAction_Cancel && param2 == MenuCancel_ExitBack)
	{
		Show(param1, List_Main);
	}
	else if (action == MenuAction_End)
	{
		delete menu;
	}
	return 0;
}

static void Perform(int client, const char[] word, const char[] argument)
{
	ReplySource before = SetCmdReplySource(SM_REPLY_TO_CHAT);
	Words_Send(client, word, argument);
	SetCmdReplySource(before);
}
