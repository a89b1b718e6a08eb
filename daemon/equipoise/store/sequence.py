"""The sequence of a store: rounds and edits, numbered together in the order in which they were applied; and snapshots.

An edit is a change of ratings that is not a round. Replays go through both in this order, so that what admins changed
is kept when rounds before it are rated anew.

Of a sequential system there are snapshots: the newest two, and the base if there is one. The second is for the case
that the first is damaged, and for an event that is struck behind the second.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import msgspec

from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId
from equipoise.errors import PoolMoved, StoreError
from equipoise.store import notes, player_rows, round_rows
from equipoise.store.notes import Audit
from equipoise.store.player_rows import Fingerprint, PlayerRow, encoded, load, plain
from equipoise.store.round_rows import next_number

Purpose = Literal["system", "balance"]
"""The use of a system in a pool: it makes the ratings that are shown, or the teams."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a sequential system holds after an event of the pool's sequence."""

    purpose: Purpose
    number: int
    """Number of that event; 0: before the first."""
    fingerprint: Fingerprint
    """The system and parameters that made it."""
    data: bytes
    base: bool = False
    """Rounds before it may be deleted: it is where every replay begins."""


KEPT = 2
PIECE = 1 << 16
"""Bytes that are written at once."""

_NEWEST = """
SELECT number, system, params, base, sha256, data FROM snapshots
WHERE pool = ? AND purpose = ? AND number <= ? ORDER BY number DESC
"""
_DROP_OLDER = """
DELETE FROM snapshots WHERE pool = :pool AND purpose = :purpose AND NOT base AND number NOT IN (
    SELECT number FROM snapshots WHERE pool = :pool AND purpose = :purpose AND NOT base
    UNION SELECT :number ORDER BY number DESC LIMIT :kept
)
"""
# One of a shared pool's log, by which all machines go on, is not replaced by one that was made here.
_KEEP_FOLLOWED = """
UPDATE snapshots SET base = base OR :base
WHERE pool = :pool AND purpose = :purpose AND number = :number AND pool IN (SELECT pool FROM followed)
"""
_STRUCK_SINCE = "SELECT 1 FROM edits WHERE pool = ? AND number > ? AND action IN ('undo', 'void', 'spread') LIMIT 1"

log = logging.getLogger(__name__)


def newest(db: sqlite3.Connection, pool: str, purpose: Purpose, most: int = sys.maxsize) -> Snapshot | None:
    """The newest that is whole, of those after at most event `most`; None: there is none. Damaged ones are logged."""
    for number, system, params, base, digest, data in db.execute(_NEWEST, (pool, purpose, most)):
        if sha256(data).hexdigest() == digest:
            made_by = Fingerprint(system, plain(params))
            return Snapshot(purpose, number, made_by, data, bool(base))
        log.warning("the snapshot after event %d is damaged: an older one is used", number, extra={"pool": pool})
    return None


def keep(db: sqlite3.Connection, pool: str, snapshot: Snapshot, seen: int) -> None:
    """Add a snapshot, and drop those that it makes superfluous.

    `seen` is the last event that its maker knew of: if one was struck since, it may be of a past that has changed.
    """
    # In the transaction that writes it: the check and the snapshot cannot be parted by a strike.
    if db.execute(_STRUCK_SINCE, (pool, seen)).fetchone():
        return
    made_by, digest = snapshot.fingerprint, sha256(snapshot.data).hexdigest()
    values = {"pool": pool, "purpose": snapshot.purpose, "number": snapshot.number, "base": snapshot.base, "kept": KEPT}
    # The base stays until there is another: one with `stale_days = 30`, or with 8 for 8.0, leads on as well.
    others = "DELETE FROM snapshots WHERE pool = ? AND purpose = ? AND NOT base AND (system, params) != (?, ?)"
    db.execute(others, (pool, snapshot.purpose, made_by.system, encoded(made_by.params)))
    if snapshot.base:
        db.execute("DELETE FROM snapshots WHERE pool = :pool AND purpose = :purpose AND number < :number", values)
    # Before the new one, which takes their pages: behind it, as many again would be written as empty.
    db.execute(_DROP_OLDER, values)
    if db.execute(_KEEP_FOLLOWED, values).rowcount:
        return
    row = (pool, snapshot.purpose, snapshot.number, made_by.system, encoded(made_by.params), snapshot.base, digest)
    (at,) = db.execute(
        "INSERT INTO snapshots (pool, purpose, number, system, params, base, sha256, data) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, zeroblob(?)) ON CONFLICT (pool, purpose, number) DO UPDATE SET "
        "system = excluded.system, params = excluded.params, base = base OR excluded.base, sha256 = excluded.sha256, "
        "data = excluded.data RETURNING rowid",
        (*row, len(snapshot.data)),
    ).fetchone()
    # In pieces: SQLite would copy megabytes that it is given as one value.
    with db.blobopen("snapshots", "data", at) as blob:
        for first in range(0, len(snapshot.data), PIECE):
            blob.write(memoryview(snapshot.data)[first : first + PIECE])


