"""Servers against one daemon process for a while: what the daemon cost, and whether every round is in its store."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.measuring import status_of
from bench.servers import more_servers, rated_by
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
    memory: tuple[float, ...]
    """MB resident at the end of each tenth of it."""


@dataclass(frozen=True, slots=True)
class Result:
    servers: int
    hours: float
    system: str
    """It rates the pool, whose teams `joint` makes."""
    modes: tuple[str, ...]
    """Those in which what each player did tells their skill, at the end."""
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


def soak(folder: Path, servers: int, hours: float, speed: float, calm: float, system: str) -> Result:
    """Play for so many hours of the games' time, of which the first `calm` seconds are as long as ours."""
    daemon = RealDaemon(folder / "daemon")
    more_servers(daemon, servers)
    rated_by(daemon, system, "joint")
    daemon.start()
    daemon.stop()
    database = folder / "daemon" / "state" / "equipoise.db"
    empty = database.stat().st_size
    daemon.start()
    try:
        found = asyncio.run(_watched(daemon, folder / "lags", servers, fleet.Tempo(calm, speed, 3600 * hours)))
        scores = daemon.ask("pools/main/quality")["scores"]
    finally:
        daemon.stop()
    played, moments, most, times = found
    stored = _rounds(database)
    return Result(
        servers=servers,
        hours=hours,
        system=system,
        modes=tuple(each["mode"] for each in scores if each["used"]),
        stretches=tuple(
            _stretch(folder / "lags", tempo, part, each)
            for tempo, part, each in zip((1.0, speed), moments, times, strict=True)
            if each.ends
        ),
        played=sum(each.ended for each in played),
        answered=sum(each.script.stored for each in played),
        stored=stored,
        dropped=sum(each.script.dropped + len(each.script.ring) for each in played),
        memory=(moments[0][0].memory, most),
        growth=(database.stat().st_size - empty) / max(1, stored),
    )


async def _watched(
    daemon: RealDaemon, file: Path, servers: int, tempo: fleet.Tempo
) -> tuple[list[fleet.Server], tuple[list[Moment], list[Moment]], float, tuple[fleet.Times, fleet.Times]]:
    """The servers after they have played, the moments of both stretches' tenths, the most memory, the times."""
    times = fleet.Times(), fleet.Times()
    calm = min(tempo.calm, tempo.end)
    with probing(daemon.port, file):
        secrets = [f"secret-{number}" for number in range(servers)]
        first = [Moment.now(daemon.pid)]
        playing = asyncio.create_task(fleet.play(daemon.port, secrets, tempo, times))
        progress = asyncio.create_task(_progress(tempo, times))
        await _tenths(daemon, tempo, (0.0, calm), playing, first)
        second = first[-1:]
        await _tenths(daemon, tempo, (calm, tempo.end), playing, second)
        progress.cancel()
        return await playing, (first, second), status_of(daemon.pid, "VmHWM"), times


async def _tenths(
    daemon: RealDaemon, tempo: fleet.Tempo, span: tuple[float, float], playing: asyncio.Task[object], to: list[Moment]
) -> None:
    """Add the moment at the end of each tenth of a span of the games' time; the last is when all have played."""
    begins, ends = span
    for tenth in range(1, 11):
        until = begins + (ends - begins) * tenth / 10
        while not playing.done() and (tempo.now() < until or (ends == tempo.end and tenth == 10)):
            await asyncio.wait([playing], timeout=0.2)
        to.append(Moment.now(daemon.pid))


async def _progress(tempo: fleet.Tempo, times: Sequence[fleet.Times]) -> None:
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        requests, rounds = sum(each.all() for each in times), sum(len(each.ends) for each in times)
        done = f"{tempo.now() / 60:.0f} of {tempo.end / 60:.0f} minutes"
        print(f"  {done}, {requests:,} requests, {rounds:,} rounds", file=sys.stderr, flush=True)


def _stretch(file: Path, tempo: float, moments: Sequence[Moment], times: fleet.Times) -> Stretch:
    began, ended = moments[0], moments[-1]
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
        memory=tuple(each.memory for each in moments[1:]),
    )


def _rounds(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        (number,) = database.execute("SELECT count(*) FROM rounds").fetchone()
    return int(number)
