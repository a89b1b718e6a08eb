"""Commands, chat, admins, console variables, timers: who may say what, and what it sets off."""

from collections.abc import Callable

from tests.sourcemod.rig import Game, Plugin
from tests.sourcemod.rig.game.facts import RED
from tests.sourcemod.rig.sm.admins import ROOT, flag_bits

Script = Callable[..., Plugin]


def test_a_listener_may_keep_a_command_from_the_engine(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { AddCommandListener(Listen_JoinTeam, "jointeam"); }
        Action Listen_JoinTeam(int client, const char[] command, int args)
        {
            char team[16];
            GetCmdArg(1, team, sizeof(team));
            PrintToServer("%N wants %s", client, team);
            return StrEqual(team, "blue") ? Plugin_Handled : Plugin_Continue;
        }""")
    game.start_map("cp_badlands")
    player = game.add("Ann", "blue")
    assert player.team == 0
    game.join(player, "red")
    assert (player.team, game.sm.console) == (RED, ["Ann wants blue", "Ann wants red"])


def test_a_chat_trigger_answers_in_chat_and_a_console_command_in_the_console(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegConsoleCmd("sm_rating", Command_Rating); }
        Action Command_Rating(int client, int args)
        {
            char rest[32];
            GetCmdArgString(rest, sizeof(rest));
            ReplyToCommand(client, "rating of %s", rest);
            return Plugin_Handled;
        }""")
    game.start_map("cp_badlands")
    player = game.connect("Ann")
    game.say(player, "!rating bob smith")
    game.say(player, "/rating quiet")
    game.command(player, "sm_rating console")
    assert player.chat == ["rating of bob smith", "rating of quiet"]
    assert player.console == ["rating of console"]
    assert game.rcon("sm_rating server") == ["rating of server"]
    assert game.said == [("Ann", "!rating bob smith")]


def test_a_trigger_works_though_its_chat_is_blocked_and_a_silent_one_passes_no_forward(
    game: Game, script: Script
) -> None:
    script("""
        public void OnPluginStart()
        {
            RegConsoleCmd("sm_vote", Command_Vote);
            AddCommandListener(Listen_Vote, "sm_vote");
            AddCommandListener(Listen_Any);
        }
        Action Command_Vote(int client, int args) { PrintToServer("voted %d", IsChatTrigger()); return Plugin_Handled; }
        Action Listen_Vote(int client, const char[] name, int args) { PrintToServer("heard"); return Plugin_Continue; }
        Action Listen_Any(int client, const char[] name, int args)
        {
            PrintToServer("any %s", name);
            return Plugin_Continue;
        }
        public Action OnClientSayCommand(int client, const char[] command, const char[] text)
        {
            PrintToServer("said %s %d", text, IsChatTrigger());
            return Plugin_Handled;
        }""")
    game.start_map("cp_badlands")
    player = game.connect("Ann")
    game.sm.console.clear()
    game.say(player, "!vote")
    assert game.sm.console == ["any say", "said !vote 1", "any sm_vote", "heard", "voted 1"]
    game.sm.console.clear()
    game.say(player, "/vote")
    game.say(player, "/nothing")
    assert game.sm.console == ["any say", "any sm_vote", "heard", "voted 1", "any say", "said /nothing 0"]
    assert game.said == []


def test_a_plugin_may_swallow_chat(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { }
        public Action OnClientSayCommand(int client, const char[] command, const char[] text)
        {
            return StrContains(text, "secret") != -1 ? Plugin_Handled : Plugin_Continue;
        }""")
    player = game.connect("Ann")
    game.say(player, "a secret")
    game.say(player, "hello")
    assert game.said == [("Ann", "hello")]


def test_an_admin_command_wants_its_flag_or_an_override(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegAdminCmd("sm_do", Command_Do, ADMFLAG_GENERIC); }
        Action Command_Do(int client, int args)
        {
            ReplyToCommand(client, "done, other right %d", CheckCommandAccess(client, "other", ADMFLAG_RCON));
            return Plugin_Handled;
        }""")
    nobody, admin, root = game.connect("No"), game.connect("Ad"), game.connect("Ro")
    admin.flags, root.flags = flag_bits("b"), ROOT
    for player in (nobody, admin, root):
        game.command(player, "sm_do")
    assert nobody.console == ["[SM] You may not use this command"]
    assert (admin.console, root.console) == (["done, other right 0"], ["done, other right 1"])
    game.sm.overrides["sm_do"] = 0
    game.command(nobody, "sm_do")
    assert nobody.console[1:] == ["done, other right 0"]