def replace(db: sqlite3.Connection, pool: str, snapshot: Snapshot) -> None:
    """This one leads on: those from before it are of a state that was left."""
    db.execute("DELETE FROM snapshots WHERE pool = ? AND purpose = ?", (pool, snapshot.purpose))
    keep(db, pool, snapshot, sys.maxsize)


def outdate(db: sqlite3.Connection, pool: str, number: int) -> None:
    """The event with this number is struck: what was made from it goes. The base stays: nothing leads there again."""
    db.execute("DELETE FROM snapshots WHERE pool = ? AND number >= ? AND NOT base", (pool, number))


def leave(db: sqlite3.Connection, pool: str, purpose: Purpose, number: int) -> None:
    """Delete the snapshots behind the event with this number: they are of a state that was left."""
    query = "DELETE FROM snapshots WHERE pool = ? AND purpose = ? AND number > ? AND NOT base"
    db.execute(query, (pool, purpose, number))


def forget(db: sqlite3.Connection, pool: str) -> None:
    """Delete all of a pool."""
    db.execute("DELETE FROM snapshots WHERE pool = ?", (pool,))


# Rounds and edits in their order.

EditAction = Literal["set", "reset", "undo", "import", "refit", "void", "spread", "calibration"]


@dataclass(frozen=True, slots=True)
class Touched:
    """A player in an edit."""

    id: PlayerId
    before: PlayerRow | None
    """None: they had no row."""
    after: PlayerRow


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of ratings that is not a round, at its place in the sequence."""

    number: int
    at: float
    """Seconds since the epoch."""
    who: str
    action: EditAction
    detail: Mapping[str, object]
    """Plain data: the `rating` that was set, the `round` and `server` that were voided, the `reason`."""
    touched: tuple[Touched, ...] = ()
    """Without those for whom it was undone."""
    shared: Mapping[str, object] | None = None
    """All parts of the system's shared state after a refit."""


@dataclass(frozen=True, slots=True)
class MatchEvent:
    """A rated round at its place in the sequence."""

    number: int
    record: RecordRound
    prediction: float
    """The stored win probability of side A."""


Event = MatchEvent | Edit


RESULTS = ("undo", "void", "spread", "calibration")
"""Edits that follow from the rounds, and change no rating of their own."""


@dataclass(frozen=True, slots=True)
class BulkEdit:
    """New ratings of many players at once."""

    action: Literal["import", "refit", "spread", "calibration"]
    at: float
    """Seconds since the epoch."""
    who: str
    rows: Sequence[PlayerRow]
    """The players after it; version and history are ignored."""
    before: str
    """With `after`, the texts of the audit's line."""
    after: str
    shared: Mapping[str, object] | None = None
    """All parts of the system's shared state; None: it stays as it is."""
    detail: Mapping[str, object] = field(default_factory=dict)
    """Plain data about where the ratings come from."""
    last: int | None = None
    """The pool's last event that they take into account; None: any."""
    snapshot: Snapshot | None = None
    """The state of a sequential system, with which it goes on; those from before go."""


@dataclass(frozen=True, slots=True)
class LearntSpread:
    """The spread of skill that a pool's rounds have taught `joint`: of all that it knows, from the event on."""

    number: int
    """Number of the event; 0 before it is stored."""
    at: float
    """Seconds since the epoch."""
    spread: float
    """Log-odds, as all of these."""
    error: float
    """Its standard error."""
    rounds: int
    """That it was fitted to."""
    before: float
    """In use until then."""
    configured: float
    """The spread that it began with: once the configuration says another one, what was learnt counts no more."""


EditRow = Callable[[PlayerRow | None], tuple[PlayerRow, Audit]]
"""Changes one player's row (None: they are unknown) and returns the line of the audit with it. Does no I/O.

The store counts the version itself, and leaves the name as it is."""


