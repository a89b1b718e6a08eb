"""Changes of a shared pool as rows: what one store wrote in a transaction, for all stores to write.

A shared pool is changed by the events of its log alone. Whatever changes it is first done in a transaction that is
taken back: `caught` notes which rows it changed, by triggers, and reads them. These rows are the event. When the log
has it, every daemon writes them into its own store (`take_in`), the one that made them too: nobody computes what
somebody else did, and no table is forgotten.

Rows point to rounds and edits by their number in the store's sequence, which counts all pools of a store. In an event
they have the numbers of the log (`logged` has both), and `OWN` in place of the event's own.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import msgspec

from equipoise.core.model import PlayerId, ServerId
from equipoise.errors import StoreError
from equipoise.shared.bodies import OWN, Piece, Rows, Value, piece_decoder
from equipoise.store import player_rows, round_rows, sequence
from equipoise.store.connection import reading, store_errors
from equipoise.store.notes import Audit, SessionMemory
from equipoise.store.player_rows import InForgetting, RenamedSnapshot, encoded
from equipoise.store.round_rows import next_number
from equipoise.store.sequence import Purpose
from equipoise.store.transfer import AUDIT_OF_POOL

PIECE = 1_000_000
"""Bytes after which another piece begins."""


class Table(NamedTuple):
    """A table with rows of a pool."""

    key: tuple[str, ...]
    """The columns by which a row is known, beside the pool."""
    numbers: tuple[str, ...] = ()
    """Those of its columns that point into the sequence."""
    of_pool: bool = True
    """Its rows have the pool's name."""
    local: tuple[str, ...] = ()
    """Columns that each store goes on with by itself."""


# In an order in which rows only refer to rows before them.
TABLES: Mapping[str, Table] = {
    "pools": Table((), local=("pruned_rounds",)),
    "players": Table(("id",)),
    "names": Table(("player",)),
    "shared": Table(("key",)),
    "crowds": Table(("visible",)),
    "rounds": Table(("number",), ("number", "voided")),
    "edits": Table(("number",), ("number",)),
    "participants": Table(("round", "place"), ("round",)),
    "edited": Table(("player", "edit"), ("edit",)),
    "voids": Table(("round",), ("round", "edit"), of_pool=False),
    "seasons": Table(("season", "place")),
    "snapshots": Table(("purpose", "number"), ("number",)),
    "hidden": Table(("player",), of_pool=False),
    "sessions": Table(("server",), of_pool=False),
    "audit": Table(("number",), of_pool=False, local=("number",)),
}
BYTES = ("memory", "data")
"""Columns of bytes, which JSON has as base64."""
OF_ROUNDS = ("rounds", "participants", "voids")
"""Tables whose rows go when their round is pruned."""


@dataclass(frozen=True, slots=True)
class Change:
    """An event on its way to the log: the rows that it has changed."""

    kind: str
    """`round`, the action of an edit, or another word for people who read the log."""
    key: tuple[str, str] | None
    """Server and id of a round."""
    pieces: tuple[bytes, ...]


@dataclass(slots=True)
class Taken:
    """The changes by an event from the log to this store."""

    number: int | None = None
    """The store's number for the event; None: it has none."""
    players: set[PlayerId] = field(default_factory=set)
    """Whose rows have changed."""
    parts: bool = False
    """Parts of the system's shared state have changed."""
    rewritten: bool = False
    """What was there has changed, beside players: rounds, edits, all."""
    forgotten: list[InForgetting] = field(default_factory=list)
    """People of this store who have a stand-in now; the files are still to be cleaned."""
    references: dict[Purpose, int] = field(default_factory=dict)
    """States of sequential systems that came with it: the events after which they are, in this store's numbers."""
    memories: list[SessionMemory] = field(default_factory=list)
    """Those of servers' sessions that have another one now."""


class DamagedEvent(StoreError):
    """An event of a log makes no sense here: following ends before it."""


class Position(NamedTuple):
    """How far a store has followed the log of a pool."""

    number: int
    digest: bytes
    """Of the event with that number."""


READING = Position(0, b"")
"""While a base is being read: what is here is not whole, and a start begins with the base again."""


# Events that are made here.


