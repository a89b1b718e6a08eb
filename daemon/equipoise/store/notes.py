"""Writing beside ratings: the logs, session memory and names; behind rounds, many in one transaction.

Each transaction waits for the disk, and rounds wait for the transaction. So notes are gathered for a second, in which
they survive neither kill -9 nor a power loss; of a server's memory and of a player's name only the newest is written.
Who reads meanwhile sees them, in a transaction that does not wait for the disk.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, field
from itertools import islice
from sqlite3 import Connection
from threading import RLock
from typing import Literal, NamedTuple

import msgspec

from equipoise.core.memory import replaces
from equipoise.core.model import PlayerId, ServerId
from equipoise.errors import ScriptError, StoreError
from equipoise.store.connection import savepoint, store_errors, touch, unsynced


@dataclass(frozen=True, slots=True)
class Decision:
    """A line of the decision log, as stored."""

    server: ServerId
    at: float
    """Seconds since the epoch."""
    kind: str
    """The kind of decision: a word of docs/protocol.md."""
    reason: str
    """English text."""
    order: str | None = None
    """The id of the order that came of it; null: there was none."""
    detail: Mapping[str, object] | None = None
    """Split, players, win probability before and after: plain data."""
    number: int = field(default=0, compare=False)
    """Its place in the log; 0 before it is stored."""


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """A server's session memory as of a moment, encoded."""

    server: ServerId
    memory: bytes
    at: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Name:
    """The name that a player used last."""

    pool: str
    player: PlayerId
    name: str


class BalancePrediction(NamedTuple):
    """The prediction of a pool's balance system before a round."""

    chance: float
    """Win probability of side A, as predicted."""
    said: float | None
    """Calibrated; None where that is the same."""
    unevenness: float | None
    """None where it knows no deviations."""


@dataclass(frozen=True, slots=True)
class BalancePredictions:
    """Predictions of a pool's balance system before rounds."""

    rounds: Mapping[int, BalancePrediction]
    """A prediction by the round's number."""


@dataclass(frozen=True, slots=True)
class Chance:
    """How even the sides of a server were, from a change of them on."""

    server: ServerId
    at: float
    """Seconds since the epoch."""
    session: str
    """The script's name of this time on the map."""
    map: str
    """The map's name."""
    round: int
    """Number of the running round of this map; between rounds, of the last one."""
    chance: float
    """Win probability of side A, as players heard it."""
    low: float | None
    """The lower end of its 80 % interval; null where the rating system knows none."""
    high: float | None
    """The upper end."""
    players_a: int
    """Players on side A."""
    players_b: int
    """Players on side B."""
    cause: str
    """Why the sides changed: `map` (the first on it), `joined`, `left`, `sides` (somebody crossed over), `switched` (by
    the game), or the kind of the decision that changed them."""
    number: int = field(default=0, compare=False)
    """Its place among all lines; 0 before it is stored."""


Log = Literal["decisions", "chances", "audit"]
"""The logs of the store, whose lines only become more."""


@dataclass(frozen=True, slots=True)
class Audit:
    """A line of the audit: an admin's change, with the values before and after."""

    at: float
    """Seconds since the epoch."""
    who: str
    """Token or player."""
    action: str
    """The name of the action."""
    target: str
    """The player, server or pool that it concerned."""
    before: str
    """The state before it."""
    after: str
    """The state after it."""
    number: int = field(default=0, compare=False)
    """Its place in the audit; 0 before it is stored."""


Note = Decision | Chance | Audit | SessionMemory | Name | BalancePredictions
"""Everything that may be written a moment later than it happened; rounds and changes of ratings may not."""


log = logging.getLogger(__name__)


def write(db: sqlite3.Connection, notes: Iterable[Note]) -> None:
    """Write each; one that can never be stored is dropped with an error in the log, so that the others are kept."""
    for note in notes:
        try:
            with store_errors(), savepoint(db):
                _write(db, note)
        except ScriptError as error:
            log.error("store: a note is dropped: %s", error)


