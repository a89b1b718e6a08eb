"""Reads a pool beside the connection that writes: all of it as it is at one moment, or some players. In SQLite.

The connection only reads, so it never checkpoints. While it is open, the write-ahead log keeps what is written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from heapq import merge
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from equipoise.core.model import LineupPlayer, Mode, PlayerId, Side
from equipoise.errors import StoreRefused
from equipoise.store import moved
from equipoise.store.migrations import MIGRATIONS
from equipoise.store.port import SeeRound
from equipoise.store.rated import Fingerprint, PlayerRow
from equipoise.store.sqlite import players, replays
from equipoise.store.sqlite.connection import store_errors

_HEAD = "SELECT system, params, changed_at, pruned_rounds FROM pools WHERE pool = ?"
_COUNTS = {
    "parts": "SELECT count(*) FROM shared WHERE pool = :pool",
    "bases": "SELECT count(*) FROM snapshots WHERE pool = :pool AND base",
    "players": "SELECT count(*) FROM players WHERE pool = :pool",
    "names": "SELECT count(*) FROM names WHERE pool = :pool",
    "rounds": "SELECT count(*) FROM rounds WHERE pool = :pool",
    "edits": "SELECT count(*) FROM edits WHERE pool = :pool",
    "edited": "SELECT count(*) FROM edited WHERE pool = :pool",
    "voids": "SELECT count(*) FROM voids JOIN rounds ON rounds.number = round WHERE pool = :pool",
}
_FIRST = """
SELECT min(number) FROM (
    SELECT min(number) AS number FROM rounds WHERE pool = :pool
    UNION ALL SELECT min(number) FROM edits WHERE pool = :pool
)
"""
# A line says what it is about in words: a pool by name, one of its players, a server whose rounds it has, or a round.
_AUDIT = """
FROM audit WHERE target = 'pool ' || :pool
OR EXISTS (SELECT 1 FROM players WHERE pool = :pool AND id = audit.target)
OR target IN (SELECT DISTINCT server FROM rounds WHERE pool = :pool)
OR target IN (
    SELECT 'round ' || json_extract(detail, '$.round') || ' of ' || json_extract(detail, '$.server')
    FROM edits WHERE pool = :pool AND action = 'void'
)
"""
_PARTS = "SELECT key, part FROM shared WHERE pool = ? ORDER BY key"
_BASES = "SELECT purpose, number, system, params, data FROM snapshots WHERE pool = ? AND base ORDER BY purpose"
_PLAYERS = """
SELECT id, wins, draws, losses, leaves, rating, rounds, visible, last_played, state
FROM players LEFT JOIN records ON records.pool = players.pool AND records.player = players.id
WHERE players.pool = ? ORDER BY id
"""
_NAMES = "SELECT player, name FROM names WHERE pool = ? ORDER BY player"
_ROUNDS = """
SELECT number, server, id, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting,
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned, voided, squads,
    balance_prediction, said, unevenness, bots
FROM rounds WHERE pool = ? ORDER BY number
"""
# By the index of rounds: in the order of the table they would lie by player.
_PARTICIPANTS = """
SELECT player, side, seconds_a, seconds_b, quit, before, after, prediction, score, participants.rounds, visible, state,
    spans, counts
FROM participants INDEXED BY participants_by_round WHERE round = ? ORDER BY place
"""

_EDITS = "SELECT number, at, who, action, detail, shared FROM edits WHERE pool = ? ORDER BY number"
_EDITED = """
SELECT player, struck, before_rating, before_rounds, before_visible, before_played, before_state,
    after_rating, after_rounds, after_visible, after_played, after_state
FROM edited WHERE edit = ? ORDER BY player
"""
_VOIDS = """
SELECT round, edit, voids.prediction, participants FROM voids JOIN rounds ON rounds.number = round
WHERE pool = ? ORDER BY round
"""

_EDIT_COLUMNS = 6

_plain = msgspec.json.Decoder(dict[str, object])
_anything = msgspec.json.Decoder()
_void = msgspec.json.Decoder(tuple[moved.VoidRow, ...])
_lineup = msgspec.json.Decoder(tuple[LineupPlayer, ...])
_spans = msgspec.json.Decoder(tuple[moved.Span, ...])
_counts = msgspec.json.Decoder(moved.Counts)
_squads = msgspec.json.Decoder(tuple[tuple[str, ...], ...])
_skills = msgspec.json.Decoder(dict[str, float])


class Beside:
    """A store that another process has open, only to be read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        """The system and parameters that made a pool's ratings."""
        with store_errors(), closing(_connected(self._path)) as db:
            return players.fingerprint(db, pool)

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        """Rows of these players; those who were never rated are missing."""
        with store_errors(), closing(_connected(self._path)) as db:
            return {row.id: row for row in players.load(db, pool, dict.fromkeys(ids, 0), window)}

    async def rated_rounds(self, pool: str, see: SeeRound) -> None:
        """Every rated round of a pool as it is now. StoreRefused: the other process has an older or newer version."""
        with store_errors(), closing(_connected(self._path)) as db:
            db.execute("BEGIN")
            (steps,) = db.execute("PRAGMA user_version").fetchone()
            if steps != len(MIGRATIONS):
                raise StoreRefused(f"{self._path}: the daemon that has it open is of another version: restart it")
            replays.see(db, pool, see)


