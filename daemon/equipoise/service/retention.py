"""Deletes what the store has kept for as long as the configuration says, in pieces that let rounds pass."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial

from equipoise.errors import StoreError
from equipoise.service.clock import Clock
from equipoise.service.pool import Pool
from equipoise.store.connection import Extent
from equipoise.store.store import Store

LINES = 500
"""Lines of a log in one transaction: it holds the store's thread for some ten milliseconds."""
ROUNDS = 10
"""Rounds in one transaction: the window of each participant is looked up."""
PAUSE_SECONDS = 0.05
"""After each piece, so that the store is idle for most of the time."""
RUN_SECONDS = 1_800.0
"""What is left after this waits for the next run, which comes once an hour."""
DAY = 86_400.0
LONGEST_SILENCE = 365 * DAY
"""A start this long after the newest decision or round is more likely to have a wrong clock than an old store."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetentionDays:
    """For how long things are kept, in days; 0: for ever."""

    decisions_days: float = 0.0
    audit_days: float = 0.0
    rounds_days: float = 0.0


class Retention:
    """`run` deletes what is too old.

    A clock that is years ahead would make everything too old. So time passes here by the monotonic clock, which is
    never set, and nothing is deleted when the clock was already ahead at the start.
    """

    def __init__(self, store: Store, pools: Collection[Pool], clock: Clock, days: RetentionDays) -> None:
        self.pruned = {"decisions": 0, "chances": 0, "audit": 0, "rounds": 0}
        """What was deleted since the start."""
        self.extent = Extent(0, 0, None, None)
        """How large the store was at the last look."""
        self._store = store
        self._pools = pools
        self._clock = clock
        self._days = days
        self._distrusted = False
        self._began = clock.epoch() - clock.monotonic()
        self._looked = False
        self._ends_at = 0.0
        """When the present run is to end, by the monotonic clock."""

    def use(self, days: RetentionDays) -> None:
        """Keep things for so long from the next run on."""
        self._days = days

    async def run(self) -> None:
        """Delete what is old enough; what the store refuses, or what takes too long, waits for the next run."""
        before = dict(self.pruned)
        self._ends_at = self._clock.monotonic() + RUN_SECONDS
        try:
            if not self._looked:
                await self.look()
            for name, days, delete, limit in self._work():
                if days:
                    await self._delete(name, partial(delete, self._now() - DAY * days, limit), limit)
            await self.look()
        except StoreError as error:
            log.warning("nothing more is deleted until the next run: %s", error)
        done = [f"{name} {count - before[name]}" for name, count in self.pruned.items() if count > before[name]]
        if done:
            log.info("deleted for their age: %s; the store has %.0f MB", ", ".join(done), self.extent.bytes / 1e6)

    async def look(self) -> None:
        """Ask the store how large it is. The first look decides whether the clock is believed."""
        self.extent = await self._store.extent()
        if self._looked:
            return
        self._looked = True
        newest = self.extent.newest
        if newest is not None and (silence := self._now() - newest) > LONGEST_SILENCE:
            self._distrusted = True
            log.warning(
                "nothing is deleted: the newest decision or round is %.0f days old. "
                "If the clock is right, restart the daemon",
                silence / DAY,
            )

    def _now(self) -> float:
        return self._began + self._clock.monotonic()

    def oldest_decision_seconds(self) -> float:
        """The age of the oldest decision, 0 without one."""
        oldest = self.extent.oldest_decision
        return 0.0 if oldest is None else max(0.0, self._now() - oldest)

    def _work(self) -> Iterable[tuple[str, float, Callable[[float, int], Awaitable[int]], int]]:
        days, store = self._days, self._store
        yield "decisions", days.decisions_days, partial(store.prune, "decisions"), LINES
        yield "chances", days.decisions_days, partial(store.prune, "chances"), LINES
        yield "audit", days.audit_days, partial(store.prune, "audit"), LINES
        for pool in tuple(self._pools):  # a reload may change them meanwhile
            yield "rounds", days.rounds_days, partial(self._pruned, pool), ROUNDS

    async def _pruned(self, pool: Pool, before: float, limit: int) -> int:
        # Before anything is deleted: afterwards nothing leads to the state that the deleted rounds made.
        await pool.keep_base(before)
        return await self._store.prune_rounds(pool.name, pool.system.window, before, limit)

    async def _delete(self, name: str, delete: Callable[[], Awaitable[int]], limit: int) -> None:
        count = limit
        # Fewer than the limit: nothing is left that is too old.
        while count == limit and not self._distrusted and self._clock.monotonic() < self._ends_at:
            count = await delete()
            self.pruned[name] += count
            await asyncio.sleep(PAUSE_SECONDS)
