"""The one read-write connection to a store's file: how it is opened, refused, migrated and written.

SQLite before 3.51.3 can corrupt a file that two connections write and checkpoint at one moment, so a lock file keeps
every other process of ours out. The connection lives on the thread that opened it.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import msgspec
from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from equipoise.errors import ScriptError, StoreDamaged, StoreError, StoreInUse, StoreMissing, StoreRefused
from equipoise.files import open_private
from equipoise.store.migrations import MIGRATIONS, RECORDED, Migration

StoreState = Literal["ok", "locked", "full", "failing", "damaged"]


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """The state of the store, as of the last attempt to write."""

    state: StoreState = "ok"
    """All but `damaged` may end by itself; a damaged store takes nothing until the daemon starts on another one."""
    since: float | None = None
    """The time when it was first not `ok`, seconds since the epoch."""
    began: float | None = None
    """The same by `time.monotonic`, for how long it lasts: the system's clock may be set meanwhile."""
    failures: int = 0
    """Calls that failed since the daemon started."""
    advice: str = ""
    """Advice to the operator, without a path: everybody may read it."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Size of a store."""

    bytes: int
    """Size of the file, without its write-ahead log."""
    free_bytes: int
    """Pages that rows were deleted from; what is written next goes there."""
    oldest_decision: float | None
    """Seconds since the epoch; None without decisions."""
    newest: float | None
    """The time when the newest decision or round was written."""


APPLICATION_ID = 0x45515053
"""In the header of each file of ours: "EQPS"."""

PROGRESS_SECONDS = 5.0
"""Between two lines of the log on a step that takes long."""

BUSY_SECONDS = 0.3
"""Patience with a locked file: a script waits 1 s for its whole answer."""

LOG_BYTES = 16 << 20
"""Room on the disk that the write-ahead log keeps for good."""

_FOR_GOOD = {
    sqlite3.SQLITE_READONLY: "it cannot be written: give this user write access to it and to its directory",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: give this user write access to it and to its directory",
    sqlite3.SQLITE_PERM: "it cannot be opened: give this user write access to it and to its directory",
    sqlite3.SQLITE_NOTADB: "it is damaged, or not an Equipoise store: restore a backup, or name another directory",
    sqlite3.SQLITE_CORRUPT: "it is damaged: restore a backup",
}

log = logging.getLogger(__name__)


class Lock:
    """A lock file beside the store, held by one process at a time and dropped when that process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> None:
        """StoreRefused when the directory is missing or read-only, StoreInUse when another process holds the lock."""
        try:
            file = open_private(self._path, os.O_RDWR)
        except OSError as error:
            if os.path.lexists(self._path):  # made by another user, often by root, in a directory that is right
                message = f"{self._path}: {error.strerror}: give this user write access to all files beside it"
                raise StoreRefused(message) from None
            place = self._path.parent
            raise StoreRefused(
                f"{place}: {error.strerror}: the store needs a directory that exists and that this user can write"
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(file, 20, 0).decode("ascii", "replace").partition("\n")[0] or "unknown"
            os.close(file)
            raise StoreInUse(
                f"{self._path}: process {holder} has the store open: go through that daemon, or stop it first"
            ) from None
        self._file = file
        with suppress(OSError):  # the process id is for people to read: the lock holds without it
            os.truncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)

    def tell(self, address: str) -> None:
        """Write where its process listens, for commands that find nobody at the configured address."""
        if self._file is not None:
            with suppress(OSError):  # as above
                os.pwrite(self._file, f"{os.getpid()}\n{address}\n".encode(), 0)

    def drop(self) -> None:
        """Let others in. The file stays: if it were removed, two processes could each lock a file of this name."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def refuse_missing(path: Path) -> None:
    """StoreMissing when there is no file, or an empty one; StoreRefused when this user may not look.

    This does not open the file: when SQLite opens an empty one, it deletes the write-ahead log beside it.
    """
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreMissing(f"{path}: {error.strerror}: there is no store") from None
    except OSError as error:
        raise StoreRefused(f"{path}: {error.strerror}: run this as the owner of the directory, or as root") from None
    if not size:
        raise StoreMissing(f"{path}: the file is empty: there is no store")


