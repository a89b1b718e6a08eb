"""Exports of pools by the running daemon, in pieces, beside its other work.

A thread of its own reads and encodes, one piece at a time and only when the last one was taken: memory does not grow
with the pool, nor with a slow caller. Rounds come first, so after each piece the thread rests as long as it worked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack

from equipoise.moving.jsonl import written
from equipoise.store.moved import AnyLine

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
                await asyncio.shield(loop.run_in_executor(thread, stack.close))
