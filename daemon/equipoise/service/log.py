"""Lines for the journal: a priority, who speaks, what is said, and only fields that may be written down.

Names of players, addresses and secrets are not among the fields.
"""

from __future__ import annotations

import logging
import sys
from typing import Literal

Level = Literal["debug", "info", "warning", "error"]

FIELDS = ("server", "pool", "route", "code", "status", "job", "port", "address", "version", "seconds")
"""What `extra` may add to a line; everything else in it is dropped. `address` is the daemon's own."""

_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


class JournalFormatter(logging.Formatter):
    """`<6>equipoise.web.server: refused code=host status=421`; each line of a traceback has its priority."""

    def format(self, record: logging.LogRecord) -> str:
        """One record, usually one line."""
        text = record.getMessage().replace("\n", "\\n")
        known = " ".join(f"{name}={getattr(record, name)}" for name in FIELDS if hasattr(record, name))
        lines = [f"{record.name}: {text}{' ' + known if known else ''}"]
        if record.exc_info:
            lines += self.formatException(record.exc_info).splitlines()
        prefix = f"<{_PRIORITIES.get(record.levelno, 5)}>"
        return "\n".join(prefix + line for line in lines)


def set_up(level: Level) -> None:
    """Write everything of this level and above to standard error, where journald reads priorities."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JournalFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # it announces every run
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # it writes down addresses of callers
    logging.getLogger("asyncio").setLevel(logging.WARNING)
