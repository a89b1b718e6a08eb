"""The one read-write connection to a store's file: how it is opened, refused, migrated and written.

SQLite before 3.51.3 can corrupt a file that two connections write and checkpoint at one moment, so a lock file keeps
every other process of ours out. The connection lives on the thread that opened it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec
from sqlite_utils import Database

from equipoise.errors import ScriptError, StoreDamaged, StoreError, StoreInUse, StoreMissing, StoreRefused
from equipoise.files import open_private
from equipoise.store.migrations import MIGRATIONS, Migration

APPLICATION_ID = 0x45515053
"""In the header of each file of ours: "EQPS"."""

BUSY_SECONDS = 0.3
"""How long a locked file is waited for: a script waits 1 s for its whole answer."""

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
            holder = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(file)
            raise StoreInUse(
                f"{self._path}: process {holder} has the store open: go through that daemon, or stop it first"
            ) from None
        self._file = file
        with suppress(OSError):  # the process id is for people to read: the lock holds without it
            os.truncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)

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
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise _translated(error, path) from error
    try:
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
    for each in (path, log_file, index):
        with suppress(OSError):
            mode = each.stat().st_mode & 0o777
            if each.is_file() and mode & 0o077:
                each.chmod(mode & 0o700)
                log.warning("%s: other users could read it: mode %o is now %o", each, mode, mode & 0o700)


def refuse_foreign(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    """StoreRefused unless the file is a store of ours, or an empty one that may be filled."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (steps,) = connection.execute("PRAGMA user_version").fetchone()
    found = set(connection.execute("SELECT type, name FROM sqlite_master"))
    if not (application or steps or found):
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
    if missing := _schema(steps) - found:
        kind, name = max(missing)  # a table before its indexes
        raise StoreRefused(f"{path}: it is damaged, its {kind} {name} is missing: restore a backup")


def _schema(steps: int) -> set[tuple[str, str]]:
    """Type and name of everything that a store has after so many steps."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for step in MIGRATIONS[:steps]:
            for statement in step.sqlite:
                connection.execute(statement)
        made = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
    return {("table", "migrations"), *made}


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    probe(connection)  # refuses a read-only file now, not at the first round
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreRefused(f"{path}: no write-ahead log is possible here: use a directory on a local disk")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def migrate(database: Database, steps: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Take every step that was not taken yet; one that fails leaves nothing behind.

    The header counts the steps too: a store that was saved from a damaged file may have lost rows of the table.
    """
    table = database.table("migrations")
    older = table.exists()
    (taken,) = database.execute("PRAGMA user_version").fetchone()
    for number, step in enumerate(steps, start=1):
        if number <= taken or (table.exists() and table.count_where("name = ?", [step.name])):
            continue
        if older:
            log.info("%s: migrating the store; with many rounds it takes a minute", step.name)
        with transaction(database.conn):
            for statement in step.sqlite:
                database.execute(statement)
            table.insert({"number": number, "name": step.name}, pk="number")
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {number}")


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
def savepoint(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside or nothing, within a transaction that goes on either way."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
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


@contextmanager
def store_errors() -> Iterator[None]:
    """What SQLite refuses now is a StoreError; data that it would refuse every time is a ScriptError.

    StoreDamaged: what was read makes no sense to SQLite, or is not the JSON that was written: pages have no checksum.
    """
    try:
        yield
    except msgspec.DecodeError as error:
        raise StoreDamaged(f"store: a row is damaged ({error}): restore a backup") from error
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
    """Whether SQLite could not make sense of what it read."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _translated(error: sqlite3.Error, path: Path) -> StoreError:
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
        self._opened = {each: _identity(each.stat()) for each in (path, path.with_name(f"{path.name}-wal"))}

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


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
