"""Rounds that wait for the store are tried again on a timer."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from equipoise import ratings
from equipoise.app import SystemClock
from equipoise.core.events import RoundEnded
from equipoise.core.participation import recorded
from equipoise.core.rules import Rules
from equipoise.errors import StoreError
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool
from equipoise.service.retention import Retention, RetentionDays
from equipoise.service.ring import Ring
from equipoise.service.scheduler import Every, Scheduler
from equipoise.store.sqlite import SqliteStore
from equipoise.wire import decode_batch
from tests.opened_pool import opened
from tests.store.failing import locked
from tests.store.samples import in_loop, player, until
from tests.wire.samples import RED, ROUND, body


async def kept_then_stored(folder: Path, clock_set: timedelta = timedelta()) -> tuple[int, int]:
    """Rated rounds of a player before and after the scheduler found the store free again.

    The system's clock is set by `clock_set` when the scheduler has begun: its next runs are as far away then.
    """
    store, clock = SqliteStore(folder / "equipoise.db"), SystemClock()
    await store.open()
    pool = Pool("main", ratings.create("synelo"), store, Ring(folder / "main.ring"), clock)
    await pool.open()
    (event,) = decode_batch(body(ROUND)).events
    assert isinstance(event, RoundEnded)
    with sqlite3.connect(folder / "equipoise.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        done = await pool.record(recorded(event.round, Rules()), None)
        assert done.status == "kept"
        before = pool.summary(RED).rounds
        other.execute("ROLLBACK")
    other.close()
    scheduler = Scheduler([pool], Retention(store, [pool], clock, RetentionDays()), Metrics(), retry_seconds=0.01)
    scheduler.start()
    for job in scheduler._jobs.get_jobs():
        job.modify(next_run_time=job.next_run_time - clock_set)
    async with asyncio.timeout(60):
        while pool.ring_depth:  # noqa: ASYNC110 (the pool has no event to wait for)
            await asyncio.sleep(0)
    await scheduler.close()
    await pool.close()
    await store.close()
    return before, pool.summary(RED).rounds


def test_a_round_that_was_kept_is_stored_once_the_store_is_free(tmp_path: Path) -> None:
    assert asyncio.run(kept_then_stored(tmp_path)) == (0, 1)


@pytest.mark.parametrize("years", [10, -10])
def test_a_clock_that_is_set_by_years_does_not_stop_the_retries(tmp_path: Path, years: int) -> None:
    assert asyncio.run(kept_then_stored(tmp_path, timedelta(days=years * 365))) == (0, 1)


def test_runs_that_a_clock_set_forward_has_missed_are_not_counted_up() -> None:
    then = datetime(1970, 1, 1, tzinfo=UTC)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert Every(30).get_next_fire_time(then, now) == now + timedelta(seconds=30)


@in_loop
async def test_a_trouble_that_no_round_waits_for_is_over_once_the_store_is_free(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"), pytest.raises(StoreError):
            await pool.edit(player(1), 1500.0, "owner")
        assert pool.store.health().state == "locked"
        retention = Retention(pool.store, [pool], SystemClock(), RetentionDays())
        scheduler = Scheduler([pool], retention, Metrics(), retry_seconds=0.01)
        scheduler.start()
        await until(lambda: pool.store.health().state == "ok")
        await scheduler.close()
