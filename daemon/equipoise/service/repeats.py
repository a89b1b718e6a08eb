"""Log lines that can be provoked: equal ones are written once a minute, with the number of their repeats.

Memory and log are bounded: at most `MOST` different lines are told apart in a minute, and all others are one number.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable
from dataclasses import dataclass

MINUTE = 60.0
MOST = 100


@dataclass(slots=True)
class _Line:
    message: str
    fields: dict[str, object]
    repeats: int = 0


class Repeats:
    """Writes the first of equal lines at once, and the number of those that followed a minute later."""

    def __init__(self, log: logging.Logger, level: int) -> None:
        self._log, self._level = log, level
        self._lines: dict[Hashable, _Line] = {}
        self._others = 0
        self._timer: asyncio.TimerHandle | None = None

    def log(self, key: Hashable, message: str, error: Exception | None = None, /, **fields: object) -> bool:
        """Write the line, or count it when one with this key was written in the last minute; return which.

        `error`: its traceback is written below the line.
        """
        line = self._lines.get(key)
        written = line is None and len(self._lines) < MOST
        if line is not None:
            line.repeats += 1
        elif written:
            self._lines[key] = _Line(message, fields)
            self._log.log(self._level, message, exc_info=error, extra=fields)
        else:
            self._others += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(MINUTE, self._end_minute)
        return written

    def close(self) -> None:
        """Write what was counted, without waiting for the end of the minute."""
        if self._timer is not None:
            self._timer.cancel()
            self._end_minute()

    def _end_minute(self) -> None:
        for line in self._lines.values():
            if line.repeats:
                self._log.log(self._level, f"{line.message}, again", extra={**line.fields, "count": line.repeats})
        if self._others:
            self._log.log(self._level, "more lines were left out", extra={"count": self._others})
        self._lines.clear()
        self._others = 0
        self._timer = None
