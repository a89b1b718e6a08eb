"""Edits at their place in the sequence that they share with rounds, in SQLite."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from equipoise.core.model import PlayerId
from equipoise.errors import PoolMoved, StoreError
from equipoise.store.notes import Audit
from equipoise.store.port import EditRow
from equipoise.store.rated import PlayerRow
from equipoise.store.sequence import RESULTS, BulkEdit, Edit, EditAction, LearntSpread, Touched
from equipoise.store.sqlite import notes, players, retention, snapshots
from equipoise.store.sqlite.players import encoded, load, write

_TOUCH = """
INSERT INTO edited (
    pool, player, edit, before_rating, before_rounds, before_visible, before_played, before_state,
    after_rating, after_rounds, after_visible, after_played, after_state
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_EDITS = """
SELECT number, at, who, action, detail, shared FROM edits WHERE pool = ? AND number > ? ORDER BY number LIMIT ?
"""
_TOUCHED = """
SELECT player, before_rating, before_rounds, before_visible, before_played, before_state,
    after_rating, after_rounds, after_visible, after_played, after_state FROM edited
"""
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

AT_ONCE = 500
"""Players read at once: a list of more would make a long text of JSON."""


def next_number(db: sqlite3.Connection) -> int:
    """The number of the round or the edit that is written next."""
    last = [db.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0 for table in ("rounds", "edits")]
    return int(max(last)) + 1


def last_number(db: sqlite3.Connection, pool: str) -> int:
    """The number of a pool's last rated round or edit; 0 before the first."""
    last = [
        db.execute(f"SELECT max(number) FROM {rows} pool = ?", (pool,)).fetchone()[0] or 0
        for rows in ("rounds WHERE prediction IS NOT NULL AND", "edits WHERE")
    ]
    return int(max(last))


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
    """What an edit made of its players."""
    db.executemany(_TOUCH, [(pool, each.id, number, *columns(each.before), *columns(each.after)) for each in touched])


def adopt(db: sqlite3.Connection, pool: str, edit: BulkEdit) -> int:
    """New ratings of many players, as one edit; returns its number. PoolMoved: something came since `edit.last`."""
    if edit.last is not None and last_number(db, pool) != edit.last:
        raise PoolMoved(f"pool {pool}: rounds came meanwhile")
    if edit.action == "spread" and retention.pruned_rounds(db, pool):
        raise StoreError(f"pool {pool}: old rounds were deleted (retention.rounds_days): its spread of skill stays")
    if edit.action == "refit":
        forget_refits(db, pool)
    entry = Audit(edit.at, edit.who, edit.action, f"pool {pool}", edit.before, edit.after)
    number = add(db, pool, edit.action, entry, edit.detail, edit.shared)
    rows = list(edit.rows)
    for start in range(0, len(rows), AT_ONCE):
        _adopt_players(db, pool, number, rows[start : start + AT_ONCE], whole=edit.action == "refit")
    if edit.shared is not None:
        players.replace_shared(db, pool, edit.shared)
    if edit.snapshot is not None:
        snapshots.replace(db, pool, edit.snapshot)
    return number


def _adopt_players(db: sqlite3.Connection, pool: str, number: int, rows: list[PlayerRow], *, whole: bool) -> None:
    """Write those that change; as part of the edit too, or `whole`: all of them, because it replaces earlier ones."""
    stored = {row.id: row for row in load(db, pool, {row.id: 0 for row in rows}, 0)}
    changed = [row for row in rows if row.id not in stored or columns(stored[row.id]) != columns(row)]
    players.count_crowd(db, pool, {row.id: (row.visible, row.rating) for row in changed})
    write(db, pool, changed)
    touch(db, pool, number, (Touched(row.id, stored.get(row.id), row) for row in (rows if whole else changed)))


def forget_refits(db: sqlite3.Connection, pool: str) -> None:
    """A refit replaces every rating: those before it would only fill the disk."""
    refits = "SELECT number FROM edits WHERE pool = :pool AND action = 'refit'"
    db.execute(f"DELETE FROM edited WHERE edit IN ({refits})", {"pool": pool})
    db.execute("UPDATE edits SET shared = NULL WHERE pool = :pool AND action = 'refit'", {"pool": pool})


def learnt_spread(db: sqlite3.Connection, pool: str) -> LearntSpread | None:
    """The spread of skill that was adopted last."""
    last = "SELECT number, at, detail FROM edits WHERE pool = ? AND action = 'spread' ORDER BY number DESC LIMIT 1"
    if (found := db.execute(last, (pool,)).fetchone()) is None:
        return None
    number, at, detail = found
    return msgspec.convert({**_plain(detail), "number": number, "at": at}, LearntSpread)


def calibrations(db: sqlite3.Connection, pool: str) -> list[Edit]:
    """The edits that change what is said of predictions, or end it, in order."""
    found = db.execute(
        "SELECT number, at, who, action, detail FROM edits WHERE pool = ? AND action IN ('calibration', 'spread') "
        "ORDER BY number",
        (pool,),
    )
    return [Edit(number, at, who, action, _plain(detail)) for number, at, who, action, detail in found]


def refitted_at(db: sqlite3.Connection, pool: str) -> float | None:
    """When a pool was last refitted."""
    at: float | None = db.execute("SELECT max(at) FROM edits WHERE pool = ? AND action = 'refit'", (pool,)).fetchone()[
        0
    ]
    return at


def edit(
    db: sqlite3.Connection,
    pool: str,
    player: PlayerId,
    window: int,
    change: EditRow,
    detail: Mapping[str, object] = NOTHING,
) -> PlayerRow:
    """An admin's change of a player, with its line in the audit; returns the new row."""
    before = next(iter(load(db, pool, {player: 0}, window)), None)
    after, entry = change(before)
    players.count_crowd(db, pool, {player: (after.visible, after.rating)})
    write(db, pool, [after])
    number = add(db, pool, "set" if entry.action == "set" else "reset", entry, detail)
    touch(db, pool, number, [Touched(player, before, after)])
    (row,) = load(db, pool, {player: 0}, window)
    return row


def edits(db: sqlite3.Connection, pool: str, after: int = 0) -> Iterator[Edit]:
    """A pool's edits after a number, in order; without players for whom they were undone."""
    while rows := db.execute(_EDITS, (pool, after, PAGE)).fetchall():
        for number, at, who, action, detail, shared in rows:
            after = number
            parts = None if shared is None else _plain(shared)
            yield Edit(number, at, who, action, _plain(detail), tuple(touched(db, number)), parts)


def touched(db: sqlite3.Connection, number: int, *, struck: bool = False) -> list[Touched]:
    """The players of an edit, or those for whom it was undone."""
    found = db.execute(f"{_TOUCHED} WHERE edit = ? AND struck = ? ORDER BY player", (number, struck))
    return [_touched(row) for row in found]


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
    found = db.execute(_LAST_EDIT, (pool, player)).fetchone()
    return None if found is None else (found[0], bool(found[1]))


def columns(row: PlayerRow | None) -> tuple[object, ...]:
    """What is stored of a player in an edit, five values."""
    if row is None:
        return (None,) * 5
    return row.rating, row.rounds, row.visible, row.last_played, encoded(row.state)


def _plain(text: str) -> dict[str, object]:
    return msgspec.json.decode(text, type=dict[str, object])


_Row = tuple[float, int, int, float | None, str]


def _touched(found: tuple[Any, ...]) -> Touched:
    player = PlayerId(found[0])
    before = None if found[1] is None else _row(player, found[1:6])
    return Touched(player, before, _row(player, found[6:11]))


def _row(player: PlayerId, found: _Row) -> PlayerRow:
    rating, rounds, visible, played, state = found
    return PlayerRow(player, 0, rating, rounds, bool(visible), played, _plain(state), ())