def open_database(path: Path, *, create: bool = True) -> Database:
    """Connect, check that the file is ours, whole and not newer than we are, and migrate it.

    StoreMissing, unless `create`, when there is no store; nothing is made then.
    """
    if not create:
        refuse_missing(path)
    try:
        _make_private(path)
        # `isolation_level=None`: transactions begin where we say, not late and without the lock as the module has it.
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise _translated(error, path) from error
    try:
        # Before anything is written: a file of another program stays as it was.
        refuse_foreign(connection, path, create=create)
        _prepare(connection, path)
        database = Database(connection)
        migrate(database)
    except sqlite3.Error as error:
        connection.close()
        raise _translated(error, path) from error
    except BaseException:
        connection.close()
        raise
    return database


def _make_private(path: Path) -> None:
    """Make the file if it is missing, and keep other users from reading it and its log.

    SQLite gives the log's files the mode of the store's, and when root runs it also the owner.
    """
    log_file, index = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    if not path.exists():
        with suppress(OSError):  # SQLite says better what is wrong
            os.close(open_private(path, os.O_RDWR))
    elif index.exists() and not log_file.exists():
        # SQLite removes both when it closes the store, the index first.
        raise StoreRefused(
            f"{log_file}: No such file or directory, although the store was not closed: the last rounds were in it. "
            f"Put it back, or restore a backup; to go on without these rounds, remove {index}"
        )
    for file in (path, log_file, index):
        with suppress(OSError):
            mode = file.stat().st_mode & 0o777
            if file.is_file() and mode & 0o077:
                file.chmod(mode & 0o700)
                log.warning("%s: other users could read it: mode %o is now %o", file, mode, mode & 0o700)


