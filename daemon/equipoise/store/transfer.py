"""A pool on its way from one store to another: read beside the connection that writes, and written whole.

The connection that reads never writes, so it never checkpoints. While it is open, the write-ahead log keeps what is
written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import Enum
from heapq import merge
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
from sqlite_utils import Database

from equipoise.core.model import LineupPlayer, Mode, PlayerId, Side
from equipoise.errors import FileError, StoreRefused
from equipoise.store import notes, past, player_rows, pool_file, round_rows, sequence
from equipoise.store.connection import reading, store_errors
from equipoise.store.migrations import MIGRATIONS
from equipoise.store.notes import Audit
from equipoise.store.past import SeeRound
from equipoise.store.player_rows import Fingerprint, PlayerRow, encoded
from equipoise.store.round_rows import ParticipantRow, Record, next_number
from equipoise.store.seasons import STANDING
from equipoise.store.sequence import ADD_EDITED, EDITED, Snapshot

_HEAD = "SELECT system, params, changed_at, pruned_rounds FROM pools WHERE pool = ?"
_COUNTS = {
    "parts": ("shared", "pool = :pool"),
    "bases": ("snapshots", "pool = :pool AND base"),
    "seasons": ("seasons", "pool = :pool AND place = 1"),
    **{table: (table, "pool = :pool") for table in ("players", "names", "rounds", "edits", "edited")},
    "voids": ("voids", "round IN (SELECT number FROM rounds WHERE pool = :pool)"),
}
"""Tables and conditions of the lines that the head counts."""
_FIRST = """
SELECT min(number) FROM (
    SELECT min(number) AS number FROM rounds WHERE pool = :pool
    UNION ALL SELECT min(number) FROM edits WHERE pool = :pool
)
"""
# A line says what it is about in words: a pool by name, one of its players, a server whose rounds it has, or a round.
AUDIT_OF_POOL = """
FROM audit WHERE target = 'pool ' || :pool
OR EXISTS (SELECT 1 FROM players WHERE pool = :pool AND id = audit.target)
OR target IN (SELECT DISTINCT server FROM rounds WHERE pool = :pool)
OR target IN (
    SELECT 'round ' || json_extract(detail, '$.round') || ' of ' || json_extract(detail, '$.server')
    FROM edits WHERE pool = :pool AND action = 'void'
)
"""


def _names(line: type[msgspec.Struct], *others: str) -> tuple[str, ...]:
    """Return the fields of a line that are columns of its table."""
    return tuple(name for name in line.__struct_fields__ if name not in others)


_BASE = _names(pool_file.Base)
_RECORD, _SKILL = _names(Record), _names(pool_file.Skill)
_ROUND, _PARTICIPANT = _names(pool_file.Round, "participants"), _names(pool_file.Participant)
_EDIT, _VOID, _ENTRY = _names(pool_file.Edit), _names(pool_file.Void), _names(pool_file.Entry)

_PARTS = "SELECT key, part FROM shared WHERE pool = ? ORDER BY key"
_BASES = f"SELECT {', '.join(_BASE)} FROM snapshots WHERE pool = ? AND base ORDER BY purpose"
_PLAYERS = f"SELECT id, {', '.join((*_RECORD, *_SKILL))} FROM players WHERE pool = ? ORDER BY id"
_NAMES = "SELECT player, name FROM names WHERE pool = ? ORDER BY player"
_SEASONS = f"SELECT season, at, {STANDING} FROM seasons WHERE pool = ? ORDER BY at, season, place"
_ROUNDS = f"SELECT {', '.join(_ROUND)} FROM rounds WHERE pool = ? ORDER BY number"
_PARTICIPANTS = f"SELECT {', '.join(_PARTICIPANT)} FROM participants WHERE round = ? ORDER BY place"
_EDITS = f"SELECT {', '.join(_EDIT)} FROM edits WHERE pool = ? ORDER BY number"
_EDITED = f"SELECT player, struck, {EDITED} FROM edited WHERE edit = ? ORDER BY player"
_VOIDS = """
SELECT round, edit, voids.prediction, participants FROM voids JOIN rounds ON rounds.number = round
WHERE pool = ? ORDER BY round
"""

_plain = msgspec.json.Decoder(dict[str, object]).decode
# By the names of their columns. What is not among them is in a line as it is stored.
_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("partial", "waiting", "pruned", "quit", "visible"), bool),
    **dict.fromkeys(("winner", "side"), Side),
    "mode": Mode,
    **dict.fromkeys(("state", "params", "detail", "shared"), _plain),
    **dict.fromkeys(("spans", "bots"), msgspec.json.Decoder(tuple[pool_file.Span, ...]).decode),
    "counts": msgspec.json.Decoder(pool_file.Counts).decode,
    "lineup": msgspec.json.Decoder(tuple[LineupPlayer, ...]).decode,
    "skill_at_start": msgspec.json.Decoder(dict[str, float]).decode,
    "squads": msgspec.json.Decoder(tuple[tuple[str, ...], ...]).decode,
    "participants": msgspec.json.Decoder(tuple[ParticipantRow, ...]).decode,
}
_NULL_IF_EMPTY = ("squads", "bots", "spans")


def _fields(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """Return the columns of a row as the fields of a line."""
    return {
        name: _READ[name](column) if name in _READ and column is not None else column
        for name, column in zip(names, row, strict=True)
        if column is not None or name not in _NULL_IF_EMPTY
    }


def _columns(names: Sequence[str], line: msgspec.Struct) -> Iterator[object]:
    """Yield the fields of a line as the columns of a row."""
    for name in names:
        value = getattr(line, name)
        if name in _NULL_IF_EMPTY and not value:
            yield None
        elif isinstance(value, Enum):
            yield value.value
        elif name in _READ and value is not None and not isinstance(value, bool):
            yield encoded(value)
        else:
            yield value


class Beside:
    """A store that another process has open, only to be read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fingerprint(self, pool: str) -> Fingerprint | None:
        """The system and parameters that made a pool's ratings; None: it has none yet."""
        with store_errors(), closing(reading(self._path, any_thread=True)) as db:
            return player_rows.fingerprint(db, pool)

    async def players(self, pool: str, ids: Sequence[PlayerId], window: int) -> Mapping[PlayerId, PlayerRow]:
        """Rows of these players; those who were never rated are missing."""
        with store_errors(), closing(reading(self._path, any_thread=True)) as db:
            return player_rows.stored(db, pool, ids, window)

    async def rated_rounds(self, pool: str, see: SeeRound) -> None:
        """Every rated round of a pool as it is now. StoreRefused: the other process has an older or newer version."""
        with store_errors(), closing(reading(self._path, any_thread=True)) as db:
            db.execute("BEGIN")
            (steps,) = db.execute("PRAGMA user_version").fetchone()
            if steps != len(MIGRATIONS):
                raise StoreRefused(f"{self._path}: the daemon that has it open is of another version: restart it")
            past.see(db, pool, see)


