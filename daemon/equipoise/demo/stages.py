"""Where an evening is shown: a live screen, plain lines, or nowhere."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from rich.console import Console
from rich.live import Live

from equipoise.demo.board import Board, Line
from equipoise.demo.view import screen

REMEMBERED = 60
"""Lines that the tallest ticker shows."""


class Quiet:
    """Nothing is shown and nobody waits."""

    def tell(self, line: Line) -> None:
        """Nothing."""

    def show(self, board: Board) -> None:
        """Nothing."""

    async def rest(self, seconds: float) -> None:
        """No rest."""


class Plain(Quiet):
    """A line for everything that happens, for pipes and logs."""

    def __init__(self, console: Console, speed: float) -> None:
        self._console = console
        self._speed = speed

    def tell(self, line: Line) -> None:
        """Print it."""
        self._console.print(line.text, markup=False, highlight=False, soft_wrap=True)

    async def rest(self, seconds: float) -> None:
        """As long as the speed says."""
        if self._speed:
            await asyncio.sleep(seconds / self._speed)


class Screen:
    """The whole terminal, drawn anew at every moment; a context, at whose end the terminal is as it was."""

    def __init__(self, console: Console, speed: float) -> None:
        self._console = console
        self._speed = speed
        self._ticker: deque[Line] = deque(maxlen=REMEMBERED)
        self._live = Live(console=console, screen=True, auto_refresh=False)

    def __enter__(self) -> Screen:
        """Take the terminal."""
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self._live.__exit__(kind, error, trace)

    def tell(self, line: Line) -> None:
        """Shown with the next moment."""
        self._ticker.append(line)

    def show(self, board: Board) -> None:
        """Draw it."""
        width, height = self._console.size
        self._live.update(screen(board, tuple(self._ticker), width, height), refresh=True)

    async def rest(self, seconds: float) -> None:
        """As long as the speed says."""
        if self._speed:
            await asyncio.sleep(seconds / self._speed)
