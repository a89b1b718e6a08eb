// SPDX-License-Identifier: GPL-3.0-or-later
//
// The last decisions as a menu: a page of them, and each in full on a panel.

#define WHY_SECONDS 120
#define ITEM_SIZE 48
#define PANEL_WIDTH 56
#define KEY_BACK 8
#define KEY_EXIT 10

static Menu g_Lists[MAX_PLAYERS + 1];  // to go back to from a panel

// False when the lines are no decisions: then they are for the chat.
bool Why_Show(int client, JSONArray lines)
{
	if (client == 0 || lines.Length == 0 || !AreDecisions(lines))
	{
		return false;
	}
	Menu menu = new Menu(Handle_List);
	menu.SetTitle("%T", "Equipoise_MenuWhy", client);
	char line[LINE_SIZE], item[ITEM_SIZE + 8];
	for (int i = 0; i < lines.Length; i++)
	{
		JSONObject text = view_as<JSONObject>(lines.Get(i));
		Chat_Text(client, text, line, sizeof(line));
		delete text;
		int length = Cut(line, ITEM_SIZE);
		strcopy(item, length + 1, line);
		if (line[length] != '\0')
		{
			StrCat(item, sizeof(item), "...");
		}
		menu.AddItem(line, item);
	}
	menu.Display(client, WHY_SECONDS);
	return true;
}

static bool AreDecisions(JSONArray lines)
{
	char phrase[NAME_SIZE];
	JSONObject text = view_as<JSONObject>(lines.Get(0));
	Read_Text(text, "phrase", phrase, sizeof(phrase));
	delete text;
	return StrEqual(phrase, "Equipoise_WhyLine");
}

static int Handle_List(Menu menu, MenuAction action, int param1, int param2)
{
	if (action == MenuAction_Select)
	{
		char line[LINE_SIZE];
		menu.GetItem(param2, line, sizeof(line));
		g_Lists[param1] = menu;
		ShowInFull(param1, line);
	}
	else if (action == MenuAction_End && param1 != MenuEnd_Selected)
	{
		delete menu;
	}
	return 0;
}

static void ShowInFull(int client, const char[] line)
{
	char text[LINE_SIZE];
	Panel panel = new Panel();
	FormatEx(text, sizeof(text), "%T", "Equipoise_MenuWhy", client);
	panel.SetTitle(text);
	for (int start = 0; line[start] != '\0';)
	{
		int length = Cut(line[start], PANEL_WIDTH);
		strcopy(text, length + 1, line[start]);
		panel.DrawText(text);
		start += line[start + length] == ' ' ? length + 1 : length;
	}
	panel.CurrentKey = KEY_BACK;
	FormatEx(text, sizeof(text), "%T", "Back", client);
	panel.DrawItem(text);
	panel.CurrentKey = KEY_EXIT;
	FormatEx(text, sizeof(text), "%T", "Exit", client);
	panel.DrawItem(text);
	panel.Send(client, Handle_Panel, WHY_SECONDS);
	delete panel;
}

static int Handle_Panel(Menu menu, MenuAction action, int param1, int param2)
{
	if (action == MenuAction_Select && param2 == KEY_BACK)
	{
		Menu list = g_Lists[param1];
		g_Lists[param1] = null;
		list.Display(param1, WHY_SECONDS);
	}
	else if (action == MenuAction_Select || action == MenuAction_Cancel)
	{
		delete g_Lists[param1];
	}
	return 0;
}

// How many bytes of `text` fit into `limit`: up to the end of a word, or of a character where a word is too long (Chinese
// has no spaces).
static int Cut(const char[] text, int limit)
{
	if (strlen(text) <= limit)
	{
		return strlen(text);
	}
	int end = limit;
	while (end > limit / 2 && text[end] != ' ')
	{
		end--;
	}
	if (text[end] == ' ')
	{
		return end;
	}
	end = limit;
	while ((text[end] & 0xC0) == 0x80)
	{
		end--;
	}
	return end;
}
