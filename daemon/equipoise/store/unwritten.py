"""Notes on their way to the store: gathered for a moment, so that many of them share one transaction.

A commit costs a sync of the disk, 10 ms on a slow one, and the number of syncs limits the rounds per second. When a
hundred servers each wrote their notes at once, every round cost three syncs instead of one. So notes wait for each
other, a second at most, and of a kind only the newest is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from threading import RLock

from equipoise.core.model import PlayerId, ServerId
from equipoise.store.notes import Audit, BalancePredictions, Decision, Name, Note, SessionMemory

MOST_LINES = 5_000
"""Decisions, lines of the audit and balance predictions that wait while the store is away; older ones are forgotten."""
MOST_NAMES = 10_000
"""Names that wait; those that were used longest ago are forgotten."""


class Unwritten:
    """Notes that wait. The event loop adds and the store's thread takes: each call is atomic."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._memories: dict[ServerId, SessionMemory] = {}
        self._names: dict[tuple[str, PlayerId], Name] = {}
        self._lines: deque[Decision | Audit | BalancePredictions] = deque(maxlen=MOST_LINES)

    def __len__(self) -> int:
        return len(self._memories) + len(self._names) + len(self._lines)

    def add(self, notes: Iterable[Note]) -> None:
        """Add notes, which are newer than all that wait."""
        with self._lock:
            for note in notes:
                match note:
                    case Decision() | Audit() | BalancePredictions():
                        self._lines.append(note)
                    case SessionMemory():
                        self._memories[note.server] = note
                    case Name():
                        self._names.pop((note.pool, note.player), None)
                        self._names[note.pool, note.player] = note
            for oldest in list(islice(self._names, max(0, len(self._names) - MOST_NAMES))):
                del self._names[oldest]

    def take(self) -> list[Note]:
        """Remove and return all notes, lines of the two logs oldest first."""
        with self._lock:
            taken: list[Note] = [*self._memories.values(), *self._lines, *self._names.values()]
            self._memories, self._names = {}, {}
            self._lines.clear()
        return taken

    def put_back(self, notes: Iterable[Note]) -> None:
        """Return notes that were taken and could not be written; they are older than all that wait."""
        with self._lock:
            newer = self.take()
            self.add(notes)
            self.add(newer)

    def supersede(self, server: ServerId, at: float) -> None:
        """A round has stored the server's memory as of `at`: one that waits from before must not replace it."""
        with self._lock:
            waiting = self._memories.get(server)
            if waiting is not None and waiting.at <= at:
                del self._memories[server]