@contextmanager
def exported(path: Path, pool: str) -> Iterator[Iterator[moved.AnyLine]]:
    """Every line of a pool as it is now, the pool's own first; for one thread at a time.

    StoreRefused: the store has no such pool. StoreError: it cannot be read.
    """
    with store_errors():
        connection = _connected(path)
    with closing(connection), closing(_lines(connection, pool)) as lines:  # it ends before what it reads from
        yield lines


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode=ro"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def _lines(db: sqlite3.Connection, pool: str) -> Generator[moved.AnyLine, None, None]:
    with store_errors():
        db.execute("BEGIN")
        yield from _read(db, pool)


def _read(db: sqlite3.Connection, pool: str) -> Iterator[moved.AnyLine]:
    yield _head(db, pool)
    for key, part in db.execute(_PARTS, (pool,)):
        yield moved.Part(key=key, part=_anything.decode(part))
    before = _before(db, pool)
    for purpose, number, system, params, data in db.execute(_BASES, (pool,)):
        at = max(0, number - before)  # less than 0: the events up to the first one here are deleted
        yield moved.Base(purpose=purpose, number=at, system=system, params=_plain.decode(params), data=data)
    for id, wins, draws, losses, leaves, *skill in db.execute(_PLAYERS, (pool,)):
        played = None if wins is None else moved.Record(wins=wins, draws=draws, losses=losses, leaves=leaves)
        yield moved.Player(id=id, skill=_skill(skill), record=played)
    for player, name in db.execute(_NAMES, (pool,)):
        yield moved.Name(player=player, name=name)
    yield from _sequence(db, pool, before)
    for at, who, action, target, before, after in db.execute(
        f"SELECT at, who, action, target, before, after {_AUDIT} ORDER BY number", {"pool": pool}
    ):
        yield moved.Entry(at=at, who=who, action=action, target=target, before=before, after=after)


def _before(db: sqlite3.Connection, pool: str) -> int:
    """The number before the pool's first event, from which those of a file count."""
    first = db.execute(_FIRST, {"pool": pool}).fetchone()[0]
    return 0 if first is None else int(first) - 1


def _sequence(db: sqlite3.Connection, pool: str, before: int) -> Iterator[moved.AnyLine]:
    """Rounds and edits in their order; what an edit did to whom follows it."""
    rounds, edits = (db.execute(query, (pool,)) for query in (_ROUNDS, _EDITS))
    for row in merge(rounds, edits, key=lambda row: row[0]):
        number, *facts = row
        if len(row) > _EDIT_COLUMNS:
            participants = db.execute(_PARTICIPANTS, (number,))
            yield _round(number - before, facts, participants, before)
            continue
        yield moved.shifted(_edit(number, facts), -before)
        for player, struck, *skills in db.execute(_EDITED, (number,)):
            old = None if skills[4] is None else _skill(skills[:5])
            yield moved.Edited(
                edit=number - before, player=player, struck=bool(struck), before=old, after=_skill(skills[5:])
            )
    for round, edit, prediction, participants in db.execute(_VOIDS, (pool,)):
        yield moved.Void(
            round=round - before,
            edit=edit - before,
            prediction=prediction,
            participants=_void.decode(participants),
        )


def _head(db: sqlite3.Connection, pool: str) -> moved.Head:
    found = db.execute(_HEAD, (pool,)).fetchone()
    if found is None:
        known = ", ".join(sorted(name for (name,) in db.execute("SELECT pool FROM pools")))
        raise StoreRefused(f"the store has no pool {pool}; it has: {known or 'none'}")
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


def _skill(found: Sequence[Any]) -> moved.Skill:
    rating, rounds, visible, played, state = found
    return moved.Skill(
        rating=rating, rounds=rounds, visible=bool(visible), last_played=played, state=_plain.decode(state)
    )


def _edit(number: int, facts: list[Any]) -> moved.Edit:
    at, who, action, detail, shared = facts
    return moved.Edit(
        number=number,
        at=at,
        who=who,
        action=action,
        detail=_plain.decode(detail),
        shared=None if shared is None else _plain.decode(shared),
    )


def _round(number: int, facts: list[Any], participants: sqlite3.Cursor, before: int) -> moved.Round:
    (server, id, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting) = facts[:12]
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned, voided, squads = facts[12:20]
    balance_prediction, said, unevenness, bots = facts[20:]
    return moved.Round(
        number=number,
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
        voided=None if voided is None else voided - before,
        squads=() if squads is None else _squads.decode(squads),
        bots=() if bots is None else _spans.decode(bots),
        balance_prediction=balance_prediction,
        said=said,
        unevenness=unevenness,
        participants=tuple(_participant(each) for each in participants),
    )


def _participant(found: tuple[Any, ...]) -> moved.Participant:
    player, side, seconds_a, seconds_b, quit, before, after, prediction, score, rounds, visible, state = found[:12]
    spans, counts = found[12:]
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
        spans=() if spans is None else _spans.decode(spans),
        counts=None if counts is None else _counts.decode(counts),
    )
