"""What `joint` costs a daemon, as the system that makes the teams and as the pool's own: 12 v 12 among 512 active.

A store with a past is filled once. Each daemon starts on a copy of it: without `balance`, with it, and rated by `joint`
itself. Round ends come 20 ms apart, as in the bench `round_end`, daemon after daemon in turns, because the machine's
speed changes.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.measuring import status_of
from bench.round_end import PAUSE
from bench.scripts import PLAYERS, Script, percentiles, round_ended
from bench.store import Now, a_round
from equipoise import ratings
from equipoise.core.model import STEAM_ID_BASE, PlayerId
from equipoise.ratings.system import System
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.store.sqlite import SqliteStore
from tests.daemons import RealDaemon

PEOPLE = [PlayerId(str(STEAM_ID_BASE + number)) for number in range(1, 577)] + [PlayerId(each) for each in PLAYERS]
PAST = 750
"""Rounds of the past: a start rates the last 50 again."""
TURNS, EACH = 10, 30
KINDS = {"synelo alone": ("synelo", ""), "balance = joint": ("synelo", "joint"), "system = joint": ("joint", "")}


async def fill(directory: Path, own: str, balance: str) -> None:
    """A past of which a snapshot is stored, as by a daemon that has been there from the start."""
    store = SqliteStore(directory / "equipoise.db")
    await store.open()
    beside: System[object] | None = ratings.create(balance) if balance else None
    pool = Pool("main", ratings.create(own), store, Ring(directory / "main.ring"), Now(), balance=beside)
    await pool.open()
    luck = random.Random(24)
    for number in range(PAST):
        await pool.record(a_round(number, luck, PEOPLE), None)
        if pool.follower is not None:
            await pool.follower.caught_up()
    await pool.close()
    await store.close()


class Measured:
    """One daemon, and what is measured of it."""

    def __init__(self, folder: Path, own: str, balance: str, filled: Path) -> None:
        self.daemon = RealDaemon(folder)
        text, default = self.daemon.config.read_text(), 'system = "synelo"'
        assert default in text
        text = re.sub("(?m)^k_max = .*$", "", text)  # joint has no such parameter
        keys = f'system = "{own}"' + (f'\nbalance = "{balance}"' if balance else "")
        self.daemon.config.write_text(text.replace(default, keys, 1))
        shutil.copytree(filled, folder / "state", dirs_exist_ok=True)
        began = time.perf_counter()
        self.daemon.start()
        self.ready, self.busy = time.perf_counter() - began, self.cpu()
        self.idle = status_of(self.daemon.pid, "VmRSS")
        self.began = began
        self.times: list[float] = []
        self.script = Script(self.daemon.port, self.daemon.server, self.daemon.secret)
        self.script.introduce()
        self.written, self.worked = self.pages(), self.cpu()

    def balanced(self) -> float:
        """Seconds from the start until the wanted system makes the teams."""
        while self.daemon.ask("servers")["servers"][0]["balanced_by"] != "joint":
            time.sleep(0.01)
        return time.perf_counter() - self.began

    def pages(self) -> int:
        """Bytes given to the files so far."""
        text = Path(f"/proc/{self.daemon.pid}/io").read_text()
        return int(text.split("wchar: ")[1].split()[0])

    def cpu(self) -> float:
        """Milliseconds of the processor so far: what a busy machine does not change as much."""
        fields = Path(f"/proc/{self.daemon.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def turn(self, number: int) -> None:
        """One turn: `EACH` rounds end, with a pause before each."""
        for each in range(EACH):
            time.sleep(PAUSE)
            self.times.append(self.script.post(round_ended(number * EACH + each))[1])


def main() -> None:
    with TemporaryDirectory() as made, ExitStack() as stack:
        measured = {}
        for name, (own, balance) in KINDS.items():
            filled = Path(made) / name / "filled"
            filled.mkdir(parents=True)
            asyncio.run(fill(filled, own, balance))
            one = measured[name] = Measured(Path(made) / name / "daemon", own, balance, filled)
            stack.callback(one.daemon.kill)
            also = f", joint makes the teams after {one.balanced():.2f} s" if "joint" in name else ""
            print(f"{name:16} ready after {one.ready:.2f} s ({one.busy:.0f} ms of cpu){also}   target 1 s")
        for number in range(TURNS):
            for one in measured.values():
                one.turn(number)
        for name, one in measured.items():
            size = status_of(one.daemon.pid, "VmRSS")
            written = (one.pages() - one.written) / len(one.times) / 1024
            cpu = (one.cpu() - one.worked) / len(one.times)
            cost = f"{percentiles(one.times)}   cpu {cpu:.1f} ms   {written:.1f} KB written a round"
            print(f"{name:16} round end {cost}   {one.idle:.0f} MB when ready, {size:.0f} MB now")
        for name in KINDS:
            with closing(sqlite3.connect(Path(made) / name / "daemon" / "state" / "equipoise.db")) as db:
                sizes = [size for (size,) in db.execute("SELECT length(data) FROM snapshots")]
            print(f"{name:16} snapshots of {', '.join(f'{size / 1e6:.1f} MB' for size in sizes) or 'nothing'}")
    print("targets: round end at most 2 ms more than synelo alone, 80 MB, 4 KB more written a round but for snapshots")


if __name__ == "__main__":
    main()
