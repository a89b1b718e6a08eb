"""The log, and what else systemd is told: lines for its journal, and whether the daemon is ready and alive.

A line has priority, logger, message, and fields from a list of those that may be logged.

Players' names and secrets are not on the list, so that no call site can log them by accident. Text that comes from
outside is one line without control characters, whatever it contains.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
import socket
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["text", "json"]

FIELDS = (
    *("code", "status", "server", "pool", "caller", "agent", "path", "kinds", "peer"),
    *("boot", "job", "event_number", "port", "address", "version", "seconds", "count"),
)
"""Keys of `extra` that are logged, in this order; others are dropped. `address` is the one that the daemon listens on,
`peer` the one that a refused request came from."""

_HANDLER = logging.StreamHandler(sys.stderr)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_PLAIN = re.compile(r"""[^\s"'=\\]+""")
_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


class JournalFormatter(logging.Formatter):
    """`<6>equipoise.web.refusals: refused code=host status=421`; journald reads the priority of every line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and one more for each line of a traceback. Control characters are escaped: `\\n`."""
        text = _escaped(record.getMessage())
        fields = " ".join(f"{name}={_word(getattr(record, name))}" for name in FIELDS if hasattr(record, name))
        lines = [f"{record.name}: {text}{' ' + fields if fields else ''}"]
        if record.exc_info:
            lines += map(_escaped, self.formatException(record.exc_info).split("\n"))
        return "\n".join(_prefix(record) + line for line in lines)


class JsonFormatter(logging.Formatter):
    """`{"level": "info", "time": "…", "logger": "…", "message": "…", …}`: an object a line, tracebacks inside."""

    def __init__(self, prefixed: bool) -> None:
        super().__init__()
        self._prefixed = prefixed
        """Lines begin with a priority, which journald takes off again."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of ASCII: what is no such character is escaped as JSON does."""
        entry: dict[str, object] = {
            "level": record.levelname.lower(),
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in FIELDS:
            if hasattr(record, name):
                value = getattr(record, name)
                entry[name] = value if isinstance(value, int | float) and abs(value) < math.inf else str(value)
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return (_prefix(record) if self._prefixed else "") + json.dumps(entry)


def _prefix(record: logging.LogRecord) -> str:
    return f"<{_PRIORITIES.get(record.levelno, 5)}>"


def _escaped(text: str) -> str:
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def _word(value: object) -> str:
    """The value of a field: as it is when it is one plain word, else quoted and escaped."""
    text = str(value)
    return text if text.isascii() and text.isprintable() and _PLAIN.fullmatch(text) else ascii(text)


def set_up(level: Level, form: Format) -> None:
    """Log this level and above to standard error, which journald reads."""
    _HANDLER.setStream(sys.stderr)
    # `force`: a library may have set up the root before us.
    logging.basicConfig(handlers=[_HANDLER], force=True)
    log_as(level, form)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # it logs every run of a job
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # it logs callers' addresses
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def log_as(level: Level, form: Format) -> None:
    """Log this level and above in this form from now on."""
    _HANDLER.setFormatter(JsonFormatter(_journal_reads(_HANDLER.stream)) if form == "json" else JournalFormatter())
    logging.getLogger().setLevel(level.upper())


def _journal_reads(stream: TextIO) -> bool:
    """Whether a stream is the one that systemd has connected with the journal: systemd.exec(5), $JOURNAL_STREAM."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


# Log lines that can be provoked: equal ones are written once a minute, with the number of their repeats.

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
        # At most `MOST` different lines in a minute: keys come from
        # outside too, and must not fill memory or the journal.
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


# systemd's notification protocol (sd_notify(3)). Outside systemd nothing is sent.


def notify(state: str, environ: Mapping[str, str] = os.environ) -> None:
    """Send a state to the socket that `NOTIFY_SOCKET` names, if it is set; a leading @ marks an abstract socket."""
    address = environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.sendall(state.encode())


def watchdog_seconds(environ: Mapping[str, str] = os.environ) -> float | None:
    """Seconds between two WATCHDOG=1: half of what systemd allows; None when it expects none.

    >>> watchdog_seconds({"WATCHDOG_USEC": "30000000"})
    15.0
    """
    limit = environ.get("WATCHDOG_USEC", "")
    if not limit.isdecimal() or environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    return int(limit) / 2_000_000
