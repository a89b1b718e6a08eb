"""The parts of the daemon that the routes use; `app` hands them in.

A reload of the configuration replaces the whole of them at once, and a request keeps those that it began with: no
handler sees half a reload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError
from equipoise.game.port import GameServers
from equipoise.service.calibrations import Calibrations
from equipoise.service.exporting import Exports
from equipoise.service.host import Host
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool
from equipoise.service.refits import Refits
from equipoise.service.reloads import Reloads
from equipoise.service.scheduler import Scheduler
from equipoise.service.spreads import Spreads
from equipoise.solving.worker import Worker
from equipoise.store.port import Clock, Store
from equipoise.web.callers import Callers
from equipoise.web.refusals import Refusals
from equipoise.wire import Game


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a handler may use."""

    store: Store
    clock: Clock
    metrics: Metrics
    refusals: Refusals
    solving: Worker
    """Splits for other programs."""
    scheduler: Scheduler
    exports: Exports
    reloads: Reloads
    game_servers: GameServers
    """By RCON and A2S."""
    refits: Refits
    spreads: Spreads
    calibrations: Calibrations
    hosts: Mapping[ServerId, Host] = field(default_factory=dict)
    games: Mapping[ServerId, Game] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    callers: Callers = field(default_factory=Callers)
    names: frozenset[str] = frozenset()
    """Values of the Host header that are served."""

    def host(self, server: str) -> Host:
        """The host of a configured server; ScriptError 404."""
        try:
            return self.hosts[ServerId(server)]
        except KeyError:
            raise ScriptError("not_found", f"no server {server!r} is configured", status=404) from None

    def sides(self, server: ServerId) -> tuple[str, str] | None:
        """What players of a server call sides A and B; None: it is not configured."""
        if server not in self.hosts:
            return None
        return self.hosts[server].rules.sides or self.games[server].sides

    def pool(self, name: str | None) -> Pool:
        """A pool by name; None means the only one. ScriptError 404."""
        if name is None and len(self.pools) == 1:
            (pool,) = self.pools.values()
            return pool
        try:
            return self.pools[name or ""]
        except KeyError:
            known = ", ".join(sorted(self.pools))
            missing = f"no pool {name!r} is configured; " if name else ""
            raise ScriptError("not_found", f"{missing}name one of the pools: {known}", status=404) from None
