"""The one thread that owns a store's connection: opened, closed, and asked to read and write."""
# ruff: noqa: D102 (the port documents its methods)

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from sqlite_utils import Database

from equipoise.errors import StoreError
from equipoise.store.sqlite import outcome
from equipoise.store.sqlite.connection import (
    Lock,
    OpenFiles,
    open_database,
    probe,
    refuse_missing,
    store_errors,
    touch,
    transaction,
)
from equipoise.store.sqlite.health import Health, QuickCheck
from equipoise.store.sqlite.notes import NOTES_RETRY_SECONDS, NOTES_SECONDS, Noting
from equipoise.store.upkeep import StoreHealth

T = TypeVar("T")

log = logging.getLogger(__name__)


class StoreThread:
    """What every part of the store stands on: calls are served one after the other."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        notes_after: float = NOTES_SECONDS,
        retry_after: float = NOTES_RETRY_SECONDS,
    ) -> None:
        if os.path.islink(path):  # to a store elsewhere: its log and its lock are beside the file itself
            path = Path(os.path.realpath(path))
        self.path = path
        self._create = create
        self._lock = Lock(path.with_name(f"{path.name}.lock"))
        self._thread: ThreadPoolExecutor | None = None
        self._database: Database | None = None
        self._files: OpenFiles | None = None
        self._health = Health()
        self._check = QuickCheck(path)
        self._checking: asyncio.Task[None] | None = None
        self._notes = Noting(self._read, self._transaction, notes_after, retry_after)
        self._rewriting = 0
        """Pools of which so much is rewritten that other calls fail meanwhile, as when the store is locked."""

    async def open(self) -> None:
        self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="store")
        await self._run(self._connect)

    async def close(self) -> None:
        if self._thread is None:
            return
        if self._checking is not None:
            while not self._checking.done():
                self._check.stop()  # again and again: between two statements of SQLite it stops nothing
                await asyncio.wait([self._checking], timeout=0.1)
            self._checking = None
        await self._notes.stop()
        await self._run(self._disconnect)
        self._thread.shutdown()
        self._thread = None

    def start_check(self) -> None:
        """Look through the whole file for damage, beside the calls; what is found becomes the store's health."""
        self._checking = asyncio.create_task(self._checked())

    async def ping(self) -> None:
        def ping(db: Connection) -> None:
            self._refuse_writing()
            if self._health.now.state == "ok":
                probe(db)
                return
            with self._transaction(db):  # only a write that reaches the disk shows that a full one has room again
                touch(db)

        await self._read(ping)

    def health(self) -> StoreHealth:
        return self._health.now

    async def _write(self, work: Callable[[Connection], T]) -> T:
        def atomically(db: Connection) -> T:
            with self._transaction(db):
                return work(db)

        return await self._read(atomically)

    async def _read_noted(self, work: Callable[[Connection], T]) -> T:
        """Write the notes that wait, then read, so that readers see them."""

        def after_notes(db: Connection) -> T:
            with suppress(StoreError), self._errors():  # when notes cannot be written, the rest can still be read
                self._notes.write(db)
            return work(db)

        return await self._read(after_notes)

    async def _read(self, work: Callable[[Connection], T], *, alone: bool = False) -> T:
        if self._rewriting and not alone:
            raise StoreError("store: the ratings of a pool are being replaced")

        def served() -> T:
            with self._errors():
                return work(self._connection)

        return await self._run(served)

    async def _taken_over(self, work: Callable[[Connection], None], large: bool = True) -> None:
        """Rewrite much at once; what is large refuses other calls meanwhile."""
        self._rewriting += large
        try:
            await self._read(work, alone=True)
        finally:
            self._rewriting -= large

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """SQLite's errors as ours, each noted in the store's health."""
        try:
            with store_errors():
                yield
        except StoreError as error:
            self._health.failed(error)
            raise

    @contextmanager
    def _transaction(self, db: Connection) -> Iterator[None]:
        """A transaction of a store that may be written; its commit ends a trouble."""
        self._refuse_writing()
        with transaction(db):
            yield
        self._health.wrote()

    def _refuse_writing(self) -> None:
        self._health.refuse_writing()
        if self._files is not None:
            self._files.check()

    async def _checked(self) -> None:
        if (found := await self._check.run()) is not None:
            await self._run(lambda: self._health.failed(found))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            raise StoreError("store: it is not open")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @property
    def _connection(self) -> Connection:
        if self._database is None:
            raise StoreError("store: it is not open")
        return self._database.conn

    def _connect(self) -> None:
        if not self._create:
            refuse_missing(self.path)  # before the lock's file is made
        self._lock.take()
        outcome.remove_left(self.path)
        try:
            self._database = open_database(self.path, create=self._create)
            self._files = OpenFiles(self.path)
        except BaseException:
            self._lock.drop()
            raise

    def _disconnect(self) -> None:
        if self._database is not None:
            try:
                with store_errors():
                    self._notes.write(self._connection)
            except StoreError as error:
                log.error("%d notes are lost: %s", len(self._notes.unwritten), error)
            self._database.close()
            self._database = None
        self._lock.drop()
