"""Jobs on a timer, by APScheduler.

Every 30 s, rounds that wait for the store are tried again; once an hour, what was kept long enough is deleted.

APScheduler reckons by the system's clock. When that is set forward by years, an interval of its own kind makes up a
list of all the runs that were missed, which blocks the event loop for minutes. When it is set back by years, the next
run is as far away. So jobs have the trigger `Every`, and the event loop's clock, which is never set, looks after them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from equipoise.errors import StoreError
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool
from equipoise.service.retention import Retention

RETRY_SECONDS = 30
PRUNE_SECONDS = 3600

# A late job still runs (APScheduler would drop it after a second), once, and never beside itself.
_DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}

log = logging.getLogger(__name__)


class Every(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """An interval that begins anew with each run: runs that were missed are not caught up with."""

    def __init__(self, seconds: float) -> None:
        self.interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """An interval from now."""
        return now + self.interval


class Scheduler:
    """Call `start` inside the running event loop, and `close` before the pools are closed."""

    def __init__(
        self,
        pools: Iterable[Pool],
        retention: Retention,
        metrics: Metrics,
        *,
        retry_seconds: float = RETRY_SECONDS,
        prune_seconds: float = PRUNE_SECONDS,
    ) -> None:
        self._retention = retention
        self._metrics = metrics
        self._running: set[asyncio.Task[None]] = set()
        self._jobs = AsyncIOScheduler(timezone="UTC", job_defaults=_DEFAULTS)
        self._jobs.add_listener(self._failed, EVENT_JOB_ERROR | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)
        for pool in pools:
            name = f"retry {pool.name}"
            self._jobs.add_job(self._retry, Every(retry_seconds), (pool,), id=name)
        self._jobs.add_job(self._run, Every(prune_seconds), (retention.run,), id="prune")
        self._look_seconds = retry_seconds
        self._looking: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to count time: the first run comes after a whole interval."""
        self._jobs.start()
        self._look()

    async def close(self) -> None:
        """Start no more jobs and wait for those that run: APScheduler itself would cancel them."""
        if self._looking is not None:
            self._looking.cancel()
        self._jobs.pause()
        self._retention.stop()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._jobs.shutdown(wait=False)

    def _look(self) -> None:
        """Run the jobs now whose next run is further away than it can be: the clock was set back."""
        now = datetime.now(UTC)
        for job in self._jobs.get_jobs():
            if job.next_run_time - now > job.trigger.interval:
                job.modify(next_run_time=now)
        self._looking = asyncio.get_running_loop().call_later(self._look_seconds, self._look)

    async def _retry(self, pool: Pool) -> None:
        if pool.ring_depth or pool.store.health().state != "ok":
            await self._run(partial(self._drain, pool))

    async def _run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """In a task of its own, which `close` waits for."""
        task = asyncio.create_task(work())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await task

    async def _drain(self, pool: Pool) -> None:
        waiting = pool.ring_depth
        if not waiting:
            with suppress(StoreError):  # the store logs it
                await pool.store.ping()
        await pool.drain()
        if stored := waiting - pool.ring_depth:
            log.info("%d of %d waiting rounds stored", stored, waiting, extra={"pool": pool.name})

    def _failed(self, event: JobEvent) -> None:
        self._metrics.failed_jobs.labels(event.job_id).inc()
        log.error("a job failed or was missed", extra={"job": event.job_id})
