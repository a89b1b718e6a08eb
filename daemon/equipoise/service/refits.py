"""Pools whose system has a whole-history fit are fitted every night, and by hand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from equipoise import ratings
from equipoise.errors import RatingError, StoreError
from equipoise.service.clock import Clock
from equipoise.service.pool import Pool
from equipoise.store.notes import Audit
from equipoise.store.recalculation import CaughtUp, Fitted

ANOTHER_SECONDS = 12 * 3600.0
"""A refit that another machine made so long ago is that of this night."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RefitStatus:
    """The refit of a pool that is under way, or the last one; times in seconds since the epoch."""

    running_since: float | None = None
    """Since when it runs, in seconds since the epoch; null: it does not."""
    ended_at: float | None = None
    """When it ended, in seconds since the epoch."""
    dry_run: bool = False
    """Whether it only says what would change."""
    error: str | None = None
    """Why the ratings stayed as they were."""
    fitted: Fitted | None = None
    """The outcome of the fit."""
    result: CaughtUp | None = None
    """The changes by the new ratings."""


class Refits:
    """One fit at a time: each is a process that may need much memory."""

    def __init__(self, pools: Mapping[str, Pool], clock: Clock) -> None:
        self._pools, self._clock = pools, clock
        self._turn = asyncio.Lock()
        self._status: dict[str, RefitStatus] = {}
        self._seen: dict[str, int] = {}
        """The last event of a pool when it was fitted last."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """What was started by hand."""

    async def run(self) -> None:
        """Refit every pool that can be, and has new rounds. StoreError names those that kept their ratings."""
        failures = []
        for pool in list(self._pools.values()):
            if (by_hand := self._tasks.get(pool.name)) is not None:  # after it there may be nothing to do
                await asyncio.wait([by_hand])
            if not await self._due(pool):
                continue
            await self._refit(pool, "job", dry_run=False)
            if error := self._status[pool.name].error:
                failures.append(error)
        if failures:
            raise StoreError("; ".join(failures))

    async def last_run(self) -> float | None:
        """When a pool was refitted last, by this daemon or one before, in seconds since the epoch; None: never."""
        at = [await pool.store.refitted_at(pool.name) for pool in self._pools.values()]
        return max((moment for moment in at if moment is not None), default=None)

    def start(self, pool: Pool, who: str, *, dry_run: bool) -> RefitStatus:
        """Begin a refit by hand, if none of this pool is under way. RatingError: its system has no such fit."""
        if not _fits(pool):
            raise RatingError(f"pool {pool.name}: {pool.system.name} has no whole-history fit")
        if self.status(pool).running_since is None:
            # Before the task's first step: a second call finds that one runs.
            self._status[pool.name] = RefitStatus(running_since=self._clock.epoch(), dry_run=dry_run)
            task = asyncio.create_task(self._refit(pool, who, dry_run=dry_run))
            self._tasks[pool.name] = task
            task.add_done_callback(lambda _: self._tasks.pop(pool.name))
        return self.status(pool)

    def status(self, pool: Pool) -> RefitStatus:
        """How it goes, or went."""
        return self._status.get(pool.name, RefitStatus())

    async def close(self) -> None:
        """End what was started by hand."""
        for task in (tasks := list(self._tasks.values())):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _due(self, pool: Pool) -> bool:
        if not _fits(pool) or await pool.store.pruned_rounds(pool.name):
            return False
        if await pool.store.last_number(pool.name) == self._seen.get(pool.name):
            return False
        if pool.sharing is not None:  # once for all machines
            at = await pool.store.refitted_at(pool.name)
            if at is not None and self._clock.epoch() - at < ANOTHER_SECONDS:
                return False
        return bool(await pool.store.predictions(pool.name, 1))

    async def _refit(self, pool: Pool, who: str, *, dry_run: bool) -> None:
        now = self._clock.epoch
        self._status[pool.name] = RefitStatus(running_since=now(), dry_run=dry_run)
        # What stands there if the task is cancelled: `finally` writes the status either way.
        error, numbers, result = "it was ended", None, None
        try:
            async with self._turn, pool.store.fitting(pool.name) as fit:
                numbers = await fit.fitted()
                if not numbers.converged:
                    steps = numbers.iterations
                    raise StoreError(f"pool {pool.name}: the fit did not converge in {steps} iterations")
                if dry_run:
                    result = await fit.tried()
                else:
                    entry = Audit(now(), who, "refit", f"pool {pool.name}", "", f"fit of {numbers.rounds} rounds")
                    result = await pool.refit(fit, entry)
                    self._seen[pool.name] = await pool.store.last_number(pool.name)
                    log.info(
                        "%d players fitted to %d rounds", result.players, numbers.rounds, extra={"pool": pool.name}
                    )
            error = ""
        except StoreError as failed:
            error = str(failed)
        finally:
            self._status[pool.name] = RefitStatus(
                None, now(), dry_run, error or None, numbers, result and replace(result, shared={})
            )


def _fits(pool: Pool) -> bool:
    return ratings.SYSTEMS[pool.system.name].fit is not None
