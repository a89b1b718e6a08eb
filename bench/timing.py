"""How the benches of replays are timed."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from time import process_time


def timed(work: Callable[[], object], runs: int) -> float:
    """Median CPU seconds of one core; of several runs a first one compiles and is not counted."""
    if runs > 1:
        work()
    seconds = []
    for _ in range(runs):
        gc.collect()
        start = process_time()
        work()
        seconds.append(process_time() - start)
    return median(seconds)
