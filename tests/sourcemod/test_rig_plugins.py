"""The machine under the plugins: bytecode, errors, handles, and plugins that talk to each other."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.sourcemod.rig import CompileError, Game, LoadError, Plugin, compile_text

Script = Callable[..., Plugin]


def test_a_compiler_warning_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="symbol is never used"):
        compile_text("#include <sourcemod>\npublic void OnPluginStart() { int unused; }", tmp_path, "warned")


def test_dynamic_arrays_of_inner_scopes_leave_outer_ones_alone(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            int[] outer = new int[4];
            outer[0] = 77;
            for (int i = 0; i < 20; i++)
            {
                int[] inner = new int[8];
                char[] text = new char[64];
                inner[7] = i;
                Format(text, 64, "%d", inner[7]);
                outer[1] += StringToInt(text);
            }
            PrintToServer("%d %d", outer[0], outer[1]);
        }""")
    assert game.sm.console == ["77 190"]


def test_a_return_frees_the_dynamic_arrays_of_its_function(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            int sum;
            for (int i = 0; i < 2000; i++)
            {
                sum += Third(9);
            }
            PrintToServer("%d", sum);
        }
        int Third(int count)
        {
            for (int i = 1; i < count; i++)
            {
                int[] list = new int[i];
                list[0] = i;
                if (i == 3)
                {
                    return list[0];
                }
            }
            return 0;
        }""")
    assert game.sm.console == ["6000"]


def test_integers_wrap_at_32_bits_within_an_expression(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            int big = 0x7fffffff;
            PrintToServer("%d %d %d", (big + 1) / 2, big * 3, (big + 1) < 0);
            PrintToServer("%d %d", -7 / 2, -7 % 2);
        }""")
    assert game.sm.console == ["-1073741824 2147483645 1", "-3 -1"]


