"""What a process beside the daemon may take from the game."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

from equipoise.store.sqlite.process import give_way

MEMORY_BYTES = 700 << 20
"""Of data: with the daemon it is less than the unit allows both."""


def limit() -> None:
    """Give way to others, use memory of a limited size, and be the first to go where it is short."""
    give_way()
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    with suppress(OSError):  # of all processes of the service it is one that can be done without
        Path("/proc/self/oom_score_adj").write_text("1000")
