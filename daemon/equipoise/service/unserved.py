"""Scripts that call one server in vain, for operators to see: superseded ones, and those whose batches are refused."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import islice

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError
from equipoise.service.console import defused
from equipoise.service.log import Repeats

LEAST_SILENCE_SECONDS = 60.0
"""Twice the time after which a stale script calls again."""

REMEMBERED_SECONDS = 86400.0
"""How long a refusal is shown whose kind of event did not come again: a server that is played every evening sends all
kinds within a day."""
MOST_REFUSED = 8
"""Kinds of refusals of one server that are told apart."""
MOST_KINDS = 32
"""Kinds of events that are kept of one refusal: more than the protocol has, but a script may send any words."""
CUT = 200
"""Characters that are kept of a message, and of a path."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StaleScript:
    """A superseded script that calls."""

    boot: int
    """The number of its start, as in its batches."""
    since: float
    """When its first stale batch came; seconds since the epoch."""


@dataclass(slots=True)
class StaleScripts:
    """Those of one server. As many as boots are remembered, because others are not known to be superseded."""

    silence_seconds: float
    """A script that has been silent this long, and for `LEAST_SILENCE_SECONDS`, does not call any more."""
    _heard: dict[int, tuple[StaleScript, float]] = field(default_factory=dict)
    """By boot, with the time of the last batch."""

    def note(self, boot: int, now: float, epoch: float) -> bool:
        """Note a stale batch; True when its script was not known to call."""
        known = {script.boot: script for script in self.calling(now)}
        self._heard = {each: heard for each, heard in self._heard.items() if each in known}
        self._heard[boot] = known.get(boot, StaleScript(boot, epoch)), now
        return boot not in known

    def forget(self, boot: int) -> None:
        """The script is the server's own from now on."""
        self._heard.pop(boot, None)

    def calling(self, now: float) -> tuple[StaleScript, ...]:
        """Those that were heard lately, the longest stale first."""
        longest = max(self.silence_seconds, LEAST_SILENCE_SECONDS)
        return tuple(script for script, at in self._heard.values() if now - at < longest)


@dataclass(frozen=True, slots=True)
class RefusedBatch:
    """Batches of a server's own script that were refused for one reason, and none like them was taken since."""

    code: str
    """The kind of refusal: a word of docs/protocol.md."""
    status: int
    """The HTTP status of the refusal."""
    path: str
    """Where the last one was wrong; empty: as a whole."""
    message: str
    """What was wrong there."""
    kinds: tuple[str, ...]
    """Kinds of events that may be at fault. It is over when all were taken; with none, when any batch was."""
    count: int
    """How many batches they are."""
    since: float
    """When the first one came, in seconds since the epoch."""
    last: float
    """When the first and the last one came; seconds since the epoch."""


class RefusedBatches:
    """Those of one server.

    A script whose rounds are refused still has its heartbeats taken. So a refusal is over when the kinds of events that
    it concerned were taken, or when a script of another version says hello, as after an update. What is to be sent
    again as it was (503) is no refusal, and a script with the secret of another server is found by `web.refusals`.
    """

    def __init__(self, server: ServerId) -> None:
        self.server = server
        self.counted = Counter[str]()
        """All batches refused since the daemon started, by code."""
        self._now: dict[tuple[str, str], tuple[RefusedBatch, str | None]] = {}
        """By code and by path without numbers, with the version of the script."""
        self._repeats = Repeats(log, logging.WARNING)

    def close(self) -> None:
        """Write to the log what was counted."""
        self._repeats.close()

    def note(self, refusal: ScriptError, version: str | None, epoch: float) -> None:
        """Note that a batch was refused."""
        if refusal.status == 503 or refusal.code == "server":
            return
        path, message = (defused(text)[:CUT] for text in (refusal.path or "", refusal.message))
        key = refusal.code, re.sub(r"\[\d+\]", "[]", path)
        before, _ = self._now.pop(key, (None, None))
        if before is not None and epoch - before.last >= REMEMBERED_SECONDS:
            before = None
        kinds = [*refusal.kinds, *(before.kinds if before else ())]
        self._now[key] = refused = (
            RefusedBatch(
                code=refusal.code,
                status=refusal.status,
                path=path,
                message=message,
                kinds=tuple(sorted(islice(dict.fromkeys(defused(kind)[:CUT] for kind in kinds), MOST_KINDS))),
                count=before.count + 1 if before else 1,
                since=before.since if before else epoch,
                last=epoch,
            ),
            version,
        )
        self.counted[refusal.code] += 1
        while len(self._now) > MOST_REFUSED:
            del self._now[next(iter(self._now))]
        self._repeats.log(key, "a batch of the script is refused", **self._named(refused[0]))

    def taken(self, kinds: Collection[str], version: str | None) -> None:
        """Note that a batch with these kinds of events was taken, from a script of this version."""
        for key, (refused, by) in tuple(self._now.items()):
            left = tuple(kind for kind in refused.kinds if kind not in kinds)
            if left and by in (None, version):
                self._now[key] = replace(refused, kinds=left), by
            else:
                del self._now[key]
                log.info("batches like those that were refused are taken again", extra=self._named(refused))

    def current(self, epoch: float) -> tuple[RefusedBatch, ...]:
        """Those that are not over, the one that came last at the end."""
        return tuple(refused for refused, _ in self._now.values() if epoch - refused.last < REMEMBERED_SECONDS)

    def _named(self, refused: RefusedBatch) -> dict[str, object]:
        # Not the message: it may have a player's name.
        named: dict[str, object] = {"server": self.server, "code": refused.code, "path": refused.path}
        return named | {"kinds": ",".join(refused.kinds), "count": refused.count}
