"""`status --watch` and `why --follow`: they go on through a restart of the daemon, and end clean."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.house import EQUIPOISE, House, ask, serving

WAIT_SECONDS = 60.0


def started(house: House, address: str, output: int, *words: str) -> subprocess.Popen[bytes]:
    command = [EQUIPOISE, *words, "--config", house.config, "--url", f"http://{address}"]
    return subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "TERM": "xterm"})


def until(read: Callable[[], str], pattern: str) -> str:
    """What was printed, as soon as it matches."""
    end = time.monotonic() + WAIT_SECONDS
    while not re.search(pattern, text := read(), re.DOTALL):
        assert time.monotonic() < end, text
        time.sleep(0.05)
    return text


def restarted_on(house: House, address: str) -> None:
    """The next daemon takes the port of the last."""
    house.edit("port = 0", f"port = {address.rpartition(':')[2]}")


@pytest.mark.slow
def test_watching_goes_on_through_a_restart_and_ends_with_ctrl_c(house: House, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    with shown.open("wb") as file, serving(house) as (process, address):
        watching = started(house, address, file.fileno(), "status", "--watch")
        until(shown.read_text, r"never heard of.*never heard of")
        process.send_signal(signal.SIGKILL)
        until(shown.read_text, r"no daemon answers .* It is asked again\.")
        seen = len(shown.read_text())
    restarted_on(house, address)
    with serving(house):
        until(lambda: shown.read_text()[seen:], "never heard of")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(WAIT_SECONDS) == 0
    assert "\x1b" not in shown.read_text()
    assert "Traceback" not in shown.read_text()


@pytest.mark.slow
def test_following_shows_each_decision_once_also_after_a_restart(house: House, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    with shown.open("wb") as file, serving(house) as (process, address):
        ask(house, address, "server", "off", "arena-1")
        following = started(house, address, file.fileno(), "why", "--follow")
        until(shown.read_text, "Equipoise only watches")
        ask(house, address, "server", "on", "arena-1")
        until(shown.read_text, "Equipoise balances")
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT_SECONDS)
        until(shown.read_text, "no daemon answers")
    restarted_on(house, address)
    with serving(house):
        ask(house, address, "server", "off", "arena-1")
        until(shown.read_text, r"only watches.*balances.*only watches")
        following.send_signal(signal.SIGINT)
        assert following.wait(WAIT_SECONDS) == 0
    lines = [line for line in shown.read_text().splitlines() if "  switch  " in line]
    assert len(lines) == 3
    said = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d  arena-1  switch  Equipoise (only watches|balances)"
    assert all(re.match(said, line) for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("no_colour", [False, True])
def test_on_a_terminal_the_table_is_drawn_in_its_place_and_ctrl_c_is_a_key(
    house: House, daemon: str, monkeypatch: pytest.MonkeyPatch, no_colour: bool
) -> None:
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    ours, theirs = pty.openpty()
    watching = started(house, daemon, theirs, "status", "--watch")
    text = ""

    def read() -> str:
        nonlocal text
        text += os.read(ours, 65536).decode()
        return text

    until(read, r"arena-1.*\x1b\[H\x1b\[J.*arena-1")
    assert ("\x1b[1m" in text) is not no_colour
    watching.send_signal(signal.SIGINT)
    assert watching.wait(WAIT_SECONDS) == 0
    os.close(ours)
    os.close(theirs)
