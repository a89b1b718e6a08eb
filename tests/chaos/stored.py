"""Reads a store by the schema that docs/store.md documents, read-only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROUND = (
    "number, server, id, pool, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, "
    "waiting, lineup, skill_at_start, unrated, prediction"
)
PARTICIPANT = "player, side, seconds_a, seconds_b, quit, before, after, prediction, score, rounds, visible"
PLAYER = "pool, id, rating, rounds, visible, last_played"


@dataclass(frozen=True)
class StoredRound:
    """A row of `rounds`, and those of its `participants`, in their order."""

    row: Mapping[str, Any]
    participants: Sequence[Mapping[str, Any]]

    @property
    def key(self) -> tuple[str, str]:
        return self.row["server"], self.row["id"]


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """One state of the store: what the daemon writes meanwhile is not seen."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, timeout=30)) as database:
        database.row_factory = sqlite3.Row
        database.execute("BEGIN")
        yield database


def rounds_after(database: sqlite3.Connection, number: int) -> Iterator[StoredRound]:
    """The rounds behind a number, in the order in which they were applied."""
    # fetchall: a cursor that is open while others run on its connection would hold the state of the store.
    for row in database.execute(f"SELECT {ROUND} FROM rounds WHERE number > ? ORDER BY number", (number,)).fetchall():
        facts = dict(row)
        facts["lineup"] = json.loads(facts["lineup"])
        facts["skill_at_start"] = json.loads(facts["skill_at_start"] or "{}")
        did = database.execute(f"SELECT {PARTICIPANT} FROM participants WHERE round = ? ORDER BY place", (row[0],))
        yield StoredRound(facts, [dict(each) for each in did])


def keys(path: Path) -> set[tuple[str, str]]:
    """Server and id of every stored round."""
    with reading(path) as database:
        return {tuple(row) for row in database.execute("SELECT server, id FROM rounds")}


def count(database: sqlite3.Connection) -> int:
    """How many rounds there are."""
    (number,) = database.execute("SELECT count(*) FROM rounds").fetchone()
    return int(number)


def players(database: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every rated player."""
    return [dict(row) for row in database.execute(f"SELECT {PLAYER} FROM players")]


def failures_after(database: sqlite3.Connection, number: int) -> list[tuple[int, str, str]]:
    """The questions that failed, with their server and reason; an order that failed has an `order_id`."""
    query = "SELECT number, server, reason FROM decisions WHERE kind = 'failed' AND order_id IS NULL AND number > ?"
    return [(row[0], row[1], row[2]) for row in database.execute(f"{query} ORDER BY number", (number,))]


def ratings(path: Path, pool: str) -> dict[str, tuple[float, int]]:
    """Rating and rounds of every player of a pool who was ever rated."""
    with reading(path) as database:
        rows = database.execute("SELECT id, rating, rounds FROM players WHERE pool = ?", (pool,)).fetchall()
        return {player: (rating, rounds) for player, rating, rounds in rows}
