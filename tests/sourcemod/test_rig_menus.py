"""Menus, panels and votes: what players see, what their keys do, and what the plugin hears of it."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Player, Plugin
from tests.sourcemod.rig.game.facts import RED

Script = Callable[..., Plugin]

HEARD = """
    Menu g_Menu;
    int g_Items = 2;
    int Menu_Heard(Menu menu, MenuAction action, int a, int b)
    {
        char names[][] = {"Start", "Display", "Select", "Cancel", "End", "VoteEnd", "VoteStart", "VoteCancel",
            "DrawItem", "DisplayItem"};
        int name;
        while (!(view_as<int>(action) & (1 << name)))
        {
            name++;
        }
        if (name < 8 && name != 1)
        {
            PrintToServer("%s %d %d", names[name], a, b);
        }
        return 0;
    }
    void Build()
    {
        g_Menu = new Menu(Menu_Heard);
        g_Menu.SetTitle("Pick %d", 1);
        char text[16];
        for (int i = 1; i <= g_Items; i++)
        {
            Format(text, sizeof(text), "item %d", i);
            g_Menu.AddItem(text[5], text);
        }
    }
    int Number(int arg) { char text[16]; GetCmdArg(arg, text, sizeof(text)); return StringToInt(text); }
    Action Command_Show(int args)
    {
        if (g_Menu == null)
        {
            Build();
        }
        PrintToServer("shown %d", g_Menu.Display(Number(1), args > 1 ? Number(2) : MENU_TIME_FOREVER));
        return Plugin_Handled;
    }
    Action Command_Items(int args) { g_Items = Number(1); return Plugin_Handled; }
    Action Command_Delete(int args) { delete g_Menu; return Plugin_Handled; }
    Action Command_Vote(int args)
    {
        Build();
        g_Menu.ExitButton = false;
        g_Menu.DisplayVoteToAll(20, args ? Number(1) : 0);
        return Plugin_Handled;
    }
    Action Command_Cancel(int args) { CancelVote(); return Plugin_Handled; }
    public void OnPluginStart()
    {
        RegServerCmd("show", Command_Show);
        RegServerCmd("items", Command_Items);
        RegServerCmd("remove", Command_Delete);
        RegServerCmd("vote", Command_Vote);
        RegServerCmd("cancelvote", Command_Cancel);
        RegServerCmd("again", Command_Again);
    }
    Action Command_Again(int args)
    {
        PrintToServer("again %d", RedrawClientVoteMenu(Number(1)));
        return Plugin_Handled;
    }"""


@pytest.fixture
def ann(game: Game, script: Script) -> Player:
    """A player on a server with the plugin that tells what it hears."""
    script(HEARD)
    game.start_map("cp_badlands")
    return game.connect("Ann")


def press(game: Game, player: Player, key: int) -> list[str]:
    """What the plugin heard when a player pressed a key."""
    before = len(game.sm.console)
    game.command(player, f"menuselect {key}")
    return game.sm.console[before:]


def seen(game: Game, player: Player) -> list[str] | None:
    """The lines a player sees."""
    panel = game.sm.menus.of(player.index)
    return [panel.title, *panel.lines] if panel else None


def test_a_menu_is_drawn_with_its_keys_and_a_choice_is_told_before_the_end(game: Game, ann: Player) -> None:
    assert game.rcon("show 1") == ["shown 1"]
    assert seen(game, ann) == ["Pick 1", "->1. item 1", "->2. item 2", " ", "->0. Exit"]
    assert press(game, ann, 2) == ["Select 1 1", "End 0 0"]
    assert seen(game, ann) is None
    assert press(game, ann, 2) == []


def test_exit_and_a_key_without_an_item_cancel(game: Game, ann: Player) -> None:
    for key in (10, 3):
        game.rcon("show 1")
        assert press(game, ann, key) == ["Cancel 1 -3", "End -4 0"]


def test_a_long_menu_has_pages_of_seven(game: Game, ann: Player) -> None:
    game.rcon("items 16")
    game.rcon("show 1")
    assert seen(game, ann) == [
        "Pick 1", *(f"->{n}. item {n}" for n in range(1, 8)), " ", " ", "->9. Next", "->0. Exit",
    ]  # fmt: skip
    assert press(game, ann, 9) == []
    assert press(game, ann, 9) == []
    assert seen(game, ann) == [
        "Pick 1", "->1. item 15", "->2. item 16", " ", " ", " ", " ", " ", " ", "->8. Previous", " ", "->0. Exit",
    ]  # fmt: skip
    press(game, ann, 8)
    assert press(game, ann, 1) == ["Select 1 7", "End 0 0"]


def test_a_menu_interrupts_another_and_times_out_within_a_second_of_its_time(game: Game, ann: Player) -> None:
    game.rcon("show 1 5")
    assert game.rcon("show 1 5") == ["Cancel 1 -2", "End -3 0", "shown 1"]
    game.sm.console.clear()
    game.advance(4.9)
    assert game.sm.console == []
    game.advance(1.2)
    assert game.sm.console == ["Cancel 1 -5", "End -3 0"]


def test_a_bot_is_shown_nothing_and_one_who_leaves_cancels(game: Game, ann: Player) -> None:
    bot = game.add_bot("Bot", RED)
    assert game.rcon(f"show {bot.index}") == [f"Cancel {bot.index} -4", "End -3 0", "shown 0"]
    game.rcon("show 1")
    game.sm.console.clear()
    game.leave(ann)
    assert game.sm.console == ["Cancel 1 -1", "End -3 0"]


def test_a_deleted_menu_leaves_the_screens_and_an_unloaded_plugin_hears_nothing(game: Game, ann: Player) -> None:
    game.rcon("show 1")
    assert game.rcon("remove") == ["Cancel 1 -2", "End -3 0"]
    game.rcon("show 1")
    game.sm.console.clear()
    game.unload(game.sm.plugins[0])
    assert (seen(game, ann), game.sm.console) == (None, [])
    assert not game.sm.handles.live()


def test_a_vote_counts_and_tells_the_winner_with_the_counts_in_one_cell(game: Game, ann: Player) -> None:
    others = [game.connect(name) for name in ("Bob", "Cid")]
    game.add_bot("Bot", RED)
    assert game.rcon("vote") == ["VoteStart 0 0"]
    assert seen(game, ann) == ["Pick 1", "->1. item 1", "->2. item 2"]
    assert press(game, ann, 2) == ["Select 1 1"]
    press(game, others[0], 1)
    assert press(game, others[1], 2) == ["Select 3 1", f"VoteEnd 1 {3 << 16 | 2}", "End -1 0"]
    assert game.sm.votes.menu is None


def test_a_vote_ends_when_its_time_is_over_and_without_votes_it_is_cancelled(game: Game, ann: Player) -> None:
    game.rcon("vote")
    game.advance(19.9)
    assert game.sm.votes.menu is not None
    game.advance(1.2)
    assert game.sm.console[-3:] == ["Cancel 1 -5", "VoteCancel -2 0", "End -2 0"]


def test_a_vote_nobody_can_see_is_over_at_once(game: Game, ann: Player) -> None:
    game.leave(ann)
    assert game.rcon("vote") == ["VoteStart 0 0", "VoteCancel -2 0", "End -2 0"]


def test_a_cancelled_vote_takes_the_menu_off_every_screen(game: Game, ann: Player) -> None:
    bob = game.connect("Bob")
    game.rcon("vote")
    press(game, bob, 1)
    assert game.rcon("cancelvote") == ["Cancel 1 -2", "VoteCancel -1 0", "End -2 0"]
    game.rcon("cancelvote")
    game.rcon("vote")
    game.rcon("vote")
    assert game.sm.log.take_faults() == ["No vote is in progress", "A vote is already in progress"]


def test_the_vote_of_somebody_who_leaves_does_not_count(game: Game, ann: Player) -> None:
    bob, cid = game.connect("Bob"), game.connect("Cid")
    game.rcon("vote")
    press(game, bob, 1)
    game.leave(bob)
    press(game, ann, 2)
    game.sm.console.clear()
    game.leave(cid)
    assert game.sm.console == ["Cancel 3 -1", f"VoteEnd 1 {1 << 16 | 1}", "End -1 0"]


@pytest.mark.parametrize(("flags", "again"), [(0, ["again 1"]), (1, ["again 0"])])
def test_a_choice_is_taken_back_by_showing_the_menu_again_where_that_is_allowed(
    game: Game, ann: Player, flags: int, again: list[str]
) -> None:
    bob = game.connect("Bob")
    game.rcon(f"vote {flags}")
    press(game, ann, 1)
    assert game.rcon("again 1") == again
    press(game, ann, 2)
    press(game, bob, 2)
    assert game.sm.console[-2] == (f"VoteEnd 1 {2 << 16 | 2}" if not flags else game.sm.console[-2])
    assert game.sm.console[-1] == "End -1 0"


def test_the_delay_between_votes_counts_from_the_end_and_a_new_map_forgets_it(game: Game, script: Script) -> None:
    script(
        HEARD.replace(
            'RegServerCmd("show"',
            """RegServerCmd("delay", Command_Delay);
        RegServerCmd("show\"""",
        )
        + """
        Action Command_Delay(int args)
        {
            PrintToServer("%d %d", CheckVoteDelay(), IsNewVoteAllowed());
            return Plugin_Handled;
        }"""
    )
    game.start_map("cp_badlands")
    ann = game.connect("Ann")
    assert game.rcon("delay") == ["0 1"]
    game.rcon("vote")
    assert game.rcon("delay") == ["50 0"]
    press(game, ann, 1)
    assert game.rcon("delay") == ["30 0"]
    game.advance(30.1)
    assert game.rcon("delay") == ["0 1"]
    game.rcon("vote")
    game.start_map("ctf_2fort")
    assert game.rcon("delay") == ["0 1"]


