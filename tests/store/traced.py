"""A real store that writes down every statement it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.store.store import Store


class Traced(Store):
    """A real store that knows which statements SQLite ran for it."""

    def __init__(self, path: Path, **waits: float) -> None:
        super().__init__(path, **waits)
        self.statements: list[str] = []

    @contextmanager
    def watched(self) -> Iterator[list[str]]:
        """The statements of the block, in order."""
        self.statements.clear()
        seen: list[str] = []
        yield seen
        seen += self.statements

    def _connect(self) -> None:
        super()._connect()
        self._connection.set_trace_callback(self.statements.append)
