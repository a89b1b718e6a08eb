"""The mod's Lua: its modules touch no engine, its syntax is Lua 5.1, and the build makes of it what is published."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lupa.lua51 import LuaError
from lupa.lua51 import LuaRuntime as Lua51
from lupa.luajit21 import LuaRuntime

from tests.ns2mod.modules import FOLDER, MOD, NAMES, ROOT

BUILD = runpy.run_path(str(MOD / "build.py"))
ALL = sorted((MOD / "lua").rglob("*.lua")) + sorted((MOD / "lua").rglob("*.entry"))
PURE = sorted(
    [path for path in FOLDER.glob("*.lua") if path.stem not in ("load", "server")]
    + [*(FOLDER / "languages").glob("*.lua")]
)
"""All but load.lua, server.lua and engine/."""
STANDARD = {
    "error",
    "ipairs",
    "math",
    "next",
    "pairs",
    "pcall",
    "setmetatable",
    "string",
    "table",
    "tonumber",
    "tostring",
    "type",
}

GLOBALS = """
-- Every global that a function, or one inside it, reads or writes, from its bytecode. The numbers of the two
-- instructions are those of functions that do nothing else.
local util, bit = require("jit.util"), require("bit")
local kRead = bit.band(util.funcbc(loadstring("return x"), 1), 0xff)
local kWrite = bit.band(util.funcbc(loadstring("local y; x = y"), 2), 0xff)

local function Collect(fn, found)
    local at = 1
    local instruction = util.funcbc(fn, at)
    while instruction do
        local operation = bit.band(instruction, 0xff)
        if operation == kRead or operation == kWrite then
            found[util.funck(fn, -1 - bit.rshift(instruction, 16))] = operation == kRead and "read" or "written"
        end
        at = at + 1
        instruction = util.funcbc(fn, at)
    end
    local inner = -1
    local constant = util.funck(fn, inner)
    while constant ~= nil do
        if type(constant) == "proto" then
            Collect(constant, found)
        end
        inner = inner - 1
        constant = util.funck(fn, inner)
    end
    return found
end

return function(text)
    return Collect(assert(loadstring(text)), {})
end
"""


def accesses(text: str) -> dict[str, str]:
    """Globals that a chunk of Lua names, each with what it last does with it."""
    find = LuaRuntime().execute(GLOBALS)
    return dict(find(text).items())


def test_the_search_for_globals_finds_them_at_any_depth() -> None:
    text = "local a = Shared; local function f() return function() Server = a.x end end; return f"
    assert accesses(text) == {"Shared": "read", "Server": "written"}


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.stem)
def test_a_module_names_no_global_of_the_engine(path: Path) -> None:
    found = accesses(path.read_text(encoding="utf-8"))
    assert set(found) - {"Equipoise"} <= STANDARD
    assert {name for name, what in found.items() if what == "written"} <= {"Equipoise"}


def test_every_module_is_loaded_by_the_tests() -> None:
    assert {path.stem for path in PURE if path.parent == FOLDER} >= set(NAMES)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_the_syntax_is_that_of_lua_5_1(path: Path) -> None:
    """The engine's parser knows more: comments as in C, `goto`. Other tools do not."""
    text = path.read_text(encoding="utf-8")
    Lua51().compile(text)
    assert "--[" not in text
    assert "\t" not in text
    assert max(map(len, text.splitlines())) <= 120 or path.parent.name == "languages"


@pytest.mark.parametrize("text", ["goto x", "x = 1 // comment", "/* comment */", "::x::"])
def test_other_syntax_does_not_pass(text: str) -> None:
    with pytest.raises(LuaError):
        Lua51().compile(text)


@pytest.mark.parametrize("path", [path for path in ALL if path.parent.name != "languages"], ids=lambda path: path.name)
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_every_file_ends_with_the_line_that_puts_it_in_its_place() -> None:
    """What load.lua looks for: a file that is cut anywhere has not come so far."""
    for path in ALL:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".entry" or path.stem == "load":
            continue
        if path.parent.name == "languages":
            place = f"Equipoise.Languages.{path.stem} ="
            assert text.endswith(f"\n{place} texts\n")
        else:
            place = f"Equipoise.{path.stem.capitalize()} ="
            assert re.search(rf"\n{re.escape(place)} \w+\n$", text), path
        assert text.count(place) == 1


