"""Players' wins, draws, losses and leaves, in SQLite.

They change in the transaction that stores, voids or imports a round. Retention deletes participants and leaves them
alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from equipoise.core.model import PlayerId
from equipoise.store.listings import Record
from equipoise.store.sqlite.players import encoded

_COUNT = """
INSERT INTO records (pool, player, wins, draws, losses, leaves)
SELECT pool, player, :by * (score = 1.0), :by * (score = 0.5), :by * (score = 0.0), :by * quit
FROM participants WHERE round = :round
ON CONFLICT (pool, player) DO UPDATE SET
    wins = wins + excluded.wins, draws = draws + excluded.draws, losses = losses + excluded.losses,
    leaves = leaves + excluded.leaves
"""
_COUNT_ALL = """
INSERT INTO records
SELECT pool, player, sum(score = 1.0), sum(score = 0.5), sum(score = 0.0), sum(quit) FROM participants
WHERE pool = ? GROUP BY player
"""


def count(db: sqlite3.Connection, round: int, *, by: int = 1) -> None:
    """Take the participants of a stored round into their records; by -1, take them out again."""
    db.execute(_COUNT, {"round": round, "by": by})


def count_again(db: sqlite3.Connection, pool: str) -> None:
    """Replace a pool's records by what its stored rounds say."""
    db.execute("DELETE FROM records WHERE pool = ?", (pool,))
    db.execute(_COUNT_ALL, (pool,))


def replace(db: sqlite3.Connection, pool: str, records: Iterable[tuple[PlayerId, Record]]) -> None:
    """Replace records, which may count rounds that are stored no more."""
    db.executemany(
        "INSERT OR REPLACE INTO records (pool, player, wins, draws, losses, leaves) VALUES (?, ?, ?, ?, ?, ?)",
        ((pool, player, each.wins, each.draws, each.losses, each.leaves) for player, each in records),
    )


def of(db: sqlite3.Connection, pool: str, players: Sequence[PlayerId]) -> dict[PlayerId, Record]:
    """Records by id, empty ones of players who were never rated."""
    found = db.execute(
        "SELECT player, wins, draws, losses, leaves FROM records "
        "WHERE pool = ? AND player IN (SELECT value FROM json_each(?))",
        (pool, encoded(players)),
    )
    return dict.fromkeys(players, Record()) | {PlayerId(player): Record(*counts) for player, *counts in found}
