"""What the routes work on; the composition root hands it in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError
from equipoise.service.host import Host
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool
from equipoise.store.port import Clock, Store
from equipoise.web.callers import Callers
from equipoise.wire import Game


@dataclass(frozen=True, slots=True)
class Services:
    """The daemon's parts as the web sees them."""

    hosts: Mapping[ServerId, Host]
    games: Mapping[ServerId, Game]
    pools: Mapping[str, Pool]
    store: Store
    clock: Clock
    callers: Callers
    names: frozenset[str]
    """What a Host header may say."""
    metrics: Metrics
    solving: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One split for other programs at a time: game servers come first."""

    def host(self, server: str) -> Host:
        """The host of a configured server; ScriptError 404."""
        try:
            return self.hosts[ServerId(server)]
        except KeyError:
            raise ScriptError("not_found", f"no server {server!r} is configured", status=404) from None

    def pool(self, name: str | None) -> Pool:
        """A pool by name; where there is only one, it need not be named. ScriptError 404."""
        if name is None and len(self.pools) == 1:
            (pool,) = self.pools.values()
            return pool
        try:
            return self.pools[name or ""]
        except KeyError:
            known = ", ".join(sorted(self.pools))
            raise ScriptError("not_found", f"name one of the pools: {known}", status=404) from None
