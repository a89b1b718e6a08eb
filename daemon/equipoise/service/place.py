"""A system brought to a place of a pool's sequence: from the newest snapshot before it, and the events after that."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import Any

from equipoise.errors import RatingError
from equipoise.ratings.system import System
from equipoise.service.fingerprint import made_by
from equipoise.service.replayed import Replayed
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
        self.at_end = len(events) < AT_ONCE
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
                self.replayed.edit(event)
            else:
                try:
                    rated = self.replayed.rate(event.record)
                except RatingError as error:  # by every replay: the system has not learnt from it
                    log.info("%s cannot rate it: %s", self.replayed.system.name, error, extra={"pool": self._pool})
                else:
                    assert rated.prediction is not None
                    predictions[event.number] = BalancePrediction(rated.prediction, rated.unevenness)
            self.number, self.based = event.number, False
            self.since += 1
        return predictions


async def begun(
    store: Store, pool: str, purpose: Purpose, system: System[Any], recorded: Fingerprint, most: int = sys.maxsize
) -> Place:
    """A system like this one at the newest snapshot after at most event `most`; else before the first event.

    `recorded` made the pool's ratings. A snapshot that is damaged, or of another system, is passed over.
    """
    place = Place(store, pool, Replayed(type(system)(system.params), recorded), await store.last_number(pool))
    while system.sequential and (found := await store.snapshot(pool, purpose, most)) is not None:
        if made_by(found.fingerprint, system):
            try:
                await asyncio.to_thread(place.replayed.restore_snapshot, found.data)
            except RatingError as error:
                log.warning("the snapshot after event %d is not read: %s", found.number, error, extra={"pool": pool})
            else:
                place.number, place.based = found.number, found.base
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
    if place.number and not place.based:
        await place.keep(purpose, base=True)
