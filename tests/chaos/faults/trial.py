"""What a fault is, and what it is given to work on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.chaos.arena import Arena
from tests.chaos.audit import Verdict


@dataclass
class Trial:
    """One try of a fault; the driver lets `arena` settle and compares afterwards."""

    arena: Arena
    """With a running daemon, and rounds of earlier trials. A fault that needs a new one puts its own here."""
    rng: Random
    folder: Path
    """Empty, and the trial's own."""
    scale: int
    """How much to do: 1 in the short run."""
    note: str = ""
    """What of the fault was tried, for the table."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often what happened, of which the table has the sums."""
    verdict: Verdict = field(default_factory=Verdict)
    """What the fault has found by itself."""
    rounds: int = 0
    """Rounds that it has compared by itself."""
    kept: int = 0
    """Of these, the ones that were answered `kept` at first: they waited in a ring."""
    settled: bool = False
    """The fault has compared everything, and ended its arena."""

    def settle(self, arena: Arena, *, about: str = "") -> None:
        """Compare now, and end the arena's daemon: the driver does not."""
        self.settled = True
        verdict = arena.settle()
        arena.daemon.kill()
        self.rounds += arena.rounds
        self.kept += len(arena.book.kept)
        for name, cases in verdict:
            getattr(self.verdict, name).extend(about + case for case in cases)


@dataclass(frozen=True)
class Fault:
    """A way to break the daemon, by name."""

    name: str
    run: Callable[[Trial], int]
    """Breaks it and mends it again; how many times."""
    needs: Callable[[], str | None] = lambda: None
    """What is missing on this machine; None: nothing."""
    own: bool = False
    """It makes arenas of its own."""