def refuse_foreign(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    """StoreRefused unless the file is a store of ours, or an empty one that may be filled."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (steps,) = connection.execute("PRAGMA user_version").fetchone()
    present = set(connection.execute("SELECT type, name FROM sqlite_master"))
    if not (application or steps or present):
        if not create:
            raise StoreMissing(f"{path}: it has no tables: there is no store")
        log.info("%s: there was no store, a new one is made", path)
        return
    if application != APPLICATION_ID:
        raise StoreRefused(f"{path}: it is not an Equipoise store: name another file")
    if steps > len(MIGRATIONS):
        raise StoreRefused(
            f"{path}: it was written by a newer Equipoise (schema {steps}, this one knows {len(MIGRATIONS)}): "
            "upgrade Equipoise, or restore a backup made before"
        )
    if absent := _schema(steps) - present:
        kind, name = max(absent)  # a table before its indexes
        raise StoreRefused(f"{path}: it is damaged, its {kind} {name} is missing: restore a backup")


def _schema(steps: int) -> set[tuple[str, str]]:
    """Type and name of everything that a store has after so many steps."""
    rows = {(kind, name) for kind, name, _ in _built(MIGRATIONS[:steps])}
    # Before that step they stood in a table of ours, which a store that was made later and is not ready never had.
    return {("table", Migrations.migrations_table), *rows} if steps >= RECORDED else rows


@cache
def _built(steps: tuple[Migration, ...]) -> list[tuple[str, str, str | None]]:
    """Type, name and statement of everything that steps make, tables first; none of what SQLite makes for itself."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in steps:
            for statement in step.statements:
                connection.execute(statement)
        return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type <> 'table'").fetchall()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    probe(connection)  # refuses a read-only file now, not at the first round
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreRefused(f"{path}: no write-ahead log is possible here: use a directory on a local disk")
    # A reply says `stored`, and scripts forget the round then: in NORMAL the last commits are lost with the power.
    connection.execute("PRAGMA synchronous = FULL")
    # While a backup reads, the log keeps all that is written, 150 MB in a minute of many servers: given back after it.
    connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    # SQLite ignores foreign keys unless each connection asks for them.
    connection.execute("PRAGMA foreign_keys = ON")


def migrate(database: Database, steps: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Take every step that was not taken yet, in a transaction with the record of it; one that fails leaves nothing.

    A new store, which has no rows to go through, takes all in one. The header counts them, too, and decides: stores
    from before step 13 have other records, and one that was saved from a damaged file may have lost some.
    """
    (taken,) = database.execute("PRAGMA user_version").fetchone()
    if taken >= len(steps):
        return
    history = Migrations("equipoise")
    for number, step in enumerate(steps, start=1):
        # Pieces are transactions of their own. Killed before the record of such a step, it has that of the header.
        history(name=step.name, transactional=not step.piece)(_taking(step, number, announced=taken > 0))
    names = {record.name for record in history.applied(database)}
    new = () if taken else steps
    taken = taken or len(steps)
    # Their records are written again, or sqlite-utils would take these steps a second time.
    lost = [{"migration_set": history.name, "name": step.name} for step in steps[:taken] if step.name not in names]
    with transaction(database.conn):
        # With the table: a file that has tables and no such id is nobody's store, and killed here it would be refused.
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for _, _, statement in _built(new):
            if statement is not None:
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {taken}")
        history.ensure_migrations_table(database)
        database.table(history.migrations_table).insert_all(lost)
    history.apply(database)


def _taking(step: Migration, number: int, *, announced: bool) -> Callable[[Database], None]:
    def take(database: Database) -> None:
        if announced:
            log.info("%s: migrating the store; with many rounds it takes a minute", step.name)
        if step.piece:
            _take_pieces(database.conn, step)
        with transaction(database.conn) if step.piece else nullcontext():
            # First a write: sqlite-utils begins a transaction without the lock for it.
            database.execute(f"PRAGMA user_version = {number}")
            for statement in step.statements:
                database.execute(statement)

    return take


def _take_pieces(db: sqlite3.Connection, step: Migration) -> None:
    """Take the pieces of a step that are left; killed in between, the next start goes on."""
    (most,), rows, last = db.execute(step.about).fetchone(), 0, time.monotonic()
    # What rows refer to was looked at when they were written: for millions it would take as long as all else.
    db.execute("PRAGMA foreign_keys = OFF")
    try:
        with unsynced(db):
            count = -1
            while count:
                with transaction(db):
                    count, *_ = [db.execute(statement).rowcount for statement in step.piece]
                rows += count
                if time.monotonic() - last > PROGRESS_SECONDS:
                    log.info("%s: %s of about %s rows", step.name, f"{rows:,}", f"{most:,}")
                    last = time.monotonic()
    finally:
        db.execute("PRAGMA foreign_keys = ON")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside or nothing; the write lock is taken at the start, so that reads inside stay true."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite may have rolled back already
            connection.execute("ROLLBACK")
        raise


@contextmanager
def unsynced(connection: sqlite3.Connection) -> Iterator[None]:
    """Transactions inside do not wait for the disk: kill -9 takes nothing of them, a power loss may.

    They reach it with the next one outside.
    """
    connection.execute("PRAGMA synchronous = NORMAL")
    try:
        yield
    finally:
        connection.execute("PRAGMA synchronous = FULL")


@contextmanager
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside or nothing, within a transaction that goes on either way."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        # As above: SQLite may have rolled back the whole transaction.
        if connection.in_transaction:
            # `ROLLBACK TO` undoes what came since and keeps the savepoint open: `RELEASE` ends it.
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise
    connection.execute("RELEASE part")


def probe(connection: sqlite3.Connection) -> None:
    """Fail unless the file can be written now: begins to write, and takes it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("PRAGMA user_version = 0")
    finally:
        connection.execute("ROLLBACK")


def touch(connection: sqlite3.Connection) -> None:
    """Write a page without changing what it says; within a transaction."""
    (steps,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute(f"PRAGMA user_version = {steps}")


def reading(file: Path, *, any_thread: bool = False) -> sqlite3.Connection:
    """A connection that only reads, beside others, but may make the files of a write-ahead log."""
    uri = f"file:{quote(str(file))}?mode=ro"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=not any_thread)


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn what SQLite refuses now into StoreError, and data that it would refuse every time into ScriptError.

    StoreDamaged: what was read makes no sense to SQLite, or is not the JSON that was written: pages have no checksum.
    """
    try:
        yield
    except msgspec.DecodeError as error:
        raise StoreDamaged(f"store: a row is damaged ({error}): restore a backup") from error
    # Before `sqlite3.Error`, their base. The other two are Python's: an integer above 2^63, a text with half a
    # character.
    except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError, UnicodeEncodeError) as error:
        raise ScriptError("unstorable", f"cannot be stored: {error}") from error
    except sqlite3.Error as error:
        if not hasattr(error, "sqlite_errorcode") and str(error).startswith("Could not decode"):
            # From Python's module, which quotes the whole text: it may be a player's name.
            raise StoreDamaged("store: a row is damaged (text that is not UTF-8): restore a backup") from None
        if means_damage(error):
            raise StoreDamaged(f"store: it is damaged ({error}): restore a backup") from error
        raise StoreError(f"store: {error}") from error


def means_damage(error: sqlite3.Error) -> bool:
    """Return whether SQLite could not make sense of what it read."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _translated(error: sqlite3.Error, path: Path) -> StoreError:
    # The low byte is the kind of error; the rest says more of it (SQLITE_READONLY_DIRECTORY and the like).
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _FOR_GOOD:
        return StoreRefused(f"{path}: {_FOR_GOOD[code]}")
    if code == sqlite3.SQLITE_BUSY:
        return StoreError(f"{path}: {error}: end the other program that holds its lock")
    if _disk_is_full(path):
        return StoreError(f"{path}: {error}: its disk is full: make room there")
    return StoreError(f"{path}: {error}")


def _disk_is_full(path: Path) -> bool:
    """On a full disk SQLite says "disk I/O error" too, when it is its index of the log that does not fit."""
    with suppress(OSError):
        return os.statvfs(path.parent).f_bavail == 0
    return False


# Whether the files of an open store are still those at its paths.


class OpenFiles:
    """The database and its write-ahead log, as they were when the store was opened."""

    def __init__(self, path: Path) -> None:
        self._opened = {file: _identity(file.stat()) for file in (path, path.with_name(f"{path.name}-wal"))}

    def check(self) -> None:
        """StoreDamaged when one of them was removed or replaced."""
        for path, identity in self._opened.items():
            try:
                same = _identity(path.stat()) == identity
            except FileNotFoundError:
                same = False
            except OSError:  # the directory is closed to us for now: SQLite has the file open and can go on
                same = True
            if not same:
                raise StoreDamaged(f"store: {path.name} was removed or replaced while the daemon had it open")


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


# Health. A store that is locked or full takes rounds again by itself, so the first write that succeeds ends the
# trouble. A damaged one does not: SQLite may go on writing elsewhere in the file, and what it writes there is lost when
# a backup is restored. So after the first sign of damage nothing is written any more, and rounds wait in the rings'
# files.

LOG_SECONDS = 60.0
"""Between two lines of the log on the same trouble."""

ADVICE: dict[StoreState, str] = {
    "locked": "end the other program that holds the store's lock",
    "full": "make room on the disk",
    "failing": "the log says why; look at the disk, and at the rights of the store's files",
    "damaged": "stop the daemon, restore a backup with `equipoise restore`, start it again",
}

_STATES: dict[int, StoreState] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_FULL: "full",
}


class Health:
    """The health of one store. Written by the store's thread alone, read by all."""

    def __init__(self) -> None:
        self.now = StoreHealth()
        self._logged_at: float | None = None
        self._unlogged = 0
        """Calls that failed since the last line of the log."""

    def failed(self, error: StoreError) -> None:
        """A call failed. An error that SQLite has no part in, or that we asked it for, says nothing about the store."""
        state, before, now = _state(error), self.now, time.monotonic()
        if state is None:
            return
        # Damage does not end by itself: a later lock or full disk must not hide it.
        if before.state == "damaged":
            state = "damaged"
        worse = state == "damaged" and before.state != "damaged"
        since, began = (before.since, before.began) if before.since and not worse else (time.time(), now)
        self.now = StoreHealth(state, since, began, before.failures + 1, ADVICE[state])
        self._unlogged += 1
        if worse or self._logged_at is None or now - self._logged_at >= LOG_SECONDS:
            level = logging.ERROR if state == "damaged" else logging.WARNING
            why = error.__cause__ or str(error).removeprefix("store: ")
            log.log(level, "the store is %s (%s): %s; failed calls: %d", state, why, ADVICE[state], self._unlogged)
            self._logged_at, self._unlogged = now, 0

    def wrote(self) -> None:
        """A transaction was committed, so a trouble is over."""
        began = self.now.began
        if began is None:
            return
        # An end is only worth a line if the beginning had one.
        if self._logged_at is not None and self._logged_at >= began:
            log.info("the store takes rounds again, after %.0f s", time.monotonic() - began)
        self.now = StoreHealth(failures=self.now.failures)

    def refuse_writing(self) -> None:
        """StoreDamaged when the store is damaged."""
        if self.now.state == "damaged":
            raise StoreDamaged("store: it is damaged and takes nothing until a backup is restored")


def _state(error: StoreError) -> StoreState | None:
    if isinstance(error, StoreDamaged):
        return "damaged"
    cause = error.__cause__
    if not isinstance(cause, sqlite3.Error):
        return None
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return None if code == sqlite3.SQLITE_INTERRUPT else _STATES.get(code, "failing")


# A look through the whole file for damage, beside a store in use.

LEAST_PRIORITY = 19


class QuickCheck:
    """Runs once. `stop` ends it at the next page."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._stopped = False

    async def run(self) -> StoreDamaged | None:
        """The damage that was found; None: there is none, or the check was stopped before its end."""
        thread = ThreadPoolExecutor(1, thread_name_prefix="check")
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, self._look)
        finally:  # with the least priority it may be long until the thread is gone, and the loop would wait
            thread.shutdown(wait=False)

    def stop(self) -> None:
        """End the check; from any thread."""
        self._stopped = True
        if (connection := self._connection) is not None:
            with suppress(sqlite3.ProgrammingError):  # it is closed already
                connection.interrupt()

    def _look(self) -> StoreDamaged | None:
        with suppress(OSError):  # the game comes first; a sandbox may refuse it
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LEAST_PRIORITY)
        try:
            with closing(reading(self._path)) as connection:
                self._connection = connection
                verdict = "ok" if self._stopped else connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            if means_damage(error):
                return StoreDamaged(f"store: {error}")
            if not self._stopped:
                log.warning("the store could not be checked for damage: %s", error)
            return None
        return None if verdict == "ok" else StoreDamaged(f"store: {' '.join(verdict.split())}")


def extent(db: sqlite3.Connection) -> Extent:
    """The size of the file and the age of what is in it, without reading either."""
    size, pages, free = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    # A statement for each: SQLite answers a single min or max from the index, and both together by reading all of it.
    (oldest,) = db.execute("SELECT min(at) FROM decisions").fetchone()
    (newest,) = db.execute("SELECT max(at) FROM decisions").fetchone()
    last_round = db.execute("SELECT recorded_at FROM rounds ORDER BY number DESC LIMIT 1").fetchone()
    written = [at for at in (newest, *(last_round or ())) if at is not None]
    return Extent(size * pages, size * free, oldest, max(written, default=None))