def _write(db: sqlite3.Connection, note: Note) -> None:
    match note:
        case Decision():
            decide(db, note)
        case Chance():
            db.execute(f"INSERT INTO chances ({_CHANCE}) VALUES ({', '.join('?' * 11)})", astuple(note)[:-1])
        case Audit():
            audit(db, note)
        case SessionMemory():
            # Not compared by time: after a clock was set back, an old memory would stay. `Unwritten.supersede` has
            # dropped it if a round stored a newer one meanwhile.
            db.execute(
                "INSERT OR REPLACE INTO sessions (server, memory, at) VALUES (?, ?, ?)",
                (note.server, note.memory, note.at),
            )
        case BalancePredictions(rounds):
            rows = [(*columns, number) for number, columns in rounds.items()]
            db.executemany("UPDATE rounds SET balance_prediction = ?, said = ?, unevenness = ? WHERE number = ?", rows)
        case Name():
            db.execute(
                "INSERT OR REPLACE INTO names (pool, player, name) VALUES (?, ?, ?)",
                (note.pool, note.player, note.name),
            )


# Decisions, the course of maps, and the audit: logs, which `retention` shortens.

_SELECT = "SELECT number, server, at, kind, reason, order_id, detail FROM decisions"
_LINES_AT_ONCE = 2000
"""Lines that are looked through for a player without letting a round pass: a few milliseconds."""


def decide(db: sqlite3.Connection, decision: Decision) -> None:
    """Append to the decision log."""
    detail = None if decision.detail is None else msgspec.json.encode(decision.detail).decode()
    db.execute(
        "INSERT INTO decisions (server, at, kind, reason, order_id, detail) VALUES (?, ?, ?, ?, ?, ?)",
        (decision.server, decision.at, decision.kind, decision.reason, decision.order, detail),
    )


def decisions(
    db: sqlite3.Connection, server: ServerId | None, limit: int, before: int | None = None, after: int = 0
) -> list[Decision]:
    """The newest decisions of a server, or of all, whose numbers lie between the two; newest first."""
    rows = db.execute(
        f"{_SELECT} {_between(server, before)} ORDER BY number DESC LIMIT :limit",
        {"server": server, "before": before, "after": after, "limit": limit},
    )
    return [_decision(*row) for row in rows]


def decisions_about(
    db: sqlite3.Connection, player: PlayerId, server: ServerId | None, limit: int, before: int | None, after: int
) -> tuple[list[Decision], int | None]:
    """Return the decisions of a piece of the log that name a player, and its oldest number; None at the log's end."""
    values = {"server": server, "before": before, "after": after, "offset": _LINES_AT_ONCE - 1}
    oldest = db.execute(
        f"SELECT number FROM decisions {_between(server, before)} ORDER BY number DESC LIMIT 1 OFFSET :offset", values
    ).fetchone()
    if oldest is not None:  # one lower bound: of two SQLite uses the first, and walks down to the log's end
        values["after"] = oldest[0] - 1
    rows = db.execute(
        f"{_SELECT} {_between(server, before)} AND instr(detail, :quoted) ORDER BY number DESC LIMIT :limit",
        {**values, "quoted": f'"{player}"', "limit": limit},
    )
    return [_decision(*row) for row in rows], oldest and oldest[0]


class Made(NamedTuple):
    """A decision that changed sides."""

    number: int
    server: ServerId
    at: float
    """Seconds since the epoch."""
    new_teams: bool
    """It made new teams; else it moved a player or two."""
    moved: int
    """How many players changed place by it."""


NEW_TEAMS = ("scramble", "shuffle", "alone")
"""Kinds of decisions that make new teams."""
CHANGES = (*NEW_TEAMS, "duel", "equal_sides", "too_uneven", "move")
"""Kinds that change sides."""