def test_an_events_hook_before_it_may_change_silence_or_block_it(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            HookEvent("player_hurt", Event_Before, EventHookMode_Pre);
            HookEvent("player_hurt", Event_After);
        }
        Action Event_Before(Event event, const char[] name, bool silent)
        {
            int damage = event.GetInt("damageamount");
            event.SetInt("damageamount", damage * 2);
            event.BroadcastDisabled = damage == 2;
            return damage == 3 ? Plugin_Handled : Plugin_Continue;
        }
        void Event_After(Event event, const char[] name, bool silent)
        {
            PrintToServer("%d silent %d", event.GetInt("damageamount"), silent);
        }""")
    sent = [game.fire("player_hurt", userid=2, attacker=3, damageamount=n) for n in (1, 2, 3)]
    assert sent == [True, True, False]
    assert [fields["damageamount"] for _, name, fields in game.history if name == "player_hurt"] == [2, 4]
    # The hook after a blocked event runs all the same.
    assert game.sm.console == ["2 silent 0", "4 silent 1", "6 silent 0"]


def test_a_hook_without_a_copy_gets_one_if_another_asked_for_it(game: Game, script: Script) -> None:
    plugin = script("""
        public void OnPluginStart()
        {
            HookEvent("player_hurt", Event_Hurt, EventHookMode_PostNoCopy);
            HookEvent("player_hurt", Event_Stop, EventHookMode_Pre);
            HookEvent("player_hurt", Event_Never, EventHookMode_Pre);
        }
        void Event_Hurt(Event event, const char[] name, bool silent) { PrintToServer("copy %d", event != null); }
        Action Event_Stop(Event event, const char[] name, bool silent) { return Plugin_Stop; }
        Action Event_Never(Event event, const char[] name, bool silent) { PrintToServer("no"); return Plugin_Stop; }""")
    copier = script(
        """
        public void OnPluginStart() { HookEvent("player_hurt", Event_Hurt); }
        void Event_Hurt(Event event, const char[] name, bool silent) { PrintToServer("copied"); }""",
        "copier",
    )
    game.fire("player_hurt", userid=2)
    game.unload(copier)
    game.fire("player_hurt", userid=2)
    assert game.sm.console == ["copy 1", "copied", "copy 0"]
    assert not game.sm.handles.live(plugin)


def test_timers_run_on_the_games_clock_and_stop_when_told(game: Game, script: Script) -> None:
    plugin = script("""
        Handle g_Repeat;
        int g_Count;
        public void OnPluginStart()
        {
            g_Repeat = CreateTimer(1.0, Timer_Count, 5, TIMER_REPEAT);
            CreateTimer(0.5, Timer_Once);
            RegServerCmd("kill_it", Command_Kill);
            RequestFrame(Next, 9);
        }
        void Next(any data) { PrintToServer("next frame %d", data); }
        Action Timer_Once(Handle timer) { PrintToServer("once"); return Plugin_Continue; }
        Action Timer_Count(Handle timer, any data)
        {
            PrintToServer("count %d %d", ++g_Count, data);
            return g_Count == 3 ? Plugin_Stop : Plugin_Continue;
        }
        Action Command_Kill(int args) { delete g_Repeat; return Plugin_Handled; }""")
    game.frame()
    assert game.sm.console == ["next frame 9"]
    game.advance(2.5)
    assert game.sm.console[1:] == ["once", "count 1 5", "count 2 5"]
    game.advance(10)
    assert game.sm.console[-1] == "count 3 5"
    assert not game.sm.handles.live(plugin)
    game.rcon("kill_it")
    assert game.sm.log.take_faults()[0].startswith("Handle")


def test_a_plugins_commands_hooks_and_timers_end_with_it(game: Game, script: Script) -> None:
    plugin = script("""
        public void OnPluginStart()
        {
            HookEvent("player_hurt", Event_Hurt);
            CreateTimer(1.0, Timer_Tick, 0, TIMER_REPEAT);
            RegConsoleCmd("hello", Command_Hello);
            FindConVar("mp_timelimit").AddChangeHook(Changed);
        }
        public void OnPluginEnd() { PrintToServer("bye"); }
        void Event_Hurt(Event event, const char[] name, bool silent) { PrintToServer("hurt"); }
        Action Timer_Tick(Handle timer) { PrintToServer("tick"); return Plugin_Continue; }
        Action Command_Hello(int client, int args) { PrintToServer("hello"); return Plugin_Handled; }
        void Changed(ConVar convar, const char[] before, const char[] after) { PrintToServer("changed"); }""")
    game.unload(plugin)
    game.fire("player_hurt", userid=2)
    game.rcon("hello")
    game.rcon("mp_timelimit 20")
    game.advance(3)
    assert game.sm.console == ["bye"]


def test_files_stay_below_the_servers_folder(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            char path[PLATFORM_MAX_PATH], line[32];
            BuildPath(Path_SM, path, sizeof(path), "rig-%d.txt", 1);
            File file = OpenFile(path, "w");
            file.WriteLine("grüße %d", 7);
            delete file;
            file = OpenFile(path, "r");
            while (!file.EndOfFile() && file.ReadLine(line, sizeof(line)))
            {
                TrimString(line);
                PrintToServer("%s %s %d", path, line, FileExists(path));
            }
            delete file;
        }
        public void OnMapStart() { OpenFile("../../outside.txt", "w"); }""")
    assert game.sm.console == ["addons/sourcemod/rig-1.txt grüße 7 1"]
    game.start_map("cp_badlands")
    assert "outside the server's folder" in game.sm.log.take_faults()[0]


def test_json_goes_to_a_file_and_back_and_a_name_is_replaced_where_the_system_does(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegServerCmd("keep", Command_Keep); }
        Action Command_Keep(int args)
        {
            JSONObject one = new JSONObject();
            one.SetFloat("third", 1.0 / 3.0);
            bool nowhere = one.ToFile("addons/nowhere/one.json");
            bool written = one.ToFile("one.new", JSON_COMPACT);
            bool renamed = RenameFile("one.json", "one.new");
            JSONObject same = JSONObject.FromFile(renamed ? "one.json" : "one.new");
            PrintToServer("%d %d %d %d", nowhere, written, renamed, same.GetFloat("third") == 1.0 / 3.0);
            delete one;
            delete same;
            return Plugin_Handled;
        }""")
    assert game.rcon("keep") == ["0 1 1 1"]
    assert game.rcon("keep") == ["0 1 1 1"]
    game.sm.replaces = False
    assert game.rcon("keep") == ["0 1 0 1"]
    assert game.sm.handles.live() == {}
