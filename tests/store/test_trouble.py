"""A store that does not take rounds now: StoreError, nothing written, and it goes on afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from equipoise.core.model import Side
from equipoise.errors import ScriptError, StoreError
from equipoise.store.connection import BUSY_SECONDS
from equipoise.store.notes import SessionMemory
from equipoise.store.player_rows import PlayerRow, SharedParts
from equipoise.store.round_rows import RatedRound
from equipoise.store.store import Store
from tests.store.disk import filled, small_disk
from tests.store.failing import locked
from tests.store.samples import SERVER, Submitted, a_round, opened, player, record, submit


async def _nothing_was_written(store: Store) -> None:
    assert await store.players("main", [player(1)], 500) == {}
    assert await store.predictions("main", 10) == []
    assert await store.memory(SERVER) is None


NUMBERS = "WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers LIMIT {})"


async def test_a_read_that_takes_for_ever_keeps_no_store_open_and_is_no_trouble_of_it(tmp_path: Path) -> None:
    began = threading.Event()

    def read(db: sqlite3.Connection) -> object:
        began.set()
        return db.execute(f"{NUMBERS.format(-1)} SELECT count(*) FROM numbers").fetchone()

    async with opened(tmp_path / "s.db") as store:
        reading = asyncio.create_task(store._read(read))
        await asyncio.to_thread(began.wait)
        store.note([SessionMemory(SERVER, b"memory", 1.0)])
    with pytest.raises(StoreError, match="interrupted"):
        await reading
    assert store.health().state == "ok"
    assert not (tmp_path / "s.db-wal").exists()
    async with opened(tmp_path / "s.db") as store:
        assert await store.memory(SERVER) == b"memory"


async def test_a_write_that_takes_long_is_written_before_the_store_is_closed(tmp_path: Path) -> None:
    began, many = threading.Event(), 1_000_000

    def write(db: sqlite3.Connection) -> None:
        began.set()
        line = "number, 'someone', 'what', 'whom', '', ''"
        columns = "(at, who, action, target, before, after)"
        db.execute(f"INSERT INTO audit {columns} {NUMBERS.format(many)} SELECT {line} FROM numbers")

    async with opened(tmp_path / "s.db") as store:
        writing = asyncio.create_task(store._write(write))
        await asyncio.to_thread(began.wait)
    await writing
    async with opened(tmp_path / "s.db") as store:
        assert [entry.at for entry in await store.audits(1)] == [many]


class Nosy(Submitted):
    """While it is rated, another program tries to write."""

    path = Path()
    refused = False

    def rate(self, rows: Sequence[PlayerRow], shared: SharedParts | None) -> RatedRound:
        other = sqlite3.connect(self.path, timeout=0)
        with closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        self.refused = True
        return super().rate(rows, shared)


async def test_no_other_program_can_write_between_what_a_round_reads_and_what_it_writes(tmp_path: Path) -> None:
    nosy = Nosy(a_round())
    nosy.path = tmp_path / "s.db"
    async with opened(nosy.path) as store:
        await submit(store, nosy)

    assert nosy.refused


def test_a_locked_store_is_given_up_in_half_the_time_a_script_waits() -> None:
    assert BUSY_SECONDS <= 0.5


async def test_a_locked_store_can_be_opened_later(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db"):
        pass
    store = Store(tmp_path / "s.db")
    with locked(tmp_path / "s.db"), pytest.raises(StoreError, match="locked"):
        await store.open()
    await store.open()
    await store.ping()
    await store.close()


async def test_a_disk_that_is_full_at_the_start_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        async with opened(disk / "s.db"):
            pass
        with filled(disk), pytest.raises(StoreError, match=r"s\.db: .*: its disk is full: make room there"):
            await Store(disk / "s.db").open()


async def test_data_that_no_store_could_take_is_the_scripts_fault(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        with pytest.raises(ScriptError, match="cannot be stored"):
            await record(store, a_round(captures_a=2**64), memory=b"memory")
        await _nothing_was_written(store)
        with pytest.raises(ScriptError, match="cannot be stored"):
            await record(store, a_round(started_at=float("nan"), winner=Side.B))
        await _nothing_was_written(store)
