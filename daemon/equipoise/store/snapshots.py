"""Snapshots of sequential systems.

The newest two are kept, and the base if there is one. The second is for the case that the first is damaged, and for an
event that is struck behind the second.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import msgspec

from equipoise.store.players import Fingerprint, encoded

Purpose = Literal["system", "balance"]
"""The use of a system in a pool: it makes the ratings that are shown, or the teams."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a sequential system holds after an event of the pool's sequence."""

    purpose: Purpose
    number: int
    """Number of that event; 0: before the first."""
    fingerprint: Fingerprint
    """The system and parameters that made it."""
    data: bytes
    base: bool = False
    """Rounds before it may be deleted: it is where every replay begins."""


KEPT = 2
PIECE = 1 << 16
"""Bytes that are written at once."""

_NEWEST = """
SELECT number, system, params, base, sha256, data FROM snapshots
WHERE pool = ? AND purpose = ? AND number <= ? ORDER BY number DESC
"""
_DROP_OLDER = """
DELETE FROM snapshots WHERE pool = :pool AND purpose = :purpose AND NOT base AND number NOT IN (
    SELECT number FROM snapshots WHERE pool = :pool AND purpose = :purpose AND NOT base
    UNION SELECT :number ORDER BY number DESC LIMIT :kept
)
"""
# One of a shared pool's log, by which all machines go on, is not replaced by one that was made here.
_KEEP_FOLLOWED = """
UPDATE snapshots SET base = base OR :base
WHERE pool = :pool AND purpose = :purpose AND number = :number AND pool IN (SELECT pool FROM followed)
"""
_STRUCK_SINCE = "SELECT 1 FROM edits WHERE pool = ? AND number > ? AND action IN ('undo', 'void', 'spread') LIMIT 1"

log = logging.getLogger(__name__)


def newest(db: sqlite3.Connection, pool: str, purpose: Purpose, most: int) -> Snapshot | None:
    """The newest that is whole, of those after at most event `most`; None: there is none."""
    for number, system, params, base, digest, data in db.execute(_NEWEST, (pool, purpose, most)):
        if sha256(data).hexdigest() == digest:
            made_by = Fingerprint(system, msgspec.json.decode(params, type=dict[str, object]))
            return Snapshot(purpose, number, made_by, data, bool(base))
        log.warning("the snapshot after event %d is damaged: an older one is used", number, extra={"pool": pool})
    return None


def keep(db: sqlite3.Connection, pool: str, snapshot: Snapshot, seen: int) -> None:
    """Add a snapshot, and drop those that it makes superfluous.

    `seen` is the last event that its maker knew of: if one was struck since, it may be of a past that has changed.
    """
    # In the transaction that writes it: the check and the snapshot cannot be parted by a strike.
    if db.execute(_STRUCK_SINCE, (pool, seen)).fetchone():
        return
    made_by, digest = snapshot.fingerprint, sha256(snapshot.data).hexdigest()
    values = {"pool": pool, "purpose": snapshot.purpose, "number": snapshot.number, "base": snapshot.base, "kept": KEPT}
    # The base stays until there is another: one with `stale_days = 30`, or with 8 for 8.0, leads on as well.
    others = "DELETE FROM snapshots WHERE pool = ? AND purpose = ? AND NOT base AND (system, params) != (?, ?)"
    db.execute(others, (pool, snapshot.purpose, made_by.system, encoded(made_by.params)))
    if snapshot.base:
        db.execute("DELETE FROM snapshots WHERE pool = :pool AND purpose = :purpose AND number < :number", values)
    # Before the new one, which takes their pages: behind it, as many again would be written as empty.
    db.execute(_DROP_OLDER, values)
    if db.execute(_KEEP_FOLLOWED, values).rowcount:
        return
    row = (pool, snapshot.purpose, snapshot.number, made_by.system, encoded(made_by.params), snapshot.base, digest)
    (at,) = db.execute(
        "INSERT INTO snapshots (pool, purpose, number, system, params, base, sha256, data) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, zeroblob(?)) ON CONFLICT (pool, purpose, number) DO UPDATE SET "
        "system = excluded.system, params = excluded.params, base = base OR excluded.base, sha256 = excluded.sha256, "
        "data = excluded.data RETURNING rowid",
        (*row, len(snapshot.data)),
    ).fetchone()
    # In pieces: SQLite would copy megabytes that it is given as one value.
    with db.blobopen("snapshots", "data", at) as blob:
        for first in range(0, len(snapshot.data), PIECE):
            blob.write(memoryview(snapshot.data)[first : first + PIECE])


def replace(db: sqlite3.Connection, pool: str, snapshot: Snapshot) -> None:
    """This one leads on: those from before it are of a state that was left."""
    db.execute("DELETE FROM snapshots WHERE pool = ? AND purpose = ?", (pool, snapshot.purpose))
    keep(db, pool, snapshot, sys.maxsize)


def outdate(db: sqlite3.Connection, pool: str, number: int) -> None:
    """The event with this number is struck: what was made from it goes. The base stays: nothing leads there again."""
    db.execute("DELETE FROM snapshots WHERE pool = ? AND number >= ? AND NOT base", (pool, number))


def leave(db: sqlite3.Connection, pool: str, purpose: Purpose, number: int) -> None:
    """Delete the snapshots behind the event with this number: they are of a state that was left."""
    query = "DELETE FROM snapshots WHERE pool = ? AND purpose = ? AND number > ? AND NOT base"
    db.execute(query, (pool, purpose, number))


def forget(db: sqlite3.Connection, pool: str) -> None:
    """Delete all of a pool."""
    db.execute("DELETE FROM snapshots WHERE pool = ?", (pool,))
