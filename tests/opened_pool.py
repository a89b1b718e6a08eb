"""A pool on a real store and a real ring, for tests to open: a daemon's own, or one that machines share."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from equipoise import ratings
from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.ratings.system import System
from equipoise.service.clock import Clock
from equipoise.service.held import MOST_HELD
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.service.shared_pool import SharedPool
from equipoise.shared.log import SharedLog
from equipoise.store.store import Store
from tests.store.samples import until

NOW = 1_763_700_000.0


class Stopped:
    """A clock that does not move."""

    def monotonic(self) -> float:
        return 0.0

    def epoch(self) -> float:
        return NOW


class Sharing:
    """Whether `new_pool` makes shared pools: then each store has the log of a database of its own."""

    database_of: Callable[[Path], str] | None = None
    """The URL for a store's file; its fixture is in `tests/service/conftest.py`."""
    password = ""


class Followed(SharedPool):
    """A shared pool of one machine: it is ready when it is opened, and ends its connections when it is closed."""

    answer_seconds = 20.0

    async def open(self) -> None:
        try:
            await super().open()
        except BaseException:
            await self._log.close()
            raise
        await until(lambda: self.name in self.store.followed or not self._connected)

    async def close(self) -> None:
        await super().close()
        await self._log.close()

    async def kill(self) -> None:
        """End as at the end of its process: what is under way is not."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self.follower is not None:
            await self.follower.stop()
        await self._log.close()


def new_pool(
    system: System[Any],
    store: Store,
    ring: Ring,
    clock: Clock,
    most_held: int = MOST_HELD,
    balance: System[Any] | None = None,
) -> Pool:
    """Return the pool `main`, as this run of the test has it."""
    if Sharing.database_of is None:
        return Pool("main", system, store, ring, clock, most_held, balance)
    shared_log = SharedLog(Sharing.database_of(store.path), Sharing.password, store.path.parent.name)
    return Followed("main", system, store, ring, clock, shared_log, balance=balance)


def a_pool(
    directory: Path,
    store: Store,
    system: str | System[Any] = "synelo",
    most_held: int = MOST_HELD,
    balance: System[Any] | None = None,
    **params: object,
) -> Pool:
    own = ratings.create(system, **params) if isinstance(system, str) else system
    return new_pool(own, store, Ring(directory / "main.ring"), Stopped(), most_held, balance)


@asynccontextmanager
async def opened(
    directory: Path, system: str | System[Any] = "synelo", *, kind: type[Store] = Store, **params: Any
) -> AsyncIterator[Pool]:
    store = kind(directory / "s.db")
    await store.open()
    try:
        pool = a_pool(directory, store, system, **params)
        await pool.open()
        try:
            yield pool
        finally:
            await pool.close()
    finally:
        await store.close()


async def played(pool: Pool, records: Iterable[RecordRound]) -> None:
    """Record rounds, each of which is stored."""
    for each in records:
        assert (await pool.record(each, None)).status == "stored"


async def caught_up(pool: Pool) -> None:
    """Wait until the system that makes the teams, if it is another one, has learnt from every round."""
    if pool.follower is not None:
        await pool.follower.caught_up()


def summary_of(system: System[Any], one: PlayerId) -> PlayerSummary:
    """A system's summary as a pool gives it: with what splits balance on."""
    skill, deviation, skills = system.skill(one), system.deviation(one), system.skills(one)
    return replace(system.summary(one), skill=skill, deviation=deviation, skills=skills)


def rated_alone(*records: RecordRound, system: str = "synelo", **params: object) -> System[Any]:
    """The same rounds, rated one after the other with nothing in between."""
    alone = ratings.create(system, **params)
    for record in records:
        match = match_of(record)
        assert match is not None
        alone.rate(match)
    return alone


def stored_rounds(directory: Path) -> list[str]:
    """Ids in the order of being applied."""
    with closing(sqlite3.connect(directory / "s.db")) as database:
        return [id for (id,) in database.execute("SELECT id FROM rounds ORDER BY number")]
