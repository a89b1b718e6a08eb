"""All game servers that the configuration gives an address of: nudged, asked by A2S, inspected by RCON or web admin.

What an inspection reads is the output of source-sdk-2013 (`ConVar_PrintDescription` in tier1/convar.cpp:
`"name" = "value" …`) and of SourceMod (`CPluginManager::OnRootConsoleCommand` in core/logic/PluginSys.cpp:
`  01 "Name" (version) by Author`, with `<Failed>` and the like before the name of a plugin that does not run;
`SourceMod Version: 1.12.0.7195` in core/logic/RootConsoleMenu.cpp).
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Iterator, Mapping

from equipoise.core.model import ServerId
from equipoise.errors import PeerError
from equipoise.game.console import Console, Rcon, WebAdmin
from equipoise.game.port import Inspection, Peer, PeerStatus, QueryStatus, RconStatus, WebState, one_line
from equipoise.game.query import Query

NUDGE = "equipoise_poll"
"""The plugin's command, and the mod's, that makes it call the daemon at once."""
QUERY_SECONDS = 30.0
"""The interval at which servers are to be asked by A2S."""
SPREAD_SECONDS = 5.0
"""They are asked within this time, not all in one moment."""

OURS = "Equipoise"
BALANCING = (
    "mp_autoteambalance",
    "mp_scrambleteams_auto",
    "sv_vote_issue_autobalance_allowed",
    "tf_arena_use_queue",
)
"""Variables of the game that the plugin holds at 0 while it acts, as `engine.sp` names them."""
RIVALS = re.compile(r"scrambl|scrimblo|balanc", re.IGNORECASE)
"""Names of other plugins that balance teams: [TF2] gScramble, Simple Scramble, Scrimblo, Auto Team Balance …"""
PLUGIN = re.compile(
    r'^ *\d+ (?:<(?P<state>[^>\n]*)> )?(?:Disabled: )?"(?P<name>.*?)"(?: \((?P<version>[^)\n]*)\))?', re.MULTILINE
)
"""One line of the list. No part of it takes in a line's end, or a search would take the square of the list's length."""
VERSION = re.compile(r"SourceMod Version: ([\w.+-]{1,64})")
LONGEST_LIST = 1 << 16
"""Characters of the list that are read: 500 plugins."""

log = logging.getLogger(__name__)


def _console(name: ServerId, peer: Peer) -> Console | None:
    if peer.rcon is None:
        return None
    return WebAdmin(name, peer.rcon, peer.user, peer.password) if peer.user else Rcon(name, peer.rcon, peer.password)


class _Server:
    """A game server that is reached: its RCON connection, its A2S query, and the nudges that are under way."""

    def __init__(self, name: ServerId, peer: Peer) -> None:
        self.name = name
        self.peer = peer
        self.rcon = _console(name, peer)
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

    async def _nudge(self, rcon: Console) -> None:
        again = True
        while again:
            self._nudged_meanwhile = False
            try:
                # `unasked`: a game server that is down must not cost a connection for every order.
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
                # The file of the password may be another one, or have
                # another content that the peer's fields do not show.
                server.rcon.forgive()
        self._servers |= {name: _Server(name, peer) for name, peer in peers.items() if name not in self._servers}

    def close(self) -> None:
        """Forget all servers, which ends their connections and the commands that wait on them."""
        self.set({})

    def nudge(self, server: ServerId) -> None:
        """Have the server's script call now; where there is no RCON, it calls by itself within seconds."""
        if server in self._servers:
            self._servers[server].nudge()

    async def execute(self, server: ServerId, command: str) -> str | None:
        """Return a console command's output; None: it returns none. PeerError: no RCON, or it does not answer."""
        return await self._console(server).execute(command)

    def _console(self, server: ServerId) -> Console:
        peer = self._servers.get(server)
        if peer is None or peer.rcon is None:
            raise PeerError(f"[server.{server}] has no `rcon` in the configuration")
        return peer.rcon

    async def inspect(self, server: ServerId) -> Inspection | WebState:
        """Look at the plugin and its rivals by RCON, at the state by NS2's web admin. PeerError as above."""
        console = self._console(server)
        if isinstance(console, WebAdmin):
            return await console.look()

        async def output(command: str) -> str:
            return await console.execute(command) or ""

        listing = await output("sm plugins list")
        plugins = {line["name"]: line for line in PLUGIN.finditer(listing, 0, LONGEST_LIST)}
        ours = plugins.pop(OURS, None)
        version = VERSION.search(await output("sm version"), 0, LONGEST_LIST)
        values = {name: value(name, await output(name)) for name in BALANCING}
        return Inspection(
            sourcemod="[SM]" in listing,
            version=version[1] if version else None,
            plugin=one_line(ours["version"]) if ours and ours["version"] is not None else None,
            plugin_state=one_line(ours["state"] or "Running") if ours else None,
            switched_on=tuple(name for name, setting in values.items() if setting not in (None, "0")),
            rivals=tuple(one_line(name) for name, line in plugins.items() if RIVALS.search(name) and not line["state"]),
        )

    async def attempt(self) -> tuple[str, ...]:
        """Try the RCON of all servers whose last command was not answered; return a line on each."""

        async def line(name: ServerId, rcon: Console, address: str | None) -> str:
            try:
                await rcon.execute(rcon.harmless)
            except PeerError as error:
                return f"{name}: RCON at {address} failed: {error}"
            return f"{name}: RCON at {address} answers"

        servers = ((server.name, server.rcon, server.status().rcon) for server in self._servers.values())
        jobs = [
            line(name, rcon, status.address)
            for name, rcon, status in servers
            if rcon is not None and status.state != "answers"
        ]
        return tuple(await asyncio.gather(*jobs))

    async def ask(self, server: ServerId) -> None:
        """Send an A2S query now."""
        peer = self._servers.get(server)
        if peer is not None and peer.query is not None:
            await peer.query.ask()

    async def ask_all(self, spread: float = SPREAD_SECONDS) -> None:
        """Send each server an A2S query within `spread` seconds."""

        async def ask(query: Query) -> None:
            await asyncio.sleep(random.uniform(0, spread))
            await query.ask()

        await asyncio.gather(*(ask(server.query) for server in self._servers.values() if server.query))

    def status(self, server: ServerId) -> PeerStatus:
        """Return what is known of a server, without asking."""
        peer = self._servers.get(server)
        return peer.status() if peer else PeerStatus(server, RconStatus("off"), QueryStatus("off"))

    def statuses(self) -> Iterator[PeerStatus]:
        """Return the status of every server that the configuration gives an address of."""
        return (server.status() for server in self._servers.values())


def value(name: str, output: str) -> str | None:
    """Return the value of a console variable by its description; None: there is no such variable.

    >>> value("mp_autoteambalance", '"mp_autoteambalance" = "1" ( def. "0" )\\n notify\\n - Balance teams')
    '1'
    >>> value("equipoise_version", 'Unknown command "equipoise_version"')
    """
    match = re.search(rf'^"{re.escape(name)}" = "(.*?)"', output, re.MULTILINE)
    return match[1] if match else None
