"""A store whose thread rewrites many rounds refuses everything else at once, as if it were locked."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from equipoise.core.model import RoundId
from equipoise.errors import StoreError
from equipoise.store.notes import Audit
from equipoise.store.past import VoidStrike
from tests.opened_pool import opened, played
from tests.service.test_corrections import InThisProcess
from tests.store.samples import SERVER, a_round, player, until

ENTRY = Audit(9.0, "owner", "void", "a round", "rated", "void")


class Writing(InThisProcess):
    """Its next transaction ends when it is told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.begun, self.go_on = Event(), Event()
        self.go_on.set()

    @contextmanager
    def _transaction(self, db: sqlite3.Connection) -> Iterator[None]:
        with super()._transaction(db):
            yield
            self.begun.set()
            assert self.go_on.wait(60)


async def test_calls_fail_at_once_while_many_rounds_are_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.store.store.LARGE", 1)
    async with opened(tmp_path, kind=Writing) as pool:
        await played(pool, map(a_round, range(4)))
        pool.store.begun.clear()
        pool.store.go_on.clear()
        strike = VoidStrike(SERVER, RoundId("1763622000123-1"))
        work = asyncio.create_task(pool.store.strike("main", strike, lambda _: ENTRY, {}))
        await until(pool.store.begun.is_set)
        with pytest.raises(StoreError, match="being replaced"):
            await pool.store.players("main", [player(1)], 0)
        kept = await pool.record(a_round(9), None)
        pool.store.go_on.set()
        await work
        await pool.drain()

    assert kept.status == "kept"
    assert pool.ring_depth == 0
    assert pool.store.health().state == "ok"
