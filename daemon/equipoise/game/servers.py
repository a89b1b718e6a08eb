"""All game servers that the configuration gives an address of."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator, Mapping
from functools import partial

from equipoise.core.model import ServerId
from equipoise.errors import PeerError
from equipoise.game import inspection
from equipoise.game.port import Inspection, Peer, PeerStatus, QueryStatus, RconStatus
from equipoise.game.query import Query
from equipoise.game.rcon import Rcon

NUDGE = "equipoise_poll"
"""The plugin's command that makes it call the daemon at once."""
QUERY_SECONDS = 30.0
"""How often servers are to be asked by A2S."""
SPREAD_SECONDS = 5.0
"""They are asked within this time, not all in one moment."""

log = logging.getLogger(__name__)


class _Server:
    """How a game server is reached: its RCON connection, its A2S query, and the nudges that are under way."""

    def __init__(self, name: ServerId, peer: Peer) -> None:
        self.name = name
        self.peer = peer
        self.rcon = Rcon(name, peer.rcon, peer.password) if peer.rcon else None
        self.query = Query(name, peer.query) if peer.query else None
        self._asking = asyncio.create_task(self.query.ask()) if self.query else None
        """Once at the start: the first regular query comes after a whole interval."""
        self._nudging: asyncio.Task[None] | None = None
        self._nudged_meanwhile = False

    def nudge(self) -> None:
        if self.rcon is None:
            return
        if self._nudging is None or self._nudging.done():
            self._nudging = asyncio.create_task(self._nudge(self.rcon))
        else:
            # The plugin may have called already, before the newest order was there.
            self._nudged_meanwhile = True

    async def _nudge(self, rcon: Rcon) -> None:
        again = True
        while again:
            self._nudged_meanwhile = False
            try:
                await rcon.execute(NUDGE, unasked=True)
            except PeerError as error:
                # The plugin calls by itself within seconds.
                log.debug("not nudged: %s", error, extra={"server": self.name})
            again = self._nudged_meanwhile

    def status(self) -> PeerStatus:
        return PeerStatus(
            self.name,
            self.rcon.status() if self.rcon else RconStatus("off"),
            self.query.status() if self.query else QueryStatus("off"),
        )

    def close(self) -> None:
        for task in (self._asking, self._nudging):
            if task is not None:
                task.cancel()
        if self.rcon is not None:
            self.rcon.close()


class PeerServers:
    """The `GameServers` of the running daemon. Made, set and closed inside the event loop."""

    def __init__(self, peers: Mapping[ServerId, Peer]) -> None:
        self._servers: dict[ServerId, _Server] = {}
        self.set(peers)

    def set(self, peers: Mapping[ServerId, Peer]) -> None:
        """Use these addresses from now on. A server whose own are the same keeps its connection.

        A password that was refused is tried again: somebody loads the configuration again because of it.
        """
        for name, server in list(self._servers.items()):
            if server.peer != peers.get(name):
                server.close()
                del self._servers[name]
            elif server.rcon is not None:
                server.rcon.forgive()
        self._servers |= {name: _Server(name, peer) for name, peer in peers.items() if name not in self._servers}

    def close(self) -> None:
        """Forget all servers, which ends their connections and the commands that wait on them."""
        self.set({})

    def nudge(self, server: ServerId) -> None:
        """Have the server's script call now; where there is no RCON, it calls by itself within seconds."""
        if server in self._servers:
            self._servers[server].nudge()

    async def execute(self, server: ServerId, command: str) -> str:
        """A console command's output. PeerError: there is no RCON, or it does not answer."""
        found = self._servers.get(server)
        if found is None or found.rcon is None:
            raise PeerError(f"[server.{server}] has no `rcon` in the configuration")
        return await found.rcon.execute(command)

    async def inspect(self, server: ServerId) -> Inspection:
        """Look at the plugin and its rivals by RCON. PeerError as above."""
        return await inspection.inspect(partial(self.execute, server))

    async def ask(self, server: ServerId) -> None:
        """Send an A2S query now."""
        found = self._servers.get(server)
        if found is not None and found.query is not None:
            await found.query.ask()

    async def ask_all(self, spread: float = SPREAD_SECONDS) -> None:
        """Send each server an A2S query within `spread` seconds."""

        async def ask(query: Query) -> None:
            await asyncio.sleep(random.uniform(0, spread))
            await query.ask()

        await asyncio.gather(*(ask(server.query) for server in self._servers.values() if server.query))

    def status(self, server: ServerId) -> PeerStatus:
        """As far as it is known, without asking."""
        found = self._servers.get(server)
        return found.status() if found else PeerStatus(server, RconStatus("off"), QueryStatus("off"))

    def statuses(self) -> Iterator[PeerStatus]:
        """Of all servers that the configuration gives an address of."""
        return (server.status() for server in self._servers.values())
