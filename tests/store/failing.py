"""A real store that fails where a test wants it to, inside and outside its transactions, or is locked."""

from __future__ import annotations

import resource
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from equipoise.errors import StoreError
from equipoise.store.player_rows import PlayerRow, SharedParts
from equipoise.store.round_rows import RatedRound, Submission
from equipoise.store.store import Store


class Fault(Enum):
    """Where the store fails, group by group."""

    NOWHERE = "nowhere"
    BEFORE = "before anything was rated"
    WITHIN = "after rating the last round, before the commit"
    COMMIT = "in the commit itself: the log's file may not grow"
    AFTER = "after the commit: only its answer is lost"


class Failing(Store):
    """A real store, in which each group of rounds meets the next fault, and none when they are used up."""

    faults: Sequence[Fault] = ()

    async def record(self, pool: str, group: Sequence[Submission], window: int) -> Sequence[RatedRound | Exception]:
        fault, *self.faults = self.faults or [Fault.NOWHERE]
        if fault is Fault.BEFORE:
            raise StoreError("locked")
        if fault is Fault.WITHIN:
            group = [*group[:-1], Then(group[-1], _full)]
        if fault is Fault.COMMIT:
            return await self._record_without_room(pool, group, window)
        rated = await super().record(pool, group, window)
        if fault is Fault.AFTER:
            raise StoreError("connection lost")
        return rated

    async def _record_without_room(
        self, pool: str, group: Sequence[Submission], window: int
    ) -> Sequence[RatedRound | Exception]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

        def no_more_room() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))

        try:
            return await super().record(pool, [*group[:-1], Then(group[-1], no_more_room)], window)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Then:
    """A round after whose rating something happens."""

    def __init__(self, one: Submission, then: Callable[[], None]) -> None:
        self._one = one
        self._then = then
        self.record, self.memory, self.at = one.record, one.memory, one.at
        self.held, self.undo = one.held, one.undo

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        rated = self._one.rate(rows, shared)
        self._then()
        return rated


def _full() -> None:
    raise sqlite3.OperationalError("database or disk is full")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds the write lock."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()