def watch(db: sqlite3.Connection) -> None:
    """Have a connection note which rows change, while `caught` looks."""
    if db.execute("SELECT 1 FROM temp.sqlite_master WHERE name = 'catching'").fetchone():
        return
    db.execute("CREATE TEMP TABLE catching (yes)")
    # Without a key: in a trigger the statement outside says what becomes of a conflict.
    db.execute("CREATE TEMP TABLE changed (name, a, b)")
    for name, table in TABLES.items():
        for what, row in (("INSERT", "NEW"), ("UPDATE", "OLD"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            keys = [f"{row}.{column}" for column in table.key] + ["''"] * (2 - len(table.key))
            db.execute(
                f"CREATE TEMP TRIGGER changed_{name}_{what}_{row} AFTER {what} ON main.{name} "
                "WHEN (SELECT yes FROM catching) "
                f"BEGIN INSERT INTO changed VALUES ('{name}', {', '.join(keys)}); END"
            )


class TakenBack(Exception):
    """Ends a transaction whose changes were caught."""


@contextmanager
def caught(db: sqlite3.Connection, pool: str, changes: list[Change]) -> Iterator[Callable[[], None]]:
    """Append to `changes` what happens inside, as one event, or one at each call of what this yields.

    The caller ends it by `TakenBack`, and takes the transaction back.
    """

    def end_event() -> None:
        if (change := _collected(db, pool)) is not None:
            changes.append(change)

    db.execute("INSERT INTO catching VALUES (1)")
    try:
        yield end_event
    except TakenBack:
        end_event()
        raise


def _collected(db: sqlite3.Connection, pool: str) -> Change | None:
    names = {name for (name,) in db.execute("SELECT DISTINCT name FROM changed")}
    if not names:
        return None
    places = db.execute("SELECT DISTINCT a FROM changed WHERE name IN ('rounds', 'edits')").fetchall()
    numbers = _log_numbers(db, pool)
    own = [number for (number,) in places if not numbers(number)]
    assert len(own) <= 1, "one event has one place in the sequence"

    def number(local: int) -> int:
        if own and local == own[0]:
            return OWN
        if (of_log := numbers(local)) is None and local:
            raise StoreError(f"store: event {local} is not in the log of pool {pool}")
        return of_log or 0

    writer = _Pieces()
    for name in TABLES:
        if name in names:
            _collect(db, pool, name, number, writer)
    db.execute("DELETE FROM changed")
    others = sorted(names - {"audit", "pools"})
    kind, key = _kind(db, own[0]) if own else (others[0] if others else "audit", None)
    return Change(kind, key, writer.end())


def _kind(db: sqlite3.Connection, number: int) -> tuple[str, tuple[str, str] | None]:
    row = db.execute("SELECT server, id FROM rounds WHERE number = ?", (number,)).fetchone()
    if row is not None:
        return "round", row
    return db.execute("SELECT action FROM edits WHERE number = ?", (number,)).fetchone()[0], None


def _collect(
    db: sqlite3.Connection,
    pool: str,
    name: str,
    number: Callable[[int], int],
    writer: _Pieces,
) -> None:
    table, columns = TABLES[name], _columns(db, name)
    keys = dict(zip(table.key, ("a", "b"), strict=False))
    same = [f"now.{column} = was.{key}" for column, key in keys.items()] + ["now.pool = :pool"] * table.of_pool
    query = (
        f"SELECT now.{table.key[0] if keys else 'pool'} IS NULL, was.a, was.b, "
        f"{', '.join(f'now.{column}' for column in columns)} "
        f"FROM (SELECT DISTINCT a, b FROM changed WHERE name = :name) AS was "
        f"LEFT JOIN {name} AS now ON {' AND '.join(same)}"
    )
    outward, outward_key = _outward(columns, table, number), _outward(table.key, table, number)
    gone, players = [], set()
    for is_gone, a, b, *row in db.execute(query, {"name": name, "pool": pool}):
        if is_gone:
            gone.append(outward_key((a, b)[: len(keys)]))
        else:
            writer.add(name, columns, outward(row))
            if name == "participants":
                players.add(row[columns.index("player")])
    writer.delete(name, gone)
    if name == "participants":
        # Names are written behind rounds, apart from them: each goes along with the next round.
        query = "SELECT player, name FROM names WHERE pool = ? AND player IN (SELECT value FROM json_each(?))"
        for row in db.execute(query, (pool, encoded(sorted(players)))):
            writer.add("names", ("player", "name"), row)


_KINDS: dict[str, Mapping[str, tuple[type, ...]]] = {}
"""Of tables that were asked for: every store that is open has the same ones."""


def _kinds(db: sqlite3.Connection, name: str) -> Mapping[str, tuple[type, ...]]:
    """Return the columns of a table, and the types that an event has their values in."""
    if name not in _KINDS:
        _KINDS[name] = {row[1]: _AFFINITY[row[2]] for row in db.execute(f"PRAGMA table_info({name})")}
    return _KINDS[name]


def _columns(db: sqlite3.Connection, name: str, *, all_of_them: bool = False) -> tuple[str, ...]:
    left_out = {"pool", *([] if all_of_them else TABLES[name].local)}
    return tuple(column for column in _kinds(db, name) if column not in left_out)


def _outward(
    columns: Sequence[str], table: Table, number: Callable[[int], int]
) -> Callable[[Sequence[Value | bytes]], tuple[Value, ...]]:
    """Return what makes a row of a store one of an event."""
    numbers = {place for place, column in enumerate(columns) if column in table.numbers}
    blobs = {place for place, column in enumerate(columns) if column in BYTES}
    details = {place for place, column in enumerate(columns) if column == "detail"}

    def outward(row: Sequence[Value | bytes]) -> tuple[Value, ...]:
        values = list(row)
        for place in numbers:
            if values[place] is not None:
                values[place] = number(values[place])  # type: ignore[arg-type]
        for place in blobs:
            values[place] = base64.b64encode(values[place]).decode()  # type: ignore[arg-type]
        for place in details:
            values[place] = _detail(values[place], number)  # type: ignore[arg-type]
        return tuple(values)  # type: ignore[arg-type]

    return outward


def _detail(text: str, number: Callable[[int], int | None]) -> str:
    """The detail of an edit, which may name another one by its number."""
    detail = msgspec.json.decode(text, type=dict[str, object])
    if isinstance(edit := detail.get("edit"), int):
        detail["edit"] = number(edit)
        return msgspec.json.encode(detail).decode()
    return text


def _log_numbers(db: sqlite3.Connection, pool: str) -> Callable[[int], int | None]:
    numbers: dict[int, int | None] = {}

    def of_log(local: int) -> int | None:
        if local not in numbers:
            query = "SELECT number FROM logged WHERE local = ? AND pool = ?"
            row = db.execute(query, (local, pool)).fetchone()
            numbers[local] = row and row[0]
        return numbers[local]

    return of_log


class _Pieces:
    """Pieces that are being filled."""

    def __init__(self, *, anew: bool = False) -> None:
        self._full: list[bytes] = []
        self._anew = anew
        self._rows: dict[str, tuple[tuple[str, ...], list[tuple[Value, ...]]]] = {}
        self._deleted: dict[str, list[tuple[Value, ...]]] = {}
        self._size = 0

    def add(self, name: str, columns: tuple[str, ...], row: tuple[Value, ...]) -> None:
        self._rows.setdefault(name, (columns, []))[1].append(row)
        self._size += len(repr(row))
        if self._size > PIECE:
            self._full.append(self._encoded())

    def delete(self, name: str, keys: list[tuple[Value, ...]]) -> None:
        if keys:
            self._deleted[name] = keys

    def full(self) -> list[bytes]:
        """Return pieces that are full, once."""
        pieces, self._full = self._full, []
        return pieces

    def end(self) -> tuple[bytes, ...]:
        return (*self.full(), self._encoded())

    def _encoded(self) -> bytes:
        rows = {name: Rows(columns, list(rows)) for name, (columns, rows) in self._rows.items()}
        piece = msgspec.json.encode(Piece(rows, self._deleted, self._anew))
        self._rows, self._deleted, self._anew, self._size = {}, {}, False, 0
        return piece


# Events that come from the log.

_AFFINITY: Mapping[str, tuple[type, ...]] = {
    "TEXT": (str, type(None)),
    "REAL": (float, int, type(None)),
    "INTEGER": (int, type(None)),
    "BLOB": (str,),
}
_WHOLE_ROUND = "SELECT 1 FROM rounds WHERE number = ? AND NOT pruned"


class _Numbers:
    """Numbers of the store for those of an event."""

    of_all = False
    """The rows are those of a whole pool."""

    def __init__(self, db: sqlite3.Connection, pool: str) -> None:
        self._db, self._pool = db, pool
        self.own: int | None = None
        self._known: dict[int, int | None] = {}
        self.oldest: int | None = None
        """The first event before this one that it changes."""

    def local(self, number: int) -> int | None:
        """Return the store's number; None: it is not here."""
        if number == OWN:
            if self.own is None:
                self.own = next_number(self._db)
            return self.own
        if number == 0:
            return 0
        if number not in self._known:
            query = "SELECT local FROM logged WHERE pool = ? AND number = ?"
            row = self._db.execute(query, (self._pool, number)).fetchone()
            self._known[number] = row and row[0]
        return self._known[number]

    def takes(self, name: str, local: Value | bytes) -> bool:
        """Return whether a row about this round, edit or snapshot is written; notes which event it changes."""
        if not isinstance(local, int):  # it is not known here
            return False
        if local == self.own or name == "snapshots":
            return True
        if name in OF_ROUNDS and self._db.execute(_WHOLE_ROUND, (local,)).fetchone() is None:
            return False
        self.oldest = min(self.oldest or local, local)
        return True


def take_in(
    db: sqlite3.Connection,
    pool: str,
    position: Position,
    pieces: Sequence[bytes],
    renamed: RenamedSnapshot,
) -> Taken:
    """Write what the next event of the log has changed; within a transaction. DamagedEvent: it makes no sense."""
    numbers, taken = _Numbers(db, pool), Taken()
    # Rows of one table may come in another piece than those that they refer to.
    db.execute("PRAGMA defer_foreign_keys = ON")
    try:
        for piece in pieces:
            content = piece_decoder.decode(piece)
            _take_piece(db, pool, content, numbers, taken)
            for mark, stand_in in content.forgotten:
                taken.forgotten += _forget(db, mark, PlayerId(stand_in), renamed)
    except (msgspec.DecodeError, sqlite3.IntegrityError, sqlite3.DataError, ValueError, OverflowError) as error:
        raise DamagedEvent(f"event {position.number} of pool {pool} in the log is damaged: {error}") from error
    if numbers.oldest is not None:
        taken.rewritten = True
        sequence.outdate(db, pool, numbers.oldest)
    taken.number = numbers.own
    if numbers.own is not None:
        db.execute("INSERT INTO logged (pool, number, local) VALUES (?, ?, ?)", (pool, position.number, numbers.own))
    move(db, pool, position)
    return taken


def _take_piece(db: sqlite3.Connection, pool: str, piece: Piece, numbers: _Numbers, taken: Taken) -> None:
    if unknown := {*piece.rows, *piece.deleted} - {*TABLES}:
        raise ValueError(f"no table {min(unknown)} is known")
    if piece.anew:
        drop(db, pool)
    elif (rows := piece.rows.get("snapshots")) and not numbers.of_all:  # it leads on in the place of those from before
        place = rows.columns.index("purpose")
        # A base of this store stays: where old rounds were deleted, nothing else leads past an event that is struck. It
        # goes with another spread of skill, which is an edit.
        kept = " AND NOT base" if numbers.own is None else ""
        for purpose in {row[place] for row in rows.rows}:
            db.execute(f"DELETE FROM snapshots WHERE pool = ? AND purpose = ?{kept}", (pool, purpose))
    taken.rewritten |= piece.anew
    for name in reversed([*TABLES]):
        if keys := piece.deleted.get(name):
            _delete(db, pool, name, keys, numbers, taken)
    for name in TABLES:
        if rows := piece.rows.get(name):
            _write(db, pool, name, rows, numbers, taken)


def _delete(
    db: sqlite3.Connection, pool: str, name: str, keys: list[tuple[Value, ...]], numbers: _Numbers, taken: Taken
) -> None:
    table = TABLES[name]
    inward = _inward(db, name, table.key, numbers)
    rows = [row for key in keys if (row := inward(key)) is not None]
    _note(name, table.key, rows, taken)
    where = " AND ".join(f"{column} = ?" for column in (*(["pool"] if table.of_pool else []), *table.key))
    db.executemany(f"DELETE FROM {name} WHERE {where}", [(pool, *row) if table.of_pool else row for row in rows])


def _write(db: sqlite3.Connection, pool: str, name: str, rows: Rows, numbers: _Numbers, taken: Taken) -> None:
    table = TABLES[name]
    if unknown := {*rows.columns} - {*_columns(db, name, all_of_them=True)}:
        raise ValueError(f"table {name} has no column {min(unknown)}")
    inward = _inward(db, name, rows.columns, numbers)
    written = [row for values in rows.rows if (row := inward(values)) is not None]
    if name == "audit" and numbers.of_all:  # this store keeps its own lines, and has most of the others
        present = set(db.execute(f"SELECT {', '.join(rows.columns)} FROM audit"))
        written = [row for row in written if row not in present]
    if name == "sessions":
        memories = [_memory(rows.columns, row) for row in written]
        newer = [round_rows.is_newer(db, memory.server, memory.memory, memory.at) for memory in memories]
        written = [*compress(written, newer)]
        taken.memories += compress(memories, newer)
    _note(name, rows.columns, written, taken)
    columns = [*(["pool"] if table.of_pool else []), *rows.columns]
    statement = f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    if name != "audit":
        by_pool = table.of_pool and not {*table.key[:1]} & {*table.numbers}  # numbers are of all pools
        keys = [*(["pool"] if by_pool else []), *table.key]
        sets = ", ".join(f"{column} = excluded.{column}" for column in rows.columns if column not in table.key)
        statement += f" ON CONFLICT ({', '.join(keys)}) DO " + (f"UPDATE SET {sets}" if sets else "NOTHING")
    db.executemany(statement, [(pool, *row) if table.of_pool else row for row in written])


def _inward(
    db: sqlite3.Connection, name: str, columns: Sequence[str], numbers: _Numbers
) -> Callable[[Sequence[Value]], tuple[Value | bytes, ...] | None]:
    """Return what makes a row of an event one of the store; None: it is about a round that was pruned here."""
    kinds = _kinds(db, name)
    types = [kinds[column] for column in columns]
    places = [place for place, column in enumerate(columns) if column in TABLES[name].numbers]
    blobs = [place for place, column in enumerate(columns) if column in BYTES]
    details = [place for place, column in enumerate(columns) if column == "detail"]

    def inward(row: Sequence[Value]) -> tuple[Value | bytes, ...] | None:
        values: list[Value | bytes] = list(row)
        for value, kind in zip(row, types, strict=True):
            if type(value) not in kind:
                raise ValueError(f"{value!r:.60} in a row of {name}")
        for place in places:
            if (number := row[place]) is not None:
                values[place] = numbers.local(int(number))
        if places and not numbers.takes(name, values[places[0]]):
            return None
        for place in blobs:
            values[place] = base64.b64decode(str(row[place]))
        for place in details:
            values[place] = _detail(str(row[place]), numbers.local)
        return tuple(values)

    return inward


def _note(name: str, columns: Sequence[str], rows: Sequence[Sequence[Value | bytes]], taken: Taken) -> None:
    if name == "players":
        place = columns.index("id")
        taken.players.update(PlayerId(str(row[place])) for row in rows)
    taken.parts |= name == "shared" and bool(rows)
    taken.rewritten |= name == "hidden"
    if name == "snapshots":
        taken.references |= {row[columns.index("purpose")]: row[columns.index("number")] for row in rows}  # type: ignore[misc]


def _memory(columns: Sequence[str], row: Sequence[Value | bytes]) -> SessionMemory:
    server, memory, at = (row[columns.index(name)] for name in ("server", "memory", "at"))
    return SessionMemory(ServerId(str(server)), bytes(memory), float(at))  # type: ignore[arg-type]


def drop(db: sqlite3.Connection, pool: str) -> None:
    """Delete all rows of a pool."""
    db.execute("PRAGMA defer_foreign_keys = ON")
    of_pool = "IN (SELECT number FROM rounds WHERE pool = ?)"
    db.execute(f"DELETE FROM voids WHERE round {of_pool}", (pool,))
    for name in reversed([*TABLES]):
        if TABLES[name].of_pool:
            db.execute(f"DELETE FROM {name} WHERE pool = ?", (pool,))


# People who are forgotten, and states of systems for all.


def mark_of(player: PlayerId, stand_in: PlayerId) -> str:
    """Return what tells a store that has a player, and nobody else, who has the stand-in now."""
    return sha256(f"{stand_in} {player}".encode()).hexdigest()


def forgetting(player: PlayerId, stand_in: PlayerId, entry: Audit) -> Change:
    """Return the event by which all stores put a stand-in in a player's place, with the line of the audit."""
    line = (entry.at, entry.who, entry.action, stand_in, entry.before, entry.after)
    rows = Rows(("at", "who", "action", "target", "before", "after"), [line])
    piece = Piece({"audit": rows}, forgotten=((mark_of(player, stand_in), stand_in),))
    return Change("forget", None, (msgspec.json.encode(piece),))


def _forget(db: sqlite3.Connection, mark: str, stand_in: PlayerId, renamed: RenamedSnapshot) -> Iterator[InForgetting]:
    rows = db.execute("SELECT id FROM players UNION SELECT player FROM names").fetchall()
    for player in (PlayerId(row[0]) for row in rows if mark_of(row[0], stand_in) == mark):
        db.execute("INSERT OR IGNORE INTO forgetting (player, stand_in) VALUES (?, ?)", (player, stand_in))
        player_rows.rename(db, player, stand_in, renamed)
        yield InForgetting(player, stand_in)


def without(piece: bytes, player: PlayerId, stand_in: PlayerId, renamed: RenamedSnapshot) -> bytes | None:
    """Return a piece with a stand-in in a player's place, and without their name; None: it does not name them."""
    content, old, new = piece_decoder.decode(piece), player.encode(), stand_in.encode()
    for rows in content.rows.values():
        blobs = [place for place, column in enumerate(rows.columns) if column in BYTES]
        name = rows.columns.index("name") if "name" in rows.columns else None
        for at, row in enumerate(rows.rows):
            values = list(row)
            for place in blobs:
                if old in (data := base64.b64decode(str(row[place]))):
                    is_snapshot = "system" in rows.columns
                    system = str(row[rows.columns.index("system")]) if is_snapshot else ""
                    data = renamed(system, data, player, stand_in) if is_snapshot else data.replace(old, new)
                    values[place] = base64.b64encode(data).decode()
                    if is_snapshot:
                        values[rows.columns.index("sha256")] = sha256(data).hexdigest()
            if name is not None and player in row:
                values[name] = player_rows.FORGOTTEN
            rows.rows[at] = tuple(values)
    text = msgspec.json.encode(content).replace(old, new)
    return None if text == piece else text


def reference(db: sqlite3.Connection, pool: str) -> Change | None:
    """Return the newest snapshots of a pool as an event, by which all machines go on; None: it has none."""
    writer, columns = _Pieces(), _columns(db, "snapshots")
    numbers = _log_numbers(db, pool)
    outward = _outward(columns, TABLES["snapshots"], lambda local: numbers(local) or 0)
    query = f"SELECT {', '.join(columns)}, max(number) FROM snapshots WHERE pool = ? AND number > 0 GROUP BY purpose"
    rows = db.execute(query, (pool,)).fetchall()
    for row in rows:
        writer.add("snapshots", columns, outward(row[:-1]))
    return Change("reference", None, writer.end()) if rows else None


# A pool as a whole: the rows with which its log begins, and with which a daemon begins that joins it.

_ALSO = {
    "voids": "round IN (SELECT number FROM rounds WHERE pool = :pool)",
    "sessions": "server IN (SELECT server FROM rounds WHERE pool = :pool)",
    "audit": f"number IN (SELECT number {AUDIT_OF_POOL})",
}


def number_all(db: sqlite3.Connection, pool: str, last: int) -> int:
    """Number the rounds and edits of a pool that have no number in its log, behind `last`; returns the last one then.

    With 0 for a log that is to begin: all of them.
    """
    if not last:
        db.execute("DELETE FROM logged WHERE pool = ?", (pool,))
    new = db.execute(
        "INSERT INTO logged (pool, number, local) SELECT :pool, :last + row_number() OVER (ORDER BY number), number "
        "FROM (SELECT number FROM rounds WHERE pool = :pool UNION ALL SELECT number FROM edits WHERE pool = :pool) "
        "WHERE number NOT IN (SELECT local FROM logged WHERE pool = :pool)",
        {"pool": pool, "last": last},
    )
    return last + new.rowcount


def whole(db: sqlite3.Connection, pool: str) -> Iterator[bytes]:
    """Yield all rows of a pool whose events have numbers, as pieces; they go in the place of all that is there."""
    numbers, writer = _log_numbers(db, pool), _Pieces(anew=True)

    def number(local: int) -> int:
        return numbers(local) or 0

    for name, table in TABLES.items():
        columns = _columns(db, name, all_of_them=name != "audit")
        outward = _outward(columns, table, number)
        where = "pool = :pool" if table.of_pool else _ALSO.get(name, "true")
        order = f" ORDER BY {', '.join(table.key)}" if table.key else ""
        for row in db.execute(f"SELECT {', '.join(columns)} FROM {name} WHERE {where}{order}", {"pool": pool}):
            writer.add(name, columns, outward(row))
            yield from writer.full()
    yield from writer.end()


class _NumbersOfAll(_Numbers):
    """Numbers for a store that has none yet for this log."""

    of_all = True

    def __init__(self, db: sqlite3.Connection, pool: str) -> None:
        super().__init__(db, pool)
        row = db.execute("SELECT local - number FROM logged WHERE pool = ? LIMIT 1", (pool,)).fetchone()
        self._before: int = next_number(db) - 1 if row is None else row[0]

    def local(self, number: int) -> int | None:
        if number <= 0:
            return number
        local = self._before + number
        self._db.execute(
            "INSERT OR IGNORE INTO logged (pool, number, local) VALUES (?, ?, ?)", (self._pool, number, local)
        )
        return local

    def takes(self, name: str, local: Value | bytes) -> bool:
        return True


def begin(db: sqlite3.Connection, pool: str, piece: bytes) -> None:
    """Write the next piece of a whole pool, into a store that follows its log from there on."""
    try:
        content = piece_decoder.decode(piece)
        if content.anew:
            db.execute("DELETE FROM logged WHERE pool = ?", (pool,))
            move(db, pool, READING)
        db.execute("PRAGMA defer_foreign_keys = ON")
        _take_piece(db, pool, content, _NumbersOfAll(db, pool), Taken())
    except (msgspec.DecodeError, sqlite3.IntegrityError, sqlite3.DataError, ValueError, OverflowError) as error:
        raise DamagedEvent(f"the beginning of pool {pool} in the log is damaged: {error}") from error


@contextmanager
def read_whole(path: Path, pool: str) -> Iterator[tuple[Position | None, Iterator[bytes]]]:
    """All rows of a pool as pieces (`whole`), and the event that they are as of, if its log is followed.

    Read beside the connection that writes; for one thread at a time.
    """
    with store_errors(), closing(reading(path, any_thread=True)) as db:
        db.execute("BEGIN")
        yield positions(db).get(pool), whole(db, pool)


def last_round(db: sqlite3.Connection, pool: str) -> tuple[int | None, str, str] | None:
    """Return the number in the log, if any, the server and the id of the last round of a pool; None: it has none."""
    row: tuple[int | None, str, str] | None = db.execute(
        "SELECT logged.number, server, id FROM rounds "
        "LEFT JOIN logged ON logged.pool = rounds.pool AND logged.local = rounds.number "
        "WHERE rounds.pool = ? ORDER BY rounds.number DESC LIMIT 1",
        (pool,),
    ).fetchone()
    return row


# How far a store has come.


def move(db: sqlite3.Connection, pool: str, position: Position | None) -> None:
    """Note how far the store has followed a log; None: it follows none any more."""
    if position is None:
        db.execute("DELETE FROM followed WHERE pool = ?", (pool,))
        db.execute("DELETE FROM logged WHERE pool = ?", (pool,))
        return
    db.execute(
        "INSERT INTO followed (pool, number, digest) VALUES (?, ?, ?) "
        "ON CONFLICT (pool) DO UPDATE SET number = excluded.number, digest = excluded.digest",
        (pool, *position),
    )


def positions(db: sqlite3.Connection) -> dict[str, Position]:
    """Return how far the store has followed, by pool: those that are shared."""
    rows = db.execute("SELECT pool, number, digest FROM followed").fetchall()
    return {pool: Position(number, bytes(digest)) for pool, number, digest in rows}
