"""One daemon for game servers on other machines: over a slow line that loses packets, and is cut for a minute."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import RealDaemon
from tests.machines.network import Machine, ssh, two_machines, wireguard
from tests.sourcemod.conftest import equipoise_smx  # noqa: F401  (a fixture)

pytestmark = pytest.mark.world

CUT_SECONDS = 60.0
WITHIN_SECONDS = 240.0
"""For a machine with much else to do."""


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + WITHIN_SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


class Evening:
    """A game server on one machine, whose daemon is on the other."""

    def __init__(self, game: Machine, url: str, daemon: RealDaemon, folder: Path, smx: Path) -> None:
        self.folder = folder
        words = [sys.executable, "-m", "tests.machines.evening", folder, smx, url, daemon.server, daemon.secret]
        with (folder / "evening.log").open("wb") as log:
            self.process = subprocess.Popen(game.command(*words), stdout=log, stderr=log)

    def rounds(self) -> int:
        """Rounds that were played."""
        assert self.process.poll() is None, (self.folder / "evening.log").read_text()
        try:
            return int((self.folder / "rounds").read_text() or 0)
        except FileNotFoundError:
            return 0

    def end(self) -> dict[str, Any]:
        """End after the round that runs; returns what the game server saw."""
        (self.folder / "stop").touch()
        self.process.wait(WITHIN_SECONDS)
        assert self.process.returncode == 0, (self.folder / "evening.log").read_text()
        report: dict[str, Any] = json.loads((self.folder / "report.json").read_text())
        return report


@pytest.mark.parametrize("way", ["wireguard", "ssh"])
def test_a_line_that_is_slow_and_then_cut_for_a_minute_costs_no_round(
    way: str,
    tmp_path: Path,
    equipoise_smx: Path,  # noqa: F811
) -> None:
    if os.geteuid():
        pytest.skip("network namespaces are made by root")
    with ExitStack() as stack:
        game, machine, line = stack.enter_context(two_machines())
        daemon = RealDaemon(tmp_path / "daemon", prefix=machine.command())
        host = "127.0.0.1"
        if way == "wireguard":
            host = stack.enter_context(wireguard(game, machine, tmp_path))
            settings = daemon.config.read_text()
            daemon.config.write_text(settings.replace('host = "127.0.0.1"', f'host = "{host}"\nallow_remote = true'))
        daemon.start()
        stack.callback(daemon.kill)
        if way == "ssh":
            stack.enter_context(ssh(game, machine, tmp_path, daemon.port))
        evening = Evening(game, f"http://{host}:{daemon.port}", daemon, tmp_path, equipoise_smx)
        stack.callback(evening.process.kill)

        until(lambda: evening.rounds() >= 2, "two rounds with the line")
        line.cut, before = True, evening.rounds()
        time.sleep(CUT_SECONDS)
        line.cut, away = False, evening.rounds() - before
        until(lambda: evening.rounds() >= before + away + 3, "three more rounds")
        report = evening.end()
        daemon.stop()
        store = tmp_path / "daemon" / "state" / "equipoise.db"
        with closing(sqlite3.connect(store)) as db:
            stored = db.execute("SELECT count(*), count(DISTINCT id), sum(partial) FROM rounds").fetchone()
            scrambles = db.execute("SELECT reason FROM decisions WHERE kind = 'scramble'").fetchall()
    assert away >= 2
    assert stored == (report["rounds"], report["rounds"], 0)
    assert scrambles
