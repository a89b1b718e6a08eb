"""SourceMod's frame comes before the game's, and a map's configuration comes file by file, frames after its start."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Plugin
from tests.sourcemod.rig.game.facts import BLU

Script = Callable[..., Plugin]

ORDER = """
    public void OnPluginStart()
    {
        HookEvent("teamplay_setup_finished", Event_Heard);
        CreateTimer(0.1, Timer_Due, _, TIMER_REPEAT);
    }
    void Event_Heard(Event event, const char[] name, bool silent)
    {
        PrintToServer("event");
        RequestFrame(Frame_Outer);
        FakeClientCommandEx(1, "say queued");
        KickClient(2, "out");
        ServerCommand("echo_buffer");
        CreateTimer(0.01, Timer_Single);
    }
    void Frame_Outer(any data) { PrintToServer("frame"); RequestFrame(Frame_Inner); }
    void Frame_Inner(any data) { PrintToServer("frame after"); }
    Action Timer_Single(Handle timer) { PrintToServer("single timer"); return Plugin_Stop; }
    Action Timer_Due(Handle timer) { PrintToServer("repeating timer"); return Plugin_Continue; }
    public Action OnClientSayCommand(int client, const char[] command, const char[] text)
    {
        PrintToServer("typed");
        return Plugin_Continue;
    }
    public void OnClientDisconnect(int client) { PrintToServer("kicked"); }
    public void OnGameFrame() { PrintToServer("game frame"); }"""


def test_what_an_event_asks_for_comes_in_the_next_frame_before_the_game_thinks(game: Game, script: Script) -> None:
    script(ORDER)
    game.start_map("cp_badlands")
    game.add("Ann"), game.add("Bob")
    game.until(lambda: game.sm.console[-2:] == ["repeating timer", "game frame"])
    for _ in range(19):  # timers are looked at in three of 20 frames, always the same
        game.frame()
    game.sm.console.clear()
    game.fire("teamplay_setup_finished")
    game.frame()
    game.frame()
    assert game.sm.console == [
        "event", 'Unknown command "echo_buffer"', "single timer", "repeating timer", "frame", "typed", "kicked",
        "game frame", "frame after", "game frame",
    ]  # fmt: skip


def test_a_frame_that_was_asked_for_still_sees_the_game_as_its_last_frame_left_it(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { HookEvent("teamplay_round_start", Event_Start); }
        void Event_Start(Event event, const char[] name, bool silent) { RequestFrame(Frame_Look); }
        void Frame_Look(any data) { PrintToServer("state %d at %.3f", GameRules_GetRoundState(), GetTickedTime()); }""")
    game.start_map("cp_badlands")
    game.add("Ann", "red")
    game.until(lambda: game.events("teamplay_round_start"))
    fired_at = game.now
    game.frame()
    assert game.sm.console == [f"state 3 at {fired_at + game.tick:.3f}"]


