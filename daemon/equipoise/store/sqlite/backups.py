"""A copy of the store, made beside the daemon.

`VACUUM INTO` reads one moment of the store, by a connection that only reads. It does not run on the store's thread,
because rounds would wait for it: 9 s for 100,000 rounds (600 MB). In a process of its own it neither takes the daemon's
memory nor its processor, and can be ended at any time. Beside a daemon that writes, a reader is safe: the fault of
SQLite before 3.51.3 needs two connections that write.

The copy is made under another name, so that a file with a backup's name is whole, checked and on the disk.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import msgspec

from equipoise.errors import StoreDamaged, StoreError, StoreRefused
from equipoise.files import open_private, sync
from equipoise.store.sqlite.connection import means_damage, refuse_foreign, refuse_missing
from equipoise.store.sqlite.process import started
from equipoise.store.upkeep import Backup

COMMAND = (sys.executable, "-P", "-m", "equipoise.store.sqlite")
PART = ".equipoise-part"
"""The end of the name of an unfinished copy. It is no other program's: files that end so are removed."""
MARGIN_BYTES = 16 << 20
"""Stays free on the disk: rounds that end meanwhile have to be stored."""
STEPS = 5_000
"""Of SQLite, some milliseconds of a processor; after them a pause of the same length."""


async def in_process(store: Path, target: Path) -> Backup:
    """`back_up` in a process of its own, which ends with this task."""
    try:
        command = (*COMMAND, str(store), str(target))
        async with started(command, "makes a backup", stdout=PIPE, stderr=PIPE) as process:
            answer, said = await process.communicate()
    except asyncio.CancelledError:
        remove_unfinished(target.parent)
        raise
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise StoreError(lines[-1] if lines else f"the backup's process died (exit code {process.returncode})")
    return msgspec.json.decode(answer, type=Backup)


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
        copied, after = checked(part, store), rows_of(store)
        # What is deleted and added meanwhile leaves a copy between the two.
        lost = [name for name, rows in copied.items() if not _between(rows, before[name], after[name])]
        if lost:
            raise StoreError(f"{target}: no backup was made: rows of {', '.join(lost)} are missing from the copy")
        sync(part)
        part.rename(target)
        sync(target.parent)
    return Backup(str(target.absolute()), target.stat().st_size, copied["rounds"], time.monotonic() - began)


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
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            if found != "ok":
                raise StoreRefused(f"{named}: it is damaged: {' '.join(found.split())}")
            return _rows(connection)
        except sqlite3.Error as error:
            if means_damage(error):
                raise StoreRefused(f"{named}: it is damaged, or not an Equipoise store: {error}") from None
            raise


def rows_of(file: Path) -> dict[str, int]:
    """The rows of each table of a store."""
    with closing(reading(file)) as connection:
        return _rows(connection)


def reading(file: Path) -> sqlite3.Connection:
    """A connection that only reads, but may make the files of a write-ahead log."""
    return sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, isolation_level=None)


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
        os.truncate(part, 0)
        _go_slowly(connection)
        connection.execute("VACUUM INTO ?", (str(part),))
        return before


def _rows(connection: sqlite3.Connection) -> dict[str, int]:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}


def _between(rows: int, one: int, other: int) -> bool:
    return min(one, other) <= rows <= max(one, other)


def _refuse_small_disk(connection: sqlite3.Connection, part: Path) -> None:
    """A copy that fills the disk would keep the store itself from writing."""
    size, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    disk = os.statvfs(part)
    needed, room = size * (pages - free) + MARGIN_BYTES, disk.f_bavail * disk.f_frsize
    if room < needed:
        raise StoreError(
            f"{part.parent}: its disk is too full for a backup: {room / 1e6:.0f} MB are free, "
            f"{needed / 1e6:.0f} MB are needed"
        )


def _go_slowly(connection: sqlite3.Connection) -> None:
    """Leave the processor and the disk to the game: as long a pause after each piece as it took."""
    last = time.monotonic()

    def pause() -> int:
        nonlocal last
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
