"""A system brought to a place of a pool's sequence: from the newest snapshot before it, and the events after that."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import Any

from equipoise.errors import RatingError, StoreError
from equipoise.ratings.system import System
from equipoise.service.fingerprint import made_by
from equipoise.service.replayed import Replayed, begin
from equipoise.store.notes import BalancePrediction
from equipoise.store.port import Store
from equipoise.store.rated import Fingerprint, Purpose
from equipoise.store.sequence import AT_ONCE, Edit, Event

SNAPSHOT_EVERY = 100
"""Events: a start rates at most so many again, in a fifth of a second."""

log = logging.getLogger(__name__)


class Place:
    """`replayed` has seen every event of the pool up to `number`."""

    def __init__(self, store: Store, pool: str, replayed: Replayed, seen: int) -> None:
        self.replayed = replayed
        self.number = 0
        self.since = 0
        """Events since the snapshot that it began from, or that was kept last."""
        self.at_end = False
        """There were no more events when it asked last."""
        self.based = False
        """It began from a base, and has not gone on."""
        self.left = False
        """The next event is another spread of skill, which the pool's rounds have taught it: this goes no further."""
        self.struck = False
        """An event was struck since this began: it may have seen it."""
        self._store = store
        self._pool = pool
        self._seen = seen
        """The last event that was stored when it began."""

    async def go_on(self, most: int = sys.maxsize) -> dict[int, BalancePrediction]:
        """Take the next events up to event `most`, in a thread; sets `at_end`. StoreError: it can be called again.

        Returns what was predicted, by the rounds' numbers.
        """
        events = await self._store.events_after(self._pool, self.number, most)
        predictions = await asyncio.to_thread(self._take, events) if events else {}
        self.at_end = len(events) < AT_ONCE or self.left
        return predictions

    async def go_to_end(self, most: int = sys.maxsize) -> None:
        """Take all events up to event `most`."""
        while not self.at_end:
            await self.go_on(most)

    async def keep(self, purpose: Purpose, *, base: bool = False) -> None:
        """Store a snapshot of a sequential system, unless an event was struck since this began."""
        self.since = 0
        snapshot = await asyncio.to_thread(self.replayed.snapshot, self.number, purpose, base=base)
        if snapshot is not None:
            await self._store.keep_snapshot(self._pool, snapshot, self._seen)

    def _take(self, events: Sequence[Event]) -> dict[int, BalancePrediction]:
        predictions = {}
        for event in events:
            if isinstance(event, Edit):
                new = event.number > self._seen
                self.left = new and event.action == "spread" and self._is_other(event)
                if self.left:
                    break
                self.struck |= new and event.action in ("undo", "void")
                self.replayed.edit(event)
            else:
                try:
                    predictions[event.number] = self.replayed.follow(event.record)
                except RatingError as error:  # by every replay: the system has not learnt from it
                    log.info("%s cannot rate it: %s", self.replayed.system.name, error, extra={"pool": self._pool})
            self.number, self.based = event.number, False
            self.since += 1
        return predictions

    def _is_other(self, event: Edit) -> bool:
        """Tell whether the spread that was learnt is not the one that this began with."""
        system, learnt = self.replayed.system, event.detail
        return system.spread not in (None, learnt["spread"]) and learnt["configured"] == system.params.spread


async def before_first(
    store: Store, pool: str, system: System[Any], recorded: Fingerprint, spread: float | None = None
) -> Place:
    """A system like this one before the pool's first event, of the spread of skill that its rounds taught it last.

    `recorded` made the pool's ratings. With a `spread`: of that one.
    """
    seen, learnt, anew = await store.last_number(pool), await store.learnt_spread(pool), type(system)(system.params)
    if spread is None:
        begin(anew, learnt)
    else:
        anew.begin(spread)
    return Place(store, pool, Replayed(anew, recorded), seen)


async def begun(
    store: Store, pool: str, purpose: Purpose, system: System[Any], recorded: Fingerprint, most: int = sys.maxsize
) -> Place:
    """A system like this one at the newest snapshot after at most event `most`; else before the first event.

    `recorded` made the pool's ratings. A snapshot that is damaged, or of another system, is passed over.
    """
    place = await before_first(store, pool, system, recorded)
    while system.sequential and (found := await store.snapshot(pool, purpose, most)) is not None:
        if made_by(found.fingerprint, system):
            try:
                await asyncio.to_thread(place.replayed.restore_snapshot, found.data)
            except RatingError as error:
                log.warning("the snapshot after event %d is not read: %s", found.number, error, extra={"pool": pool})
            else:
                place.number, place.based = found.number, found.base
                place.replayed.calibrate(await store.calibrations(pool), found.number)
                return place
        most = found.number - 1
    if pruned := await store.pruned_rounds(pool):
        message = "%s begins with the rounds that are left: %d older ones were deleted (retention.rounds_days)"
        log.warning(message, system.name, pruned, extra={"pool": pool})
    return place


async def keep_base(
    store: Store, pool: str, purpose: Purpose, system: System[Any], recorded: Fingerprint, before: float
) -> None:
    """Have a snapshot from which the rest follows when the rounds are deleted that were stored before a time."""
    last = await store.last_prunable(pool, before) if system.sequential else 0
    if not last:
        return
    place = await begun(store, pool, purpose, system, recorded, last)
    await place.go_to_end(last)
    if place.left:
        raise StoreError(f"pool {pool}: another spread of skill was learnt meanwhile")
    if place.number and not place.based:
        await place.keep(purpose, base=True)