def test_timers_are_looked_at_every_tenth_of_a_second_singles_first(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            CreateTimer(0.3, Timer_Say, 1, TIMER_REPEAT);
            CreateTimer(0.3, Timer_Say, 2);
            CreateTimer(0.3, Timer_Say, 3);
            CreateTimer(9.0, Timer_Say, 4);
            CreateTimer(0.3, Timer_Say, 5);
        }
        Action Timer_Say(Handle timer, any data)
        {
            PrintToServer("%d at %.2f", data, GetTickedTime() - 100.0);
            return data == 1 ? Plugin_Continue : Plugin_Stop;
        }""")
    game.advance(0.65)
    said = [line.partition(" at ") for line in game.sm.console]
    assert [number for number, _, _ in said] == ["5", "2", "3", "1", "1"]
    first, again = (float(time) for number, _, time in said if number == "1")
    assert 0.3 <= first < 0.42
    assert 0.6 <= again < 0.72


def test_a_timer_of_no_time_at_all_comes_at_the_next_look(game: Game, script: Script) -> None:
    script("""
        public void OnMapStart() { CreateTimer(0.0, Timer_Say); }
        Action Timer_Say(Handle timer) { PrintToServer("now"); return Plugin_Stop; }""")
    game.start_map("cp_badlands")
    game.advance(0.1)
    assert game.sm.console == ["now"]


def test_a_running_timer_cannot_be_triggered_again_and_dies_after_its_callback(game: Game, script: Script) -> None:
    plugin = script("""
        Handle g_Timer;
        public void OnPluginStart() { g_Timer = CreateTimer(0.1, Timer_Say, _, TIMER_REPEAT); }
        Action Timer_Say(Handle timer)
        {
            TriggerTimer(g_Timer);
            KillTimer(g_Timer);
            PrintToServer("once, valid %d", IsValidHandle(timer));
            return Plugin_Continue;
        }""")
    game.advance(1.0)
    assert game.sm.console == ["once, valid 1"]
    assert not game.sm.handles.live(plugin)


def test_the_data_handle_of_a_timer_that_is_gone_already_is_an_error(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            DataPack pack;
            CreateDataTimer(0.1, Timer_Say, pack);
        }
        Action Timer_Say(Handle timer, DataPack pack) { delete pack; return Plugin_Stop; }""")
    game.advance(0.5)
    assert game.sm.log.take_faults()[0].startswith("Invalid data handle")


CONFIGS = """
    public void OnPluginStart()
    {
        CreateConVar("rig_place", "default").AddChangeHook(OnPlace);
        AutoExecConfig(true, "rig");
    }
    void OnPlace(ConVar convar, const char[] old, const char[] value) { PrintToServer("rig_place %s", value); }
    public void OnMapStart() { PrintToServer("OnMapStart"); }
    public void OnAutoConfigsBuffered() { PrintToServer("OnAutoConfigsBuffered"); }
    public void OnConfigsExecuted() { PrintToServer("OnConfigsExecuted"); }
    public void OnClientPutInServer(int client) { PrintToServer("OnClientPutInServer"); }
    public void OnGameFrame() { PrintToServer("frame"); }"""


def configure(game: Game, **files: str) -> None:
    """Write configuration files, by name: they set `rig_place` to a word."""
    for name, word in files.items():
        path = game.sm.configs.folder / f"{name.replace('__', '/')}.cfg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"// ours\nrig_place {word}; rig_place {word}2\n")


def test_a_maps_files_are_executed_in_order_and_the_plugins_own_comes_last(game: Game, script: Script) -> None:
    configure(game, server="server", arena_well="map", sourcemod__sourcemod="sourcemod", sourcemod__rig="plugin")
    game.sm.configs.arena["rig_place"] = "arena"
    script(CONFIGS)
    game.start_map("arena_well")
    assert game.sm.console == [
        "OnMapStart", "rig_place server", "rig_place server2", "rig_place map", "rig_place map2", "rig_place arena",
        "rig_place sourcemod", "rig_place sourcemod2", "rig_place plugin", "rig_place plugin2",
        "OnAutoConfigsBuffered", "frame", "OnConfigsExecuted", "frame",
    ]  # fmt: skip


def test_a_value_in_a_file_may_hold_slashes_and_semicolons_inside_quotes(game: Game, script: Script) -> None:
    script('public void OnPluginStart() { CreateConVar("rig_place", "default"); }')
    game.sm.configs.folder.mkdir(parents=True)
    (game.sm.configs.folder / "server.cfg").write_text('rig_place "http://a;b" // ours\n// rig_place no\n')
    game.start_map("cp_badlands")
    assert game.sm.convars["rig_place"].value == "http://a;b"


def test_those_who_stay_for_the_next_map_are_there_before_its_configuration(game: Game, script: Script) -> None:
    script(CONFIGS)
    game.start_map("cp_badlands")
    game.add("Ann"), game.add_bot("Bot", BLU)
    game.sm.console.clear()
    game.start_map("ctf_2fort")
    assert [line for line in game.sm.console if line != "frame"] == [
        "OnMapStart", "OnClientPutInServer", "OnAutoConfigsBuffered", "OnConfigsExecuted",
    ]  # fmt: skip