@contextmanager
def exported(path: Path, pool: str) -> Iterator[Iterator[pool_file.AnyLine]]:
    """Every line of a pool as it is now, the pool's own first; for one thread at a time.

    StoreRefused: the store has no such pool. StoreError: it cannot be read.
    """
    with store_errors():
        connection = reading(path, any_thread=True)
    with closing(connection), closing(_lines(connection, pool)) as lines:  # it ends before what it reads from
        yield lines


def _lines(db: sqlite3.Connection, pool: str) -> Generator[pool_file.AnyLine, None, None]:
    with store_errors():
        db.execute("BEGIN")
        yield from _read(db, pool)


def _read(db: sqlite3.Connection, pool: str) -> Iterator[pool_file.AnyLine]:
    yield _head(db, pool)
    for key, part in db.execute(_PARTS, (pool,)):
        yield pool_file.Part(key=key, part=msgspec.json.decode(part))
    before = _before(db, pool)
    for row in db.execute(_BASES, (pool,)):
        base = pool_file.Base(**_fields(_BASE, row))
        # Less than 0: the events up to the first one here are deleted.
        yield msgspec.structs.replace(base, number=max(0, base.number - before))
    hidden = player_rows.hidden(db)
    for player, wins, draws, losses, leaves, *skill in db.execute(_PLAYERS, (pool,)):
        record = Record(wins, draws, losses, leaves)
        yield pool_file.Player(id=player, skill=_skill(skill), record=record, hidden=player in hidden)
    for player, name in db.execute(_NAMES, (pool,)):
        yield pool_file.Name(player=player, name=name, hidden=player in hidden)
    for (season, at), rows in groupby(db.execute(_SEASONS, (pool,)), key=itemgetter(0, 1)):
        board = tuple(pool_file.Standing(*columns) for _, _, *columns in rows)
        yield pool_file.Season(season=season, at=at, players=board)
    yield from _sequence(db, pool, before)
    for row in db.execute(f"SELECT {', '.join(_ENTRY)} {AUDIT_OF_POOL} ORDER BY number", {"pool": pool}):
        yield pool_file.Entry(**_fields(_ENTRY, row))


