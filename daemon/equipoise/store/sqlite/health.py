"""Health of the store: what its calls say of it, the log's lines on it, and a look through the whole file.

A store that is locked or full takes rounds again by itself, so the first write that succeeds ends the trouble. A
damaged one does not: SQLite may go on writing elsewhere in the file, and what it writes there is lost when a backup
is restored. So after the first sign of damage nothing is written any more, and rounds wait in the rings' files.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from equipoise.errors import StoreDamaged, StoreError
from equipoise.store.sqlite.connection import means_damage
from equipoise.store.upkeep import StoreHealth, StoreState

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

log = logging.getLogger(__name__)


class Health:
    """The health of one store. Written by the store's thread alone, read by all."""

    def __init__(self) -> None:
        self.now = StoreHealth()
        self._logged_at: float | None = None
        self._unlogged = 0
        """Calls that failed since the last line of the log."""

    def failed(self, error: StoreError) -> None:
        """A call failed. An error that SQLite has no part in says nothing about the store."""
        state, before, seen = _state(error), self.now, time.monotonic()
        if state is None:
            return
        if before.state == "damaged":
            state = "damaged"
        worse = state == "damaged" and before.state != "damaged"
        since, began = (before.since, before.began) if before.since and not worse else (time.time(), seen)
        self.now = StoreHealth(state, since, began, before.failures + 1, ADVICE[state])
        self._unlogged += 1
        if worse or self._logged_at is None or seen - self._logged_at >= LOG_SECONDS:
            level = logging.ERROR if state == "damaged" else logging.WARNING
            why = error.__cause__ or str(error).removeprefix("store: ")
            log.log(level, "the store is %s (%s): %s; failed calls: %d", state, why, ADVICE[state], self._unlogged)
            self._logged_at, self._unlogged = seen, 0

    def wrote(self) -> None:
        """A transaction was committed, so a trouble is over."""
        began = self.now.began
        if began is None:
            return
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
    return _STATES.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF, "failing")


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
        with ThreadPoolExecutor(1, thread_name_prefix="check") as thread:
            return await asyncio.get_running_loop().run_in_executor(thread, self._look)

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
            with closing(sqlite3.connect(f"file:{quote(str(self._path))}?mode=ro", uri=True)) as connection:
                self._connection = connection
                found = "ok" if self._stopped else connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            if means_damage(error):
                return StoreDamaged(f"store: {error}")
            if not self._stopped:
                log.warning("the store could not be checked for damage: %s", error)
            return None
        return None if found == "ok" else StoreDamaged(f"store: {' '.join(found.split())}")
