"""Backups of the store: a copy made beside the daemon, and one put in the store's place.

`VACUUM INTO` reads one moment of the store, by a connection that only reads. It does not run on the store's thread,
because rounds would wait for it: 9 s for 100,000 rounds (600 MB). In a process of its own it neither takes the daemon's
memory nor its processor, and can be ended at any time. Beside a daemon that writes, a reader is safe: the fault of
SQLite before 3.51.3 needs two connections that write.

The copy is made under another name, so that a file with a backup's name is whole, checked and on the disk.

A restore needs the daemon's lock. It copies the backup beside the store and checks it there, so that the backup is
never changed, and a single `rename` makes the copy the store: when it is killed in the middle, the old store is left or
the new one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
from sqlite_utils import Database

from equipoise.errors import StoreDamaged, StoreError, StoreMissing, StoreRefused
from equipoise.files import open_private, sync
from equipoise.store.connection import Lock, means_damage, reading, refuse_foreign, refuse_missing
from equipoise.store.notes import Audit, audit
from equipoise.workers import Watch


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the store."""

    file: str
    bytes: int
    rounds: int
    seconds: float
    """Duration of the work."""


PART = ".equipoise-part"
"""The end of the name of an unfinished copy. It is no other program's: files that end so are removed."""
MARGIN_BYTES = 16 << 20
"""Stays free on the disk: rounds that end meanwhile have to be stored."""
STEPS = 5_000
"""Steps of SQLite, some milliseconds of a processor; after them a pause of the same length."""


class BackupRequest(msgspec.Struct, frozen=True):
    """Make a backup in a process of its own, where it can be ended at any time; answered by `Backup`."""

    store: str
    target: str


def work(_: Watch) -> tuple[type[BackupRequest], Callable[[BackupRequest], Backup]]:
    """Return the requests and the function of `Job.BACKUP`."""
    return BackupRequest, lambda request: back_up(Path(request.store), Path(request.target))


def back_up(store: Path, target: Path) -> Backup:
    """Copy the store as it is at one moment, beside a daemon or without one.

    StoreError: there is no copy then, and what was there before is as it was.
    """
    refuse_missing(store)
    if os.path.lexists(target):
        raise StoreRefused(f"{target}: it exists: name another file")
    began = time.monotonic()
    with _unfinished(target) as part, _translated(store, target):
        before = _copy(store, part)
        # Counted on both sides of the copy: `VACUUM INTO` of a damaged file can leave rows out and report no error.
        copy, after = checked(part, store), rows_of(store)
        # What is deleted and added meanwhile leaves a copy between the two.
        lost = [name for name, rows in copy.items() if not _between(rows, before[name], after[name])]
        if lost:
            raise StoreError(f"{target}: no backup was made: rows of {', '.join(lost)} are missing from the copy")
        sync(part)
        # Synced before it gets its name: a backup's name is never on half a file.
        part.rename(target)
        sync(target.parent)
    return Backup(str(target.absolute()), target.stat().st_size, copy["rounds"], time.monotonic() - began)


def checked(file: Path, named: Path) -> dict[str, int]:
    """The rows of each table of a store that is whole, ours, and of a schema that is known.

    StoreRefused otherwise, with the name under which the operator knows the file.
    """
    with closing(reading(file)) as connection:
        try:
            refuse_foreign(connection, named, create=False)
            # SQLite reads what is missing of the last page as zeros, and calls it good.
            if file.stat().st_size % connection.execute("PRAGMA page_size").fetchone()[0]:
                raise StoreRefused(f"{named}: it is damaged: its end is missing")
            verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if verdict != "ok":
                raise StoreRefused(f"{named}: it is damaged: {' '.join(verdict.split())}")
            return _rows(connection)
        except sqlite3.Error as error:
            if means_damage(error):
                raise StoreRefused(f"{named}: it is damaged, or not an Equipoise store: {error}") from None
            raise


def rows_of(file: Path) -> dict[str, int]:
    """The rows of each table of a store."""
    with closing(reading(file)) as connection:
        return _rows(connection)