def _before(db: sqlite3.Connection, pool: str) -> int:
    """The number before the pool's first event, from which those of a file count."""
    first = db.execute(_FIRST, {"pool": pool}).fetchone()[0]
    return 0 if first is None else int(first) - 1


def _sequence(db: sqlite3.Connection, pool: str, before: int) -> Iterator[pool_file.AnyLine]:
    """Rounds and edits in their order; what an edit did to whom follows it."""
    rounds, edits = (db.execute(query, (pool,)) for query in (_ROUNDS, _EDITS))
    for row in merge(rounds, edits, key=itemgetter(0)):
        if len(row) > len(_EDIT):
            yield _round(db, row, before)
            continue
        edit = pool_file.Edit(**_fields(_EDIT, row))
        yield pool_file.shifted(edit, -before)
        for player, struck, *skills in db.execute(_EDITED, (edit.number,)):
            old = None if skills[4] is None else _skill(skills[:5])
            yield pool_file.Edited(
                edit=edit.number - before, player=player, struck=bool(struck), before=old, after=_skill(skills[5:])
            )
    for row in db.execute(_VOIDS, (pool,)):
        void = pool_file.Void(**_fields(_VOID, row))
        yield msgspec.structs.replace(void, round=void.round - before, edit=void.edit - before)


def _head(db: sqlite3.Connection, pool: str) -> pool_file.Head:
    row = db.execute(_HEAD, (pool,)).fetchone()
    if row is None:
        pools = ", ".join(sorted(name for (name,) in db.execute("SELECT pool FROM pools")))
        raise StoreRefused(f"the store has no pool {pool}; it has: {pools or 'none'}")
    system, params, changed_at, pruned_count = row
    values = {"pool": pool}
    counts = {name: Database(db).table(table).count_where(where, values) for name, (table, where) in _COUNTS.items()}
    return pool_file.Head(
        pool=pool,
        system=system,
        params=_plain(params),
        changed_at=changed_at,
        pruned_rounds=pruned_count,
        audit=db.execute(f"SELECT count(*) {AUDIT_OF_POOL}", values).fetchone()[0],
        **counts,
    )


def _skill(columns: Sequence[Any]) -> pool_file.Skill:
    return pool_file.Skill(**_fields(_SKILL, columns))


def _round(db: sqlite3.Connection, row: Sequence[Any], before: int) -> pool_file.Round:
    facts = _fields(_ROUND, row)
    participants = tuple(
        pool_file.Participant(**_fields(_PARTICIPANT, columns))
        for columns in db.execute(_PARTICIPANTS, (facts["number"],))
    )
    facts["number"] -= before
    if facts["voided"] is not None:
        facts["voided"] -= before
    return pool_file.Round(**facts, participants=participants)


# Written, line by line, within one transaction of the caller's.

_WHY = {
    "UNIQUE": "it is there twice, or it is a round that another pool of this store has",
    "FOREIGN": "it names a player, a round or an edit that has no line above it",
}
_ADD_HEAD = """
INSERT INTO pools (pool, system, params, version, changed_at, pruned_rounds) VALUES (?, ?, ?, 1, ?, ?)
ON CONFLICT (pool) DO UPDATE SET
    system = excluded.system, params = excluded.params, version = version + 1, changed_at = excluded.changed_at,
    pruned_rounds = excluded.pruned_rounds
"""


def _add(table: str, *names: str) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


_ADD_PART = _add("shared", "pool", "key", "part")
_ADD_PLAYER = _add("players", "pool", "id", "version", *_SKILL)
_ADD_STANDING = _add("seasons", "pool", "season", "at", *_names(pool_file.Standing))
_ADD_ROUND = _add("rounds", "pool", *_ROUND)
_ADD_PARTICIPANT = _add("participants", "pool", "round", "place", *_PARTICIPANT)
_ADD_EDIT = _add("edits", "pool", *_EDIT)
_ADD_VOID = _add("voids", *_VOID)


