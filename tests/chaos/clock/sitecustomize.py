"""Turns the wall clock of one Python process: Python imports this by its name when it starts.

The system's clock belongs to all processes, and libfaketime is not on every machine. What C code asks the kernel for,
SQLite's time or the kernel's own time stamps, stays right. The monotonic clock does too, as when people set a clock.
"""

from __future__ import annotations

import os
import time

_PLACE = os.environ["CHAOS_CLOCK"]
_time, _time_ns = time.time, time.time_ns


def _ahead() -> float:
    with open(_PLACE) as file:
        return float(file.read())


time.time = lambda: _time() + _ahead()
time.time_ns = lambda: _time_ns() + int(1e9 * _ahead())
