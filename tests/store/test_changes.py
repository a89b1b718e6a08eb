"""Rows of a shared pool as events: every table is in them, and what makes no sense is refused whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from equipoise.service.people import renamed
from equipoise.shared.bodies import FORMAT
from equipoise.store.changes import TABLES, DamagedEvent, Position
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
