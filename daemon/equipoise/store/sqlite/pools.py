"""Fingerprints of pools, and the shared state of their systems, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from equipoise.store.rated import Fingerprint, SharedParts
from equipoise.store.sqlite.players import encoded
from equipoise.store.upkeep import QualityPoint


def fingerprint(db: sqlite3.Connection, pool: str) -> Fingerprint | None:
    """The recorded fingerprint of a pool; None before its first start."""
    found = db.execute("SELECT system, params FROM pools WHERE pool = ?", (pool,)).fetchone()
    return found and Fingerprint(found[0], _plain(found[1]))


def adopt(db: sqlite3.Connection, pool: str, fingerprint: Fingerprint, at: float) -> None:
    """Record a pool's fingerprint in place of the one before."""
    db.execute(
        """
        INSERT INTO pools (pool, system, params, version, changed_at) VALUES (?, ?, ?, 1, ?)
        ON CONFLICT (pool) DO UPDATE SET
            system = excluded.system, params = excluded.params, changed_at = excluded.changed_at
        """,
        (pool, fingerprint.system, encoded(fingerprint.params), at),
    )


def shared(db: sqlite3.Connection, pool: str, held: int = 0) -> SharedParts | None:
    """The shared state of a pool's system; None if the stored version is `held`, or the pool is new."""
    found = db.execute("SELECT version FROM pools WHERE pool = ? AND version != ?", (pool, held)).fetchone()
    if found is None:
        return None
    parts = db.execute("SELECT key, part FROM shared WHERE pool = ?", (pool,))
    return SharedParts(found[0], {key: msgspec.json.decode(part) for key, part in parts})


def keep_shared(db: sqlite3.Connection, pool: str, parts: Mapping[str, object]) -> None:
    """Write these parts of the shared state and raise its version; without parts nothing is written."""
    if parts:
        rows = [(pool, key, encoded(part)) for key, part in parts.items()]
        db.executemany("INSERT OR REPLACE INTO shared (pool, key, part) VALUES (?, ?, ?)", rows)
        written = db.execute("UPDATE pools SET version = version + 1 WHERE pool = ?", (pool,))
        assert written.rowcount == 1, "a pool is adopted before its rounds come"


def replace_shared(db: sqlite3.Connection, pool: str, parts: Mapping[str, object]) -> None:
    """Replace the shared state: parts that are not among these are deleted."""
    db.execute("DELETE FROM shared WHERE pool = ?", (pool,))
    keep_shared(db, pool, parts)


def take_over_shared(db: sqlite3.Connection, pool: str) -> None:
    """Replace the shared state by that of an attached outcome, unless it has none."""
    if db.execute("SELECT 1 FROM outcome.replaced").fetchone():
        db.execute("DELETE FROM shared WHERE pool = ?", (pool,))
        db.execute("INSERT INTO shared SELECT ?, key, part FROM outcome.shared", (pool,))
        db.execute("UPDATE pools SET version = version + 1 WHERE pool = ?", (pool,))


def keep_quality(db: sqlite3.Connection, pool: str, point: QualityPoint) -> None:
    """Add a point to the time series of a pool's quality; one of the same moment is replaced."""
    db.execute(
        "INSERT OR REPLACE INTO qualities (pool, at, rounds, brier, log_loss, calibration_error) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (pool, point.at, point.rounds, point.brier, point.log_loss, point.calibration_error),
    )


def qualities(db: sqlite3.Connection, pool: str, since: float) -> Sequence[QualityPoint]:
    """The time series of a pool's quality, oldest first."""
    columns = "SELECT at, rounds, brier, log_loss, calibration_error FROM qualities"
    found = db.execute(f"{columns} WHERE pool = ? AND at >= ? ORDER BY at", (pool, since))
    return [QualityPoint(*row) for row in found]


def _plain(text: str) -> dict[str, object]:
    return msgspec.json.decode(text, type=dict[str, object])
