"""A wall clock that is set by years, forth and back, while the daemon runs and while it does not."""

from __future__ import annotations

import time

from tests.chaos.arena import Arena
from tests.chaos.faults.trial import Fault, Trial

YEAR = 31_557_600.0
AHEAD = (-10 * YEAR, -3600.0, -1.0, 0.0, 1.0, 90.0, 86_400.0, 10 * YEAR)


def clock_jumps(trial: Trial) -> int:
    """The clock that the daemon's Python code reads; see clock/sitecustomize.py."""
    arena = trial.arena = Arena(trial.folder / "arena", trial.rng)
    arena.book.clock_turned = True
    jumps = 0
    arena.daemon.turn_clock(0.0)
    arena.daemon.start()
    with arena.playing():
        for _ in range(2 * trial.scale):
            for ahead in trial.rng.sample(AHEAD, 3):
                time.sleep(0.1)
                arena.daemon.turn_clock(ahead)
                jumps += 1
            arena.daemon.kill()
            arena.daemon.turn_clock(trial.rng.choice(AHEAD))
            arena.daemon.start()
            jumps += 1
    arena.daemon.turn_clock(0.0)
    return jumps + 1


FAULTS = (Fault("clock jumps", clock_jumps, own=True),)
