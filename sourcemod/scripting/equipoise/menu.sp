// SPDX-License-Identifier: GPL-3.0-or-later
//
// Equipoise in SourceMod's admin menu, where there is one: what the commands do, with the same rights.

#define CATEGORY "equipoise"

enum struct Item
{
	char command[32];
	int flags;
	char word[WORD_SIZE];
	char argument[WORD_SIZE];
	char phrase[NAME_SIZE];
}

static const Item g_Items[] =
{
	{"sm_eq_scramble", ADMFLAG_KICK, "scramble", "now", "Equipoise_MenuScrambleNow"},
	{"sm_eq_scramble", ADMFLAG_KICK, "scramble", "next", "Equipoise_MenuScrambleNext"},
	{"sm_eq_scramble", ADMFLAG_KICK, "scramble", "dry", "Equipoise_MenuScrambleDry"},
	{"sm_eq_scramble", ADMFLAG_KICK, "scramble", "cancel", "Equipoise_MenuScrambleCancel"},
	{"sm_eq_balance", ADMFLAG_KICK, "balance", "", "Equipoise_MenuBalance"},
	{"sm_eq_why", ADMFLAG_GENERIC, "why", "", "Equipoise_MenuWhy"},
	{"sm_eq_on", ADMFLAG_ROOT, "on", "", "Equipoise_MenuOn"},
	{"sm_eq_off", ADMFLAG_ROOT, "off", "", "Equipoise_MenuOff"}
};

static TopMenu g_TopMenu;
static TopMenuObject g_Objects[sizeof(g_Items)];

// The admin menu may be there before us; otherwise OnAdminMenuReady follows.
void Menu_Find()
{
	if (LibraryExists("adminmenu"))
	{
		TopMenu menu = GetAdminTopMenu();
		if (menu != null)
		{
			OnAdminMenuReady(menu);
		}
	}
}

public void OnAdminMenuReady(Handle handle)
{
	TopMenu menu = TopMenu.FromHandle(handle);
	if (menu == g_TopMenu)
	{
		return;  // it is announced to every plugin again when another one is loaded
	}
	g_TopMenu = menu;
	TopMenuObject category = menu.AddCategory(CATEGORY, Handle_Category, "sm_eq_status", ADMFLAG_GENERIC);
	char name[NAME_SIZE];
	for (int i = 0; i < sizeof(g_Items); i++)
	{
		FormatEx(name, sizeof(name), "%s_%s%s", CATEGORY, g_Items[i].word, g_Items[i].argument);
		g_Objects[i] = menu.AddItem(name, Handle_Item, category, g_Items[i].command, g_Items[i].flags);
	}
}

static void Handle_Category(TopMenu menu, TopMenuAction action, TopMenuObject which, int client, char[] buffer, int size)
{
	if (action == TopMenuAction_DisplayOption || action == TopMenuAction_DisplayTitle)
	{
		strcopy(buffer, size, "Equipoise");
	}
}

static void Handle_Item(TopMenu menu, TopMenuAction action, TopMenuObject which, int client, char[] buffer, int size)
{
	int i = 0;
	while (g_Objects[i] != which)
	{
		i++;
	}
	if (action == TopMenuAction_DisplayOption)
	{
		FormatEx(buffer, size, "%T", g_Items[i].phrase, client);
	}
	else if (action == TopMenuAction_SelectOption)
	{
		ReplySource before = SetCmdReplySource(SM_REPLY_TO_CHAT);
		Commands_Perform(client, g_Items[i].word, g_Items[i].argument);
		SetCmdReplySource(before);
		if (!StrEqual(g_Items[i].word, "why"))  // answered by a menu of its own
		{
			menu.Display(client, TopMenuPosition_LastCategory);
		}
	}
}