def test_what_loads_the_files_names_each_once_and_is_whole_or_no_lua() -> None:
    text = (FOLDER / "load.lua").read_text(encoding="utf-8")
    named = re.findall(r'"([a-z/]+)"', "".join(re.findall(r"local k(?!Words)\w+ = {(.*?)}", text, re.DOTALL)))
    files = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.lua")} - {"load"}
    assert sorted(named) == sorted(files)
    (words,) = re.findall(r"local kWords = {(.*?)}", text)
    commands = (FOLDER / "engine/commands.lua").read_text(encoding="utf-8")
    assert re.findall(r'"(\w+)"', words) == re.findall(r'{ word = "(\w+)"', commands)
    entry = (MOD / "lua/entry/Equipoise.entry").read_text(encoding="utf-8").splitlines()[0]
    lua = Lua51()
    for whole in (text.rstrip(), entry):
        lua.compile(whole)
        for size in range(1, len(whole), 7):
            with pytest.raises(LuaError):
                lua.compile(whole[:size])


def test_a_reader_that_only_matches_block_keywords_reads_every_file_as_lua_does() -> None:
    found = {path.name: BUILD["faults"](path.read_text(encoding="utf-8")) for path in ALL}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("local a = 1\n-- what to do\n", [(2, '"do" is in a comment')]),
        ("x = { 'if', [[\nthen]] }", [(1, '"if" is in a string'), (2, '"then" is in a string')]),
        ('x = "doświadczenie"', [(1, '"do" is in a string')]),
        ('x = "d\\111 redo done do_it"\n-- for ends, dos, iffy', []),
        ("if x then\n    f()\n", [(1, '"if" is not closed')]),
        ("f()\nend", [(2, '"end" closes nothing')]),
        ("repeat f() end", [(1, '"end" closes nothing')]),
        ("while x do for i = 1, 2 do f(function() end) end end repeat until x", []),
    ],
)
def test_the_build_finds_block_keywords_that_have_no_partner_or_stand_in_texts(
    text: str, found: list[tuple[int, str]]
) -> None:
    faults = BUILD["faults"](text)
    assert [(line, fault.split(":")[0]) for line, fault in faults] == found


def test_a_build_with_such_a_keyword_fails_and_names_file_and_line(tmp_path: Path) -> None:
    for name in ("ns2mod", "sourcemod/translations"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "sourcemod/LICENSE", tmp_path / "sourcemod")
    command = [sys.executable, str(tmp_path / "ns2mod/build.py"), "--output", str(tmp_path / "dist")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    plan = tmp_path / "ns2mod/lua/equipoise/plan.lua"
    plan.write_text('-- First.\nlocal text = "not in the end"\n' + plan.read_text(encoding="utf-8"), encoding="utf-8")
    run = subprocess.run(command, text=True, capture_output=True, check=False)
    assert run.returncode == 1
    assert run.stderr.startswith('ns2mod/lua/equipoise/plan.lua:2: "end" is in a string: ')
    assert len(run.stderr.splitlines()) == 1


def test_the_entry_names_a_script_for_the_server_alone() -> None:
    lua = Lua51()
    lua.execute((MOD / "lua/entry/Equipoise.entry").read_text(encoding="utf-8"))
    assert dict(lua.globals().modEntry.items()) == {"Server": "lua/equipoise/load.lua", "Priority": 10}


def test_the_build_writes_the_folder_that_is_published_and_a_zip_of_it(tmp_path: Path) -> None:
    build = [sys.executable, str(MOD / "build.py"), "--output", str(tmp_path)]
    for _ in range(2):  # over an older one
        run = subprocess.run(build, text=True, capture_output=True, check=True)
    mod = Path(run.stdout.splitlines()[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == [mod.name, f"{mod.name}.zip"]
    assert sorted(path.name for path in mod.iterdir()) == [
        "LICENSE",
        "README.md",
        "mod.settings",
        "output",
        "preview.jpg",
    ]
    published = {path.relative_to(mod / "output").as_posix() for path in (mod / "output").rglob("*") if path.is_file()}
    assert published == {".modinfo"} | {path.relative_to(MOD).as_posix() for path in ALL}
    assert not [path for path in (mod / "output").rglob("*.lua") if "@VERSION@" in path.read_text(encoding="utf-8")]
    with zipfile.ZipFile(tmp_path / f"{mod.name}.zip") as archive:
        names = {f"{mod.name}/{path.relative_to(mod).as_posix()}" for path in mod.rglob("*") if path.is_file()}
        assert set(archive.namelist()) == names


def test_the_launch_pad_reads_both_files_and_finds_what_they_name() -> None:
    """They are Lua that assigns globals; a mod that was never published has no `publish_id`."""
    settings = Lua51()
    settings.execute((MOD / "mod.settings").read_text(encoding="utf-8"))
    found = settings.globals()
    assert (found.name, found.output_dir, found.tag_support) == ("Equipoise", "output", "Must be run on Server")
    assert (MOD / found.image).is_file()
    assert found.publish_id is None
    info = Lua51()
    info.execute((MOD / ".modinfo").read_text(encoding="utf-8"))
    assert (info.globals().name, info.globals().kind) == ("Equipoise", "Game")
