"""A round or an edit taken out of the ratings, or put back, with the numbers that a replay made, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from equipoise.errors import PoolMoved
from equipoise.store.notes import Audit
from equipoise.store.sequence import EditStrike, Revised, RoundStrike, Strike
from equipoise.store.sqlite import outcome, rounds, sequence, snapshots


def apply(
    db: sqlite3.Connection, pool: str, strike: Strike, revised: Revised, entry: Audit, detail: Mapping[str, object]
) -> None:
    """Write the strike as an edit, and the numbers of the attached outcome.

    PoolMoved: something came meanwhile, or the round was deleted for its age.
    """
    if sequence.last_number(db, pool) != revised.last:
        raise PoolMoved(f"pool {pool}: rounds came meanwhile")
    match strike:
        case RoundStrike(server, round):
            if not db.execute("SELECT 1 FROM rounds WHERE number = ? AND NOT pruned", (revised.number,)).fetchone():
                raise PoolMoved(f"round {round} of {server} was deleted meanwhile (retention.rounds_days)")
            edit = sequence.add(db, pool, "void", entry, detail)
            if revised.back:
                rounds.put_back(db, pool, revised.number)
            else:
                rounds.take_out(db, revised.number, edit)
        case EditStrike(player):
            detail = {**detail, "edit": revised.number, "again": revised.back}
            edit = sequence.add(db, pool, "undo", entry, detail)
            db.execute(
                "UPDATE edited SET struck = ? WHERE pool = ? AND player = ? AND edit = ?",
                (not revised.back, pool, player, revised.number),
            )
    snapshots.outdate(db, pool, revised.number)
    outcome.take_over(db, pool, edit)