def changes_of_sides(db: sqlite3.Connection, after: int) -> list[Made]:
    """Return the next decisions after a number that changed sides; at most `_LINES_AT_ONCE`."""
    rows = db.execute(
        "SELECT number, server, at, kind, coalesce(json_array_length(detail, '$.players'), 0) FROM decisions "
        f"WHERE number > ? AND kind IN {CHANGES} ORDER BY number LIMIT ?",
        (after, _LINES_AT_ONCE),
    )
    return [Made(number, ServerId(server), at, kind in NEW_TEAMS, moves) for number, server, at, kind, moves in rows]


def last_before(db: sqlite3.Connection, time: float) -> int:
    """The number of the last decision before a time; 0 where there is none."""
    row = db.execute("SELECT number FROM decisions WHERE at < ? ORDER BY at DESC LIMIT 1", (time,)).fetchone()
    return row[0] if row else 0


def _between(server: ServerId | None, before: int | None) -> str:
    # No parameter that may be null: with `:server IS NULL OR server = :server` SQLite would read the whole log for a
    # quiet server.
    of_server = "" if server is None else "server = :server AND"
    return f"WHERE {of_server} number > :after" + ("" if before is None else " AND number < :before")


_CHANCE = "server, at, session, map, round, chance, low, high, players_a, players_b, cause"


def chances(
    db: sqlite3.Connection, server: ServerId, session: str | None, limit: int, before: int | None = None
) -> list[Chance]:
    """The newest lines of the course of a server's maps, or of one of them; newest first."""
    of_session = "" if session is None else "AND session = :session"
    rows = db.execute(
        f"SELECT {_CHANCE}, number FROM chances {_between(server, before)} {of_session} "
        "ORDER BY number DESC LIMIT :limit",
        {"server": server, "session": session, "before": before, "after": 0, "limit": limit},
    )
    return [Chance(ServerId(of), *rest) for of, *rest in rows]


def audit(db: sqlite3.Connection, entry: Audit) -> None:
    """Append a line to the audit."""
    db.execute(
        "INSERT INTO audit (at, who, action, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
        (entry.at, entry.who, entry.action, entry.target, entry.before, entry.after),
    )


def audits(db: sqlite3.Connection, limit: int, before: int | None = None) -> list[Audit]:
    """The last `limit` lines of the audit, newest first."""
    older = "" if before is None else "WHERE number < :before"
    rows = db.execute(
        f"SELECT at, who, action, target, before, after, number FROM audit {older} ORDER BY number DESC LIMIT :limit",
        {"before": before, "limit": limit},
    )
    return [Audit(*row) for row in rows]


def _decision(
    number: int, server: str, at: float, kind: str, reason: str, order: str | None, detail: str | None
) -> Decision:
    data = None if detail is None else msgspec.json.decode(detail, type=dict[str, object])
    return Decision(ServerId(server), at, kind, reason, order, data, number)


# Notes on their way to the store: gathered for a moment, so that many of them share one transaction.

MOST_LINES = 5_000
"""Decisions, lines of the audit and balance predictions that wait while the store is away; older ones are forgotten."""
MOST_NAMES = 10_000
"""Names that wait; those that were used longest ago are forgotten."""


class Unwritten:
    """Notes that wait. The event loop adds and the store's thread takes: each call is atomic."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._memories: dict[ServerId, SessionMemory] = {}
        self._names: dict[tuple[str, PlayerId], Name] = {}
        self._lines: deque[Decision | Chance | Audit | BalancePredictions] = deque(maxlen=MOST_LINES)

    def __len__(self) -> int:
        return len(self._memories) + len(self._names) + len(self._lines)

    def add(self, notes: Iterable[Note]) -> None:
        """Add notes, which are newer than all that wait."""
        with self._lock:
            for note in notes:
                match note:
                    case Decision() | Chance() | Audit() | BalancePredictions():
                        self._lines.append(note)
                    case SessionMemory():
                        self._memories[note.server] = note
                    case Name():
                        # Out and in again: the first in the dict are those that were used longest ago.
                        self._names.pop((note.pool, note.player), None)
                        self._names[note.pool, note.player] = note
            for oldest in list(islice(self._names, max(0, len(self._names) - MOST_NAMES))):
                del self._names[oldest]

    def take(self) -> list[Note]:
        """Remove and return all notes, lines of the two logs oldest first."""
        with self._lock:
            taken: list[Note] = [*self._memories.values(), *self._lines, *self._names.values()]
            self._memories, self._names = {}, {}
            self._lines.clear()
        return taken

    def put_back(self, notes: Iterable[Note]) -> None:
        """Return notes that were taken and could not be written; they are older than all that wait."""
        with self._lock:
            # Taken out and added last, so that of a server's memory and a player's name the newest wins.
            newer = self.take()
            self.add(notes)
            self.add(newer)

    def supersede(self, stored: SessionMemory) -> None:
        """A server's memory came with a round: one that waits from before must not replace it."""
        with self._lock:
            older = self._memories.get(stored.server)
            if older is not None and replaces(stored.memory, stored.at, older.memory, older.at):
                del self._memories[stored.server]


