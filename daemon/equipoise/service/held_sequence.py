"""A pool's own system where it is sequential: all of it is in memory, and it has seen every event of the sequence.

It is never read player by player, so nobody is forgotten and nothing is loaded for a round. A group of rounds that is
undone in part goes back to the state before the group, and those of its rounds that stay are rated again: a copy of the
state for each round would cost more than rating it. After an error that leaves open what was stored, the state is made
anew from the store before it is used.
"""
# ruff: noqa: D102 (`Held` documents what is overridden)

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

from equipoise.core.model import PlayerId
from equipoise.errors import StoreError
from equipoise.ratings.system import Match, System
from equipoise.service.fingerprint import fingerprint_of
from equipoise.service.held import Before, Held
from equipoise.service.place import SNAPSHOT_EVERY, begun, keep_base
from equipoise.service.replayed import snapshot_of
from equipoise.store.port import Store
from equipoise.store.rated import PlayerRow, RatedRound, SharedParts

NO_COUNTS = b"0 0\n"
"""In place of those of `Replayed`, which only a system that carries over edits of another one needs."""


class HeldSequence(Held):
    """The system, and the number of the last event that it has seen."""

    def __init__(self, system: System[Any]) -> None:
        super().__init__(system)
        self._current = False
        """Whether it has seen exactly what is stored."""
        self._number = 0
        self._since = 0
        """Events since the last snapshot."""
        self._group: object = None
        """The state before the rounds that are rated now."""
        self._rated: list[Match] = []
        """Those of them that the system learnt from, in order."""

    async def read(self, store: Store, pool: str) -> None:
        if self._current:
            return
        place = await begun(store, pool, "system", self.system, fingerprint_of(self.system))
        await place.go_to_end()
        self.system.go_back(place.replayed.system.checkpoint())
        self.calibration = place.replayed.calibration
        self._number, self._since, self._current = place.number, place.since, True
        self._settle()
        self.version += 1

    @property
    def snapshot_due(self) -> bool:
        return self._since >= SNAPSHOT_EVERY and self._current

    async def keep_snapshot(self, store: Store, pool: str) -> None:
        self._since = 0
        data = await asyncio.to_thread(self.system.snapshot)
        snapshot = snapshot_of(self.system, NO_COUNTS + data, self._number)
        with suppress(StoreError):  # the next one comes
            await store.keep_snapshot(pool, snapshot, self._number)

    async def keep_base(self, store: Store, pool: str, before: float) -> None:
        await keep_base(store, pool, "system", self.system, fingerprint_of(self.system), before)

    @property
    def lacks_shared(self) -> bool:
        return super().lacks_shared or not self._current

    def unread(self, players: Collection[PlayerId]) -> list[PlayerId]:
        return []

    def restore(self, rows: Sequence[PlayerRow], shared: SharedParts | None = None) -> None:
        super().restore((), shared)

    @property
    def crowded(self) -> bool:
        return False

    def learned(self, rated: RatedRound, match: Match) -> None:
        self._rated.append(match)

    def stored(self, rated: Sequence[RatedRound]) -> None:
        super().stored(rated)
        self._number = max((each.number for each in rated), default=self._number)
        self._since += len(self._rated)
        self._settle()

    def edited(self, row: PlayerRow) -> None:
        super().edited(row)
        self._current = False  # the edit's number is the store's

    def outdate(self, needed: Collection[PlayerId]) -> None:
        self._current = False

    def before(self, players: Iterable[PlayerId], match: Match | None = None) -> Before:
        if self._group is None:
            self._group = self.system.checkpoint()
        return Before(place=len(self._rated))

    def put_back(self, before: Before) -> None:
        if self._group is None:
            return
        self.system.go_back(self._group)
        del self._rated[before.place :]
        for match in self._rated:
            self.system.rate(match)
        self.version += 1

    def undone(self) -> None:
        self._current = False
        self._settle()

    def _settle(self) -> None:
        self._group = None
        self._rated.clear()