def cell(value: int) -> int:
    return (value + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def expression(rng: Random, depth: int) -> str:
    """An expression that SourcePawn and Python both read; no part of it leaves 32 bits uncut."""
    if depth == 0:
        return rng.choice(
            ["a", "b", "c", "list[c & 3]", "twice(b)", str(rng.choice([0, 1, 7, 255, 65537, 2147483647]))]
        )
    one, other = expression(rng, depth - 1), expression(rng, rng.randrange(depth))
    forms = ["cell({} + {})", "cell({} - {})", "cell({} * {})", "({} & {})", "({} | {})", "({} ^ {})", "({} >> 2 ^ {})"]
    forms += [f"int({{}} {operator} {{}})" for operator in ("==", "!=", "<", "<=", ">", ">=")]
    forms += ["pick({} > a, {}, b)", "cell(~{} - {})", "cell(-{} + {})", "cell(({} << 3) ^ {})", "pick(a == 0, {}, {})"]
    return rng.choice(forms).format(one, other)


def test_an_expression_is_what_32_bits_make_of_it(game: Game, script: Script) -> None:
    rng = Random(1)
    numbers = [0, 1, -1, 3, 1 << 30, 1 - (1 << 31)]
    cases = [(expression(rng, 4), [rng.choice(numbers) for _ in "abc"]) for _ in range(80)]
    functions = "".join(
        f"""
        int Value{number}(int a, int b, int c)
        {{
            int list[4];
            for (int i = 0; i < 4; i++) list[i] = i * c;
            return {text.replace("int(", "view_as<int>(")} + 0 * (a + b + list[c & 3]);
        }}"""
        for number, (text, _) in enumerate(cases)
    )
    calls = (f"Value{number}({', '.join(map(str, values))})" for number, (_, values) in enumerate(cases))
    script(f"""
        stock int cell(int value) {{ return value; }}
        stock int pick(bool which, int one, int other) {{ return which ? one : other; }}
        stock void Grow(int &value) {{ value += value; }}
        stock int twice(int value) {{ Grow(value); return value; }}
        {functions}
        public void OnPluginStart() {{ {" ".join(f'PrintToServer("%d", {call});' for call in calls)} }}""")

    known = {"cell": cell, "pick": lambda which, one, other: one if which else other, "twice": lambda v: cell(2 * v)}
    expected = []
    for text, (a, b, c) in cases:
        names = known | {"a": a, "b": b, "c": c, "list": [cell(i * c) for i in range(4)]}
        expected.append(str(eval(text, names)))
    assert game.sm.console == expected
    assert len(set(expected)) > 20


class Program:
    """Statements at random, as SourcePawn and as Python: loops, branches, arrays, rows, text, references, calls."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.pawn: list[str] = []
        self.python: list[str] = []
        self._statements(3, 0)

    def _line(self, level: int, pawn: str, python: str) -> None:
        self.pawn.append(" " * level + pawn.replace("int(", "view_as<int>("))
        self.python.append(" " * level + (python or "pass"))

    def _statements(self, depth: int, level: int, *, in_loop: bool = False) -> None:
        simple = [self._assign, self._row, self._text, self._call, self._grow, self._local]
        for _ in range(self.random.randint(2, 4)):
            self.random.choice(simple + [self._if, self._loop, self._switch] * (depth > 0))(depth, level)
        if in_loop and self.random.random() < 0.5:
            word, test = self.random.choice(["break", "continue"]), f"({expression(self.random, 1)} & 3) == 2"
            self._line(level, f"if ({test}) {word};", f"if {test}: {word}")

    def _assign(self, depth: int, level: int) -> None:
        target = self.random.choice(["a", "b", "c", f"list[{self.random.choice(['a & 3', 'c & 3', '2'])}]"])
        text = f"{target} = cell({expression(self.random, 2)})"
        self._line(level, f"{text};", text)

    def _row(self, depth: int, level: int) -> None:
        row = f"rows[{self.random.choice(['1', 'a & 1', 'list[0] & 1'])}][b & 3]"
        value = expression(self.random, 0)
        self._line(level, f"{row} += {value};", f"{row} = cell({row} + {value})")

    def _text(self, depth: int, level: int) -> None:
        self._line(
            level, "text[b & 7] = 97 + (a & 15); c ^= text[a & 7];", "text[b & 7] = 97 + (a & 15); c ^= text[a & 7]"
        )

    def _call(self, depth: int, level: int) -> None:
        one, other = expression(self.random, 1), expression(self.random, 1)
        call = f"b = pick({one} > c && a != 3, twice({other}), pick(b < 2 || c > a, a, list[b & 3]))"
        self._line(level, f"{call};", call.replace("&&", "and").replace("||", "or"))

    def _grow(self, depth: int, level: int) -> None:
        name, held = self.random.choice("abc"), f"held{len(self.pawn)}"
        self._line(level, f"int {held} = {name}; Grow({held}); {name} = {held};", f"{name} = cell({name} + {name})")

    def _local(self, depth: int, level: int) -> None:
        name, other = f"k{len(self.pawn)}", f"j{len(self.pawn)}"
        text = f"{name} = {self.random.choice('abc')} ^ 5; {other} = b & {name}; {name} ^= a; c ^= {name} | {other}"
        self._line(level, f"{{ int {text.replace(f'; {other} =', f'; int {other} =')}; }}", text)

    def _if(self, depth: int, level: int) -> None:
        test = f"{expression(self.random, 1)} <= {expression(self.random, 1)}"
        self._line(level, f"if ({test}) {{", f"if {test}:")
        self._statements(depth - 1, level + 1)
        self._line(level, "} else {", "else:")
        self._statements(depth - 1, level + 1)
        self._line(level, "}", "")

    def _loop(self, depth: int, level: int) -> None:
        i, times = f"i{len(self.pawn)}", self.random.randint(1, 4)
        self._line(level, f"for (int {i} = 0; {i} < {times}; {i}++) {{", f"for {i} in range({times}):")
        self._statements(depth - 1, level + 1, in_loop=True)
        self._line(level + 1, f"a ^= {i};", f"a ^= {i}")
        self._line(level, "}", "")

    def _switch(self, depth: int, level: int) -> None:
        self._line(level, "switch (a & 7) {", "match a & 7:")
        for case in ("0, 1", "3", "6, 7", ""):
            pawn = f"case {case}: {{" if case else "default: {"
            self._line(level + 1, pawn, f"case {case.replace(', ', ' | ') or '_'}:")
            self._statements(depth - 1, level + 2)
            self._line(level + 2, "}", "")
        self._line(level, "}", "")


def test_programs_do_what_the_same_statements_do_in_python(game: Game, script: Script) -> None:
    programs = [Program(seed) for seed in range(12)]
    end = "a ^ b ^ c ^ list[0] ^ list[1] ^ list[2] ^ list[3]"
    end += " ^ rows[0][1] ^ rows[0][3] ^ rows[1][0] ^ rows[1][2] ^ text[0] ^ text[5]"
    functions = "".join(
        f"""
        int Run{number}(int a, int b)
        {{
int c = 5, list[4], rows[2][4];
char text[8];
{chr(10).join(program.pawn)}
return {end};
        }}"""
        for number, program in enumerate(programs)
    )
    inputs = [(0, 0), (1, -1), (7, 123456789), (-(1 << 31), 2)]
    calls = [f"Run{number}({a}, {b})" for number in range(len(programs)) for a, b in inputs]
    script(f"""
        stock int cell(int value) {{ return value; }}
        stock int pick(bool which, int one, int other) {{ return which ? one : other; }}
        stock void Grow(int &value) {{ value += value; }}
        stock int twice(int value) {{ Grow(value); return value; }}
        {functions}
        public void OnPluginStart() {{ {" ".join(f'PrintToServer("%d", {call});' for call in calls)} }}""")

    expected = []
    for program in programs:
        lines = ["def run(a, b):", "    c, list, rows, text = 5, [0] * 4, [[0] * 4, [0] * 4], [0] * 8"]
        names = {"cell": cell, "pick": lambda which, one, other: one if which else other}
        exec("\n".join([*lines, *(f"    {line}" for line in program.python), f"    return {end}"]),
             scope := names | {"twice": lambda value: cell(2 * value)})  # fmt: skip
        expected += [str(scope["run"](*values)) for values in inputs]  # type: ignore[operator]
    assert game.sm.console == expected
    assert len(set(expected)) > 30


def test_a_plugin_reaches_the_end_of_its_own_stack(game: Game, script: Script) -> None:
    script("""
        #pragma dynamic 65536
        int g_Calls;
        public void OnPluginStart() { RegServerCmd("deep", Command_Deep); RegServerCmd("calls", Command_Calls); }
        Action Command_Deep(int args) { Descend(); return Plugin_Handled; }
        Action Command_Calls(int args) { PrintToServer("%d", g_Calls); return Plugin_Handled; }
        int Descend() { g_Calls++; return Descend() + 1; }""")
    game.rcon("deep")
    assert game.sm.log.take_faults() == ["Not enough space on the stack"]
    (calls,) = game.rcon("calls")
    assert 20000 < int(calls) < 65536 * 4 / 12


def test_a_fault_names_the_line_of_each_caller(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart() { RegServerCmd("deep", Command_Deep); RegServerCmd("far", Command_Far); }
        Action Command_Deep(int args) { Descend(args); return Plugin_Handled; }
        int Descend(int level)
        {
            int list[64];
            list[0] = level;
            return Descend(level + 1) + list[0];
        }
        Action Command_Far(int args)
        {
            Write(9);
            return Plugin_Handled;
        }
        void Write(int count)
        {
            int list[4];
            for (int i = 0; i < count; i++)
            {
                list[i] = i;
            }
        }""")
    game.rcon("far")
    game.rcon("deep")
    (_, far, far_trace), (_, deep, deep_trace) = game.sm.log.faults
    assert far == "Array index out-of-bounds (index 4, limit 4)"
    assert far_trace.splitlines() == ["  [0] script.sp::Write, line 24", "  [1] script.sp::Command_Far, line 16"]
    assert deep == "Not enough space on the stack"
    assert deep_trace.splitlines()[1] == "  [1] script.sp::Descend, line 12"
    assert deep_trace.splitlines()[-1].endswith("script.sp::Command_Deep, line 7")
    game.sm.log.take_faults()