def remove_unfinished(directory: Path) -> None:
    """Remove what processes left that were killed; a copy that is being made is held by its process."""
    for part in directory.glob(f"*{PART}"):
        with suppress(OSError):
            file = os.open(part, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.with_name(f"{part.name}-journal").unlink(missing_ok=True)
                part.unlink()
            finally:
                os.close(file)


def _copy(store: Path, part: Path) -> dict[str, int]:
    """Copy into an empty file; returns the rows of each table just before."""
    with closing(reading(store)) as connection:
        refuse_foreign(connection, store, create=False)
        _refuse_small_disk(connection, part)
        before = _rows(connection)
        # `VACUUM INTO` wants an empty file, and refuses any other.
        os.truncate(part, 0)
        with open(part, "rb") as copy:
            _go_slowly(connection, copy.fileno())
            connection.execute("VACUUM INTO ?", (str(part),))
        return before


def _rows(connection: sqlite3.Connection) -> dict[str, int]:
    return {table.name: table.count for table in Database(connection).tables}


def _between(rows: int, one: int, other: int) -> bool:
    return min(one, other) <= rows <= max(one, other)


def _refuse_small_disk(connection: sqlite3.Connection, part: Path) -> None:
    """A copy that fills the disk would keep the store itself from writing."""
    size, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    disk = os.statvfs(part)
    necessary, room = size * (pages - free) + MARGIN_BYTES, disk.f_bavail * disk.f_frsize
    if room < necessary:
        raise StoreError(
            f"{part.parent}: its disk is too full for a backup: {room / 1e6:.0f} MB are free, "
            f"{necessary / 1e6:.0f} MB are needed"
        )


def _go_slowly(connection: sqlite3.Connection, copy: int) -> None:
    """Leave the processor and the disk to the game: as long a pause after each piece as it took."""
    last = time.monotonic()

    def pause() -> int:
        nonlocal last
        # A disk that gets hundreds of megabytes at once lets the syncs of rounds wait: 9 s at 30 MB a second.
        os.fdatasync(copy)
        time.sleep(min(0.1, time.monotonic() - last))
        last = time.monotonic()
        return 0

    connection.set_progress_handler(pause, STEPS)


@contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """An empty file beside the target, held so that others know it from one that was left; removed if it is there."""
    part = target.with_name(f"{target.name}{PART}")
    try:
        remove_unfinished(target.parent)
        file = open_private(part, os.O_RDWR)
    except OSError as error:
        raise StoreRefused(f"{part}: {error.strerror}: a backup needs a directory that this user can write") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield part
    except BlockingIOError:
        raise StoreError(f"{target}: another process is making it") from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)


