"""The stages that an evening can be shown on: a live screen, plain lines, or nothing."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from rich.console import Console
from rich.live import Live

from equipoise.demo.board import Board, Line
from equipoise.demo.view import screen

REMEMBERED = 60
"""Lines that the ticker of the tallest screen shows."""


class Quiet:
    """Shows nothing and never waits."""

    def add(self, line: Line) -> None:
        """Show nothing."""

    def show(self, board: Board) -> None:
        """Show nothing."""

    async def rest(self, seconds: float) -> None:
        """Do not wait."""


class Plain(Quiet):
    """The ticker's lines alone, for pipes and logs."""

    def __init__(self, console: Console, speed: float) -> None:
        self._console = console
        self._speed = speed

    def add(self, line: Line) -> None:
        """Print the line."""
        self._console.print(line.text, markup=False, highlight=False, soft_wrap=True)

    async def rest(self, seconds: float) -> None:
        """Wait that long, divided by the speed."""
        if self._speed:
            await asyncio.sleep(seconds / self._speed)


class Screen:
    """The whole terminal, redrawn at every moment; a context, at whose end the terminal is as it was before."""

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

    def add(self, line: Line) -> None:
        """Keep it for the next moment that is drawn."""
        self._ticker.append(line)

    def show(self, board: Board) -> None:
        """Redraw the terminal."""
        width, height = self._console.size
        self._live.update(screen(board, tuple(self._ticker), width, height), refresh=True)

    async def rest(self, seconds: float) -> None:
        """Wait that long, divided by the speed."""
        if self._speed:
            await asyncio.sleep(seconds / self._speed)
