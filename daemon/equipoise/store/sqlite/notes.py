"""Writing notes in SQLite, all that wait in one transaction."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable

from equipoise.errors import ScriptError
from equipoise.store.notes import Audit, BalancePredictions, Decision, Name, Note, SessionMemory
from equipoise.store.sqlite import journal
from equipoise.store.sqlite.connection import savepoint, store_errors

log = logging.getLogger(__name__)


def write(db: sqlite3.Connection, notes: Iterable[Note]) -> None:
    """Write each; one that can never be stored is dropped with an error in the log, so that the others are kept."""
    for note in notes:
        try:
            with store_errors(), savepoint(db):
                _write(db, note)
        except ScriptError as error:
            log.error("store: a note is dropped: %s", error)


def _write(db: sqlite3.Connection, note: Note) -> None:
    match note:
        case Decision():
            journal.decide(db, note)
        case Audit():
            journal.audit(db, note)
        case SessionMemory():
            # Not compared by time: after a clock was set back, an old memory would stay. `Unwritten.supersede` has
            # dropped it if a round stored a newer one meanwhile.
            db.execute(
                "INSERT OR REPLACE INTO sessions (server, memory, at) VALUES (?, ?, ?)",
                (note.server, note.memory, note.at),
            )
        case BalancePredictions(rounds):
            rows = [(*said, number) for number, said in rounds.items()]
            db.executemany("UPDATE rounds SET balance_prediction = ?, said = ?, unevenness = ? WHERE number = ?", rows)
        case Name():
            db.execute(
                "INSERT OR REPLACE INTO names (pool, player, name) VALUES (?, ?, ?)",
                (note.pool, note.player, note.name),
            )
