"""Cost of a round in pools of different sizes: a daemon for each store, one round in each in turn.

In turn, so that whatever else the machine does meanwhile slows all of them alike. The stores are filled once, through
the store's own writer, and kept for the next run, which adds its rounds to them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.filled_store import Past, fill, player
from bench.scripts import BOOT, PLAYERS, Script, hello, roster, round_ended
from bench.soak.watch import cpu_seconds
from equipoise.store.store import Store
from tests.daemons import RealDaemon

PAUSE = 0.1
"""Seconds before a round ends: rounds are minutes apart, and what is written behind a reply is written by then."""


@dataclass
class Pool:
    """A store's size, and what a round cost in it."""

    players: int
    rounds: int
    arrivals: list[float] = field(default_factory=list)
    """Milliseconds to answer a roster of 24 players, nearly all of whom memory does not hold."""
    ends: list[float] = field(default_factory=list)
    """Milliseconds to answer the end of their round."""
    cpu: float = 0.0
    """The daemon's processor time per turn, in milliseconds: whatever a round brings along."""
    megabytes: float = 0.0
    """Size of the store."""


def measure(stores: Path, folder: Path, sizes: Sequence[tuple[int, int]], turns: int) -> list[Pool]:
    """Stores that are missing are filled first."""
    pools = [Pool(*size) for size in sizes]
    with ExitStack() as stack:
        visitors = [
            stack.enter_context(_visiting(pool, _filled(stores, pool), folder / str(number)))
            for number, pool in enumerate(pools)
        ]
        luck = Random(turns)
        for turn in range(turns):
            luck.shuffle(visitors)  # none always runs behind the same other
            for visitor in visitors:
                visitor.play(turn)
            if turn % 50 == 49:
                print(f"  {turn + 1} of {turns} turns", file=sys.stderr, flush=True)
        for visitor in visitors:
            visitor.pool.cpu = 1e3 * (cpu_seconds(visitor.pid) - visitor.cpu_before) / turns
    return pools


def _filled(stores: Path, pool: Pool) -> Path:
    """The state directory with the pool's store."""
    directory = stores / f"players-{pool.players}-rounds-{pool.rounds}"
    if not directory.exists():
        unfinished = directory.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        for left in unfinished.iterdir():
            left.unlink()
        print(f"  filling a store: {pool.players:,} players, {pool.rounds:,} rounds", file=sys.stderr, flush=True)
        began = time.monotonic()
        asyncio.run(fill(unfinished / "equipoise.db", Past(pool.players, pool.rounds)))
        print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        unfinished.rename(directory)
    asyncio.run(_migrated(directory / "equipoise.db"))
    pool.megabytes = (directory / "equipoise.db").stat().st_size / 1e6
    return directory


async def _migrated(path: Path) -> None:
    """A kept store may be of an older schema; a daemon is not waited for so long as a large one may take."""
    store = Store(path)
    await store.open()
    await store.close()


@dataclass
class Visitor:
    """A script at a daemon with one of the stores."""

    pool: Pool
    script: Script
    boot: int
    pid: int
    luck: Random
    cpu_before: float

    def play(self, turn: int) -> None:
        """24 of the pool's players come and play a round; who they are is new every time."""
        people = [player(number) for number in self.luck.sample(range(self.pool.players), len(PLAYERS))]
        ended = round_ended(turn)
        self.pool.arrivals.append(self.post({"kind": "roster", "players": roster()}, people))
        self.post({"kind": "round_live", "round": ended["round"], "players": roster()}, people)
        time.sleep(PAUSE)
        self.pool.ends.append(self.post(ended, people))

    def post(self, event: object, people: Sequence[str] = PLAYERS) -> float:
        """Post an event of `bench.scripts` with this boot and these players; milliseconds until it was answered."""
        text = json.dumps(event).replace(str(BOOT), str(self.boot))
        for stand_in, actual in zip(PLAYERS, people, strict=True):
            text = text.replace(f'"{stand_in}"', f'"{actual}"')
        reply, took = self.script.post(json.loads(text))
        rounds = reply["rounds"]
        assert isinstance(rounds, dict)
        assert set(rounds.values()) <= {"stored"}, reply
        return took


@contextmanager
def _visiting(pool: Pool, state: Path, folder: Path) -> Iterator[Visitor]:
    daemon = RealDaemon(folder)
    (folder / "state").symlink_to(state.resolve(), target_is_directory=True)
    daemon.start()
    try:
        boot = round(1000 * time.time())  # a kept store knows the rounds of earlier runs
        script = Script(daemon.port, daemon.server, daemon.secret, boot)
        visitor = Visitor(pool, script, boot, daemon.pid, Random(boot), cpu_seconds(daemon.pid))
        visitor.post(hello())
        yield visitor
    finally:
        daemon.stop()
