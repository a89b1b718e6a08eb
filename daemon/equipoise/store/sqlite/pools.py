"""What pools' ratings are made by, and what their systems keep of no single player, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import msgspec

from equipoise.ports import Recipe, Shared
from equipoise.store.sqlite.players import encoded


def recipe(db: sqlite3.Connection, pool: str) -> Recipe | None:
    """What a pool's ratings are made by; None before its first start."""
    found = db.execute("SELECT system, params FROM pools WHERE pool = ?", (pool,)).fetchone()
    return found and Recipe(found[0], _plain(found[1]))


def adopt(db: sqlite3.Connection, pool: str, recipe: Recipe, at: float) -> None:
    """Record what a pool's ratings are made by from now on."""
    db.execute(
        """
        INSERT INTO pools (pool, system, params, shared, version, changed_at) VALUES (?, ?, ?, '{}', 1, ?)
        ON CONFLICT (pool) DO UPDATE SET
            system = excluded.system, params = excluded.params, changed_at = excluded.changed_at
        """,
        (pool, recipe.system, encoded(recipe.params), at),
    )


def shared(db: sqlite3.Connection, pool: str, known: int = 0) -> Shared | None:
    """What the pool's system keeps of no single player, unless it is stored in the known version."""
    found = db.execute("SELECT version, shared FROM pools WHERE pool = ? AND version != ?", (pool, known)).fetchone()
    return found and Shared(found[0], _plain(found[1]))


def keep_shared(db: sqlite3.Connection, pool: str, state: Mapping[str, object]) -> None:
    """Replace it."""
    written = db.execute("UPDATE pools SET shared = ?, version = version + 1 WHERE pool = ?", (encoded(state), pool))
    assert written.rowcount == 1, "a pool is adopted before its rounds come"


def _plain(text: str) -> dict[str, object]:
    return msgspec.json.decode(text, type=dict[str, object])
