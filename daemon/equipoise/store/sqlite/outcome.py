"""The new numbers that a replay beside the daemon made: a file of its own, which the store reads in one transaction.

The process that replays writes them one by one. The store's thread takes them over in a few statements of SQLite,
which leave the event loop free.
"""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from equipoise.core.model import PlayerId
from equipoise.files import open_private
from equipoise.store.rated import Fingerprint, PlayerRow, RatedRound, Snapshot
from equipoise.store.sequence import Edit
from equipoise.store.sqlite import players, snapshots
from equipoise.store.sqlite.players import encoded
from equipoise.store.sqlite.rounds import effect
from equipoise.store.sqlite.sequence import columns

NAMED = ".outcome-"
"""In the name of the file, between those of the store and the pool."""

_SCHEMA = """
CREATE TABLE rounds (number, prediction, said, unevenness, skill_at_start);
CREATE TABLE participants (round, player, before, after, prediction, rounds, visible, state);
CREATE TABLE edited (
    edit, player, before_rating, before_rounds, before_visible, before_played, before_state,
    after_rating, after_rounds, after_visible, after_played, after_state
);
CREATE TABLE players (id, rating, rounds, visible, last_played, state);
CREATE TABLE shared (key PRIMARY KEY, part);
CREATE TABLE replaced (what);
CREATE TABLE snapshots (system, params, data);
"""

# Without keys in the file, SQLite goes through its rows and finds each row of the store by key.
_TAKE_OVER = (
    """
    UPDATE rounds SET prediction = new.prediction, skill_at_start = new.skill_at_start,
        said = iif(balance_prediction IS NULL, new.said, rounds.said),
        unevenness = iif(balance_prediction IS NULL, new.unevenness, rounds.unevenness)
    FROM outcome.rounds AS new WHERE rounds.number = new.number
    """,
    """
    UPDATE participants SET before = new.before, after = new.after, prediction = new.prediction,
        rounds = new.rounds, visible = new.visible, state = new.state
    FROM outcome.participants AS new
    WHERE participants.pool = :pool AND participants.player = new.player AND participants.round = new.round
    """,
    """
    UPDATE edited SET before_rating = new.before_rating, before_rounds = new.before_rounds,
        before_visible = new.before_visible, before_played = new.before_played, before_state = new.before_state,
        after_rating = new.after_rating, after_rounds = new.after_rounds, after_visible = new.after_visible,
        after_played = new.after_played, after_state = new.after_state
    FROM outcome.edited AS new
    WHERE edited.pool = :pool AND edited.player = new.player AND edited.edit = new.edit
    """,
    """
    INSERT INTO edited SELECT :pool, new.id, :edit, 0, old.rating, old.rounds, old.visible, old.last_played, old.state,
        new.rating, new.rounds, new.visible, new.last_played, new.state
    FROM outcome.players AS new CROSS JOIN players AS old ON old.pool = :pool AND old.id = new.id
    WHERE :whole OR (old.rating, old.rounds, old.state) IS NOT (new.rating, new.rounds, new.state)
    """,
    """
    UPDATE players SET version = version + 1, rating = new.rating, rounds = new.rounds, visible = new.visible,
        last_played = new.last_played, state = new.state
    FROM outcome.players AS new WHERE players.pool = :pool AND players.id = new.id
    """,
)


class Outcome:
    """The file as it is written; without one it is a trial, and what comes is forgotten."""

    def __init__(self, db: sqlite3.Connection | None) -> None:
        self._db = db

    def round(self, number: int, rated: RatedRound, skill_at_start: Mapping[PlayerId, float] | None) -> None:
        """A round that was rated anew."""
        skills = None if skill_at_start is None else encoded(skill_at_start)
        row = number, rated.prediction, rated.said, rated.unevenness, skills
        self._add("rounds VALUES (?, ?, ?, ?, ?)", (row,))
        self._add(
            "participants VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ((number, change.id, *effect(change)) for change in rated.changes),
        )

    def edit(self, edit: Edit) -> None:
        """An edit that was replayed."""
        self._add(
            "edited VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((edit.number, each.id, *columns(each.before), *columns(each.after)) for each in edit.touched),
        )

    def player(self, row: PlayerRow) -> None:
        """A player at the end."""
        self._add("players VALUES (?, ?, ?, ?, ?, ?)", ((each.id, *columns(each)) for each in (row,)))

    def shared(self, parts: Mapping[str, object]) -> None:
        """All parts of the system's shared state at the end."""
        self._add("replaced VALUES (?)", (("shared",),))
        self._add("shared VALUES (?, ?)", ((key, encoded(part)) for key, part in parts.items()))

    def snapshot(self, snapshot: Snapshot) -> None:
        """What a sequential system holds at the end."""
        made_by = snapshot.fingerprint
        self._add("snapshots VALUES (?, ?, ?)", ((made_by.system, encoded(made_by.params), snapshot.data),))

    def _add(self, places: str, rows: Iterable[tuple[object, ...]]) -> None:
        if self._db is not None:
            self._db.executemany(f"INSERT INTO {places}", rows)


@contextmanager
def new_file(store: Path, pool: str) -> Iterator[Path]:
    """The name of a file for new numbers of a pool; however this ends, there is no such file then."""
    path = store.with_name(f"{store.name}{NAMED}{pool}")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def remove_left(store: Path) -> None:
    """Remove the files of a daemon that was killed: each may be as large as the store."""
    with suppress(OSError):  # the next replay says what is wrong with them
        for path in store.parent.glob(f"{glob.escape(store.name)}{NAMED}*"):
            path.unlink(missing_ok=True)


@contextmanager
def written(path: Path | None) -> Iterator[Outcome]:
    """A new file in place of one that was left behind, whole when this ends; None: a trial."""
    if path is None:
        yield Outcome(None)
        return
    path.unlink(missing_ok=True)
    os.close(open_private(path, os.O_RDWR))
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.executescript(_SCHEMA)
        db.execute("BEGIN")
        yield Outcome(db)
        db.execute("COMMIT")
    finally:
        db.close()


@contextmanager
def attached(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """The file beside the store, outside of a transaction."""
    db.execute("ATTACH ? AS outcome", (str(path),))
    try:
        yield
    finally:
        db.execute("DETACH outcome")


def take_over(db: sqlite3.Connection, pool: str, edit: int, *, whole: bool = False) -> None:
    """Replace the stored numbers by those of the attached file, as the result of an edit.

    Players who do not change become part of the edit only if it is `whole`: if a replay is to begin with them there.
    """
    for statement in _TAKE_OVER:
        db.execute(statement, {"pool": pool, "edit": edit, "whole": whole})
    players.recount_crowd(db, pool)
    _take_over_snapshot(db, pool, edit)
    players.take_over_shared(db, pool)


def _take_over_snapshot(db: sqlite3.Connection, pool: str, edit: int) -> None:
    for system, params, data in db.execute("SELECT system, params, data FROM outcome.snapshots").fetchall():
        made_by = Fingerprint(system, msgspec.json.decode(params, type=dict[str, object]))
        snapshots.keep(db, pool, Snapshot("system", edit, made_by, data), edit)
