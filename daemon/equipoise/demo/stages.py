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
    """Shows nothing; waits at a speed, 0 for not at all."""

    def __init__(self, speed: float = 0.0) -> None:
        self._speed = speed

    def add(self, line: Line) -> None:
        """Ignore the line."""

    def show(self, board: Board) -> None:
        """Ignore the board."""

    async def rest(self, seconds: float) -> None:
        """Wait that long, divided by the speed."""
        if self._speed:
            await asyncio.sleep(seconds / self._speed)


class Plain(Quiet):
    """The ticker's lines alone, for pipes and logs."""

    def __init__(self, console: Console, speed: float) -> None:
        super().__init__(speed)
        self._console = console

    def add(self, line: Line) -> None:
        """Print the line at once, without markup."""
        self._console.print(line.text, markup=False, highlight=False, soft_wrap=True)


class Screen(Quiet):
    """The whole terminal, redrawn at every moment; a context, at whose end the terminal is as it was before."""

    def __init__(self, console: Console, speed: float) -> None:
        super().__init__(speed)
        self._console = console
        self._ticker: deque[Line] = deque(maxlen=REMEMBERED)
        self._live = Live(console=console, screen=True, auto_refresh=False)

    def __enter__(self) -> Screen:
        """Switch the terminal to its alternate screen."""
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the terminal, also after an error."""
        self._live.__exit__(kind, error, trace)

    def add(self, line: Line) -> None:
        """Keep the line for the next time that the screen is drawn."""
        self._ticker.append(line)

    def show(self, board: Board) -> None:
        """Draw the board and the ticker in the terminal's present size."""
        width, height = self._console.size
        self._live.update(screen(board, tuple(self._ticker), width, height), refresh=True)