def test_text_is_utf8_and_never_cut_inside_a_character(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            char text[6];
            strcopy(text, sizeof(text), "漢字漢字");
            PrintToServer("%s %d", text, strlen(text));
        }""")
    assert game.sm.console == ["漢 3"]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("ArrayList list = new ArrayList(); list.Get(3);", "Invalid index 3 (count: 0)"),
        ("int list[4]; int i = MaxClients; list[i] = 1;", "Array index out-of-bounds (index 24, limit 4)"),
        ("int list[4]; int i = 23 - MaxClients; list[i] = 1;", "Array index out-of-bounds (index -1, limit 4)"),
        ('int zero = MaxClients - 24; PrintToServer("%d", 1 / zero);', "Divide by zero"),
        ("GetClientTeam(3);", "Client 3 is not connected"),
        ("GetClientTeam(99);", "Client index 99 is invalid"),
        ('GetEntProp(0, Prop_Send, "m_iNothing");', 'Property "m_iNothing" not found (entity 0/worldspawn)'),
        ('PrintToServer("%d %d", 1);', "String formatted incorrectly - parameter 2 (total 1)"),
        ('ThrowError("on %s", "purpose");', "on purpose"),
        ('HookEvent("no_such_event", EventHook_Nothing);', 'Game event "no_such_event" does not exist'),
        ("int[] huge = new int[9999999]; huge[0] = 1;", "Not enough space on the heap"),
    ],
)
def test_an_error_ends_only_the_callback_it_happens_in(game: Game, script: Script, statement: str, reason: str) -> None:
    plugin = script(f"""
        public void OnPluginStart() {{ RegServerCmd("fails", Command_Fails); RegServerCmd("works", Command_Works); }}
        public Action Command_Fails(int args) {{ {statement} PrintToServer("not reached"); return Plugin_Handled; }}
        public Action Command_Works(int args) {{ PrintToServer("still here"); return Plugin_Handled; }}
        stock void EventHook_Nothing(Event event, const char[] name, bool silent) {{ }}""")
    for _ in range(3):
        game.rcon("fails")
        game.rcon("works")

    assert game.sm.console == ["still here"] * 3
    assert "Command_Fails" in game.sm.log.faults[0][2]
    assert game.sm.log.take_faults() == [reason] * 3
    assert plugin.image.datasize == plugin.machine.HEA


def test_an_error_during_start_up_refuses_the_plugin(game: Game, script: Script) -> None:
    with pytest.raises(LoadError, match="Error detected in plugin startup: no config"):
        script('public void OnPluginStart() { ThrowError("no config"); }')
    assert game.sm.plugins == []


def test_a_native_that_nobody_provides_refuses_the_plugin_by_name(game: Game, script: Script) -> None:
    with pytest.raises(LoadError, match="Native not found: Missing_Native"):
        script("native void Missing_Native();\npublic void OnPluginStart() { Missing_Native(); }")


def test_an_optional_native_fails_only_when_it_is_called(game: Game, script: Script) -> None:
    script("""
        native void Missing_Native();
        public APLRes AskPluginLoad2(Handle self, bool late, char[] error, int size)
        {
            MarkNativeAsOptional("Missing_Native");
            return APLRes_Success;
        }
        public void OnPluginStart()
        {
            PrintToServer("%d", GetFeatureStatus(FeatureType_Native, "Missing_Native") == FeatureStatus_Unavailable);
        }
        public void OnMapStart() { Missing_Native(); }""")
    game.start_map("ctf_2fort")
    assert game.sm.console == ["1"]
    assert game.sm.log.take_faults() == ["Native is not bound: Missing_Native"]


def test_a_required_extension_that_is_absent_refuses_the_plugin(new_game: Callable[..., Game], tmp_path: Path) -> None:
    smx = compile_text(
        "#include <ripext>\npublic void OnPluginStart() { delete new JSONObject(); }",
        tmp_path, "needy", tmp_path,
    )  # fmt: skip
    with pytest.raises(LoadError, match='Required extension "REST in Pawn"'):
        new_game(ripext=False).load(smx)


def test_the_load_error_is_the_plugins_own_when_it_refuses_itself(script: Script) -> None:
    with pytest.raises(LoadError, match="wrong game"):
        script("""
            public APLRes AskPluginLoad2(Handle self, bool late, char[] error, int size)
            {
                strcopy(error, size, "wrong game");
                return APLRes_Failure;
            }""")


def test_handles_that_are_not_closed_are_counted_by_kind(game: Game, script: Script) -> None:
    plugin = script("""
        public void OnPluginStart() { RegServerCmd("leak", Command_Leak); }
        public Action Command_Leak(int args)
        {
            ArrayList kept = new ArrayList();
            StringMap freed = new StringMap();
            kept.Push(freed.Size);
            delete freed;
            JSONArray list = new JSONArray();
            JSONObject item = new JSONObject();
            list.Push(item);
            delete list;
            return Plugin_Handled;
        }""")
    before = game.sm.handles.live(plugin)
    game.rcon("leak")
    leaked = game.sm.handles.live(plugin) - before
    assert leaked == Counter({"ArrayList": 1, "JSONObject": 1})
    game.unload(plugin)
    assert game.sm.handles.live() == Counter()


def test_a_closed_handle_is_an_error_when_used_again(game: Game, script: Script) -> None:
    script("""
        public void OnMapStart()
        {
            ArrayList list = new ArrayList();
            ArrayList again = list;
            delete list;
            again.Push(1);
        }""")
    game.start_map("ctf_2fort")
    assert game.sm.log.take_faults()[0].startswith("Invalid ArrayList handle")


PROVIDER = """
    GlobalForward g_Forward;
    public APLRes AskPluginLoad2(Handle self, bool late, char[] error, int size)
    {
        CreateNative("Provider_Double", Native_Double);
        RegPluginLibrary("provider");
        return APLRes_Success;
    }
    public void OnPluginStart()
    {
        g_Forward = new GlobalForward("Provider_OnDecide", ET_Hook, Param_Cell, Param_String, Param_CellByRef);
        RegServerCmd("decide", Command_Decide);
    }
    any Native_Double(Handle plugin, int count)
    {
        int value = GetNativeCell(1);
        if (value < 0)
        {
            return ThrowNativeError(SP_ERROR_NATIVE, "%d is negative", value);
        }
        char name[32];
        GetPluginFilename(plugin, name, sizeof(name));
        PrintToServer("asked by %s", name);
        SetNativeString(2, "doubled", GetNativeCell(3));
        return value * 2;
    }
    Action Command_Decide(int args)
    {
        Action result;
        int limit = 5;
        Call_StartForward(g_Forward);
        Call_PushCell(7);
        Call_PushString("héhé");
        Call_PushCellRef(limit);
        Call_Finish(result);
        PrintToServer("result %d limit %d", result, limit);
        return Plugin_Handled;
    }"""
CONSUMER = """
    native int Provider_Double(int value, char[] buffer, int size);
    forward Action Provider_OnDecide(int value, const char[] text, int &limit);
    public void OnPluginStart()
    {
        RegServerCmd("double", Command_Double);
        PrintToServer("library %d", LibraryExists("provider"));
    }
    Action Command_Double(int args)
    {
        char text[8], number[8];
        GetCmdArg(1, number, sizeof(number));
        int result = Provider_Double(StringToInt(number), text, sizeof(text));
        PrintToServer("%d %s", result, text);
        return Plugin_Handled;
    }
    public Action Provider_OnDecide(int value, const char[] text, int &limit)
    {
        PrintToServer("asked %d %s %d", value, text, limit);
        limit = 9;
        return value == 7 ? Plugin_Handled : Plugin_Continue;
    }"""


def test_a_plugin_serves_natives_to_another(game: Game, script: Script) -> None:
    provider = script(PROVIDER, "provider")
    script(CONSUMER, "consumer")
    game.rcon("double 21")
    assert game.sm.console == ["library 1", "asked by consumer.smx", "42 doubled"]

    game.rcon("double -3")
    assert game.sm.log.faults[0][0] == "consumer.smx"
    assert game.sm.log.take_faults() == ["-3 is negative"]

    game.unload(provider)
    game.rcon("double 21")
    assert game.sm.log.take_faults() == ["Native is not bound: Provider_Double"]


def test_another_plugin_vetoes_through_a_forward(game: Game, script: Script) -> None:
    script(PROVIDER, "provider")
    assert game.rcon("decide") == ["result 0 limit 5"]
    consumer = script(CONSUMER, "consumer")
    assert game.rcon("decide") == ["asked 7 héhé 5", "result 3 limit 9"]
    game.unload(consumer)
    assert game.rcon("decide") == ["result 0 limit 5"]


def test_a_python_listener_hears_and_vetoes_a_forward(game: Game, script: Script) -> None:
    script(PROVIDER, "provider")
    heard: list[tuple[object, ...]] = []

    def veto(value: int, text: str, limit: object) -> int:
        heard.append((value, text))
        return 4

    game.sm.listen("Provider_OnDecide", veto)
    assert game.rcon("decide") == ["result 4 limit 5"]
    assert heard == [(7, "héhé")]


def test_sorting_calls_back_into_the_plugin(game: Game, script: Script) -> None:
    script("""
        enum struct Row
        {
            int id;
            float rating;
        }
        public void OnPluginStart()
        {
            ArrayList rows = new ArrayList(sizeof(Row));
            for (int i = 0; i < 6; i++)
            {
                Row row;
                row.id = i;
                row.rating = float((i * 7) % 5);
                rows.PushArray(row);
            }
            rows.SortCustom(ByRating);
            for (int i = 0; i < rows.Length; i++)
            {
                PrintToServer("%d %.1f", rows.Get(i), rows.Get(i, Row::rating));
            }
            delete rows;
        }
        int ByRating(int a, int b, Handle array, Handle data)
        {
            ArrayList rows = view_as<ArrayList>(array);
            float x = rows.Get(a, Row::rating), y = rows.Get(b, Row::rating);
            return x < y ? 1 : x > y ? -1 : rows.Get(a) - rows.Get(b);
        }""")
    assert game.sm.console == ["2 4.0", "4 3.0", "1 2.0", "3 1.0", "0 0.0", "5 0.0"]


def test_containers_keep_what_they_are_given(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            StringMap map = new StringMap();
            map.SetValue("seven", 7);
            map.SetString("name", "héhé");
            map.SetValue("seven", 8, false);
            int value;
            char text[16];
            bool found = map.GetValue("seven", value), missing = map.GetValue("eight", value);
            map.GetString("name", text, sizeof(text));
            PrintToServer("%d %d %d %s %d", found, missing, value, text, map.Size);
            StringMapSnapshot keys = map.Snapshot();
            for (int i = 0; i < keys.Length; i++)
            {
                keys.GetKey(i, text, sizeof(text));
                PrintToServer("key %s", text);
            }
            DataPack pack = new DataPack();
            pack.WriteCell(3);
            pack.WriteFloat(0.5);
            pack.WriteString("tail");
            pack.Reset();
            value = pack.ReadCell();
            PrintToServer("%d %.1f", value, pack.ReadFloat());
            pack.ReadString(text, sizeof(text));
            PrintToServer("%s %d", text, pack.IsReadable());
            delete pack;
            delete keys;
            delete map;
        }""")
    assert game.sm.console == ["1 0 7 héhé 2", "key seven", "key name", "3 0.5", "tail 0"]


