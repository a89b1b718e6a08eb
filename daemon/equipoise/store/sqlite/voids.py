"""Rounds that were taken out of the ratings, in SQLite.

Their participants' rows are kept apart, so that no window holds them and nothing that reads ratings has to leave them
out.
"""

from __future__ import annotations

import sqlite3

import msgspec

from equipoise.store.moved import VoidRow
from equipoise.store.rated import Change
from equipoise.store.sqlite import records
from equipoise.store.sqlite.participants import change_of
from equipoise.store.sqlite.players import encoded

_COLUMNS = (
    "player, side, seconds_a, seconds_b, quit, place, before, after, prediction, score, rounds, visible, state, spans, "
    "counts"
)

Participant = tuple[str, str, float, float, int, int, float, float, float, float, int, int, str, str | None, str | None]
"""A row of `participants` in the order of `_COLUMNS`."""

_decoder = msgspec.json.Decoder(list[VoidRow])


def take_out(db: sqlite3.Connection, number: int, edit: int) -> None:
    """Keep apart what a rated round did."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM participants WHERE round = ? ORDER BY place", (number,)).fetchall()
    db.execute(
        "INSERT INTO voids (round, edit, prediction, participants) SELECT number, ?, prediction, ? "
        "FROM rounds WHERE number = ?",
        (edit, encoded(rows), number),
    )
    records.count(db, number, by=-1)
    db.execute("DELETE FROM participants WHERE round = ?", (number,))
    db.execute("UPDATE rounds SET voided = ?, prediction = NULL WHERE number = ?", (edit, number))


def put_back(db: sqlite3.Connection, pool: str, number: int) -> None:
    """Undo `take_out`; the numbers are those of then."""
    db.execute(
        "UPDATE rounds SET voided = NULL, prediction = (SELECT prediction FROM voids WHERE round = number) "
        "WHERE number = ?",
        (number,),
    )
    places = ", ".join("?" * 15)
    db.executemany(
        f"INSERT INTO participants (pool, round, {_COLUMNS}) VALUES (?, ?, {places})",
        [(pool, number, *row) for row in participants(db, number)],
    )
    records.count(db, number)
    db.execute("DELETE FROM voids WHERE round = ?", (number,))


def participants(db: sqlite3.Connection, number: int) -> list[Participant]:
    """The rows of a voided round's participants, in the order of their places."""
    (text,) = db.execute("SELECT participants FROM voids WHERE round = ?", (number,)).fetchone()
    rows = _decoder.decode(text)
    return [(row.player, row.side.value, *msgspec.structs.astuple(row)[2:]) for row in rows]


def first_answer(db: sqlite3.Connection, number: int) -> tuple[float, tuple[Change, ...]]:
    """The prediction and the changes that a voided round had."""
    (prediction,) = db.execute("SELECT prediction FROM voids WHERE round = ?", (number,)).fetchone()
    return prediction, tuple(change_of((*row[:2], *row[6:13])) for row in participants(db, number))
