"""Cost of `joint` in a daemon, as the system that makes the teams and as the pool's own: 12 v 12 among 512 active.

A store in which 2,000 or 10,000 players are known is filled once, with what each did in each round. Each daemon starts
on a copy of it, with malloc as the systemd unit has it: balanced by `synelo`, by `joint`, and rated by `joint` itself.
Round ends come 20 ms apart, as in the bench `round_end`, daemon after daemon in turns: the machine's speed changes.
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
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.measuring import status_of
from bench.round_end import PAUSE
from bench.scripts import PLAYERS, Script, percentiles, round_ended
from bench.store import Now, a_round
from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.core.model import STEAM_ID_BASE, Counts, PlayerId
from equipoise.ratings.system import System
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.store.store import Store
from tests.daemons import RealDaemon

KNOWN = (2_000, 10_000)
REGULARS = 600
PAST = 750
"""Rounds of the past, after those in which everybody comes once: a start rates up to 99 again."""
TURNS, EACH = 30, 10
KINDS = {
    "synelo alone": ("synelo", "synelo"),
    "balance = joint": ("synelo", "joint"),
    "system = joint": ("joint", "joint"),
}
"""The system that shows ratings, and the one that makes the teams."""
CLASSES = ("scout", "soldier", "pyro", "demoman", "heavy", "engineer", "medic", "sniper", "spy")
MALLOC = dict(re.findall(r"(?m)^Environment=(MALLOC_\w+)=(\d+)$", Path("systemd/equipoise.service").read_text()))


async def fill(directory: Path, own: str, balance: str, known: int) -> None:
    """A past of which a snapshot is stored, as by a daemon that has been there from the start."""
    store = Store(directory / "equipoise.db")
    await store.open()
    beside: System[object] | None = None if balance == own else ratings.create(balance)
    pool = Pool("main", ratings.create(own), store, Ring(directory / "main.ring"), Now(), balance=beside)
    await pool.open()
    luck = random.Random(24)
    people = [PlayerId(str(STEAM_ID_BASE + number)) for number in range(1, known + 1)]
    regulars = [*map(PlayerId, PLAYERS), *people[: REGULARS - len(PLAYERS)]]
    crowds = [people[first : first + len(PLAYERS)] for first in range(0, known - len(PLAYERS) + 1, len(PLAYERS))]
    for number, crowd in enumerate([*crowds, *[regulars] * PAST]):
        await pool.record(scored(a_round(number, luck, crowd), luck), None)
        if pool.follower is not None:
            await pool.follower.caught_up()
    await pool.close()
    await store.close()


def what_each_did(luck: random.Random, seconds: float) -> Counts:
    """Somebody's counts in a round."""
    first, second = luck.sample(CLASSES, 2)
    return Counts(
        luck.randint(0, 12),
        luck.randint(0, 9),
        luck.randint(0, 5),
        luck.randint(0, 30),
        {first: 0.7 * seconds, second: 0.3 * seconds},
    )


def scored(record: RecordRound, luck: random.Random) -> RecordRound:
    """The round with what each player did."""
    counts = [what_each_did(luck, record.round.seconds) for _ in record.participants]
    presences = tuple(replace(one, counts=did) for one, did in zip(record.round.presences, counts, strict=True))
    participants = tuple(replace(one, counts=did) for one, did in zip(record.participants, counts, strict=True))
    return replace(record, round=replace(record.round, presences=presences), participants=participants)


def scored_end(number: int, luck: random.Random) -> dict[str, Any]:
    """The end of a round as a script tells it, with what each player did."""
    end: dict[str, Any] = round_ended(number)
    for player in end["players"]:
        player["counts"] = asdict(what_each_did(luck, end["seconds"]))
    return end


class Measured:
    """One daemon, and what is measured of it."""

    def __init__(self, folder: Path, own: str, balance: str, filled: Path) -> None:
        self.luck = random.Random(25)
        self.daemon = RealDaemon(folder)
        tables, others = self.daemon.config.read_text().split("[pool.main]")
        rest = others[others.index("\n[") :]
        self.daemon.config.write_text(f'{tables}[pool.main]\nsystem = "{own}"\nbalance = "{balance}"\n{rest}')
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
            self.times.append(self.script.post(scored_end(number * EACH + each, self.luck))[1])


def main() -> None:
    os.environ.update(MALLOC)
    for known in KNOWN:
        print(f"{known:,} players known")
        with TemporaryDirectory() as made:
            measure(Path(made), known)
    print("targets: 1.8 times the processor of synelo alone, 85 MB with 2,000 players known, 95 MB with 10,000")


def measure(made: Path, known: int) -> None:
    with ExitStack() as stack:
        measured = {}
        for name, (own, balance) in KINDS.items():
            (made / name / "filled").mkdir(parents=True)
            asyncio.run(fill(made / name / "filled", own, balance, known))
        for name, (own, balance) in KINDS.items():  # a daemon closes a connection that waits for long
            one = measured[name] = Measured(made / name / "daemon", own, balance, made / name / "filled")
            stack.callback(one.daemon.kill)
            also = f", joint makes the teams after {one.balanced():.2f} s" if "joint" in name else ""
            print(f"{name:16} ready after {one.ready:.2f} s ({one.busy:.0f} ms of cpu){also}   target 1 s")
        for number in range(TURNS):
            for one in measured.values():
                one.turn(number)
        alone = measured["synelo alone"]
        for name, one in measured.items():
            written = (one.pages() - one.written) / len(one.times) / 1024
            used = one.cpu() - one.worked
            ratio = used / (alone.cpu() - alone.worked)
            cost = f"cpu {used / len(one.times):.1f} ms, x {ratio:.2f}   {written:.1f} KB written"
            now, most = (status_of(one.daemon.pid, field) for field in ("VmRSS", "VmHWM"))
            memory = f"{one.idle:.0f} MB when ready, {now:.0f} MB now, {most:.0f} MB at most"
            print(f"{name:16} round end {percentiles(one.times)}   {cost}   {memory}")
        for name in KINDS:
            with closing(sqlite3.connect(made / name / "daemon" / "state" / "equipoise.db")) as db:
                sizes = [size for (size,) in db.execute("SELECT length(data) FROM snapshots")]
            print(f"{name:16} snapshots of {', '.join(f'{size / 1e6:.2f} MB' for size in sizes) or 'nothing'}")


if __name__ == "__main__":
    main()
