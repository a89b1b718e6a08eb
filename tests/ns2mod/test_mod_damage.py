"""A file of the mod is cut: the mod says which, the game goes on, and what works without the file works."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ns2mod.conftest import MOD
from tests.ns2mod.rig import Client, Game
from tests.ns2mod.scripted import Scene, Start, assign

FILES = sorted(path.relative_to(MOD).as_posix() for path in (MOD / "lua").rglob("*.*"))
ENTRY, ROOT = "lua/entry/Equipoise.entry", "lua/equipoise/load.lua"
ACTING = {f"lua/equipoise/{name}.lua" for name in ("texts", "engine/joins", "engine/orders", "engine/chat")}
OPTIONAL = {f"lua/equipoise/{name}.lua" for name in ("fallback", "engine/commands", "engine/rival", "engine/probe")}
PASSED_ON = [f"lua/equipoise/{name}.lua" for name in ("texts", "fallback", "engine/rounds")]
INSTALL = "Remove the server's copy of the mod and restart the server: it downloads the mod anew."


def size(path: str) -> int:
    return (MOD / path).stat().st_size


def functions(path: str) -> list[int]:
    """Bytes up to the ends of a file's functions, where the engine's preprocessor has been seen to stop."""
    text = (MOD / path).read_bytes()
    return [found.end() for found in re.finditer(rb"^end\n", text, re.MULTILINE)]


@dataclass
class Evening:
    """What became of an evening on which a file was cut."""

    named: list[str]
    """Files that the log names."""
    told: list[str]
    """Kinds of events that the daemon heard of."""
    reason: str
    """Why the script gave no orders."""
    moved: bool
    """The daemon's shuffle was carried out."""
    answers: list[str]
    """What an admin reads on `sv_eq_status`."""


def named(lines: list[str]) -> list[str]:
    return [found for line in lines for found in re.findall(r"^\[Equipoise\] (lua/\S+) is damaged: ", line)]


def evening(one: Scene) -> Evening:
    """A round, a shuffle that the daemon orders, and an admin who asks; nothing throws after the start."""
    game, daemon = one.game, one.daemon
    at_load = len(game.errors)
    marines, aliens = one.people()
    game.admins = {101}
    daemon.orders = [assign("o1", [102, 103, 201], [101, 202, 203], "now")]
    game.run(2)
    moved = marines[0].team == 2
    sides: list[list[Client]] = [[], []]
    for client in (*marines, *aliens):
        sides[client.team - 1].append(client)
    one.commanded(*sides)
    game.start_round()
    game.run(61)
    game.end_game(1)
    game.run(12)
    before = len(marines[0].prints)
    marines[0].console("sv_eq_status")
    game.run(1)
    assert game.errors[at_load:] == []
    assert not any("Error in" in line or "Not started" in line for line in game.messages)
    del game.errors[:]
    hello = daemon.events("hello")
    return Evening(
        named(game.messages),
        sorted({event["kind"] for batch in daemon.batches for event in batch["events"]}),
        hello[-1]["inactive_reason"] if hello else "",
        moved,
        marines[0].prints[before:],
    )