@contextmanager
def _translated(store: Path, target: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if means_damage(error):
            raise StoreDamaged(f"{store}: it is damaged ({error}): restore a backup") from error
        raise StoreError(f"{target}: no backup was made: {error}") from error
    except OSError as error:
        raise StoreError(f"{target}: no backup was made: {error.strerror}") from error


COPY = ".restoring"
"""The end of the name of the copy until it is the store."""
PIECE = 1 << 20

_NEWEST = "SELECT max(recorded_at) FROM rounds"
_LOST = """
SELECT count(*) FROM old.rounds AS played
WHERE NOT EXISTS (SELECT 1 FROM main.rounds WHERE server = played.server AND id = played.id)
"""


@dataclass(frozen=True, slots=True)
class Restorable:
    """The outcome that a restore would have."""

    rounds: int
    """In the backup."""
    newest: float | None
    """The time when its last round was stored, seconds since the epoch."""
    replaces: bool
    """There is a store."""
    lost_rounds: int | None
    """Rounds of the store that the backup lacks; None: that cannot be read."""
    waiting_files: tuple[str, ...]
    """Files of rings with rounds in them, which are applied when the daemon starts."""


class Restoring:
    """One restore. StoreRefused from any step: the store is as it was."""

    def __init__(self, store: Path, backup: Path) -> None:
        self._store = store
        self._backup = backup
        self._copy = store.with_name(f"{store.name}{COPY}")

    @contextmanager
    def prepared(self) -> Iterator[Restorable]:
        """Hold the store's lock with a checked copy at hand, which is removed at the end if it was not put in place."""
        _refuse_unusable(self._backup, self._store)
        with suppress(OSError):  # the lock says what is wrong; on a new machine no daemon has made the directory yet
            self._store.parent.mkdir(mode=0o700, parents=True)
        lock = Lock(self._store.with_name(f"{self._store.name}.lock"))
        lock.take()
        try:
            self._remove_copy()
            try:
                self._make_copy()
                rounds = checked(self._copy, self._backup)["rounds"]
                yield Restorable(rounds, self._newest(), self._store.exists(), self._lost(), self._waiting())
            except (OSError, sqlite3.Error) as error:
                raise StoreError(f"{self._backup}: it cannot be restored: {error}") from error
            finally:
                self._remove_copy()
        finally:
            lock.drop()

    def put_in_place(self, entry: Audit) -> Path | None:
        """Make the copy the store, with a line in its audit; returns where the old one is kept, if there was one."""
        with closing(sqlite3.connect(self._copy, isolation_level=None)) as connection:
            # Without a log beside it: one file can be renamed at once, two cannot.
            connection.execute("PRAGMA journal_mode = DELETE")
            audit(connection, entry)
        sync(self._copy)
        kept = self._keep_old()
        # Behind `_keep_old`: from here on the old store has only its second name.
        self._copy.rename(self._store)
        # Of the old store, or of a reader of it: SQLite would take them for the new one's.
        self._beside("-shm").unlink(missing_ok=True)
        sync(self._store.parent)
        return kept

    def _make_copy(self) -> None:
        """With the backup's own write-ahead log, if it was not closed."""
        log_file = self._backup.with_name(f"{self._backup.name}-wal")
        parts = [(self._backup, self._copy)]
        if log_file.is_file() and log_file.stat().st_size:
            parts.append((log_file, self._copy.with_name(f"{self._copy.name}-wal")))
        necessary = sum(source.stat().st_size for source, _ in parts) + MARGIN_BYTES
        if (room := shutil.disk_usage(self._store.parent).free) < necessary:
            raise StoreRefused(
                f"{self._store.parent}: its disk is too full: {room / 1e6:.0f} MB are free, "
                f"{necessary / 1e6:.0f} MB are needed"
            )
        for source, target in parts:
            with source.open("rb") as read, open(open_private(target, os.O_WRONLY), "wb") as written:
                shutil.copyfileobj(read, written, PIECE)
        with closing(sqlite3.connect(self._copy)) as connection, suppress(sqlite3.DatabaseError):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # what is wrong with it, the check says better

    def _newest(self) -> float | None:
        with closing(reading(self._copy)) as connection:
            newest: float | None = connection.execute(_NEWEST).fetchone()[0]
        return newest

    def _lost(self) -> int | None:
        try:
            refuse_missing(self._store)
        except StoreMissing:
            return 0
        try:
            with closing(reading(self._copy)) as connection:
                connection.execute("ATTACH ? AS old", (f"{self._store.as_uri()}?mode=ro",))
                lost: int = connection.execute(_LOST).fetchone()[0]
        except sqlite3.Error:
            return None
        return lost

    def _waiting(self) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self._store.parent.glob("*.ring") if path.stat().st_size))

    def _keep_old(self) -> Path | None:
        """Give the old store a second name beside the first, which the new one takes over.

        What its write-ahead log holds is written into it first. Where damage prevents that, the log gets a second name
        too, and loses the first: it must not be there when the new store is. Until then its `-shm` alone keeps a daemon
        from starting without it.
        """
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        kept = _unused(self._store.with_name(f"{self._store.name}.before-restore-{now}"))
        log_file, kept_log = self._beside("-wal"), kept.with_name(f"{kept.name}-wal")
        if not os.path.lexists(self._store):
            return self._keep_log(log_file, kept_log)
        if log_file.exists():
            os.link(log_file, kept_log)  # SQLite removes the log of a store that makes no sense
        try:
            with closing(sqlite3.connect(self._store)) as connection:
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            kept_log.unlink(missing_ok=True)
            if busy:
                raise StoreError(f"{self._store}: another program reads it: end that program first")
        except sqlite3.Error:
            self._keep_log(log_file, kept_log)
        os.link(self._store, kept)
        sync(self._store.parent)
        return kept

    def _keep_log(self, log_file: Path, kept: Path) -> Path | None:
        if log_file.exists():
            if not kept.exists():
                os.link(log_file, kept)
            self._beside("-shm").touch(0o600)
            log_file.unlink()
        return kept if kept.exists() else None

    def _beside(self, end: str) -> Path:
        return self._store.with_name(f"{self._store.name}{end}")

    def _remove_copy(self) -> None:
        for end in ("", "-wal", "-shm", "-journal"):
            self._copy.with_name(f"{self._copy.name}{end}").unlink(missing_ok=True)


def _unused(path: Path) -> Path:
    """This name, or one like it: there may have been a restore in the same second, or one that was killed."""
    number = 1
    free_path = path
    while os.path.lexists(free_path):
        number += 1
        free_path = path.with_name(f"{path.name}-{number}")
    return free_path


def _refuse_unusable(backup: Path, store: Path) -> None:
    """StoreRefused unless it is a file, with something in it, that is not the store itself."""
    try:
        status = backup.stat()
    except OSError as error:
        raise StoreRefused(f"{backup}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise StoreRefused(f"{backup}: this is no file")
    if not status.st_size:
        raise StoreRefused(f"{backup}: the file is empty")
    with suppress(OSError):
        if backup.samefile(store):
            raise StoreRefused(f"{backup}: this is the store itself")
