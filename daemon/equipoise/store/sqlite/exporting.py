"""Reads a whole pool as it is at one moment, beside the connection that writes, in SQLite.

The connection only reads, so it never checkpoints. While it is open, the write-ahead log keeps what is written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from equipoise.core.model import LineupPlayer, Mode, Side
from equipoise.errors import StoreError
from equipoise.store import moved
from equipoise.store.sqlite.connection import store_errors

_HEAD = "SELECT system, params, changed_at, pruned_rounds FROM pools WHERE pool = ?"
_COUNTS = {
    "parts": "SELECT count(*) FROM shared WHERE pool = :pool",
    "players": "SELECT count(*) FROM players WHERE pool = :pool",
    "names": "SELECT count(*) FROM names WHERE pool = :pool",
    "rounds": "SELECT count(*) FROM rounds WHERE pool = :pool",
}
# A line says what it is about in words: a pool by name, one of its players, or a server whose rounds it has.
_AUDIT = """
FROM audit WHERE target = 'pool ' || :pool
OR EXISTS (SELECT 1 FROM players WHERE pool = :pool AND id = audit.target)
OR target IN (SELECT DISTINCT server FROM rounds WHERE pool = :pool)
"""
_PARTS = "SELECT key, part FROM shared WHERE pool = ? ORDER BY key"
_PLAYERS = "SELECT id, rating, rounds, visible, last_played, state FROM players WHERE pool = ? ORDER BY id"
_NAMES = "SELECT player, name FROM names WHERE pool = ? ORDER BY player"
_ROUNDS = """
SELECT number, server, id, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting,
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned
FROM rounds WHERE pool = ? ORDER BY number
"""
# By the index of rounds: in the order of the table they would lie by player.
_PARTICIPANTS = """
SELECT player, side, seconds_a, seconds_b, quit, before, after, prediction, score, participants.rounds, visible, state
FROM participants INDEXED BY participants_by_round WHERE round = ? ORDER BY place
"""

_plain = msgspec.json.Decoder(dict[str, object])
_anything = msgspec.json.Decoder()
_lineup = msgspec.json.Decoder(tuple[LineupPlayer, ...])
_skills = msgspec.json.Decoder(dict[str, float])


@contextmanager
def exported(path: Path, pool: str) -> Iterator[Iterator[moved.AnyLine]]:
    """Every line of a pool as it is now, the pool's own first; for one thread at a time.

    StoreError when the store has no such pool, or cannot be read.
    """
    uri = f"file:{quote(str(path))}?mode=ro"
    with store_errors():
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    with closing(connection):
        yield _lines(connection, pool)


def _lines(db: sqlite3.Connection, pool: str) -> Iterator[moved.AnyLine]:
    with store_errors():
        db.execute("BEGIN")
        yield from _read(db, pool)


def _read(db: sqlite3.Connection, pool: str) -> Iterator[moved.AnyLine]:
    yield _head(db, pool)
    for key, part in db.execute(_PARTS, (pool,)):
        yield moved.Part(key=key, part=_anything.decode(part))
    for id, rating, rounds, visible, played, state in db.execute(_PLAYERS, (pool,)):
        yield moved.Player(
            id=id,
            rating=rating,
            rounds=rounds,
            visible=bool(visible),
            last_played=played,
            state=_plain.decode(state),
        )
    for player, name in db.execute(_NAMES, (pool,)):
        yield moved.Name(player=player, name=name)
    for number, *facts in db.execute(_ROUNDS, (pool,)):
        yield _round(facts, db.execute(_PARTICIPANTS, (number,)))
    for at, who, action, target, before, after in db.execute(
        f"SELECT at, who, action, target, before, after {_AUDIT} ORDER BY number", {"pool": pool}
    ):
        yield moved.Entry(at=at, who=who, action=action, target=target, before=before, after=after)


def _head(db: sqlite3.Connection, pool: str) -> moved.Head:
    found = db.execute(_HEAD, (pool,)).fetchone()
    if found is None:
        known = ", ".join(sorted(name for (name,) in db.execute("SELECT pool FROM pools")))
        raise StoreError(f"the store has no pool {pool}; it has: {known or 'none'}")
    system, params, changed_at, pruned = found
    here = {"pool": pool}
    counts = {name: db.execute(query, here).fetchone()[0] for name, query in _COUNTS.items()}
    return moved.Head(
        pool=pool,
        system=system,
        params=_plain.decode(params),
        changed_at=changed_at,
        pruned_rounds=pruned,
        audit=db.execute(f"SELECT count(*) {_AUDIT}", here).fetchone()[0],
        **counts,
    )


def _round(facts: list[Any], participants: sqlite3.Cursor) -> moved.Round:
    (server, id, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting) = facts[:12]
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned = facts[12:]
    return moved.Round(
        server=server,
        id=id,
        session=session,
        map=map,
        mode=Mode(mode),
        started_at=started_at,
        seconds=seconds,
        winner=winner and Side(winner),
        captures_a=captures_a,
        captures_b=captures_b,
        partial=bool(partial),
        waiting=bool(waiting),
        lineup=_lineup.decode(lineup),
        skill_at_start=None if skill_at_start is None else _skills.decode(skill_at_start),
        unrated=unrated,
        prediction=prediction,
        recorded_at=recorded_at,
        pruned=bool(pruned),
        participants=tuple(_participant(each) for each in participants),
    )


def _participant(found: tuple[Any, ...]) -> moved.Participant:
    player, side, seconds_a, seconds_b, quit, before, after, prediction, score, rounds, visible, state = found
    return moved.Participant(
        player=player,
        side=Side(side),
        seconds_a=seconds_a,
        seconds_b=seconds_b,
        quit=bool(quit),
        before=before,
        after=after,
        prediction=prediction,
        score=score,
        rounds=rounds,
        visible=bool(visible),
        state=_plain.decode(state),
    )
