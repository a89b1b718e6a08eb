"""Rounds, their participants and the sessions they belong to, in SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from equipoise.core.effects import RecordRound
from equipoise.core.model import Participant, Round, RoundId, ServerId
from equipoise.store.port import Submission
from equipoise.store.rated import Change, RatedRound
from equipoise.store.sqlite import players, pools, records, voids
from equipoise.store.sqlite.participants import change_of, written_counts, written_spans
from equipoise.store.sqlite.players import encoded
from equipoise.store.sqlite.sequence import next_number
from equipoise.store.upkeep import Prediction


def first_answer(db: sqlite3.Connection, server: ServerId, id: RoundId) -> RatedRound | None:
    """The answer that a round got when it was stored; None if it is not stored."""
    found = db.execute(
        "SELECT number, prediction, unrated, voided FROM rounds WHERE server = ? AND id = ?", (server, id)
    ).fetchone()
    if found is None:
        return None
    number, prediction, unrated, voided = found
    changes = _changes(db, number)
    if voided is not None:
        prediction, changes = voids.first_answer(db, number)
    return RatedRound(id, prediction, changes, again=True, unrated=unrated)


def pool_of(db: sqlite3.Connection, server: ServerId, id: RoundId) -> str | None:
    """The pool of a stored round."""
    found = db.execute("SELECT pool FROM rounds WHERE server = ? AND id = ?", (server, id)).fetchone()
    return found and str(found[0])


def apply(db: sqlite3.Connection, pool: str, one: Submission, window: int) -> RatedRound:
    """Rate a round by what is stored now, and write what it does; a round that is stored already changes nothing."""
    record, server = one.record, one.record.round.server
    if first := first_answer(db, server, record.round.id):
        return first
    held = one.held()
    rated = one.rate(players.load(db, pool, held.players, window), pools.shared(db, pool, held.shared))
    players.update(db, pool, rated.changes, record.round.started_at)
    number = insert(db, pool, record, rated, one.at)
    pools.keep_shared(db, pool, rated.shared)
    if one.memory is not None:
        remember_if_newer(db, server, one.memory, one.at)
    return replace(rated, number=number)


def insert(db: sqlite3.Connection, pool: str, record: RecordRound, rated: RatedRound, at: float) -> int:
    """A round and what it did to its participants, whose players are stored already; returns its number."""
    round = record.round
    number = db.execute(
        """
        INSERT INTO rounds (
            number, server, id, pool, session, map, mode, started_at, seconds, winner, captures_a, captures_b,
            partial, waiting, lineup, squads, bots, skill_at_start, unrated, prediction, said, unevenness,
            recorded_at
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            *(next_number(db), *_facts(pool, round), _skill_at_start(record)),
            *(rated.unrated, rated.prediction, rated.said, rated.unevenness, at),
        ),
    ).lastrowid
    assert number is not None
    played = {each.id: _played(each) for each in record.participants}
    quits = {each.id for each in round.presences if each.left}
    db.executemany(
        """
        INSERT INTO participants (
            pool, round, place, player, seconds_a, seconds_b, spans, counts, quit,
            side, before, after, prediction, score, rounds, visible, state
        ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (pool, number, place, change.id, *played[change.id], change.id in quits, *_effect(change))
            for place, change in enumerate(rated.changes)
        ],
    )
    records.count(db, number)
    return number


def predictions(db: sqlite3.Connection, pool: str, limit: int | None) -> list[Prediction]:
    """The last rated rounds, without a limit all, oldest first."""
    found = db.execute(
        "SELECT started_at, prediction, winner, unevenness FROM rounds "
        "WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT coalesce(?, -1)",
        (pool, limit),
    ).fetchall()
    score = {"a": 1.0, None: 0.5, "b": 0.0}
    return [Prediction(at, predicted, score[winner], known) for at, predicted, winner, known in reversed(found)]


LATELY = 20
"""Rounds by which a pool is known to have a balance system or none: it may have failed at some of them."""


def plays_alone(db: sqlite3.Connection, pool: str) -> bool:
    """Whether a pool has rated rounds, and no balance system predicted any of the last."""
    found = db.execute(
        "SELECT balance_prediction IS NULL FROM rounds "
        "WHERE pool = ? AND prediction IS NOT NULL ORDER BY number DESC LIMIT ?",
        (pool, LATELY),
    ).fetchall()
    return bool(found) and all(alone for (alone,) in found)


def plays_alone_in(file: Path, pool: str) -> bool:
    """The same of a store's file, which a daemon may have open; False where it cannot be told."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as db:
            return plays_alone(db, pool)
    except sqlite3.Error:  # no store yet, or one that the daemon has to bring up to date or to complain of
        return False


def remember_if_newer(db: sqlite3.Connection, server: ServerId, memory: bytes, at: float) -> None:
    """Store a session's memory unless a newer one is there."""
    db.execute(
        "INSERT INTO sessions (server, memory, at) VALUES (?, ?, ?) ON CONFLICT (server) DO UPDATE SET "
        "memory = excluded.memory, at = excluded.at WHERE excluded.at >= at",
        (server, memory, at),
    )


def memory(db: sqlite3.Connection, server: ServerId) -> bytes | None:
    """The stored memory of a server's session; None before the first."""
    found = db.execute("SELECT memory FROM sessions WHERE server = ?", (server,)).fetchone()
    return found and bytes(found[0])


def _facts(pool: str, round: Round) -> tuple[object, ...]:
    return (
        round.server,
        round.id,
        pool,
        round.session,
        round.map,
        round.mode.value,
        round.started_at,
        round.seconds,
        round.winner and round.winner.value,
        round.captures_a,
        round.captures_b,
        round.partial,
        round.waiting,
        encoded(round.lineup),
        encoded(round.squads) if round.squads else None,
        written_spans(round.bots),
    )


def _played(each: Participant) -> tuple[object, ...]:
    return each.seconds_a, each.seconds_b, written_spans(each.spans), written_counts(each.counts)


def _skill_at_start(record: RecordRound) -> str | None:
    return None if record.skill_at_start is None else encoded(record.skill_at_start)


def _effect(change: Change) -> tuple[object, ...]:
    return (
        change.side.value,
        change.before,
        change.after,
        change.prediction,
        change.score,
        change.rounds,
        change.visible,
        encoded(change.state),
    )


def _changes(db: sqlite3.Connection, number: int) -> tuple[Change, ...]:
    found = db.execute(
        "SELECT player, side, before, after, prediction, score, rounds, visible, state "
        "FROM participants WHERE round = ? ORDER BY place",
        (number,),
    )
    return tuple(change_of(each) for each in found)
