"""A backup put in the store's place, while no daemon has the store open.

The backup is copied beside the store and checked there, so that its own file is never changed, and a single `rename`
makes the copy the store: a restore that is killed in the middle leaves the old store or the new one.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import StoreError, StoreMissing, StoreRefused
from equipoise.files import open_private, sync
from equipoise.store.notes import Audit
from equipoise.store.sqlite.backups import checked, reading
from equipoise.store.sqlite.connection import Lock, refuse_missing
from equipoise.store.sqlite.notes import audit

COPY = ".restoring"
"""The end of the name of the copy until it is the store."""
MARGIN_BYTES = 16 << 20
PIECE = 1 << 20

_NEWEST = "SELECT max(recorded_at) FROM rounds"
_LOST = """
SELECT count(*) FROM old.rounds AS played
WHERE NOT EXISTS (SELECT 1 FROM main.rounds WHERE server = played.server AND id = played.id)
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What a restore would do."""

    rounds: int
    """In the backup."""
    newest: float | None
    """When its last round was stored, seconds since the epoch."""
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
    def prepared(self) -> Iterator[Found]:
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
                yield Found(rounds, self._newest(), self._store.exists(), self._lost(), self._waiting())
            except (OSError, sqlite3.Error) as error:
                raise StoreError(f"{self._backup}: it cannot be restored: {error}") from error
            finally:
                self._remove_copy()
        finally:
            lock.drop()

    def put_in_place(self, entry: Audit) -> Path | None:
        """Make the copy the store, with a line in its audit; returns where the old one is kept, if there was one."""
        with closing(sqlite3.connect(self._copy, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            audit(connection, entry)
        sync(self._copy)
        kept = self._keep_old()
        self._copy.rename(self._store)
        # Of the old store, or of a reader of it: SQLite would take them for the new one's.
        self._beside("-shm").unlink(missing_ok=True)
        sync(self._store.parent)
        return kept

    def _make_copy(self) -> None:
        """With the backup's own write-ahead log, if it was not closed."""
        logged = self._backup.with_name(f"{self._backup.name}-wal")
        parts = [(self._backup, self._copy)]
        if logged.is_file() and logged.stat().st_size:
            parts.append((logged, self._copy.with_name(f"{self._copy.name}-wal")))
        needed = sum(source.stat().st_size for source, _ in parts) + MARGIN_BYTES
        if (room := shutil.disk_usage(self._store.parent).free) < needed:
            raise StoreRefused(
                f"{self._store.parent}: its disk is too full: {room / 1e6:.0f} MB are free, "
                f"{needed / 1e6:.0f} MB are needed"
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
        return tuple(sorted(each.name for each in self._store.parent.glob("*.ring") if each.stat().st_size))

    def _keep_old(self) -> Path | None:
        """Give the old store a second name beside the first, which the new one takes over.

        What its write-ahead log holds is written into it first. Where damage prevents that, the log gets a second name
        too, and loses the first: it must not be there when the new store is. Until then its `-shm` alone keeps a daemon
        from starting without it.
        """
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        kept = _unused(self._store.with_name(f"{self._store.name}.before-restore-{now}"))
        logged, kept_log = self._beside("-wal"), kept.with_name(f"{kept.name}-wal")
        if not os.path.lexists(self._store):
            return self._keep_log(logged, kept_log)
        if logged.exists():
            os.link(logged, kept_log)  # SQLite removes the log of a store that makes no sense
        try:
            with closing(sqlite3.connect(self._store)) as connection:
                busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            kept_log.unlink(missing_ok=True)
            if busy:
                raise StoreError(f"{self._store}: another program reads it: end that program first")
        except sqlite3.Error:
            self._keep_log(logged, kept_log)
        os.link(self._store, kept)
        sync(self._store.parent)
        return kept

    def _keep_log(self, logged: Path, kept: Path) -> Path | None:
        if logged.exists():
            if not kept.exists():
                os.link(logged, kept)
            self._beside("-shm").touch(0o600)
            logged.unlink()
        return kept if kept.exists() else None

    def _beside(self, end: str) -> Path:
        return self._store.with_name(f"{self._store.name}{end}")

    def _remove_copy(self) -> None:
        for end in ("", "-wal", "-shm", "-journal"):
            self._copy.with_name(f"{self._copy.name}{end}").unlink(missing_ok=True)


def _unused(path: Path) -> Path:
    """This name, or one like it: there may have been a restore in the same second, or one that was killed."""
    number = 1
    found = path
    while os.path.lexists(found):
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def _refuse_unusable(backup: Path, store: Path) -> None:
    """StoreRefused unless it is a file, with something in it, that is not the store itself."""
    try:
        found = backup.stat()
    except OSError as error:
        raise StoreRefused(f"{backup}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise StoreRefused(f"{backup}: this is no file")
    if not found.st_size:
        raise StoreRefused(f"{backup}: the file is empty")
    with suppress(OSError):
        if backup.samefile(store):
            raise StoreRefused(f"{backup}: this is the store itself")
