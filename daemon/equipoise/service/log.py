"""Log lines for systemd's journal: priority, logger, message, and fields from a list of those that may be logged.

Players' names, callers' addresses and secrets are not on the list, so that no call site can log them by accident.
"""

from __future__ import annotations

import logging
import sys
from typing import Literal

Level = Literal["debug", "info", "warning", "error"]

FIELDS = ("server", "pool", "route", "code", "status", "boot", "job", "port", "address", "version", "seconds")
"""Keys of `extra` that are logged; others are dropped. `address` is the one that the daemon listens on."""

_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


class JournalFormatter(logging.Formatter):
    """`<6>equipoise.web.server: refused code=host status=421`; journald reads the priority of every line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and one more for each line of a traceback. A line break in the message is written as `\\n`."""
        text = record.getMessage().replace("\n", "\\n")
        known = " ".join(f"{name}={getattr(record, name)}" for name in FIELDS if hasattr(record, name))
        lines = [f"{record.name}: {text}{' ' + known if known else ''}"]
        if record.exc_info:
            lines += self.formatException(record.exc_info).splitlines()
        prefix = f"<{_PRIORITIES.get(record.levelno, 5)}>"
        return "\n".join(prefix + line for line in lines)


def set_up(level: Level) -> None:
    """Log this level and above to standard error, which journald reads."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JournalFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # it logs every run of a job
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # it logs callers' addresses
    logging.getLogger("asyncio").setLevel(logging.WARNING)
