"""Jobs on a timer, by APScheduler: every 30 s, rounds that wait for the store are tried again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from equipoise.errors import StoreError
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool

RETRY_SECONDS = 30

# A late job still runs (APScheduler would drop it after a second), once, and never beside itself.
_DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}

log = logging.getLogger(__name__)


class Scheduler:
    """Call `start` inside the running event loop, and `close` before the pools are closed."""

    def __init__(self, pools: Iterable[Pool], metrics: Metrics, retry_seconds: float = RETRY_SECONDS) -> None:
        self._metrics = metrics
        self._running: set[asyncio.Task[None]] = set()
        self._jobs = AsyncIOScheduler(timezone="UTC", job_defaults=_DEFAULTS)
        self._jobs.add_listener(self._failed, EVENT_JOB_ERROR | EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)
        for pool in pools:
            name = f"retry {pool.name}"
            self._jobs.add_job(self._retry, "interval", (pool,), seconds=retry_seconds, id=name)

    def start(self) -> None:
        """Begin to count time: the first run comes after a whole interval."""
        self._jobs.start()

    async def close(self) -> None:
        """Start no more jobs and wait for those that run: APScheduler itself would cancel them."""
        self._jobs.pause()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._jobs.shutdown(wait=False)

    async def _retry(self, pool: Pool) -> None:
        if pool.ring_depth or pool.store.health().state != "ok":
            task = asyncio.create_task(self._drain(pool))
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
