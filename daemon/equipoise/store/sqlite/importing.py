"""Writes a whole pool, line by line, in SQLite; within one transaction of the caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from equipoise.errors import FileError
from equipoise.store import moved
from equipoise.store.sqlite import crowds
from equipoise.store.sqlite.players import encoded

_WHY = {
    "UNIQUE": "it is there twice, or it is a round that another pool of this store has",
    "FOREIGN": "it names a player who has no line of their own",
}
_HEAD = """
INSERT INTO pools (pool, system, params, version, changed_at, pruned_rounds) VALUES (?, ?, ?, 1, ?, ?)
ON CONFLICT (pool) DO UPDATE SET
    system = excluded.system, params = excluded.params, version = version + 1, changed_at = excluded.changed_at,
    pruned_rounds = excluded.pruned_rounds
"""
_PLAYER = """
INSERT INTO players (pool, id, version, rating, rounds, visible, last_played, state) VALUES (?, ?, 1, ?, ?, ?, ?, ?)
"""
_ROUND = """
INSERT INTO rounds (
    server, id, pool, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting,
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PARTICIPANT = """
INSERT INTO participants (
    pool, round, place, player, side, seconds_a, seconds_b, quit, before, after, prediction, score, rounds, visible,
    state
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def holds(db: sqlite3.Connection, pool: str) -> tuple[int, int]:
    """How many players and rounds a pool has."""
    return (
        db.execute("SELECT count(*) FROM players WHERE pool = ?", (pool,)).fetchone()[0],
        db.execute("SELECT count(*) FROM rounds WHERE pool = ?", (pool,)).fetchone()[0],
    )


def write(db: sqlite3.Connection, pool: str, lines: Iterable[moved.AnyLine]) -> None:
    """Fill an empty pool. FileError: a line contradicts those before it, or the store; it has no line number."""
    for line in lines:
        try:
            _write(db, pool, line)
        except sqlite3.IntegrityError as error:
            kind = str(error).partition(" ")[0]
            raise FileError(_WHY.get(kind, f"it cannot be stored: {error}")) from None
        except (OverflowError, UnicodeEncodeError):
            raise FileError("it has a number or a text that no store can take") from None
    crowds.count_again(db, pool)


def _write(db: sqlite3.Connection, pool: str, line: moved.AnyLine) -> None:
    match line:
        case moved.Head():
            head = line.system, encoded(line.params), line.changed_at, line.pruned_rounds
            db.execute(_HEAD, (pool, *head))
        case moved.Part():
            db.execute("INSERT INTO shared (pool, key, part) VALUES (?, ?, ?)", (pool, line.key, encoded(line.part)))
        case moved.Player():
            facts = line.id, line.rating, line.rounds, line.visible, line.last_played, encoded(line.state)
            db.execute(_PLAYER, (pool, *facts))
        case moved.Name():  # players who joined before the import have names
            db.execute("INSERT OR REPLACE INTO names VALUES (?, ?, ?)", (pool, line.player, line.name))
        case moved.Round():
            _write_round(db, pool, line)
        case moved.Entry():
            db.execute(
                "INSERT INTO audit (at, who, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
                (line.at, line.who, line.action, line.target, line.before, line.after),
            )


def _write_round(db: sqlite3.Connection, pool: str, line: moved.Round) -> None:
    number = db.execute(
        _ROUND,
        (
            line.server,
            line.id,
            pool,
            line.session,
            line.map,
            line.mode.value,
            line.started_at,
            line.seconds,
            line.winner and line.winner.value,
            line.captures_a,
            line.captures_b,
            line.partial,
            line.waiting,
            encoded(line.lineup),
            None if line.skill_at_start is None else encoded(line.skill_at_start),
            line.unrated,
            line.prediction,
            line.recorded_at,
            line.pruned,
        ),
    ).lastrowid
    rows = ((pool, number, place, *_effect(each)) for place, each in enumerate(line.participants))
    db.executemany(_PARTICIPANT, rows)


def _effect(each: moved.Participant) -> tuple[object, ...]:
    return (
        each.player,
        each.side.value,
        each.seconds_a,
        each.seconds_b,
        each.quit,
        each.before,
        each.after,
        each.prediction,
        each.score,
        each.rounds,
        each.visible,
        encoded(each.state),
    )
