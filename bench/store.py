"""A round of 24 players with full windows, rated and recorded: on this disk, and without one."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from equipoise import ratings
from equipoise.core.effects import RecordRound
from equipoise.core.model import (
    STEAM_ID_BASE,
    LineupPlayer,
    Mode,
    Participant,
    PlayerId,
    Presence,
    Round,
    RoundId,
    ServerId,
    Side,
)
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.store.store import Store

PLAYERS = 24
WINDOW = 500
ROUNDS = 300
RESTARTS = 20
TARGET_MS = 5.0
"""Without the disk: "a few ms" of the 15 that the answer to a round's end may take."""

MEMORY = bytes(2000)
IDS = [PlayerId(str(STEAM_ID_BASE + number)) for number in range(1, PLAYERS + 1)]


class Now:
    def monotonic(self) -> float:
        return time.monotonic()

    def epoch(self) -> float:
        return time.time()


def a_round(number: int, luck: random.Random, pool: Sequence[PlayerId] = IDS) -> RecordRound:
    ids = luck.sample(pool, PLAYERS)
    sides = [Side.A] * (PLAYERS // 2) + [Side.B] * (PLAYERS // 2)
    seats = tuple(map(LineupPlayer, ids, sides))
    round = Round(
        id=RoundId(f"1763622000123-{number}"),
        server=ServerId("bench"),
        session="1763622000123-1",
        map="cp_badlands",
        mode=Mode.SYMMETRIC_CP,
        started_at=1_763_622_000.0 + number,
        seconds=600.0,
        winner=luck.choice([Side.A, Side.B]),
        lineup=seats,
        presences=tuple(Presence(seat.id, seat.side, 600.0, 0.0, fought=True) for seat in seats),
    )
    return RecordRound(round, tuple(Participant(seat.id, seat.side, 600.0, 0.0) for seat in seats))


@asynccontextmanager
async def opened(directory: Path, system: str = "synelo") -> AsyncIterator[Pool]:
    store = Store(directory / "bench.db")
    await store.open()
    pool = Pool("bench", ratings.create(system), store, Ring(directory / "bench.ring"), Now())
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()
        await store.close()


async def timed(pool: Pool, record: RecordRound) -> float:
    start = time.perf_counter()
    done = await pool.record(record, MEMORY)
    assert done.status == "stored"
    return 1000 * (time.perf_counter() - start)


async def measure(directory: Path) -> tuple[list[float], list[float]]:
    """Milliseconds of rounds with all players in memory, and of the first round after a restart."""
    luck = random.Random(24)
    async with opened(directory) as pool:
        for number in range(WINDOW):
            await pool.record(a_round(number, luck), MEMORY)
        warm = [await timed(pool, a_round(WINDOW + number, luck)) for number in range(ROUNDS)]
    cold = []
    for number in range(RESTARTS):
        async with opened(directory) as pool:
            cold.append(await timed(pool, a_round(WINDOW + ROUNDS + number, luck)))
    return warm, cold


def percentile(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def main() -> None:
    print(f"{PLAYERS} players, windows of {WINDOW} rounds, synchronous = FULL")
    print(f"{'':34}{'p50 ms':>8}{'p99 ms':>8}")
    for place, root in (("on disk", None), ("in memory (no disk)", "/dev/shm")):
        with tempfile.TemporaryDirectory(dir=root) as directory:
            warm, cold = asyncio.run(measure(Path(directory)))
        for kind, values in ((place, warm), (f"{place}, after a restart", cold)):
            print(f"{kind:34}{percentile(values, 50):8.2f}{percentile(values, 99):8.2f}")
    print(f"target: p50 without the disk <= {TARGET_MS:g} ms")


if __name__ == "__main__":
    main()
