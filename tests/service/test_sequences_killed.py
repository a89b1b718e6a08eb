"""A daemon that is killed between two snapshots makes its teams by the same numbers when it is back."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from bench.scripts import PLAYERS, Script, round_ended
from tests.daemons import RealDaemon

BEFORE, AFTER = 130, 5


def daemon_of(folder: Path) -> RealDaemon:
    """Its pool of synelo makes its teams by joint."""
    daemon = RealDaemon(folder, forked=True)
    text = re.sub("(?m)^(k_max|balance) = .*$", "", daemon.config.read_text())
    daemon.config.write_text(text.replace('system = "synelo"', 'system = "synelo"\nbalance = "joint"'))
    return daemon


def chance(daemon: RealDaemon) -> float:
    """Of the present sides, once `joint` makes the teams."""
    end = time.monotonic() + 60
    while (server := daemon.ask("servers")["servers"][0])["balanced_by"] != "joint":
        assert time.monotonic() < end
        time.sleep(0.02)
    return float(server["win_probability"])


def snapshots(daemon: RealDaemon) -> int:
    with closing(sqlite3.connect(f"file:{daemon.folder}/state/equipoise.db?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM snapshots").fetchone()[0])


def play(daemon: RealDaemon, rounds: range, boot: int) -> None:
    with closing(Script(daemon.port, daemon.server, daemon.secret, boot)) as script:
        script.introduce()
        for number in rounds:
            script.post(round_ended(number))


@pytest.mark.slow
def test_kill_9_between_two_snapshots_changes_no_chance(tmp_path: Path) -> None:
    killed, whole = (daemon_of(tmp_path / name) for name in ("killed", "whole"))
    chances = []
    for daemon in (killed, whole):
        daemon.start()
        play(daemon, range(BEFORE), 1763622000123)
        if daemon is killed:
            chance(daemon)
            assert snapshots(daemon) == 1
            daemon.kill()
            daemon.start()
        play(daemon, range(BEFORE, BEFORE + AFTER), 1763622000999)
        chances.append(chance(daemon))
        assert daemon.ask(f"players/{PLAYERS[0]}")["player"]["rounds"] == BEFORE + AFTER
        daemon.stop()
    assert chances[0] == pytest.approx(chances[1], rel=1e-9)
    assert chances[0] != pytest.approx(0.5)
