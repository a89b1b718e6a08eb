"""Answers what is wrong with the daemon and with every game server."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

import equipoise
from equipoise.core.model import ServerId
from equipoise.core.rules import MATCH_HUMANS
from equipoise.errors import PeerError, StoreError
from equipoise.game.port import GameServers, Inspection
from equipoise.service import diagnosis
from equipoise.service.diagnosis import Finding
from equipoise.service.host import Host
from equipoise.service.team_sizes import ROUNDS, team_sizes
from equipoise.web.messages.doctor import Findings
from equipoise.web.routes import Asked
from equipoise.web.services import Services

INSPECTION_SECONDS = 7.0
"""For one game server. Commands wait 10 s for the daemon."""


async def show_findings(asked: Asked) -> Findings:
    """Look at everything now: game servers are asked by RCON and A2S, all at the same time."""
    services, epoch = asked.services, asked.services.clock.epoch()
    health, jobs = services.store.health(), services.scheduler.status()
    found = [
        *diagnosis.of_daemon(health, services.pools.values(), jobs, epoch),
        *await _of_parameters(services),
        *diagnosis.of_tries(services.refusals.tried(), services.hosts),
    ]
    looked = [
        _of_server(host, services.game_servers, diagnosis.SCRIPTS[services.games[name].name], epoch)
        for name, host in services.hosts.items()
    ]
    for server in await asyncio.gather(*looked):
        found += server
    return Findings(version=equipoise.__version__, uid=os.getuid(), pid=os.getpid(), findings=tuple(found))


async def _of_parameters(services: Services) -> list[Finding]:
    found = list[Finding]()
    for pool in services.pools.values():
        with suppress(StoreError):  # said by the store's own finding
            found += diagnosis.of_spread(pool.name, await services.spreads.status(pool))
            found += diagnosis.of_gained(
                pool.name, await services.store.gained(pool.name, diagnosis.BEST, MATCH_HUMANS)
            )
            sizes = team_sizes(pool, await services.store.team_sizes(pool.name, ROUNDS))
            found += diagnosis.of_team_sizes(pool.name, sizes)
    return found


async def _of_server(host: Host, game_servers: GameServers, script: diagnosis.Script, epoch: float) -> list[Finding]:
    inspection, _ = await asyncio.gather(_inspected(host.server, game_servers), game_servers.ask(host.server))
    status = host.status()
    return [
        *diagnosis.of_server(status, script, equipoise.__version__),
        *diagnosis.of_refused(status, script, equipoise.__version__, epoch),
        *diagnosis.of_peer(status, game_servers.status(host.server), inspection, script, equipoise.__version__),
    ]


async def _inspected(server: ServerId, game_servers: GameServers) -> Inspection | None:
    if game_servers.status(server).rcon.state == "off":
        return None
    try:
        async with asyncio.timeout(INSPECTION_SECONDS):
            return await game_servers.inspect(server)
    except (PeerError, TimeoutError):
        return None  # its status says why