EDITED = ", ".join(
    f"{when}_{what}" for when in ("before", "after") for what in ("rating", "rounds", "visible", "played", "state")
)
"""The columns of `edited` that `columns` returns twice."""
ADD_EDITED = (
    f"INSERT INTO edited (pool, player, edit, struck, {EDITED}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

_EDITS = """
SELECT number, at, who, action, detail, shared FROM edits WHERE pool = ? AND number > ? ORDER BY number LIMIT ?
"""
_TOUCHED = f"SELECT player, {EDITED} FROM edited"
_LAST_EDIT = """
SELECT edit, struck FROM edited JOIN edits ON number = edit
WHERE edited.pool = ? AND player = ? AND action IN ('set', 'reset', 'import') ORDER BY edit DESC LIMIT 1
"""
_LOST = """
SELECT count(*) FROM audit WHERE action IN ('set', 'reset') AND at >= :since
    AND EXISTS (SELECT 1 FROM players WHERE pool = :pool AND id = target)
    AND NOT EXISTS (SELECT 1 FROM edits WHERE edits.at = audit.at AND edits.action = audit.action)
"""

PAGE = 50
"""Edits read at once."""

NOTHING: Mapping[str, object] = {}

_PLAYERS_AT_ONCE = 500
"""Players read at once: a list of more would make a long text of JSON."""


def last_number(db: sqlite3.Connection, pool: str) -> int:
    """The number of a pool's last rated round or edit; 0 before the first."""
    last = [
        db.execute(f"SELECT max(number) FROM {rows} pool = ?", (pool,)).fetchone()[0] or 0
        for rows in ("rounds WHERE prediction IS NOT NULL AND", "edits WHERE")
    ]
    return int(max(last))


def last_edit_number(db: sqlite3.Connection, pool: str) -> int:
    """The number of a pool's last edit; 0 before the first."""
    return int(db.execute("SELECT coalesce(max(number), 0) FROM edits WHERE pool = ?", (pool,)).fetchone()[0])


def add(
    db: sqlite3.Connection,
    pool: str,
    action: EditAction,
    entry: Audit,
    detail: Mapping[str, object],
    shared: Mapping[str, object] | None = None,
) -> int:
    """An edit without players, and its line in the audit; returns its number."""
    number = next_number(db)
    db.execute(
        "INSERT INTO edits (number, pool, at, who, action, detail, shared) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, pool, entry.at, entry.who, action, encoded(detail), None if shared is None else encoded(shared)),
    )
    notes.audit(db, entry)
    return number


def touch(db: sqlite3.Connection, pool: str, number: int, touched: Iterable[Touched]) -> None:
    """Write what an edit made of its players."""
    db.executemany(
        ADD_EDITED,
        [(pool, entry.id, number, False, *columns(entry.before), *columns(entry.after)) for entry in touched],
    )


def adopt(db: sqlite3.Connection, pool: str, edit: BulkEdit) -> int:
    """New ratings of many players, as one edit; returns its number. PoolMoved: something came since `edit.last`."""
    # Inside the transaction: no round can come between this look and what is written.
    if edit.last is not None and last_number(db, pool) != edit.last:
        raise PoolMoved(f"pool {pool}: rounds came meanwhile")
    # Another spread needs all rounds from the first on. `Spreads` looks too, but retention may have come since.
    if edit.action == "spread" and round_rows.pruned_rounds(db, pool):
        raise StoreError(f"pool {pool}: old rounds were deleted (retention.rounds_days): its spread of skill stays")
    if edit.action == "refit":
        forget_refits(db, pool)
    entry = Audit(edit.at, edit.who, edit.action, f"pool {pool}", edit.before, edit.after)
    number = add(db, pool, edit.action, entry, edit.detail, edit.shared)
    rows = list(edit.rows)
    for start in range(0, len(rows), _PLAYERS_AT_ONCE):
        _adopt_players(db, pool, number, rows[start : start + _PLAYERS_AT_ONCE], whole=edit.action == "refit")
    if edit.shared is not None:
        player_rows.replace_shared(db, pool, edit.shared)
    if edit.snapshot is not None:
        replace(db, pool, edit.snapshot)
    return number


def _adopt_players(db: sqlite3.Connection, pool: str, number: int, rows: list[PlayerRow], *, whole: bool) -> None:
    """Write those that change; as part of the edit too, or `whole`: all of them, because it replaces earlier ones."""
    present = {row.id: row for row in load(db, pool, {row.id: 0 for row in rows}, 0)}
    changes = [row for row in rows if row.id not in present or columns(present[row.id]) != columns(row)]
    player_rows.count_crowd(db, pool, {row.id: (row.visible, row.rating) for row in changes})
    player_rows.write(db, pool, changes)
    touch(db, pool, number, (Touched(row.id, present.get(row.id), row) for row in (rows if whole else changes)))


def forget_refits(db: sqlite3.Connection, pool: str) -> None:
    """A refit replaces every rating: those before it would only fill the disk."""
    refits = "SELECT number FROM edits WHERE pool = :pool AND action = 'refit'"
    db.execute(f"DELETE FROM edited WHERE edit IN ({refits})", {"pool": pool})
    db.execute("UPDATE edits SET shared = NULL WHERE pool = :pool AND action = 'refit'", {"pool": pool})


def learnt_spread(db: sqlite3.Connection, pool: str) -> LearntSpread | None:
    """The spread of skill that was adopted last; None: none was."""
    last = "SELECT number, at, detail FROM edits WHERE pool = ? AND action = 'spread' ORDER BY number DESC LIMIT 1"
    if (row := db.execute(last, (pool,)).fetchone()) is None:
        return None
    number, at, detail = row
    return msgspec.convert({**plain(detail), "number": number, "at": at}, LearntSpread)


def calibrations(db: sqlite3.Connection, pool: str) -> list[Edit]:
    """The edits that change what is said of predictions, or end it, in order."""
    rows = db.execute(
        "SELECT number, at, who, action, detail FROM edits WHERE pool = ? AND action IN ('calibration', 'spread') "
        "ORDER BY number",
        (pool,),
    )
    return [Edit(number, at, who, action, plain(detail)) for number, at, who, action, detail in rows]


def refitted_at(db: sqlite3.Connection, pool: str) -> float | None:
    """Return when a pool was last refitted, in seconds since the epoch; None: never."""
    last = "SELECT max(at) FROM edits WHERE pool = ? AND action = 'refit'"
    at: float | None = db.execute(last, (pool,)).fetchone()[0]
    return at


def edit(
    db: sqlite3.Connection,
    pool: str,
    player: PlayerId,
    window: int,
    change: EditRow,
    detail: Mapping[str, object] = NOTHING,
) -> PlayerRow:
    """Write an admin's change of a player, with its line in the audit; returns the new row.

    `detail` is what was asked for: a replay asks for it again.
    """
    before = next(iter(load(db, pool, {player: 0}, window)), None)
    after, entry = change(before)
    player_rows.count_crowd(db, pool, {player: (after.visible, after.rating)})
    player_rows.write(db, pool, [after])
    number = add(db, pool, "set" if entry.action == "set" else "reset", entry, detail)
    touch(db, pool, number, [Touched(player, before, after)])
    # Read back: the version is counted by the statement.
    (row,) = load(db, pool, {player: 0}, window)
    return row


def edits(db: sqlite3.Connection, pool: str, after: int = 0) -> Iterator[Edit]:
    """A pool's edits after a number, in order; without players for whom they were undone."""
    while rows := db.execute(_EDITS, (pool, after, PAGE)).fetchall():
        for number, at, who, action, detail, parts_json in rows:
            after = number
            parts = None if parts_json is None else plain(parts_json)
            yield Edit(number, at, who, action, plain(detail), tuple(touched(db, number)), parts)


def touched(db: sqlite3.Connection, number: int, *, struck: bool = False) -> list[Touched]:
    """The players of an edit, or those for whom it was undone."""
    rows = db.execute(f"{_TOUCHED} WHERE edit = ? AND struck = ? ORDER BY player", (number, struck))
    return [_touched(row) for row in rows]


def rewrite(db: sqlite3.Connection, pool: str, edit: Edit) -> None:
    """The new numbers of an edit that was replayed; players whom it could not change leave it."""
    db.execute("UPDATE edits SET detail = ? WHERE number = ?", (encoded(edit.detail), edit.number))
    if edit.action in RESULTS:
        return
    db.execute("DELETE FROM edited WHERE edit = ? AND NOT struck", (edit.number,))
    touch(db, pool, edit.number, edit.touched)


def forget_units(db: sqlite3.Connection, pool: str) -> None:
    """Delete what only the system that made it can read: refits, results of replays, and edits that were undone."""
    db.execute(
        "DELETE FROM edited WHERE pool = :pool AND (struck OR edit IN ("
        "SELECT number FROM edits WHERE pool = :pool AND action NOT IN ('set', 'reset', 'import')))",
        {"pool": pool},
    )
    db.execute("UPDATE edits SET shared = NULL WHERE pool = ?", (pool,))


def lost(db: sqlite3.Connection, pool: str, since: float = -math.inf) -> int:
    """Lines of the audit about ratings of the pool's players that were changed before edits were stored."""
    (count,) = db.execute(_LOST, {"pool": pool, "since": since}).fetchone()
    return int(count)


def last_edit(db: sqlite3.Connection, pool: str, player: PlayerId) -> tuple[int, bool] | None:
    """The number of a player's last edit, and whether it was undone; None: there is none."""
    row = db.execute(_LAST_EDIT, (pool, player)).fetchone()
    return None if row is None else (row[0], bool(row[1]))


def columns(row: PlayerRow | None) -> tuple[object, ...]:
    """Return the five columns of a player in an edit."""
    if row is None:
        return (None,) * 5
    return row.rating, row.rounds, row.visible, row.last_played, encoded(row.state)


def _touched(columns: tuple[Any, ...]) -> Touched:
    player = PlayerId(columns[0])
    before = None if columns[1] is None else player_rows.then(player, *columns[1:6])
    return Touched(player, before, player_rows.then(player, *columns[6:11]))
