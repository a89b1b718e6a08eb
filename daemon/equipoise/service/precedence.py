"""Precedence: game servers are answered first, and long work beside them waits between its parts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

AT_ONCE = 0.0005
"""Seconds of long work without a turn for others, all of it together."""
PATIENCE = 0.05
"""Seconds that it waits for the answers that are being made: one may itself wait, for a split to be solved."""


class Precedence:
    """Long work of the event loop, such as pages, calls `give_way` between its parts."""

    def __init__(self) -> None:
        self._answering = 0
        self._idle = asyncio.Event()
        self._waits_until = 0.0
        """As long as game servers' answers have precedence."""
        self._turn = asyncio.Lock()
        """Of several who would go on, one does in each round of the loop."""
        self._resumed = 0.0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Mark the time in which a game server waits for its answer."""
        if not self._answering:
            self._idle.clear()
            self._waits_until = time.perf_counter() + PATIENCE
        self._answering += 1
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._idle.set()

    async def give_way(self) -> None:
        """Wait for a game server that is being answered; let others have a turn when this has had its own."""
        now = time.perf_counter()
        if now - self._resumed < AT_ONCE and not (self._answering and now < self._waits_until):
            return
        async with self.turn():
            pass

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Give way, then keep others who would go on waiting until the end: for what is long in another thread."""
        async with self._turn:
            await asyncio.sleep(0)
            if self._answering and (patience := self._waits_until - time.perf_counter()) > 0.0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(patience):
                        await self._idle.wait()
            yield
            self._resumed = time.perf_counter()
