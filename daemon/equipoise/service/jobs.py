"""The daemon's own jobs, and how often they run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from equipoise.errors import StoreError
from equipoise.service.backups import Backups
from equipoise.service.calibrations import Calibrations
from equipoise.service.pool import Pool
from equipoise.service.quality import QualitySnapshots
from equipoise.service.refits import Refits
from equipoise.service.retention import Retention
from equipoise.service.scheduler import Daily, Every, Scheduler
from equipoise.service.spreads import Spreads
from equipoise.store.port import Clock

RETRY_SECONDS = 30.0
PRUNE_SECONDS = 3600.0
SNAPSHOT_SECONDS = 3600.0
REFIT_AT = "05:00"
"""After the nightly backup, by default."""
SPREAD_AT = "05:30"
"""What it finds is not stored: it also runs soon after each start."""

CALIBRATION_AT = "06:00"
"""After another spread of skill, with which it begins anew."""

log = logging.getLogger(__name__)


async def add_jobs(
    scheduler: Scheduler,
    pools: Mapping[str, Pool],
    retention: Retention,
    refits: Refits,
    spreads: Spreads,
    calibrations: Calibrations,
    clock: Clock,
) -> None:
    """Add the jobs of every daemon; pools that are added later to the mapping are served too."""
    scheduler.add("ring retry", Every(RETRY_SECONDS), partial(retry, pools))
    scheduler.add("retention", Every(PRUNE_SECONDS), retention.run)
    scheduler.add("quality", Every(SNAPSHOT_SECONDS), QualitySnapshots(pools, clock).run)
    last: float | None = None
    with suppress(StoreError):  # damage to the store is said by /healthz: a daemon that serves keeps rounds
        last = await refits.last_run()
    scheduler.add("refit", Daily(REFIT_AT), refits.run, last_run=last)
    scheduler.add("spread", Daily(SPREAD_AT), spreads.run)
    scheduler.add("calibration", Daily(CALIBRATION_AT), calibrations.run)


def schedule_backups(scheduler: Scheduler, backups: Backups, keep: int, at: str) -> None:
    """Make a backup every night at this time of day and keep so many; 0: make none.

    A later call changes it. One that changes nothing leaves the job alone, which may be at work.
    """
    backups.keep = keep
    due = at if keep else None
    if due == backups.at:
        return
    backups.at = due
    scheduler.remove("backup")
    if due is not None:
        scheduler.add("backup", Daily(due), backups.run, last_run=backups.last())


async def retry(pools: Mapping[str, Pool]) -> None:
    """Try again to store rounds that wait, and to write a store that was in trouble."""
    troubled = (pool for pool in pools.values() if pool.ring_depth or pool.store.health().state != "ok")
    await asyncio.gather(*(_drain(pool) for pool in troubled))


async def _drain(pool: Pool) -> None:
    waiting = pool.ring_depth
    if not waiting:
        with suppress(StoreError):  # the store logs it
            await pool.store.ping()
    await pool.drain()
    if stored := waiting - pool.ring_depth:
        log.info("%d of %d waiting rounds stored", stored, waiting, extra={"pool": pool.name})
