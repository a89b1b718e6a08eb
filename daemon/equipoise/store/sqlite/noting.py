"""Notes on their way into SQLite: written behind rounds, those of a second in one transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from sqlite3 import Connection

from equipoise.errors import StoreError
from equipoise.store.notes import Note
from equipoise.store.sqlite import notes
from equipoise.store.unwritten import Unwritten

NOTES_SECONDS = 1.0
"""How long notes wait for others to share their transaction: less than the 5 s between two polls."""
NOTES_RETRY_SECONDS = 5.0
"""How long they wait when the store was locked or full: each attempt may hold up rounds for BUSY_SECONDS."""

log = logging.getLogger(__name__)


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

    def add(self, more: Iterable[Note], *, due: bool) -> None:
        """Take notes; `due`: the store is open, and they are written soon."""
        self.unwritten.add(more)
        if due:
            self._write_in(self._after)

    def write(self, db: Connection) -> None:
        """Write all that wait; on the store's thread."""
        taken = self.unwritten.take()
        if not taken:
            return
        try:
            with self._transaction(db):
                notes.write(db, taken)
        except BaseException:
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
            self._timer = None
            if self.unwritten:  # what came meanwhile, or what could not be written
                self._write_in(wait)
