"""What docs/protocol.md shows writers of other scripts works as it stands there, against a real daemon."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import installed
from tests.web.daemon import SECRETS, Daemon, running

ROOT = Path(__file__).parents[1]
CONFIG = """
[web]
port = 0
[store]
directory = "{state}"
[pool.main]
balance = "synelo"
[server.dust]
secret_file = "arena-1"
game = "other"
sides = ["Counter-Terrorists", "Terrorists"]
[server.dust.triggers.other]
no_capture = true
[token.owner]
secret_file = "owner"
role = "admin"
"""
SECRET = SECRETS["arena-1"]


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path, CONFIG) as daemon:
        yield daemon


def test_the_session_of_curl_lines_ends_with_new_teams(daemon: Daemon) -> None:
    installed("curl")
    document = (ROOT / "docs" / "protocol.md").read_text()
    (lines,) = re.findall(r"<!-- a test runs these lines -->\n```sh\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    lines = lines.replace("127.0.0.1:27500", f"{daemon.host}:{daemon.port}")
    said = subprocess.run(
        ["bash", "-eu", "-c", lines], capture_output=True, text=True, env={"SECRET": SECRET, "PATH": "/usr/bin:/bin"}
    )
    assert said.stderr == ""
    answers = [json.loads(line) for line in said.stdout.splitlines()]
    assert [answer["ok"] for answer in answers] == [True] * 6
    *_, ended, started = answers
    assert list(ended["rounds"].values()) == ["stored"]
    assert ended["pending"] is True
    (assign,) = [order for order in started["orders"] if order["kind"] == "assign"]
    assert sorted([*assign["red"], *assign["blu"]]) == [str(76561197960265728 + number) for number in (1, 2, 3, 4)]


@pytest.mark.slow
def test_the_example_for_an_own_game_plays_rounds_and_gets_new_teams(daemon: Daemon) -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            ROOT / "examples" / "own_game.py",
            "--url",
            f"http://{daemon.host}:{daemon.port}",
            "--rounds",
            "5",
        ],
        capture_output=True,
        text=True,
        env={"EQUIPOISE_SECRET": SECRET},
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.count("scramble (Equipoise_ReasonNoCapture)") == 4
    top = daemon.call("GET", "/v1/admin/pools/main/players?text=7656").body["players"]
    assert sorted(each["rounds"] for each in top) == [5] * 8


@pytest.mark.slow
def test_the_example_says_what_is_wrong_with_its_secret(daemon: Daemon) -> None:
    said = subprocess.run(
        [sys.executable, ROOT / "examples" / "own_game.py", "--url", f"http://{daemon.host}:{daemon.port}"],
        capture_output=True,
        text=True,
        env={"EQUIPOISE_SECRET": "wrong"},
    )
    assert said.returncode == 1
    assert "refused: " in said.stderr
    assert "credentials" in said.stderr


def test_players_of_another_game_read_its_names_of_the_sides(daemon: Daemon) -> None:
    at = {"at": 1.0}
    players = [{"id": str(76561197960265729 + n), "side": "ab"[n % 2]} for n in range(8)]
    hello = {"kind": "hello", "plugin": "1", "game": "other", "map": "m", "session": "s", "phase": "running"}
    events = [hello, {"kind": "roster", "players": players}]
    first = {"v": 1, "server": "dust", "boot": 1, "seq": 1, **at, "events": events}
    wish = {"kind": "command", "words": ["vote"], "by": players[0]["id"]}
    answers = [daemon.post(first), daemon.post({**first, "seq": 2, "events": [wish]})]
    (tell,) = [order for order in answers[-1].body["orders"] if order["kind"] == "tell"]
    assert tell["lines"] == [{"phrase": "Equipoise_VoteEven", "args": ["Counter-Terrorists", "50"]}]


def test_operators_read_its_names_of_the_sides_too(daemon: Daemon) -> None:
    server = daemon.call("GET", "/v1/admin/servers/dust").body["server"]
    assert server["sides"] == ["Counter-Terrorists", "Terrorists"]
