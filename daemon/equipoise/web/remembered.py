"""Refused requests of the last hour, for operators who look for a wrong secret or name."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from equipoise.web.messages.refusals import Refused

HOUR = 3600.0
MOST = 100
"""Different lines, and refusals that are counted of each: a flood must not fill memory."""

Key = tuple[str, str, str]
"""Code, claimed server, address."""


class RememberedRefusals:
    """The newest lines; a clock that is set does not matter to how long they stay."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lines: OrderedDict[Key, deque[float]] = OrderedDict()

    def note(self, code: str, server: str, peer: str) -> None:
        """Count a refusal."""
        times = self._lines.setdefault((code, server, peer), deque(maxlen=MOST))
        times.append(self._now())
        self._lines.move_to_end((code, server, peer))
        if len(self._lines) > MOST:
            self._lines.popitem(last=False)

    def lines(self) -> tuple[Refused, ...]:
        """Those of the last hour, the newest first."""
        now, epoch = self._now(), time.time()
        found = []
        for (code, server, peer), times in reversed(self._lines.items()):
            if count := sum(now - each < HOUR for each in times):
                found.append(Refused(code, server, peer, count, epoch - (now - times[-1])))
        return tuple(found)
