"""One person in a store: whether they are hidden, every row about them, and another id in all of these rows."""

from __future__ import annotations

import mmap
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from sqlite_utils import Database

from equipoise.core.model import STEAM_ID_BASE, PlayerId
from equipoise.errors import RatingError
from equipoise.store.connection import reading, store_errors
from equipoise.store.notes import Audit

FORGOTTEN = "(forgotten)"
"""In place of the name of somebody who was forgotten."""
ANOTHER = "(another player)"
"""In place of others' ids in what is stored about one person."""

WORDS = ("audit", "decisions", "edits")
"""Tables with words of people, who write ids in any form."""
SHORTEST_NAME = 3
"""A shorter name is left in what admins wrote: it is a part of other words."""

_ID = re.compile(r"\b7656\d{13}\b")


class InForgetting(NamedTuple):
    """Somebody who is being forgotten; both are the same when every row has the stand-in."""

    player: PlayerId
    stand_in: PlayerId


RenamedSnapshot = Callable[[str, bytes, str, str], bytes]
"""Returns the snapshot of a system, by name, with another id in a player's place. RatingError: it is unreadable."""


def hidden(db: sqlite3.Connection) -> frozenset[PlayerId]:
    """Return the players who are shown nowhere."""
    return frozenset(PlayerId(player) for (player,) in db.execute("SELECT player FROM hidden"))


def hide(db: sqlite3.Connection, player: PlayerId, *, hide: bool) -> None:
    """Show a player nowhere from now on, or everywhere again."""
    statement = "INSERT OR IGNORE INTO hidden VALUES (?)" if hide else "DELETE FROM hidden WHERE player = ?"
    db.execute(statement, (player,))


def forgetting(db: sqlite3.Connection) -> list[InForgetting]:
    """Return who is being forgotten."""
    rows = db.execute("SELECT player, stand_in FROM forgetting ORDER BY stand_in")
    return [InForgetting(PlayerId(player), PlayerId(stand_in)) for player, stand_in in rows]


def note_untold(db: sqlite3.Connection, pools: Iterable[str], someone: InForgetting, entry: Audit) -> None:
    """Note that the logs of these pools are to be told of somebody, with the line of the audit."""
    what = int(someone.player), someone.stand_in, entry.at, entry.who
    insert = "INSERT OR REPLACE INTO untold (pool, player, stand_in, at, who) VALUES (?, ?, ?, ?, ?)"
    db.executemany(insert, [(pool, *what) for pool in pools])


def untold(db: sqlite3.Connection, pool: str) -> list[tuple[InForgetting, Audit]]:
    """Return of whom the log of a pool is still to be told."""
    rows = db.execute("SELECT player, stand_in, at, who FROM untold WHERE pool = ? ORDER BY at", (pool,)).fetchall()
    return [
        (InForgetting(PlayerId(str(player)), PlayerId(stand_in)), Audit(at, who, "forget", str(player), "", ""))
        for player, stand_in, at, who in rows
    ]


def exports_since(db: sqlite3.Connection, player: PlayerId) -> list[Audit]:
    """Return the lines of the audit about exports of pools since a player's first rated round."""
    rows = db.execute(
        "SELECT at, who, action, target, before, after, number FROM audit WHERE action = 'export' AND at >= coalesce(("
        "SELECT min(recorded_at) FROM participants JOIN rounds ON rounds.number = round WHERE player = ?), 0) "
        "AND target LIKE 'export of pool %' ORDER BY number",
        (player,),
    )
    return [Audit(*row) for row in rows]


def rows_about(path: Path, player: PlayerId) -> dict[str, list[dict[str, Any]]]:
    """Return every row of a store that names a player, by table, without the ids of others; beside its connection."""
    with store_errors(), closing(reading(path)) as db:
        tables = {}
        for table, columns in _texts(db):
            where = " OR ".join(f"instr(CAST([{column}] AS TEXT), :player)" for column in columns)
            rows = db.execute(f"SELECT * FROM [{table}] WHERE {where}", {"player": player})
            names = [name for name, *_ in rows.description]
            if lines := [dict(zip(names, map(_told(player), row), strict=True)) for row in rows]:
                tables[table] = lines
        return tables


def _told(player: PlayerId) -> Callable[[Any], Any]:
    """Return what makes a column readable: JSON as values, and nobody's id but the player's."""

    def told(value: Any) -> Any:
        if not isinstance(value, str | bytes):
            return value
        text = value if isinstance(value, str) else value.decode()
        text = _ID.sub(lambda match: match[0] if match[0] == player else ANOTHER, text)
        try:
            return msgspec.json.decode(text) if text[:1] in ("{", "[") else text
        except msgspec.DecodeError:
            return text

    return told