def holds(db: sqlite3.Connection, pool: str) -> tuple[int, int, int]:
    """Return how many players, rounds and edits a pool has."""
    players, rounds, edits = (
        Database(db).table(table).count_where("pool = ?", [pool]) for table in ("players", "rounds", "edits")
    )
    return players, rounds, edits


def write(db: sqlite3.Connection, pool: str, lines: Iterable[pool_file.AnyLine]) -> None:
    """Fill an empty pool. FileError: a line contradicts those before it, or the store; it has no line number."""
    # Of the empty pool that was there before: what is written here is another past.
    sequence.forget(db, pool)
    into = _Into(db, pool, next_number(db) - 1, [])
    for line in lines:
        try:
            into.write(line)
        except sqlite3.IntegrityError as error:
            kind = str(error).partition(" ")[0]
            raise FileError(_WHY.get(kind, f"it cannot be stored: {error}")) from None
        # As in `store_errors`, but with the line's fault for the person who has the file.
        except (OverflowError, UnicodeEncodeError):
            raise FileError("it has a number or a text that no store can take") from None
    player_rows.recount_crowd(db, pool)
    # In the place of what its rounds say: the lines count deleted rounds too.
    round_rows.replace_records(db, pool, into.records)


@dataclass(frozen=True, slots=True)
class _Into:
    """The pool that is filled; `before`: the last number that other pools have taken."""

    db: sqlite3.Connection
    pool: str
    before: int
    records: list[tuple[PlayerId, Record]]
    """The records that the lines say. They count rounds whose lines are missing too."""

    def write(self, line: pool_file.AnyLine) -> None:
        match line:
            case pool_file.Base():
                made_by = Fingerprint(line.system, line.params)
                base = Snapshot(line.purpose, self.before + line.number, made_by, line.data, base=True)
                sequence.keep(self.db, self.pool, base, base.number)
            case pool_file.Season():
                rows = ((self.pool, line.season, line.at, *msgspec.structs.astuple(place)) for place in line.players)
                self.db.executemany(_ADD_STANDING, rows)
            case pool_file.Player():
                self._hide(line.id, line.hidden)
                self.db.execute(_ADD_PLAYER, (self.pool, line.id, 1, *_columns(_SKILL, line.skill)))
                if line.record is not None:
                    self.records.append((PlayerId(line.id), line.record))
            case pool_file.Name():  # players who joined before the import have names
                self._hide(line.player, line.hidden)
                name = self.pool, line.player, line.name
                self.db.execute("INSERT OR REPLACE INTO names (pool, player, name) VALUES (?, ?, ?)", name)
            case pool_file.Head():
                head = line.system, encoded(line.params), line.changed_at, line.pruned_rounds
                self.db.execute(_ADD_HEAD, (self.pool, *head))
            case pool_file.Part():
                self.db.execute(_ADD_PART, (self.pool, line.key, encoded(line.part)))
            case pool_file.Entry():
                notes.audit(self.db, Audit(*msgspec.structs.astuple(line)))
            case _:
                self._write_event(line)

    def _write_event(self, line: pool_file.Round | pool_file.Edit | pool_file.Edited | pool_file.Void) -> None:
        match line:
            case pool_file.Round():
                number, struck = self.before + line.number, line.voided and self.before + line.voided
                row = msgspec.structs.replace(line, number=number, voided=struck)
                self.db.execute(_ADD_ROUND, (self.pool, *_columns(_ROUND, row)))
                rows = (
                    (self.pool, number, place, *_columns(_PARTICIPANT, participant))
                    for place, participant in enumerate(line.participants)
                )
                self.db.executemany(_ADD_PARTICIPANT, rows)
                round_rows.count_records(self.db, number)
            case pool_file.Edit():
                self.db.execute(_ADD_EDIT, (self.pool, *_columns(_EDIT, pool_file.shifted(line, self.before))))
            case pool_file.Edited():
                before = (None,) * len(_SKILL) if line.before is None else _columns(_SKILL, line.before)
                what = self.pool, line.player, self.before + line.edit, line.struck
                self.db.execute(ADD_EDITED, (*what, *before, *_columns(_SKILL, line.after)))
            case pool_file.Void():
                void = msgspec.structs.replace(line, round=self.before + line.round, edit=self.before + line.edit)
                self.db.execute(_ADD_VOID, tuple(_columns(_VOID, void)))

    def _hide(self, player: str, hidden: bool) -> None:
        if hidden:
            player_rows.hide(self.db, PlayerId(player), hide=True)
