"""Console variables: how values are stored, who hears of it, and the ones the game brings along."""

from collections.abc import Callable

import pytest

from tests.sourcemod.rig import Game, Plugin

Script = Callable[..., Plugin]

NOTIFY, REPLICATED = 1 << 8, 1 << 13
HEARD = """
    ConVar g_Var;
    public void OnPluginStart()
    {
        g_Var = CreateConVar("rig_limit", "5", "a limit", FCVAR_NOTIFY, true, 1.0, true, 10.0);
        g_Var.AddChangeHook(Changed);
        FindConVar("mp_autoteambalance").AddChangeHook(Changed);
        RegServerCmd("int", Command_Int);
        RegServerCmd("float", Command_Float);
    }
    void Changed(ConVar convar, const char[] before, const char[] after)
    {
        char name[32];
        convar.GetName(name, sizeof(name));
        PrintToServer("%s %s -> %s (%d)", name, before, after, convar.IntValue);
    }
    Action Command_Int(int args) { g_Var.IntValue = GetCmdArgInt(1); return Plugin_Handled; }
    Action Command_Float(int args) { g_Var.FloatValue = GetCmdArgFloat(1); return Plugin_Handled; }"""


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["rig_limit 7", "rig_limit 7"], ["rig_limit 5 -> 7 (7)"]),
        (["rig_limit 99"], ["rig_limit 5 -> 10.000000 (10)"]),
        (["rig_limit x"], ["rig_limit 5 -> 1.000000 (1)"]),
        (["int 99"], ["rig_limit 5 -> 10 (10)"]),
        (["rig_limit 7.0", "int 7"], ["rig_limit 5 -> 7.0 (7)"]),
        (["float 7", "float 7"], ["rig_limit 5 -> 7.000000 (7)"]),
        (["mp_autoteambalance 9"], ["mp_autoteambalance 1 -> 2.000000 (2)"]),
    ],
)
def test_a_change_is_told_with_the_text_that_was_stored(
    game: Game, script: Script, lines: list[str], told: list[str]
) -> None:
    script(HEARD)
    assert [line for rcon in lines for line in game.rcon(rcon)] == told


def test_hooks_hear_of_what_the_server_sets_by_itself(game: Game, script: Script) -> None:
    script(HEARD)
    game.server_cfg["mp_autoteambalance"] = "0"
    game.start_map("cp_badlands")
    assert game.sm.console == ["mp_autoteambalance 1 -> 0 (0)"]


def test_a_variable_that_exists_keeps_its_default_flags_and_bounds(game: Game, script: Script) -> None:
    first = script(HEARD, "first")
    game.rcon("rig_limit 9")
    game.unload(first)
    script("""
        public void OnPluginStart()
        {
            ConVar again = CreateConVar("rig_limit", "50", "another", 0, true, 20.0, true, 90.0);
            float high;
            again.GetBounds(ConVarBound_Upper, high);
            PrintToServer("%d of %.0f, flags %d", again.IntValue, high, again.Flags);
        }""")
    assert game.sm.console[1:] == [f"9 of 10, flags {NOTIFY}"]


def test_a_command_of_that_name_stands_in_the_way(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegServerCmd("rig_taken", Command_Taken); }
        public void OnMapStart() { CreateConVar("rig_taken", "1"); }
        Action Command_Taken(int args) { return Plugin_Handled; }""")
    game.start_map("cp_badlands")
    [fault] = game.sm.log.take_faults()
    assert fault.startswith('Convar "rig_taken" was not created')


@pytest.mark.parametrize(
    ("name", "default", "flags", "low", "high"),
    [
        ("mp_autoteambalance", "1", NOTIFY, 0, 2),
        ("mp_teams_unbalance_limit", "1", REPLICATED, 0, 30),
        ("mp_bonusroundtime", "15", REPLICATED, 5, 15),
        ("mp_idlemaxtime", "3", 0, None, None),
        ("nextlevel", "", NOTIFY, None, None),
        ("tf_arena_use_queue", "1", NOTIFY | REPLICATED, None, None),
        ("tf_arena_preround_time", "10", NOTIFY | REPLICATED, 5, 15),
    ],
)
def test_the_games_own_variables_have_its_defaults_flags_and_bounds(
    game: Game, name: str, default: str, flags: int, low: float | None, high: float | None
) -> None:
    convar = game.sm.convars[name]
    assert (convar.value, convar.default, convar.flags, convar.low, convar.high) == (default, default, flags, low, high)
