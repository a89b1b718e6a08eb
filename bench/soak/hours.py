"""Servers against one daemon process for a while: what the daemon cost, and whether every round is in its store."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.measuring import status_of
from bench.servers import more_servers
from bench.soak import fleet
from bench.soak.watch import Moment, lags, probing
from tests.daemons import RealDaemon

PROGRESS_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the time that was played at one tempo."""

    tempo: float
    """The games' seconds to one of ours."""
    polls: Sequence[float]
    """Milliseconds, as in the next three."""
    ends: Sequence[float]
    others: Sequence[float]
    lags: Sequence[float]
    late: int
    cpu: float
    """The daemon's part of one core."""
    elsewhere: float
    """Cores that other programs of the machine used meanwhile."""
    memory: float
    """MB resident at its end."""


@dataclass(frozen=True, slots=True)
class Result:
    servers: int
    hours: float
    stretches: tuple[Stretch, ...]
    played: int
    """Rounds that the games ended."""
    answered: int
    """Those answered `stored`."""
    stored: int
    """Rows of the store."""
    dropped: int
    """Rounds that a script gave up."""
    memory: tuple[float, float]
    """MB resident before the first server came, and the most ever."""
    growth: float
    """Bytes of the store per round."""

    @property
    def agrees(self) -> bool:
        """Every round that was played is stored, once."""
        return self.played == self.answered == self.stored > 0 and not self.dropped


def soak(folder: Path, servers: int, hours: float, speed: float, calm: float) -> Result:
    """Play for so many hours of the games' time, of which the first `calm` seconds are as long as ours."""
    daemon = RealDaemon(folder / "daemon")
    more_servers(daemon, servers)
    daemon.start()
    daemon.stop()
    database = folder / "daemon" / "state" / "equipoise.db"
    empty = database.stat().st_size
    daemon.start()
    try:
        found = asyncio.run(_watched(daemon, folder / "lags", servers, fleet.Tempo(calm, speed, 3600 * hours)))
    finally:
        daemon.stop()
    played, moments, most, times = found
    stored = _rounds(database)
    return Result(
        servers=servers,
        hours=hours,
        stretches=tuple(
            _stretch(folder / "lags", tempo, *pair, each)
            for tempo, pair, each in zip((1.0, speed), pairwise(moments), times, strict=True)
            if each.ends
        ),
        played=sum(each.ended for each in played),
        answered=sum(each.script.stored for each in played),
        stored=stored,
        dropped=sum(each.script.dropped + len(each.script.ring) for each in played),
        memory=(moments[0].memory, most),
        growth=(database.stat().st_size - empty) / max(1, stored),
    )


async def _watched(
    daemon: RealDaemon, file: Path, servers: int, tempo: fleet.Tempo
) -> tuple[list[fleet.Server], list[Moment], float, tuple[fleet.Times, fleet.Times]]:
    """The servers after they have played, the moments between which the stretches lie, the most memory, the times."""
    times = fleet.Times(), fleet.Times()
    with probing(daemon.port, file):
        moments = [Moment.now(daemon.pid)]
        secrets = [f"secret-{number}" for number in range(servers)]
        playing = asyncio.create_task(fleet.play(daemon.port, secrets, tempo, times))
        progress = asyncio.create_task(_progress(tempo, times))
        while not playing.done():
            await asyncio.wait([playing], timeout=0.2)
            if len(moments) == 1 and (tempo.now() >= tempo.calm or playing.done()):
                moments.append(Moment.now(daemon.pid))
        progress.cancel()
        return playing.result(), [*moments, Moment.now(daemon.pid)], status_of(daemon.pid, "VmHWM"), times


async def _progress(tempo: fleet.Tempo, times: Sequence[fleet.Times]) -> None:
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        requests, rounds = sum(each.all() for each in times), sum(len(each.ends) for each in times)
        done = f"{tempo.now() / 60:.0f} of {tempo.end / 60:.0f} minutes"
        print(f"  {done}, {requests:,} requests, {rounds:,} rounds", file=sys.stderr, flush=True)


def _stretch(file: Path, tempo: float, began: Moment, ended: Moment, times: fleet.Times) -> Stretch:
    seconds = ended.at - began.at
    return Stretch(
        tempo=tempo,
        polls=times.polls,
        ends=times.ends,
        others=times.others,
        lags=lags(file, began.at, ended.at),
        late=times.late,
        cpu=(ended.daemon - began.daemon) / seconds,
        elsewhere=((ended.machine - began.machine) - (ended.ours - began.ours)) / seconds,
        memory=ended.memory,
    )


def _rounds(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        (number,) = database.execute("SELECT count(*) FROM rounds").fetchone()
    return int(number)