@pytest.mark.parametrize(
    ("path", "passes"), [*((path, False) for path in FILES), *((path, True) for path in (ENTRY, ROOT, *PASSED_ON))]
)
def test_the_evening_goes_on_with_a_file_cut_at_60_per_cent(scene: Start, path: str, passes: bool) -> None:
    """`passes`: an error in a file reaches who loads it, which is not known of the engine."""
    one = scene(cut={path: size(path) * 6 // 10}, switches={"load_errors_pass": passes}, shine="outside")
    at_load = list(one.game.errors)
    seen = evening(one)
    printed = " ".join(seen.answers)
    if path == ENTRY:
        assert (seen.named, seen.moved) == ([], True), "what is cut off is a comment"
        return
    if path == ROOT:
        assert any(path in fault for fault in at_load), "the engine names it, and runs nothing of it"
        assert (seen.named, seen.told, seen.moved, seen.answers) == ([], [], False, [])
        return
    assert seen.named == [path]
    assert INSTALL in " ".join(one.game.messages)
    assert f"{path} is damaged: " in printed
    assert INSTALL in printed
    if path.startswith("lua/equipoise/languages/"):
        assert ("round_ended" in seen.told, seen.reason, seen.moved) == (True, "", True)
        assert "command" in seen.told
    elif path in OPTIONAL:
        assert ("round_ended" in seen.told, seen.reason, seen.moved) == (True, "", True)
    elif path in ACTING:
        assert ("round_ended" in seen.told, seen.reason, seen.moved) == (True, "damaged", False)
    else:
        assert (seen.told, seen.moved) == ([], False), "it stands aside"


@pytest.mark.parametrize("path", sorted(set(FILES) - {ENTRY, ROOT}))
def test_a_file_that_is_cut_anywhere_is_named_and_no_other(path: str, tmp_path: Path) -> None:
    """Also where it is Lua up to there, and where the whole file is missing."""
    text = (MOD / path).read_bytes()
    last_line = text.rindex(b"\n", 0, -1) + 1
    ends = functions(path)
    for kept in sorted({0, *(size(path) * share // 100 for share in (30, 90)), *ends[-1:], last_line}):
        game = Game([MOD], cut={path: kept}, config=tmp_path).boot()
        at_load = len(game.errors)
        game.run(1)
        assert (kept, named(game.messages)) == (kept, [path])
        assert game.errors[at_load:] == []
        assert game.state == "WarmUp"
        game.console("sv_eq_status")
        assert sum(f"{path} is damaged" in line for line in game.messages) == 2


@pytest.mark.parametrize("path", [ENTRY, ROOT])
def test_of_a_cut_file_that_loads_the_others_the_engine_runs_nothing(path: str, tmp_path: Path) -> None:
    """Every shorter beginning is no Lua: `test_what_loads_the_files_names_each_once_and_is_whole_or_no_lua`."""
    for kept in (5, 20, 50):
        game = Game([MOD], cut={path: kept}, own=("Equipoise",), config=tmp_path).boot()
        (fault,) = game.errors
        assert path in fault
        assert (game.state, game.messages, game.console("sv_eq_status")) == ("WarmUp", [], False)


def test_players_of_a_damaged_language_read_the_servers_or_english(scene: Start) -> None:
    one = scene(cut={"lua/equipoise/languages/pl.lua": 3000})
    one.game.errors.clear()
    marines, _ = one.people(1, 1)
    one.game.files.put("EquipoiseLanguages.json", '{"101": "pl"}')
    one.game.change_map("ns2_tram")
    one.game.errors.clear()
    one.game.run(2)
    one.daemon.orders = [{"kind": "say", "text": {"phrase": "Equipoise_VoteTooFew", "args": []}}]
    one.game.run(2)
    assert marines[0].chat[-1] == "There are too few players for a vote."
    marines[0].says("!eq lang pl")
    assert marines[0].chat[-1] == "Write !eq lang and one of these: chi de en es fr pt ru"


def test_without_english_texts_are_keys_and_other_languages_stay(scene: Start) -> None:
    one = scene(cut={"lua/equipoise/languages/en.lua": 3000})
    one.game.errors.clear()
    marines, aliens = one.people(1, 1)
    marines[0].says("!eq lang de")
    one.daemon.orders = [{"kind": "say", "text": {"phrase": "Equipoise_VoteTooFew", "args": []}}]
    one.game.run(2)
    assert "wenig" in marines[0].chat[-1]
    assert aliens[0].chat[-1] == "Equipoise_VoteTooFew"


def test_a_whole_mod_says_nothing_of_damage(scene: Start) -> None:
    one = scene()
    seen = evening(one)
    assert (seen.named, seen.reason, seen.moved, seen.answers) == ([], "", True, [])
    assert not any("damaged" in line for line in one.game.messages)


def test_other_mods_may_ask_a_damaged_mod_for_a_skill(tmp_path: Path) -> None:
    path = "lua/equipoise/server.lua"
    game = Game([MOD], cut={path: 2000}, config=tmp_path).boot()
    assert game.execute("return Equipoise.GetSkill(101)") is None