def test_an_error_in_a_function_that_is_called_by_its_name_is_its_callers_to_handle(game: Game, script: Script) -> None:
    script("""
        public void OnPluginStart()
        {
            for (int i = 0; i < 2; i++)
            {
                any result = -1;
                Call_StartFunction(null, Divide);
                Call_PushCell(i);
                bool ended = Call_Finish(result) == SP_ERROR_NONE;
                PrintToServer("%d %d", ended, result);
            }
        }
        int Divide(int by)
        {
            if (by == 0)
            {
                ThrowError("by nothing");
            }
            return 6 / by;
        }""")
    assert game.sm.console == ["0 -1", "1 6"]
    assert game.sm.log.take_faults() == ["by nothing"]


def test_a_reloaded_plugin_is_new_at_its_old_place_and_its_variables_are_not(game: Game, script: Script) -> None:
    text = """
        int g_Calls;
        public void OnPluginStart()
        {
            ConVar kept = CreateConVar("kept_%s", "0");
            kept.IntValue++;
            PrintToServer("%s starts: %%d, %%d", kept.IntValue, ++g_Calls);
        }
        public void OnPluginEnd() { PrintToServer("%s ends: %%d", ++g_Calls); }
        public void OnMapStart() { PrintToServer("%s: map"); }"""
    game.start_map("cp_badlands")
    first, _ = (script(text.replace("%s", name).replace("%%", "%"), name=name) for name in ("one", "two"))
    game.sm.console.clear()
    game.reload(first)
    assert game.sm.console == ["one ends: 2", "one starts: 2, 1", "one: map"]
    assert [plugin.name for plugin in game.sm.plugins] == ["one.smx", "two.smx"]
