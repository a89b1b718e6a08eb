"""Copies of what the store has: the nightly backup, and how many of them are kept; exports of pools.

An export is made by the running daemon, in pieces, beside its other work. A thread of its own reads and encodes, one
piece at a time and only when the last one was taken: memory does not grow with the pool, nor with a slow caller. Rounds
come first, so after each piece the thread rests as long as it worked.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from equipoise.errors import StoreError
from equipoise.files import make_private_directory
from equipoise.moving.jsonl import written
from equipoise.service.clock import Clock
from equipoise.service.metrics import Reading
from equipoise.store.pool_file import AnyLine
from equipoise.store.store import Store

FOLDER = "backups"
"""In the state directory."""
DAY = 86_400.0
_NAME = "equipoise-%Y%m%dT%H%M%SZ.db"
_NAMED = re.compile(r"equipoise-\d{8}T\d{6}Z\.db")

log = logging.getLogger(__name__)


def new_file(directory: Path, now: float) -> Path:
    """The name of a backup made now, in a directory that is made if it is missing; OSError if it cannot be."""
    make_private_directory(directory)
    return directory / datetime.fromtimestamp(now, UTC).strftime(_NAME)


class Backups:
    """Backups of the store in a directory of their own; others may put files beside them, also backups."""

    def __init__(self, store: Store, directory: Path, clock: Clock, keep: int) -> None:
        self._store, self._directory, self._clock = store, directory, clock
        self.keep = keep
        """As many of the newest stay."""
        self.at: str | None = None
        """The time of day of the job; None: there is none."""

    async def run(self) -> None:
        """Make one, and remove the oldest beyond those that are kept. StoreError: none was made, and none removed."""
        try:
            copy = await self._store.back_up(new_file(self._directory, self._clock.epoch()))
        except OSError as error:
            raise StoreError(f"{self._directory}: no backup was made: {error.strerror}") from None
        log.info("%s: %d rounds, %.0f MB, checked", copy.file, copy.rounds, copy.bytes / 1e6)
        await asyncio.to_thread(self._remove_oldest, Path(copy.file))

    def last(self) -> float | None:
        """When the newest was made, seconds since the epoch; None: there is none."""
        return max(self._times().values(), default=None)

    def readings(self) -> Iterator[Reading]:
        """Yield the metrics of backups, where there is a job that makes them."""
        if self.at is not None:
            newest = self.last() or 0.0
            yield Reading("equipoise_backup_timestamp_seconds", "When the newest backup was made.", newest)

    def _times(self) -> Mapping[Path, float]:
        times = {}
        for file in self._directory.glob("*.db"):
            if _NAMED.fullmatch(file.name):
                with suppress(ValueError):  # it has the form of ours, and is dated by no day: somebody else's
                    times[file] = datetime.strptime(file.name, _NAME).replace(tzinfo=UTC).timestamp()
        return times

    def _remove_oldest(self, newest: Path) -> None:
        """Remove the oldest; before them what a clock that was ahead has dated: it would displace all that follow."""
        # A day: names are in whole seconds, and clocks are set by a little all the time.
        times, ahead = self._times(), self._clock.epoch() + DAY
        older = sorted(times.keys() - {newest}, key=lambda file: (times[file] <= ahead, times[file]))
        for file in older[: max(0, len(older) + 1 - self.keep)]:
            file.unlink(missing_ok=True)


# Exports.

Snapshot = Callable[[str], AbstractContextManager[Iterable[AnyLine]]]
"""Opens a view of a pool as it is now, to be read by one thread."""


class Exports:
    """One export at a time."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.busy = False

    async def pieces(self, pool: str) -> AsyncGenerator[bytes, None]:
        """The export of a pool; StoreError when it cannot be read. Close it when it is not read to its end."""
        assert not self.busy, "the caller looked"
        self.busy = True
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="export") as thread:
            stack = ExitStack()
            try:
                lines = await loop.run_in_executor(thread, lambda: stack.enter_context(self._snapshot(pool)))
                export = written(lines)
                began = time.perf_counter()
                while (piece := await loop.run_in_executor(thread, next, export, None)) is not None:
                    took = time.perf_counter() - began
                    yield piece
                    await asyncio.sleep(took)
                    began = time.perf_counter()
            finally:
                self.busy = False
                # On the thread that opened it, and also when the caller has
                # gone: an open view keeps the store's log from shrinking.
                await asyncio.shield(loop.run_in_executor(thread, stack.close))
