"""The clock of the daemon as its parts see it: `app` hands in the system's, and tests hand in theirs."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time, given to the host so that its tests give it."""

    def monotonic(self) -> float:
        """Return seconds that never go back; drives deadlines."""

    def epoch(self) -> float:
        """Return seconds since the epoch; is stored."""