# Notes on their way into SQLite: written behind rounds, those of a second in one transaction.

NOTES_SECONDS = 1.0
"""The time that notes wait for others to share their transaction: less than the 5 s between two polls."""
NOTES_RETRY_SECONDS = 5.0
"""The same after the store was locked or full: each attempt may hold up rounds for BUSY_SECONDS."""


class Noting:
    """The notes of one store, whose thread `run` works on; they wait for `after` seconds, `retry` after a failure."""

    def __init__(
        self,
        run: Callable[[Callable[[Connection], None]], Awaitable[None]],
        transaction: Callable[[Connection], AbstractContextManager[None]],
        after: float,
        retry: float,
    ) -> None:
        self.unwritten = Unwritten()
        self._run = run
        self._transaction = transaction
        self._after = after
        self._retry = retry
        self._timer: asyncio.TimerHandle | None = None
        """Set while a writing of notes is due or under way."""
        self._writing: asyncio.Task[None] | None = None
        self._unsynced = False
        """Notes were written for a reader, and may not have reached the disk."""

    def add(self, more: Iterable[Note], *, due: bool) -> None:
        """Take notes; `due`: the store is open, and they are written soon."""
        self.unwritten.add(more)
        if due:
            self._write_in(self._after)

    def show(self, db: Connection) -> None:
        """Write all that wait so that who reads next sees them; the disk has them with the next `write`, or a round."""
        if self.unwritten:
            with unsynced(db):
                self._write(db)
            self._unsynced = True

    def write(self, db: Connection) -> None:
        """Write all that wait; on the store's thread."""
        if self.unwritten or self._unsynced:
            self._write(db)
            self._unsynced = False

    def _write(self, db: Connection) -> None:
        taken = self.unwritten.take()
        try:
            with self._transaction(db):
                if taken:
                    write(db, taken)
                else:
                    touch(db)
        except BaseException:
            # Also at a cancellation: notes that were taken are in no other place.
            self.unwritten.put_back(taken)
            raise

    async def stop(self) -> None:
        """Finish what is under way; what waits then is written by `write`."""
        if self._writing is not None:
            await self._writing
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write_in(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._start)

    def _start(self) -> None:
        # The thread serves in order, so rounds that are queued now are stored before the notes.
        self._writing = asyncio.create_task(self._written())

    async def _written(self) -> None:
        wait = self._retry
        try:
            await self._run(self.write)
            wait = self._after
        except StoreError as error:
            log.debug("%d notes wait: %s", len(self.unwritten), error)
        finally:
            # In `finally`: a writing that fails in any way must not be the last one.
            self._timer = None
            if self.unwritten:  # what came meanwhile, or what could not be written
                self._write_in(wait)


def prune(db: sqlite3.Connection, log: Log, before: float, limit: int) -> int:
    """Delete up to `limit` lines of a log that are older than a time, the oldest first."""
    return db.execute(
        f"DELETE FROM {log} WHERE number IN (SELECT number FROM {log} WHERE at < ? ORDER BY at LIMIT ?)",
        (before, limit),
    ).rowcount
