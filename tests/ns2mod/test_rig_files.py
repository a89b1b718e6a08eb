"""Files of config:// and what a crash in a write leaves (ns2_game.md 1.4, 6.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ns2mod.rig import Game, write_mod

SAVES = """
    function Save(name, text)
        local file = io.open("config://" .. name, "w+")
        if not file then return false end
        file:write(text)
        io.close(file)
        return true
    end
    function Read(name)
        local file = io.open("config://" .. name, "r")
        if not file then return nil end
        local text = file:read("*all")
        file:close()
        return text
    end"""


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return Game([write_mod(tmp_path, "saves", SAVES)]).boot()


def test_a_file_is_read_back_over_a_restart_with_every_byte(game: Game) -> None:
    game.execute('Save("sub/a.json", "\\0\\255é\\r\\n")')
    game.boot()
    assert game.execute('return Read("sub/a.json") == "\\0\\255é\\r\\n"')
    assert game.execute('return Read("none.json")') is None
    assert game.files.names() == ["sub/a.json"]


def test_a_write_truncates_first_so_that_a_crash_leaves_half_a_file(game: Game) -> None:
    game.execute('Save("a.json", "whole")')
    game.files.cut_after(2)
    game.execute('Save("a.json", "after") Save("a.json", "later") Save("b.json", "never")')
    game.files.whole()
    game.boot()
    assert game.execute('return Read("a.json")') == "af"
    assert game.execute('return Read("b.json")') is None
    game.execute('Save("a.json", "again")')
    assert game.execute('return Read("a.json")') == "again"


def test_a_cut_at_the_very_start_leaves_an_empty_file(game: Game) -> None:
    game.execute('Save("a.json", "whole")')
    game.files.cut_after(0)
    game.execute('Save("a.json", "after")')
    assert game.files.text("a.json") == ""


def test_a_closed_file_takes_no_more(game: Game) -> None:
    game.execute("""
        local file = io.open("config://a.json", "w+")
        file:write("x")
        file:close()
        refused = not pcall(file.write, file, "y")""")
    assert game.execute("return refused")
    assert game.files.text("a.json") == "x"


def test_a_file_is_read_line_by_line(game: Game) -> None:
    game.files.put("a.txt", "one\ntwo\n\nfour")
    lines = game.execute("""
        local found = {}
        for line in io.open("config://a.txt", "r"):lines() do table.insert(found, line) end
        return table.concat(found, "|")""")
    assert lines == "one|two||four"


def test_a_folder_that_cannot_be_written_gives_nil(game: Game) -> None:
    game.files.read_only = True
    assert game.execute('return Save("a.json", "x")') is False


def test_configuration_files_are_written_once_and_read_as_tables(game: Game) -> None:
    game.execute('WriteDefaultConfigFile("m.json", { url = "http://x", list = {} })')
    game.execute('WriteDefaultConfigFile("m.json", { url = "other" })')
    assert game.execute('return LoadConfigFile("m.json").url') == "http://x"
    assert game.execute('return LoadConfigFile("none.json")') is None
    game.files.put("m.json", "{ broken")
    assert game.execute('return LoadConfigFile("m.json")') is None
    assert "Error while parsing m.json" in game.messages[-1]
