"""What a host writes down behind its replies: session memory, decisions and names. Lost rounds it never is."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping

from equipoise.core.effects import LogDecision
from equipoise.core.model import PlayerId, ServerId, Split
from equipoise.errors import StoreError
from equipoise.store.port import Clock, Decision, Store

UNWRITTEN = 200
"""Decisions kept while the store is away; older ones are forgotten."""

log = logging.getLogger(__name__)


class Journal:
    """One server's notes on their way to the store."""

    def __init__(self, server: ServerId, store: Store, clock: Clock) -> None:
        self._server = server
        self._store = store
        self._clock = clock
        self._decisions: deque[Decision] = deque(maxlen=UNWRITTEN)
        self._names: dict[tuple[str, PlayerId], str] = {}
        self._memory: bytes | None = None
        """Not written yet."""
        self._memory_at = 0.0
        self._writing = asyncio.Lock()

    def remember(self, memory: bytes) -> None:
        """Note the session's memory; only the newest is written."""
        self._memory, self._memory_at = memory, self._clock.epoch()

    def decide(self, effect: LogDecision) -> None:
        """Note a decision."""
        self._decisions.append(
            Decision(
                self._server,
                self._clock.epoch(),
                effect.kind,
                effect.reason.english,
                effect.order,
                _detail(effect),
            )
        )

    def names(self, pool: str, names: Mapping[PlayerId, str]) -> None:
        """Note what players call themselves."""
        self._names.update({(pool, player): name for player, name in names.items()})

    async def flush(self) -> None:
        """Write everything; what the store does not take now is tried again with the next flush."""
        async with self._writing:
            try:
                if (memory := self._memory) is not None:
                    await self._store.remember(self._server, memory, self._memory_at)
                    # A newer one may have come meanwhile.
                    self._memory = None if self._memory is memory else self._memory
                while self._decisions:
                    await self._store.decide(self._decisions[0])
                    self._decisions.popleft()
                for pool, player in list(self._names):
                    await self._store.name(pool, player, self._names[pool, player])
                    del self._names[pool, player]
            except StoreError as error:
                log.warning("event=store_away server=%s error=%s", self._server, error)


def _detail(effect: LogDecision) -> dict[str, object] | None:
    detail: dict[str, object] = {}
    if effect.split is not None:
        detail["split"] = _plain(effect.split)
    if effect.players:
        detail["players"] = list(effect.players)
    if effect.after is not None:
        detail |= {"before": effect.before, "after": effect.after}
    return detail or None


def _plain(split: Split) -> dict[str, list[PlayerId]]:
    return {"a": list(split.a), "b": list(split.b), "bench": list(split.bench)}
