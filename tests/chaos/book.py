"""What the driver knows of every round: when it was first sent, behind which other, and when it was answered.

This is the truth that a store is compared with, so nothing in here comes from the daemon but its answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

Key = tuple[str, str]
"""Server and round id: ids are unique on their server only."""


@dataclass
class Entry:
    """A round that was sent at least once."""

    event: Mapping[str, Any]
    sent: float
    """When it was sent first, by the driver's monotonic clock."""
    behind: Key | None
    """The round before it in the batch in which it was sent first."""
    answered: float | None = None
    """When the first answer came that it is stored or kept; None: the daemon owes nothing yet."""
    numbers: list[Mapping[str, Any]] = field(default_factory=list)
    """Every answer of `POST /v1/rounds` to it that has ratings."""


class Book:
    """Any thread may write in it."""

    def __init__(self) -> None:
        self.rounds: dict[Key, Entry] = {}
        self.wrong: list[str] = []
        """Answers that the protocol does not allow."""
        self.stored: set[Key] = set()
        self.kept: set[Key] = set()
        self.causes: tuple[str, ...] = ("StoreError", "StoreDamaged")
        """Questions that failed with one of these words failed because of what the driver did to the store."""
        self.clock_turned = False
        """The daemon's clock was wrong at times: rounds that began later than it said may have been redated."""
        self._lock = Lock()

    def sending(self, server: str, rounds: Iterable[Mapping[str, Any]]) -> None:
        """These rounds are about to be sent in one batch, in this order."""
        with self._lock:
            now, behind = time.monotonic(), None
            for event in rounds:
                key = (server, event["round"])
                self.rounds.setdefault(key, Entry(event, now, behind))
                behind = key

    def answered(self, server: str, statuses: Mapping[str, str]) -> None:
        """An answer names rounds as stored or kept: from here on they must not be lost."""
        with self._lock:
            now = time.monotonic()
            for name, status in statuses.items():
                entry = self.rounds.get((server, name))
                if entry is None or status not in ("stored", "kept"):
                    self.wrong.append(f"{server}: round {name} is {status!r}, and was never sent so")
                    continue
                if entry.answered is None:
                    entry.answered = now
                (self.stored if status == "stored" else self.kept).add((server, name))

    def rated(self, server: str, name: str, answer: Mapping[str, Any]) -> None:
        """An answer of `POST /v1/rounds`: every answer to one round has to be the first one."""
        with self._lock:
            self.rounds[server, name].numbers.append(answer)

    def complain(self, text: str) -> None:
        """Note an answer that the protocol does not allow."""
        with self._lock:
            self.wrong.append(text)

    def void(self, keys: Iterable[Key]) -> None:
        """The driver destroyed these rounds itself: what was answered for them, and their order, counts no more."""
        with self._lock:
            for key in keys:
                self.rounds[key].answered = None
                self.stored.discard(key)
            gone = set(keys)
            for entry in self.rounds.values():
                if entry.behind in gone:
                    entry.behind = None

    def owed(self) -> set[Key]:
        """The rounds that were answered."""
        with self._lock:
            return {key for key, entry in self.rounds.items() if entry.answered is not None}