RESULT = """
    public void OnPluginStart() { RegServerCmd("vote", Command_Vote); }
    Action Command_Vote(int args)
    {
        Menu menu = new Menu(Menu_Heard);
        menu.VoteResultCallback = %s;
        menu.AddItem("yes", "Yes");
        menu.AddItem("no", "No");
        menu.DisplayVoteToAll(20);
        return Plugin_Handled;
    }
    int Menu_Heard(Menu menu, MenuAction action, int a, int b)
    {
        if (action == MenuAction_VoteEnd)
        {
            PrintToServer("never told");
        }
        if (action == MenuAction_End)
        {
            delete menu;
        }
        return 0;
    }
    void Told(Menu menu, int votes, int clients, %s, int items, %s)
    {
        PrintToServer("%%d votes of %%d", votes, clients);
        for (int i = 0; i < clients; i++)
        {
            PrintToServer("client %%d item %%d", info[i][VOTEINFO_CLIENT_INDEX], info[i][VOTEINFO_CLIENT_ITEM]);
        }
        for (int i = 0; i < items; i++)
        {
            PrintToServer("item %%d votes %%d", list[i][VOTEINFO_ITEM_INDEX], list[i][VOTEINFO_ITEM_VOTES]);
        }
    }"""


@pytest.mark.parametrize(
    "arrays", [("const int[][] info", "const int[][] list"), ("const int info[][2]", "const int list[][2]")]
)
def test_a_result_callback_gets_everybodys_choice_and_the_items_most_wanted_first(
    game: Game, script: Script, arrays: tuple[str, str]
) -> None:
    plugin = script(RESULT % ("Told", *arrays))
    game.start_map("cp_badlands")
    players = [game.connect(name) for name in ("Ann", "Bob", "Cid", "Dan")]
    game.rcon("vote")
    for player, key in zip(players, (2, 1, 2), strict=False):
        press(game, player, key)
    game.advance(21.1)
    assert game.sm.console == [
        "3 votes of 4", "client 1 item 1", "client 2 item 0", "client 3 item 1", "client 4 item -1",
        "item 1 votes 2", "item 0 votes 1",
    ]  # fmt: skip
    assert not game.sm.handles.live(plugin)


