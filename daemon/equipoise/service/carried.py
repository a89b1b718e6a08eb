"""Rounds that a backup lacks, carried over into it: the daemon of an older version finds them in the rings.

An older version cannot read a store that a newer one has changed, so its own store comes back by a backup from before.
What was played since is in the newer store alone. A ring's file is the form in which rounds have always waited for a
store, and a daemon applies those that it finds there at its start: each once, in order, by its own rating system.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from equipoise.files import open_private, sync
from equipoise.service.ring import UnstoredRound, framed
from equipoise.store.connection import reading, store_errors
from equipoise.store.past import stored_rounds

_LACKED = """
SELECT number FROM rounds AS played
WHERE NOT pruned AND NOT EXISTS (SELECT 1 FROM backup.rounds WHERE server = played.server AND id = played.id)
ORDER BY number
"""
_MISSING = """
SELECT count(*) FROM newer.rounds AS played
WHERE NOT pruned AND NOT EXISTS (SELECT 1 FROM main.rounds WHERE server = played.server AND id = played.id)
"""
_EDITS = """
SELECT count(*) FROM edits WHERE at > (SELECT max(at) FROM (
    SELECT max(recorded_at) AS at FROM backup.rounds UNION ALL SELECT max(at) FROM backup.edits
))
"""


@dataclass(frozen=True, slots=True)
class Since:
    """The difference between a store and a backup of it."""

    rounds: int
    edits: int
    """Changes by admins and jobs. A ring has no place for them."""


def carry(store: Path, backup: Path, folder: Path) -> Since:
    """Write what waits for each pool after the backup was restored, as `folder`/POOL.ring; StoreError: why not.

    First the rounds that the backup lacks, then those that wait already.
    """
    rings = {path.name: path.read_bytes() for path in store.parent.glob("*.ring")}
    with store_errors(), closing(reading(store)) as db:
        db.execute("ATTACH ? AS backup", (f"{backup.resolve().as_uri()}?mode=ro",))
        numbers = [number for (number,) in db.execute(_LACKED)]
        (edits,) = db.execute(_EDITS).fetchone()
        pieces: dict[str, list[bytes]] = {name: [] for name in rings}
        for pool, at, record in stored_rounds(db, numbers):
            pieces.setdefault(f"{pool}.ring", []).append(framed(UnstoredRound(record, None, at)))
    for name, parts in pieces.items():
        if parts:
            # What waits already was played later than what the store had taken.
            _write(folder / name, b"".join([*parts, rings.get(name, b"")]))
    return Since(len(numbers), edits)


def put_in_place(folder: Path, state: Path) -> None:
    """Make the files of `carry` the rings; the daemon is stopped. Again after a kill it changes nothing."""
    for path in folder.glob("*.ring"):
        path.rename(state / path.name)
    sync(state)


def missing(store: Path, newer: Path) -> int:
    """Return how many rounds of the newer store are not in the store, which an older version may have changed."""
    with store_errors(), closing(reading(store)) as db:
        db.execute("ATTACH ? AS newer", (f"{newer.resolve().as_uri()}?mode=ro",))
        return int(db.execute(_MISSING).fetchone()[0])


def _write(path: Path, content: bytes) -> None:
    with open(open_private(path, os.O_WRONLY | os.O_TRUNC), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
