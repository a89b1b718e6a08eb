"""Rows of a shared pool as events: every table is in them, and what makes no sense is refused whole."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.service.people import renamed
from equipoise.shared.bodies import FORMAT
from equipoise.store.changes import TABLES, DamagedEvent, Position
from equipoise.store.player_rows import Fingerprint
from equipoise.store.sequence import Snapshot
from equipoise.store.store import Store
from tests.store.samples import POOL, a_round, opened, player, record

LOCAL = {"decisions", "chances", "qualities", "forgetting", "untold", "followed", "logged", "_sqlite_migrations"}
"""Tables that each store has for itself."""


async def columns(store: Store) -> dict[str, list[str]]:
    tables = await store._read(lambda db: db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall())
    names = [name for (name,) in tables if not name.startswith("sqlite_")]
    return {
        name: [row[1] for row in await store._read(lambda db, n=name: db.execute(f"PRAGMA table_info({n})").fetchall())]
        for name in sorted(names)
    }


async def test_every_table_is_in_events_or_said_to_be_a_stores_own_and_other_columns_are_another_format(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "equipoise.db") as store:
        tables = await columns(store)
    assert tables.keys() - LOCAL == TABLES.keys()
    shared = {name: tables[name] for name in sorted(TABLES)}
    digest = hashlib.sha256(repr(shared).encode()).hexdigest()[:12]
    assert (FORMAT, digest) == (2, "696c8a079c92"), (
        "machines of two versions could not read each other's events: raise FORMAT"
    )


@pytest.mark.parametrize(
    "piece",
    [
        b"",
        b"{",
        b'{"rows": {"sqlite_master": {"columns": [], "rows": []}}}',
        b'{"rows": {"players": {"columns": ["id", "nonsense"], "rows": []}}}',
        b'{"rows": {"players": {"columns": ["id"], "rows": [["76561197960265729"]]}}}',
        b'{"rows": {"players": {"columns": ["id", "wins"], "rows": [["76561197960265729", "x"]]}}}',
        b'{"rows": {"participants": {"columns": ["player", "round"], "rows": [["1"]]}}}',
        b'{"deleted": {"players": [[1, 2, 3]]}}',
    ],
    ids=["empty", "cut", "table", "column", "missing", "type", "short", "key"],
)
async def test_a_damaged_event_changes_nothing_and_is_named(tmp_path: Path, piece: bytes) -> None:
    async with opened(tmp_path / "equipoise.db") as store:
        await record(store, a_round(1))
        before = await store.players(POOL, [player(1)], 0)
        await store.follow(POOL, Position(7, b"before"))
        with pytest.raises(DamagedEvent, match="event 8 of pool main"):
            await store.take_in(POOL, [(Position(8, b"after"), [piece])], renamed)
        assert store.followed[POOL] == Position(7, b"before")
        assert await store.players(POOL, [player(1)], 0) == before


async def test_a_snapshot_of_a_store_replaces_none_of_the_log_after_the_same_event(tmp_path: Path) -> None:
    def snapshot(number: int, data: bytes) -> Snapshot:
        return Snapshot("balance", number, Fingerprint("joint", {}), data)

    async with opened(tmp_path / "one.db") as one, opened(tmp_path / "two.db") as two:
        for store in (one, two):
            await record(store, a_round(1))
            await record(store, a_round(2))
            await store.follow(POOL, Position(await store.number_all(POOL), b"before"))
        await two.keep_snapshot(POOL, snapshot(1, b"moved away"), 1)
        await one.keep_snapshot(POOL, snapshot(1, b"of the log"), 1)
        reference = await one.reference(POOL)
        await two.take_in(POOL, [(Position(3, b"after"), reference.pieces)], renamed)
        await two.keep_snapshot(POOL, snapshot(1, b"moved away"), 1)
        assert (await two.snapshot(POOL, "balance")) == snapshot(1, b"of the log")
        base = replace(snapshot(1, b"of the log"), base=True)
        await two.keep_snapshot(POOL, base, 1)
        await two.keep_snapshot(POOL, snapshot(2, b"later"), 2)
        assert (await two.snapshot(POOL, "balance"), await two.snapshot(POOL, "balance", 1)) == (
            snapshot(2, b"later"),
            base,
        )
