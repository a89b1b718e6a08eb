"""A real store that fails when it is told to, inside and outside its transactions, or is locked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from equipoise.core.effects import RecordRound
from equipoise.errors import StoreError
from equipoise.store.port import Known, PlayerRow, RatedRound, RateRows, Shared
from equipoise.store.sqlite import SqliteStore


class Fault(Enum):
    """Where the store fails, call by call."""

    NOWHERE = "nowhere"
    BEFORE = "before anything was rated"
    WITHIN = "after rating, before the commit"
    AFTER = "after the commit: only its answer is lost"


class Failing(SqliteStore):
    """A real store, in which each round meets the next fault, and none when they are used up."""

    faults: Sequence[Fault] = ()

    async def record(
        self,
        pool: str,
        record: RecordRound,
        known: Known,
        window: int,
        rate: RateRows,
        memory: bytes | None,
        at: float,
    ) -> RatedRound:
        fault, *self.faults = self.faults or [Fault.NOWHERE]
        if fault is Fault.BEFORE:
            raise StoreError("locked")
        if fault is Fault.WITHIN:
            rate = _then_full(rate)
        rated = await super().record(pool, record, known, window, rate, memory, at)
        if fault is Fault.AFTER:
            raise StoreError("connection lost")
        return rated


def _then_full(rate: RateRows) -> RateRows:
    def rate_and_fail(rows: Sequence[PlayerRow], shared: Shared | None) -> RatedRound:
        rate(rows, shared)
        raise sqlite3.OperationalError("database or disk is full")

    return rate_and_fail


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds the write lock."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()
