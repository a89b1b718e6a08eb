"""Writes a whole pool, line by line, in SQLite; within one transaction of the caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.core.model import PlayerId
from equipoise.errors import FileError
from equipoise.store import moved
from equipoise.store.listings import Record
from equipoise.store.notes import Audit
from equipoise.store.rated import Fingerprint, Snapshot
from equipoise.store.sqlite import notes, players, rounds, snapshots
from equipoise.store.sqlite.players import encoded
from equipoise.store.sqlite.sequence import next_number

_WHY = {
    "UNIQUE": "it is there twice, or it is a round that another pool of this store has",
    "FOREIGN": "it names a player, a round or an edit that has no line above it",
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
_EDIT = "INSERT INTO edits (number, pool, at, who, action, detail, shared) VALUES (?, ?, ?, ?, ?, ?, ?)"
_EDITED = """
INSERT INTO edited (
    pool, player, edit, struck, before_rating, before_rounds, before_visible, before_played, before_state,
    after_rating, after_rounds, after_visible, after_played, after_state
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ROUND = """
INSERT INTO rounds (
    number, server, id, pool, session, map, mode, started_at, seconds, winner, captures_a, captures_b, partial, waiting,
    lineup, skill_at_start, unrated, prediction, recorded_at, pruned, voided, squads,
    balance_prediction, said, unevenness, bots
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PARTICIPANT = """
INSERT INTO participants (
    pool, round, place, player, side, seconds_a, seconds_b, quit, before, after, prediction, score, rounds, visible,
    state, spans, counts
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def holds(db: sqlite3.Connection, pool: str) -> tuple[int, int, int]:
    """How many players, rounds and edits a pool has."""
    players, rounds, edits = (
        db.execute(f"SELECT count(*) FROM {table} WHERE pool = ?", (pool,)).fetchone()[0]
        for table in ("players", "rounds", "edits")
    )
    return players, rounds, edits


def write(db: sqlite3.Connection, pool: str, lines: Iterable[moved.AnyLine]) -> None:
    """Fill an empty pool. FileError: a line contradicts those before it, or the store; it has no line number."""
    snapshots.forget(db, pool)
    into = _Into(db, pool, next_number(db) - 1, [])
    for line in lines:
        try:
            into.write(line)
        except sqlite3.IntegrityError as error:
            kind = str(error).partition(" ")[0]
            raise FileError(_WHY.get(kind, f"it cannot be stored: {error}")) from None
        except (OverflowError, UnicodeEncodeError):
            raise FileError("it has a number or a text that no store can take") from None
    players.recount_crowd(db, pool)
    rounds.recount_records(db, pool)
    rounds.replace_records(db, pool, into.records)


@dataclass(frozen=True, slots=True)
class _Into:
    """The pool that is filled; `before`: the last number that other pools have taken."""

    db: sqlite3.Connection
    pool: str
    before: int
    records: list[tuple[PlayerId, Record]]
    """Those that the lines say. They count rounds whose lines are missing too."""

    def write(self, line: moved.AnyLine) -> None:
        match line:
            case moved.Base():
                made_by = Fingerprint(line.system, line.params)
                base = Snapshot(line.purpose, self.before + line.number, made_by, line.data, base=True)
                snapshots.keep(self.db, self.pool, base, base.number)
            case moved.Head() | moved.Part() | moved.Player() | moved.Name() | moved.Entry():
                self._write_once(line)
            case moved.Round():
                self._write_round(line)
            case moved.Edit():
                line = moved.shifted(line, self.before)
                shared = None if line.shared is None else encoded(line.shared)
                facts = line.at, line.who, line.action, encoded(line.detail), shared
                self.db.execute(_EDIT, (line.number, self.pool, *facts))
            case moved.Edited():
                before = (None,) * 5 if line.before is None else _skill(line.before)
                what = self.pool, line.player, self.before + line.edit, line.struck
                self.db.execute(_EDITED, (*what, *before, *_skill(line.after)))
            case moved.Void():
                numbers = self.before + line.round, self.before + line.edit
                self.db.execute(
                    "INSERT INTO voids (round, edit, prediction, participants) VALUES (?, ?, ?, ?)",
                    (*numbers, line.prediction, encoded(line.participants)),
                )

    def _write_once(self, line: moved.Head | moved.Part | moved.Player | moved.Name | moved.Entry) -> None:
        match line:
            case moved.Head():
                head = line.system, encoded(line.params), line.changed_at, line.pruned_rounds
                self.db.execute(_HEAD, (self.pool, *head))
            case moved.Part():
                part = self.pool, line.key, encoded(line.part)
                self.db.execute("INSERT INTO shared (pool, key, part) VALUES (?, ?, ?)", part)
            case moved.Player():
                self.db.execute(_PLAYER, (self.pool, line.id, *_skill(line.skill)))
                if (played := line.record) is not None:
                    record = Record(played.wins, played.draws, played.losses, played.leaves)
                    self.records.append((PlayerId(line.id), record))
            case moved.Name():  # players who joined before the import have names
                name = self.pool, line.player, line.name
                self.db.execute("INSERT OR REPLACE INTO names (pool, player, name) VALUES (?, ?, ?)", name)
            case moved.Entry():
                notes.audit(self.db, Audit(line.at, line.who, line.action, line.target, line.before, line.after))

    def _write_round(self, line: moved.Round) -> None:
        number = self.before + line.number
        self.db.execute(
            _ROUND,
            (
                number,
                line.server,
                line.id,
                self.pool,
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
                None if line.voided is None else self.before + line.voided,
                encoded(line.squads) if line.squads else None,
                line.balance_prediction,
                line.said,
                line.unevenness,
                encoded(line.bots) if line.bots else None,
            ),
        )
        rows = ((self.pool, number, place, *_effect(each)) for place, each in enumerate(line.participants))
        self.db.executemany(_PARTICIPANT, rows)


def _skill(skill: moved.Skill) -> tuple[object, ...]:
    return skill.rating, skill.rounds, skill.visible, skill.last_played, encoded(skill.state)


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
        encoded(each.spans) if each.spans else None,
        None if each.counts is None else encoded(each.counts),
    )
