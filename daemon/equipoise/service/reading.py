"""What a pool reads from its store into memory: players when they are asked for, and those on servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError, StoreError
from equipoise.service import opening
from equipoise.service.held import Held
from equipoise.store.port import Clock, Store

log = logging.getLogger(__name__)


class Reading:
    """All but `hold` and `present` are called while the pool's lock is held: no transaction runs."""

    def __init__(self, name: str, held: Held, store: Store, clock: Clock) -> None:
        self._name = name
        self._held = held
        self._store = store
        self._clock = clock
        self._present: list[Callable[[], Iterable[PlayerId]]] = []
        """The players of each server that feeds the pool."""

    def hold(self, present: Callable[[], Iterable[PlayerId]]) -> Callable[[], None]:
        """Keep in memory whom `present` returns; what this returns ends it."""
        self._present.append(present)
        return lambda: self._present.remove(present)

    def present(self) -> list[PlayerId]:
        """The players on all servers."""
        return [player for players in self._present for player in players()]

    async def players(self, players: Sequence[PlayerId]) -> None:
        """Load whom memory has not, as far as the store answers."""
        try:
            await self._held.read(self._store, self._name)
            shared = await self._store.shared(self._name) if self._held.lacks_shared else None
            missing = self._held.unread(players)  # another host may have asked for them meanwhile
            rows = await self._store.players(self._name, missing, self._held.system.window)
            await asyncio.to_thread(self._held.restore, list(rows.values()), shared)
            self._held.note_absent(player for player in missing if player not in rows)
            self._held.version += bool(rows or shared)
        except (StoreError, RatingError) as error:
            self._held.version += 1
            if isinstance(error, RatingError):
                log.warning("pool %s: players not loaded: %s", self._name, error)

    async def anew(self) -> None:
        """After the store changed many players: load those on servers, whose skills are read at any time."""
        with suppress(StoreError):  # rounds that were rated again may be from a time when the clock was wrong
            await opening.redate(self._name, self._store, self._clock.epoch())
        present = self.present()
        self._held.outdate(present)
        await self.players(present)

    def make_room(self, asked: Iterable[PlayerId] = ()) -> None:
        """Forget players whom no server has and no caller waits for."""
        if self._held.crowded:
            self._held.forget_unused({*asked, *self.present()})