def rename(db: sqlite3.Connection, player: PlayerId, stand_in: PlayerId, renamed: RenamedSnapshot) -> None:
    """Put a stand-in, who has no name and is hidden, in a player's place in every row; the caller commits.

    All ids have one length, so that a text with another id is of the same form.
    """
    forms = _forms(player)
    written = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, forms))})(?!\d)")
    db.create_function("renamed", 1, lambda text: text and written.sub(stand_in, text), deterministic=True)
    # Participants refer to players: both have the stand-in at the end.
    db.execute("PRAGMA defer_foreign_keys = ON")
    _rename_in_words(db, player)
    db.execute("UPDATE names SET name = ? WHERE player = ?", (FORGOTTEN, player))
    db.execute("UPDATE seasons SET name = NULL WHERE player = ?", (player,))
    hide(db, player, hide=True)
    for table, columns in _texts(db):
        # Only what people write has other forms than the first: to look for all would take four times as long.
        spellings = forms if table in WORDS else forms[:1]
        where = " OR ".join(f"instr(CAST([{column}] AS TEXT), '{form}')" for column in columns for form in spellings)
        sets = ", ".join(
            "memory = CAST(renamed(CAST(memory AS TEXT)) AS BLOB)"
            if column == "memory"
            else f"[{column}] = renamed([{column}])"
            for column in columns
        )
        # The stand-in may have rows of a shared pool whose log was not told yet: those that came since have it all.
        db.execute(f"UPDATE OR REPLACE [{table}] SET {sets} WHERE {where}")
    # A group of players is called by their ids in order.
    groups = db.execute("SELECT pool, key FROM shared WHERE instr(key, ?) AND instr(key, '+')", (stand_in,)).fetchall()
    for pool, key in groups:
        in_order = "+".join(sorted(key.split("+")))
        db.execute("UPDATE shared SET key = ? WHERE pool = ? AND key = ?", (in_order, pool, key))
    _rename_in_snapshots(db, player, stand_in, renamed)


def _forms(player: PlayerId) -> list[str]:
    """Return the forms in which an id is written, as the daemon stores it first."""
    account = int(player) - STEAM_ID_BASE
    if account < 0:  # a stand-in's
        return [player]
    return [player, *(f"STEAM_{universe}:{account % 2}:{account // 2}" for universe in (0, 1)), f"[U:1:{account}]"]


def _rename_in_words(db: sqlite3.Connection, player: PlayerId) -> None:
    """Take a player's names out of what admins wrote: commands of consoles, and reasons."""
    names = [name for (name,) in db.execute("SELECT name FROM names WHERE player = ?", (player,))]
    names = [re.escape(name) for name in names if len(name) >= SHORTEST_NAME and name != FORGOTTEN]
    if not names:
        return
    written = re.compile(rf"(?<!\w)({'|'.join(names)})(?!\w)")
    db.create_function("unnamed", 1, lambda text: text and written.sub(FORGOTTEN, text), deterministic=True)
    db.execute("UPDATE audit SET before = unnamed(before), after = unnamed(after)")
    reason = "json_extract(detail, '$.reason')"
    db.execute(
        f"UPDATE edits SET detail = json_set(detail, '$.reason', unnamed({reason})) WHERE {reason} != unnamed({reason})"
    )


def _texts(db: sqlite3.Connection) -> Iterator[tuple[str, list[str]]]:
    """Yield each table with those of its columns that may name a player."""
    for table in Database(db).tables:
        columns = [column.name for column in table.columns if column.type == "TEXT" or column.name == "memory"]
        if columns:
            yield table.name, columns


def _rename_in_snapshots(
    db: sqlite3.Connection, player: PlayerId, stand_in: PlayerId, renamed: RenamedSnapshot
) -> None:
    rows = db.execute("SELECT rowid, system, data FROM snapshots WHERE instr(data, ?)", (player.encode(),)).fetchall()
    for row, system, data in rows:
        try:
            new = renamed(system, data, player, stand_in)
        except RatingError:  # nobody could go on from it either
            db.execute("DELETE FROM snapshots WHERE rowid = ?", (row,))
        else:
            db.execute("UPDATE snapshots SET data = ?, sha256 = ? WHERE rowid = ?", (new, sha256(new).hexdigest(), row))


def clean(db: sqlite3.Connection) -> None:
    """Write the file anew, without what was deleted or replaced: as long as a backup takes."""
    db.execute("VACUUM")


def empty_log(db: sqlite3.Connection) -> bool:
    """Empty the write-ahead log; False: another program is reading the store, and needs it."""
    (busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def names_in(file: Path, player: PlayerId) -> bool:
    """Return whether a file names a player: a store by its rows, any other by its bytes."""
    if not file.stat().st_size:
        return False
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:15] == b"SQLite format 3":
            uri = f"file:{quote(str(file))}?mode=ro&immutable=1"
            with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as db:
                rows = "SELECT player FROM names UNION ALL SELECT id FROM players"
                return db.execute(f"SELECT 1 FROM ({rows}) WHERE player = ?", (player,)).fetchone() is not None
        return content.find(player.encode()) >= 0
