"""Deletes the oldest lines of the logs, and rounds where an operator asked for that, in SQLite.

Each call deletes one small piece, so that a round which comes meanwhile waits for that piece alone. The file does not
shrink: SQLite writes the next rows on the pages that became free.

A round can go only in parts. The last W rows of each of its participants are the window that their next rating is made
from, and a player who comes once a year needs the rows of years ago. So the rows outside of every window are deleted,
and the round itself with its last row; until then it is marked as pruned, and its lineup is emptied. It is never rated
again: it would be another round without those who are missing.
"""

from __future__ import annotations

import sqlite3

from equipoise.store.notes import Log
from equipoise.store.upkeep import Extent

_PAGES = ("page_size", "page_count", "freelist_count")

_OLDEST = """
SELECT number, prediction IS NOT NULL FROM rounds
WHERE pool = :pool AND NOT pruned AND recorded_at < :before ORDER BY recorded_at LIMIT :limit
"""
_MARK = "UPDATE rounds SET pruned = 1, lineup = '[]', skill_at_start = NULL WHERE number = ?"
_PLAYERS = "SELECT player FROM participants WHERE round = ?"
# Rows above `:last` are looked at when their own round is pruned, so each row is looked at few times.
_OUTSIDE_WINDOW = """
DELETE FROM participants
WHERE pool = :pool AND player = :player AND round <= :last AND (:window = 0 OR round < (
    SELECT round FROM participants WHERE pool = :pool AND player = :player
    ORDER BY round DESC LIMIT 1 OFFSET :window - 1
)) AND (SELECT pruned FROM rounds WHERE number = participants.round)
RETURNING round
"""
_WITHOUT_ROWS = """
DELETE FROM rounds WHERE number = ? AND pruned AND NOT EXISTS (SELECT 1 FROM participants WHERE round = rounds.number)
"""


def prune(db: sqlite3.Connection, log: Log, before: float, limit: int) -> int:
    """Delete up to `limit` lines of a log that are older than a time, the oldest first."""
    return db.execute(
        f"DELETE FROM {log} WHERE number IN (SELECT number FROM {log} WHERE at < ? ORDER BY at LIMIT ?)",
        (before, limit),
    ).rowcount


def prune_rounds(db: sqlite3.Connection, pool: str, window: int, before: float, limit: int) -> int:
    """Delete up to `limit` rounds that were stored before a time, except rows that are in a player's window."""
    found = db.execute(_OLDEST, {"pool": pool, "before": before, "limit": limit}).fetchall()
    rounds, last = {number for number, _ in found}, max((number for number, _ in found), default=0)
    db.executemany(_MARK, [(number,) for number in rounds])
    db.executemany("DELETE FROM voids WHERE round = ?", [(number,) for number in rounds])
    players = {row for number in rounds for row in db.execute(_PLAYERS, (number,))}
    for (player,) in players:
        here = {"pool": pool, "player": player, "last": last, "window": window}
        rounds.update(number for (number,) in db.execute(_OUTSIDE_WINDOW, here).fetchall())
    db.executemany(_WITHOUT_ROWS, [(number,) for number in rounds])
    rated = sum(rated for _, rated in found)
    db.execute("UPDATE pools SET pruned_rounds = pruned_rounds + ? WHERE pool = ?", (rated, pool))
    return len(found)


def last_prunable(db: sqlite3.Connection, pool: str, before: float) -> int:
    """The highest number of a round that was stored before a time and is whole; 0: there is none."""
    found = db.execute(
        "SELECT max(number) FROM rounds WHERE pool = ? AND NOT pruned AND recorded_at < ?", (pool, before)
    ).fetchone()
    return found[0] or 0


def forget_pruned(db: sqlite3.Connection, pool: str) -> None:
    """Delete what is left of a pool's pruned rounds."""
    here = {"pool": pool}
    pruned = "SELECT number FROM rounds WHERE pool = :pool AND pruned"
    db.execute(f"DELETE FROM participants WHERE pool = :pool AND round IN ({pruned})", here)
    db.execute("DELETE FROM rounds WHERE pool = :pool AND pruned", here)


def pruned_rounds(db: sqlite3.Connection, pool: str) -> int:
    """The rated rounds that were ever pruned from a pool."""
    found = db.execute("SELECT pruned_rounds FROM pools WHERE pool = ?", (pool,)).fetchone()
    return found[0] if found else 0


def extent(db: sqlite3.Connection) -> Extent:
    """The size of the file and the age of what is in it, without reading either."""
    size, pages, free = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in _PAGES)
    # A statement for each: SQLite answers a single min or max from the index, and both together by reading all of it.
    (oldest,) = db.execute("SELECT min(at) FROM decisions").fetchone()
    (newest,) = db.execute("SELECT max(at) FROM decisions").fetchone()
    last_round = db.execute("SELECT recorded_at FROM rounds ORDER BY number DESC LIMIT 1").fetchone()
    written = [at for at in (newest, *(last_round or ())) if at is not None]
    return Extent(size * pages, size * free, oldest, max(written, default=None))
