"""Whole evenings against the real daemon, started as on the command line."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from equipoise.cli import main

pytestmark = pytest.mark.slow

MAIN = "from equipoise.cli import main; main()"
SHORT = ("--rounds", "6", "--speed", "0")


def command(*options: str) -> list[str]:
    return [sys.executable, "-c", MAIN, "demo", *options]


def environment(temporary: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(temporary), "COLUMNS": "100", **more}


def run(temporary: Path, *options: str) -> Result:
    """A demo in this process, so that its temporary files can be counted; its daemon is a process in any case."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        return CliRunner(env={"COLUMNS": "100"}).invoke(main, ["demo", *options])


def listens(config: Path) -> bool:
    """Whether the daemon of a kept configuration still runs."""
    port = tomllib.loads(config.read_text())["web"]["port"]
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


TOLD = {
    "a duel": r"play, everybody else waits: round 1 is a duel between the two closest ratings",
    "why teams are new": r"Round 2 is always balanced → scrambled: RED \d+ % → \d+ %, .* in from the bench",
    "that the daemon is killed": r"The daemon is killed \(SIGKILL\) in round 3",
    "what goes on without it": r"The game went on: 2 finished rounds wait in the plugin's ring of 8 slots",
    "what it gets later": r"The daemon is back: 2 of 2 rounds delivered, stored and rated",
    "a second map": r"Waiting For Players is over → scrambled",
    "a shutout": r"The losing side captured nothing → scrambled|Teams stay as they are: ",
    "that all is stored": r"rounds +6 +6 stored and rated",
    "what was late": r"restarts survived +1 +rounds delivered late: 2",
    "what was fair": r"The evening\s+stronger side, truly +\d\d % +chance to win; in random teams",
    "what to do next": r"equipoise init",
}
GAP = r"→ (RED|BLU) at their next death: (\d) against (\d): this move leaves the sides closest in skill"


def test_an_evening_is_told_and_played_again_by_its_seed_and_can_be_kept(tmp_path: Path) -> None:
    kept, temporary = tmp_path / "kept", tmp_path / "temporary"
    temporary.mkdir()
    done = run(temporary, *SHORT)
    assert (done.exit_code, done.stderr) == (0, "")
    said = done.stdout
    assert [what for what, words in TOLD.items() if not re.search(words, said)] == []
    assert len(re.findall(r"^Round \d: (RED|BLU) wins", said, re.MULTILINE)) == 6
    gap = re.search(GAP, said)
    assert gap
    assert int(gap[2]) - int(gap[3]) == 2
    even = int(gap[2]) - 1
    assert f"dies and respawns on {gap[1]}: {even} against {even}" in said
    assert "Brier" not in said
    assert list(temporary.iterdir()) == []

    again = run(temporary, *SHORT, "--keep", str(kept))
    assert again.exit_code == 0
    page, where = (line for line in again.stdout.splitlines() if line not in said.splitlines())
    assert re.fullmatch(r"The page, while this runs: http://127\.0\.0\.1:\d+/login\?link=\S+", page)
    assert where == f"This evening is kept: equipoise serve -c {kept / 'config.toml'}"
    assert (kept / "state" / "equipoise.db").is_file()
    assert not listens(kept / "config.toml")
    refused = run(temporary, *SHORT, "--keep", str(kept))
    assert refused.exit_code == 2
    assert "File exists" in refused.stderr


@pytest.mark.world
def test_the_daemon_learns_of_a_scramble_that_the_script_made_alone(tmp_path: Path) -> None:
    # In some evenings no scramble falls due while the daemon is down.
    evenings = (run(tmp_path, "--rounds", "24", "--speed", "0", "--seed", str(seed)).stdout for seed in range(4, 11))
    said = next(said for said in evenings if "the plugin applies its cached split" in said.replace("\n", " "))

    assert re.search(r"restarts survived +1 +rounds delivered late: 2, scrambled alone: 1", said)


def test_the_summary_as_json_is_all_that_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, "--rounds", "12", "--speed", "0", "--players", "9", "--json")

    found: dict[str, Any] = json.loads(done.stdout)
    assert found["rounds"] == found["stored"] == 12
    assert found["restarts_survived"] == 1
    assert found["rounds_delivered_late"] == 2
    assert found["scrambles"] >= 3
    assert 0 < found["brier"] < 1
    assert found["favourite_after"] < found["favourite_before"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_the_daemon_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    kept = tmp_path / "kept"
    with subprocess.Popen(
        command("--speed", "0.01", "--keep", str(kept)),
        env=environment(tmp_path, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        demo.stdout.readline()
        assert listens(kept / "config.toml")

        demo.send_signal(number)
        _, complaint = demo.communicate(timeout=300)

    assert demo.returncode == 130
    assert complaint == "Stopped: the daemon is down.\n"
    assert not listens(kept / "config.toml")


def test_a_terminal_is_taken_and_given_back(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    settings = environment(tmp_path, TERM="xterm-256color")
    for name in ("CI", "COLUMNS", "NO_COLOR"):
        settings.pop(name, None)
    with subprocess.Popen(command(*SHORT), env=settings, stdin=theirs, stdout=theirs, stderr=theirs) as demo:
        os.close(theirs)
        shown = _everything(ours)

    assert demo.returncode == 0
    taken, given_back = shown.index("\x1b[?1049h"), shown.rindex("\x1b[?1049l")
    assert taken < shown.index("what happens, and why") < given_back < shown.index("What to do next")


def _everything(terminal: int) -> str:
    """All that was written until the program ended."""
    read = b""
    with open(terminal, "rb", buffering=0) as source:
        while True:
            try:
                read += source.read(65536)
            except OSError:
                return read.decode("utf-8", "replace")