def test_a_late_plugin_is_configured_a_frame_later_and_not_told_of_the_buffering(game: Game, script: Script) -> None:
    configure(game, sourcemod__rig="plugin")
    game.start_map("cp_badlands")
    script(CONFIGS)
    assert game.sm.console == ["OnMapStart"]
    game.frame()
    assert game.sm.console[1:] == [
        "rig_place plugin", "rig_place plugin2", "OnConfigsExecuted", "frame",
    ]  # fmt: skip


def test_a_late_plugin_without_a_file_is_configured_at_once(game: Game, script: Script) -> None:
    game.start_map("cp_badlands")
    script(CONFIGS.replace('AutoExecConfig(true, "rig");', ""))
    assert game.sm.console == ["OnMapStart", "OnConfigsExecuted"]


WRITER = """
    public void OnPluginStart()
    {
        CreateConVar("rig_secret", "unset", "a secret\\nof two lines");
        CreateConVar("rig_limit", "5", "a limit", _, true, 1.0, true, 10.0);
        CreateConVar("rig_version", "1", "not for the file", FCVAR_DONTRECORD);
        AutoExecConfig(true, "rig");
    }"""
WRITTEN = """\
// a secret
// of two lines
// -
// Default: "unset"
rig_secret "{}"

// a limit
// -
// Default: "5"
// Minimum: "1.000000"
// Maximum: "10.000000"
rig_limit "5"

"""


@pytest.mark.parametrize(
    ("regenerates", "kept"), [(False, 'rig_secret "mine"\nold "1"\n'), (True, WRITTEN.format("mine"))]
)
def test_a_file_out_of_step_is_written_again_by_1_13_only(
    game: Game, script: Script, regenerates: bool, kept: str
) -> None:
    game.sm.configs.regenerates = regenerates
    script(WRITER)
    game.start_map("cp_badlands")
    file = game.sm.configs.folder / "sourcemod" / "rig.cfg"
    assert file.read_text() == WRITTEN.format("unset")
    file.write_text('rig_secret "mine"\nold "1"\n')
    game.start_map("ctf_2fort")
    assert file.read_text() == kept
    assert game.sm.convars["rig_secret"].value == "mine"


def test_libraries_are_told_before_all_plugins_are_loaded_and_taken_before_the_end(game: Game, script: Script) -> None:
    tells = """
        public void OnLibraryAdded(const char[] name) { PrintToServer("+%s", name); }
        public void OnLibraryRemoved(const char[] name) { PrintToServer("-%s", name); }
        public void OnPluginEnd() { PrintToServer("end"); }
        public void OnAllPluginsLoaded() { PrintToServer("all"); }
        public APLRes AskPluginLoad2(Handle self, bool late, char[] error, int size)
        {
            RegPluginLibrary("OWN");
            return APLRes_Success;
        }"""
    script(tells.replace("OWN", "one"), "one")
    two = script(tells.replace("OWN", "two"), "two")
    game.unload(two)
    # The one that ends is in the list no more when its library is taken (CPluginManager::UnloadPluginImpl).
    assert game.sm.console == ["+one", "all", "+two", "+two", "+one", "all", "-two", "end"]


def test_a_plugin_that_failed_runs_no_more_code(game: Game, script: Script) -> None:
    script("""
        public void OnMapStart() { CreateTimer(0.1, Timer_Say); SetFailState("no good"); }
        public void OnConfigsExecuted() { PrintToServer("configs"); }
        public void OnPluginEnd() { PrintToServer("end"); }
        Action Timer_Say(Handle timer) { PrintToServer("timer"); return Plugin_Stop; }""")
    game.start_map("cp_badlands")
    game.advance(0.5)
    assert (game.sm.console, game.sm.plugins) == ([], [])
    assert game.sm.log.take_faults() == ["no good"]