def test_a_panel_tells_the_key_with_no_menu_and_its_handle_may_be_closed_at_once(game: Game, script: Script) -> None:
    plugin = script("""
        public void OnClientPutInServer(int client)
        {
            Panel panel = new Panel();
            panel.SetTitle("Sides");
            panel.DrawText("RED has a 51 % chance");
            panel.DrawItem("", ITEMDRAW_SPACER);
            int key = panel.DrawItem("Close");
            PrintToServer("key %d sent %d", key, panel.Send(client, Panel_Heard, 10));
            delete panel;
        }
        int Panel_Heard(Menu menu, MenuAction action, int a, int b)
        {
            PrintToServer("%d %d %d %d", menu, action, a, b);
            return 0;
        }""")
    game.start_map("cp_badlands")
    ann = game.connect("Ann")
    assert game.sm.console == ["key 2 sent 1"]
    assert seen(game, ann) == ["Sides", "RED has a 51 % chance", " ", "->2. Close"]
    assert press(game, ann, 2) == ["0 4 1 2"]
    assert not game.sm.handles.live(plugin)


def test_items_are_disabled_and_redrawn_for_each_client(game: Game, script: Script) -> None:
    script("""
        public void OnClientPutInServer(int client)
        {
            Menu menu = new Menu(Menu_Heard, MENU_ACTIONS_ALL);
            menu.AddItem("a", "plain");
            menu.AddItem("b", "plain");
            menu.ExitBackButton = true;
            menu.Display(client, MENU_TIME_FOREVER);
        }
        int Menu_Heard(Menu menu, MenuAction action, int a, int b)
        {
            switch (action)
            {
                case MenuAction_Display:
                {
                    char title[32];
                    Format(title, sizeof(title), "for %N", a);
                    view_as<Panel>(b).SetTitle(title);
                }
                case MenuAction_DrawItem: { return b == 0 ? ITEMDRAW_DISABLED : ITEMDRAW_DEFAULT; }
                case MenuAction_DisplayItem: { return b == 1 ? RedrawMenuItem("drawn") : 0; }
                case MenuAction_Select:
                {
                    PrintToServer("%d %d", b, GetCmdReplySource() == SM_REPLY_TO_CHAT);
                }
                case MenuAction_Cancel: { PrintToServer("cancel %d", b); }
                case MenuAction_End: { delete menu; }
            }
            return 0;
        }""")
    game.start_map("cp_badlands")
    ann, bob = game.connect("Ann"), game.connect("Bob")
    assert seen(game, ann) == [
        "for Ann",
        "1. plain",
        "->2. drawn",
        " ",
        " ",
        " ",
        " ",
        " ",
        " ",
        "->8. Back",
        " ",
        "->0. Exit",
    ]
    assert press(game, ann, 2) == ["1 1"]
    game.sm.menus.choose(bob, "Back")
    assert game.sm.console[-1] == "cancel -6"
    assert not game.sm.handles.live()
