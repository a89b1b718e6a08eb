"""Cost of `joint` in a daemon, as the system that makes the teams and as the pool's own: 12 v 12 among 512 active.

A store in which 2,000 or 10,000 players are known is filled once, with what each did in each round, which tells skill:
so own scores are in use, which costs the most, and a replay counts the rounds in which they were. Each daemon starts
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
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.measuring import status_of
from bench.round_end import PAUSE
from bench.scripts import PLAYERS, Script, percentiles, round_ended
from bench.servers import rated_by
from bench.store import Now, a_round
from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.core.model import STEAM_ID_BASE, Counts, PlayerId, Side, logistic
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.system import System
from equipoise.service.held import fingerprint_of
from equipoise.service.place import begun
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.store.sequence import MatchEvent, Purpose
from equipoise.store.store import Store
from tests.daemons import RealDaemon

KNOWN = (2_000, 10_000)
REGULARS = 600
PAST = 750
"""Rounds of the past, after those in which everybody comes once: a start rates up to 99 again."""
LOG_ODDS = 0.25
"""Of a round, by a standard deviation of one player's skill."""
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


@cache
def skill_of(player: str) -> float:
    """A player's skill, in standard deviations."""
    return random.Random(player).gauss(0.0, 1.0)


def what_each_did(luck: random.Random, seconds: float, player: str) -> Counts:
    """Somebody's counts in a round: the better, the more kills and points, and the fewer deaths."""
    first, second = luck.sample(CLASSES, 2)
    skill = skill_of(player)
    kills, deaths, points = luck.gauss(6 + 2 * skill, 3.0), luck.gauss(5 - skill, 2.0), luck.gauss(15 + 5 * skill, 7.0)
    return Counts(
        max(0, round(kills)),
        max(0, round(deaths)),
        luck.randint(0, 5),
        max(0, round(points)),
        {first: 0.7 * seconds, second: 0.3 * seconds},
    )


def first_wins(luck: random.Random, first: Iterable[str], second: Iterable[str]) -> bool:
    """Tell by the players' skills whether the first side wins."""
    ahead = sum(map(skill_of, first)) - sum(map(skill_of, second))
    return luck.random() < logistic(LOG_ODDS * ahead)


def scored(record: RecordRound, luck: random.Random) -> RecordRound:
    """The round with what each player did, won by who is better, as a rule."""
    counts = [what_each_did(luck, record.round.seconds, one.id) for one in record.participants]
    presences = tuple(replace(one, counts=did) for one, did in zip(record.round.presences, counts, strict=True))
    participants = tuple(replace(one, counts=did) for one, did in zip(record.participants, counts, strict=True))
    first, second = ([one.id for one in participants if one.side == side] for side in (Side.A, Side.B))
    winner = Side.A if first_wins(luck, first, second) else Side.B
    return replace(record, round=replace(record.round, presences=presences, winner=winner), participants=participants)


def scored_end(number: int, luck: random.Random) -> dict[str, Any]:
    """The end of a round as a script tells it, with what each player did."""
    end: dict[str, Any] = round_ended(number)
    for player in end["players"]:
        player["counts"] = asdict(what_each_did(luck, end["seconds"], player["id"]))
    red, blu = ([player["id"] for player in end["players"] if player["side"] == side] for side in ("red", "blu"))
    return end | {"winner": "red" if first_wins(luck, red, blu) else "blu"}


async def rounds_by_scores(folder: Path, filled: Path, purpose: Purpose, rounds: int) -> int:
    """In how many of a store's last rounds `joint` had own scores in use, by a replay from the past's snapshot."""
    store, past, system = Store(folder / "equipoise.db"), Store(filled / "equipoise.db"), Joint.create()
    await store.open()
    await past.open()
    place = await begun(past, "main", purpose, system, fingerprint_of(system))
    await past.close()
    used: list[bool] = []
    while events := await store.events_after("main", place.number):
        for event in events:
            place.number = event.number
            if isinstance(event, MatchEvent):
                place.replayed.follow(event.record)
                used.append(any(each.used for each in place.replayed.system.score_map()))
            else:
                place.replayed.edit(event)
    await store.close()
    return sum(used[-rounds:])


class Measured:
    """One daemon, and what is measured of it."""

    def __init__(self, folder: Path, own: str, balance: str, filled: Path) -> None:
        self.luck = random.Random(25)
        self.daemon = RealDaemon(folder)
        rated_by(self.daemon, own, balance)
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
        for name, (own, _) in KINDS.items():
            measured[name].daemon.kill()  # without a snapshot of its end
            state = made / name / "daemon" / "state"
            with closing(sqlite3.connect(state / "equipoise.db")) as db:
                sizes = [size for (size,) in db.execute("SELECT length(data) FROM snapshots")]
            snapshots = ", ".join(f"{size / 1e6:.2f} MB" for size in sizes) or "nothing"
            by_scores = ""
            if "joint" in name:
                rounds, purpose = len(measured[name].times), "system" if own == "joint" else "balance"
                used = asyncio.run(rounds_by_scores(state, made / name / "filled", purpose, rounds))
                by_scores = f", own scores were in use in {used} of {rounds} rounds"
            print(f"{name:16} snapshots of {snapshots}{by_scores}")


if __name__ == "__main__":
    main()
