"""Whatever others wrote, a command prints nothing that a terminal would obey, and no line that is not its own."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

import equipoise.cli
from tests.cli.house import EQUIPOISE, House, ask, post, run, serving
from tests.wire.samples import BLU, KOTH, RED, ROUND, posted, seats

pytestmark = pytest.mark.slow

HOSTILE = "Bob\x1b[2J\x1b]0;x\x07\x9b31m\u202e\u2066\u2028\r\nbad   daemon: all is lost"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
OTHERS = {
    "names": ("name",),
    "rounds": ("map",),
    "decisions": ("reason",),
    "audit": ("who", "target", "before", "after"),
}
"""Columns of the store that hold what others wrote, or may."""


def harmless(text: str) -> bool:
    return OBEYED.search(text) is None and re.search("^bad   daemon", text, re.MULTILINE) is None


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, str]]:
    """A daemon with a store in which every text of others is as hostile as one that no script could send."""
    house = House.made(tmp_path_factory.mktemp("hostile"))
    players = seats([str(int(RED) + n) for n in range(6)])
    joined = [{"kind": "player_joined", "id": each["id"], "name": f"Bob {at}"} for at, each in enumerate(players)]
    greeting = (KOTH, {"kind": "roster", "players": players}, *joined)
    with serving(house) as (_, address):
        ended = {**ROUND, "map": KOTH["map"], "started_at": time.time() - 100}
        post(address, house.secret, posted(*greeting, ended, seq=1))
        assert ask(house, address, "player", "set", RED, "1700", "--yes").returncode == 0
        assert ask(house, address, "server", "scramble", "arena-1").returncode == 0
    with closing(sqlite3.connect(house.state / "equipoise.db", isolation_level=None)) as store:
        for table, columns in OTHERS.items():
            for column in columns:
                assert store.execute(f"UPDATE {table} SET {column} = ?", (HOSTILE,)).rowcount, f"{table}.{column}"
    with serving(house) as (_, address):
        post(address, house.secret, posted(*greeting[:2], seq=2))
        yield house, address


COMMANDS = [
    ("status",),
    ("player", "find", "Bob"),
    ("player", "show", RED),
    ("player", "top"),
    ("player", "history", RED),
    ("player", "set", RED, "1650", "--yes"),
    ("player", "undo", RED, "--yes"),
    ("player", "reset", BLU, "--yes"),
    ("round", "list"),
    ("round", "show", "arena-1", "1-4"),
    ("why",),
    ("audit",),
    ("server", "scramble", "arena-1", "--dry-run"),
    ("pool", "evenness", RED, "vs", BLU),
    ("pool", "quality"),
    ("doctor",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_what_a_terminal_obeys(evening: tuple[House, str], command: tuple[str, ...]) -> None:
    house, address = evening
    printed = ask(house, address, *command)
    assert printed.returncode in (0, 1), printed.stderr
    assert harmless(printed.stdout + printed.stderr)
    helped = run(*command[:2], "--help").stdout
    if "--json" in helped and "--yes" not in command:
        exact = ask(house, address, *command, "--json").stdout
        assert harmless(exact)
        if "Bob" in exact:
            assert HOSTILE in _strings(json.loads(exact)), "a program reads what is stored"
    if "--csv" in helped:
        table = ask(house, address, *command, "--csv").stdout
        assert harmless(table.replace("\r\n", "\n"))


def test_a_file_of_others_and_a_name_on_the_command_line_print_nothing_that_a_terminal_obeys(
    evening: tuple[House, str], tmp_path: Path
) -> None:
    house, address = evening
    players = [{"id": f"{HOSTILE} {at}", "rating": 1500 + at} for at in range(4)]
    (tmp_path / "players.json").write_text(json.dumps({"players": players}))
    (tmp_path / "broken.json").write_text(f'{{"players": [{{"id": 1, "{HOSTILE}": 2}}]}}')
    named = HOSTILE.replace("\0", "")
    for done in (
        run("solve", tmp_path / "players.json"),
        run("solve", tmp_path / "broken.json"),
        run("solve", tmp_path / named),
        run(named),
        run("status", f"--{named}"),
        ask(house, address, "player", "find", named),
        ask(house, address, "server", "remove", named, "--yes"),
    ):
        assert "Traceback" not in done.stderr
        assert harmless(done.stdout + done.stderr.replace("equipoise: ", ""))


def test_our_own_colours_come_through_on_a_terminal_and_nothing_else(evening: tuple[House, str]) -> None:
    house, address = evening
    ours, theirs = pty.openpty()
    command = [EQUIPOISE, "player", "find", "Bob", "--config", house.config, "--url", f"http://{address}"]
    environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # its end, on Linux
            while part := os.read(ours, 65536):
                shown += part
        process.wait(60)
    os.close(ours)
    text = shown.decode()
    assert "\x1b[1mPLAYER" in text
    assert set(re.findall("\x1b.{0,3}", text.replace("\x1b[1m", "").replace("\x1b[0m", ""))) == set()
    assert "Bob\ufffd[2J" in text


def test_only_our_own_screens_and_bytes_go_around_the_door() -> None:
    package = Path(equipoise.cli.__file__).parent
    using = {file.name for file in package.glob("*.py") if re.search(r"\bpast\(", file.read_text())}
    assert using == {"options.py", "output.py", "client.py", "demo.py", "pool_files.py"}
    around = re.compile(r"sys\.__std|sys\.std(out|err)\.buffer|os\.write\(|/dev/tty")
    assert [file.name for file in package.glob("*.py") if around.search(file.read_text())] == []


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _strings(each)]
    if isinstance(value, list):
        return [text for each in value for text in _strings(each)]
    return [value] if isinstance(value, str) else []
