"""What one solve may use: work and memory, both counted in bits, and time by a clock that the caller brings.

Counts make an answer repeatable: the same question has the same answer on every machine. A clock does not, so it is
for programs that wait for the answer. A solve that has used up its budget ends with `Spent`; the best that it has found
so far is then improved by `approximate`, and says how much may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

WORK = 1 << 33
"""Under half a second. The worst scramble of 64 players takes a quarter of it."""
MEMORY = 5 << 26
"""40 MiB: with what a step takes besides, no solve holds more than 64 MB."""


class Spent(Exception):
    """The budget is used up."""


EXHAUSTED = (Spent, MemoryError)
"""What ends a solve before it has proven its answer; MemoryError where the process itself may hold less."""


def _no_clock() -> float:
    return 0.0


@dataclass(slots=True)
class Meter:
    """The work that has been done."""

    done: float = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on the work of one meter; shares of a budget count on the same meter.

    >>> whole = Budget(work=100)
    >>> half = whole.share(1 / 2)
    >>> half.spend(40), half.work, whole.share(1 / 2).work
    (None, 50.0, 70.0)
    """

    work: float = WORK
    """The meter's reading at which it is used up, in bits that were shifted, united or compared."""
    memory: int = MEMORY
    """The most bits of sets that may be held at a time."""
    clock: Callable[[], float] = _no_clock
    until: float = math.inf
    """The clock's reading at which it is used up."""
    meter: Meter = field(default_factory=Meter)

    def spend(self, work: float, held: float = 0) -> None:
        """Count work that is about to be done; `Spent` when it, or what will be held after it, is too much."""
        done = self.meter.done + work
        if done > self.work or held > self.memory or self.clock() > self.until:
            raise Spent
        self.meter.done = done

    def halved(self) -> Budget:
        """The same, for a solve that holds its sets twice."""
        return replace(self, memory=self.memory // 2)

    def share(self, part: float) -> Budget:
        """A part of what is left of work and of time."""
        done, now = self.meter.done, self.clock()
        until = self.until if math.isinf(self.until) else min(self.until, now + max(0.0, self.until - now) * part)
        return replace(self, work=done + max(0.0, self.work - done) * part, until=until)
