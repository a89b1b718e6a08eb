"""Top menus and the admin menu: who sees what of it, and how a plugin adds to it."""

from collections.abc import Callable

from tests.sourcemod.rig import Game, Player, Plugin

Script = Callable[..., Plugin]

ADMIN_FLAG = 1 << 1
ITEMS = """
    TopMenu g_Menu;
    public void OnPluginStart()
    {
        RegAdminCmd("sm_rig", Command_Rig, ADMFLAG_GENERIC);
        if (LibraryExists("adminmenu") && GetAdminTopMenu() != null)
        {
            OnAdminMenuReady(GetAdminTopMenu());
        }
    }
    Action Command_Rig(int client, int args) { return Plugin_Handled; }
    public void OnLibraryRemoved(const char[] name) { PrintToServer("-%s", name); g_Menu = null; }
    public void OnAdminMenuReady(Handle handle)
    {
        TopMenu menu = TopMenu.FromHandle(handle);
        if (menu == g_Menu)
        {
            return;
        }
        g_Menu = menu;
        TopMenuObject own = menu.AddCategory("rig", Top_Rig, "sm_rig", ADMFLAG_GENERIC, "a category");
        menu.AddItem("rig_now", Top_Rig, own, "sm_rig", ADMFLAG_GENERIC, "now");
        menu.AddItem("rig_root", Top_Rig, own, "sm_root", ADMFLAG_ROOT, "root only");
        TopMenuObject server = menu.FindCategory(ADMINMENU_SERVERCOMMANDS);
        TopMenuObject added = menu.AddItem("rig_map", Top_Rig, server, "sm_rig", ADMFLAG_GENERIC);
        PrintToServer("added %d, again %d", added, menu.AddItem("rig_map", Top_Rig, server));
    }
    public void Top_Rig(TopMenu menu, TopMenuAction action, TopMenuObject entry, int client, char[] text, int size)
    {
        char name[32];
        switch (action)
        {
            case TopMenuAction_DisplayOption:
            {
                menu.GetObjName(entry, name, sizeof(name));
                Format(text, size, "%s for %N", name, client);
            }
            case TopMenuAction_DisplayTitle: { strcopy(text, size, "Rig:"); }
            case TopMenuAction_SelectOption:
            {
                menu.GetInfoString(entry, name, sizeof(name));
                PrintToServer("selected '%s'", name);
                menu.Display(client, TopMenuPosition_LastCategory);
            }
            case TopMenuAction_RemoveObject: { PrintToServer("removed"); }
        }
    }"""
INCLUDE = "#include <sourcemod>\n#undef REQUIRE_PLUGIN\n#include <adminmenu>\n"


def admin(game: Game, flags: int = ADMIN_FLAG) -> Player:
    """An admin who types sm_admin."""
    player = game.connect("Ann")
    player.flags = flags
    game.command(player, "sm_admin")
    return player


def seen(game: Game, player: Player) -> tuple[str, list[str]] | None:
    """The title a player sees and the texts of what they can choose."""
    panel = game.sm.menus.of(player.index)
    return (panel.title, list(panel.texts.values())) if panel else None


def test_an_admin_walks_through_categories_and_back(game: Game, script: Script) -> None:
    game.sm.admin_menu.load()
    script(ITEMS, includes=INCLUDE)
    assert game.sm.console == ["added 7, again 0"]
    game.start_map("cp_badlands")
    ann = admin(game)
    assert seen(game, ann) == ("Admin Menu:", ["Server Commands", "rig for Ann", "Exit"])
    game.sm.menus.choose(ann, "rig for Ann")
    assert seen(game, ann) == ("Rig:", ["rig_now for Ann", "Back", "Exit"])
    game.sm.menus.choose(ann, "rig_now for Ann")
    assert game.sm.console[-1] == "selected 'now'"
    assert seen(game, ann) == ("Rig:", ["rig_now for Ann", "Back", "Exit"])
    game.sm.menus.choose(ann, "Back")
    assert seen(game, ann) == ("Admin Menu:", ["Server Commands", "rig for Ann", "Exit"])


def test_each_sees_what_they_may_use(game: Game, script: Script) -> None:
    game.sm.admin_menu.load()
    script(ITEMS, includes=INCLUDE)
    game.start_map("cp_badlands")
    root = admin(game, 1 << 14)
    game.sm.menus.choose(root, "rig for Ann")
    assert seen(game, root) == ("Rig:", ["rig_now for Ann", "rig_root for Ann", "Back", "Exit"])
    player = admin(game, 0)
    assert seen(game, player) is None
    assert "may not use" in player.console[-1]


def test_a_plugin_loaded_before_the_admin_menu_adds_to_it_when_it_is_ready(game: Game, script: Script) -> None:
    plugin = script(ITEMS, includes=INCLUDE)
    assert game.sm.console == []
    game.sm.admin_menu.load()
    assert game.sm.console == ["added 7, again 0"]
    game.sm.admin_menu.unload()
    assert game.sm.console[1:] == ["-adminmenu", "removed", "removed", "removed", "removed"]
    menu = game.sm.admin_menu.load()
    game.unload(plugin)
    assert [entry.name for entry in menu.entries.values()] == ["PlayerCommands", "ServerCommands", "VotingCommands"]
    assert not game.sm.handles.live()


def test_targets_are_listed_by_userid_with_bots_and_immunity_left_out_where_asked(game: Game, script: Script) -> None:
    game.sm.admin_menu.load()
    script(
        """
        public void OnPluginStart() { RegConsoleCmd("targets", Command_Targets); }
        Action Command_Targets(int client, int args)
        {
            Menu menu = new Menu(Menu_Heard);
            int count = AddTargetsToMenu2(menu, client, COMMAND_FILTER_NO_BOTS);
            menu.Display(client, 0);
            PrintToServer("%d", count);
            return Plugin_Handled;
        }
        int Menu_Heard(Menu menu, MenuAction action, int a, int b)
        {
            char info[16];
            int style;
            if (action == MenuAction_Select && menu.GetItem(b, info, sizeof(info), style))
            {
                PrintToServer("userid %s", info);
            }
            return 0;
        }""",
        includes=INCLUDE,
    )
    game.start_map("cp_badlands")
    ann, boss, bot = game.connect("Ann"), game.connect("Boss"), game.add_bot("Bot", 2)
    boss.flags, boss.immunity, ann.flags = ADMIN_FLAG, 50, ADMIN_FLAG
    game.command(ann, "targets")
    assert seen(game, ann) == ("", [f"Ann ({ann.userid})", "Exit"])
    game.sm.menus.choose(ann, f"Ann ({ann.userid})")
    assert game.sm.console == ["1", f"userid {ann.userid}"]
    assert bot.bot
