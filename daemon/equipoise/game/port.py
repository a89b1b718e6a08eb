"""Game servers as their own protocols show them: values and a Protocol, no sockets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from equipoise.core.model import ServerId

Address = tuple[str, int]
"""A literal IP address and a port."""
RconState = Literal["off", "unused", "answers", "unreachable", "closed", "refused"]
"""off: not configured. unused: no command was sent yet. closed: the game server hangs up before it answers the login,
as srcds does with an address that it has banned. refused: the password is wrong; it is not tried again. The same of
NS2's web admin, which is reached by HTTP."""
QueryState = Literal["off", "unknown", "answers", "silent"]
"""off: not configured. unknown: not asked for long enough."""


def written(address: Address) -> str:
    """Return an address as it stands in the configuration.

    >>> written(("127.0.0.1", 27015)), written(("::1", 27015))
    ('127.0.0.1:27015', '[::1]:27015')
    """
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


LONGEST_TEXT = 64
"""Characters of a server's, a map's, a plugin's name."""


def one_line(text: str) -> str:
    """Return the beginning of a peer's text, without characters that would do something to a terminal or a log.

    >>> one_line("cp_well\\n\\x1b[2J")
    'cp_well\ufffd\ufffd[2J'
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text[:LONGEST_TEXT])


def reason(error: OSError) -> str:
    """Return what went wrong, without the address, which asyncio names in ways of its own."""
    return os.strerror(error.errno) if error.errno else str(error)


@dataclass(frozen=True, slots=True)
class Peer:
    """The addresses at which a game server is reached; None: not at all."""

    rcon: Address | None = None
    password: str = field(default="", repr=False)
    user: str = ""
    """The login's name for NS2's web admin, which then is at `rcon`; RCON has none."""
    query: Address | None = None


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """A game server's own word on itself, by A2S."""

    name: str
    """The name that the server uses."""
    map: str
    """Both as `one_line` leaves them."""
    players: int
    """Bots included."""
    bots: int
    """How many of the players are bots."""
    max_players: int
    """Places for players."""
    game: str
    """The game's own name, as `one_line` leaves it; a plugin may change it."""
    app: int
    """The game's number at Steam, modulo 65536."""


@dataclass(frozen=True, slots=True)
class RconStatus:
    """One server's RCON, and how often it was used since the daemon started."""

    state: RconState
    """How the last attempt ended: `off`, `unused` (none yet), `answers`, `unreachable`, `closed` or `refused`."""
    address: str | None = None
    """The address where it is reached, `host:port`."""
    error: str | None = None
    """The fault of the last attempt; None where it succeeded."""
    commands: int = 0
    """How many commands were answered."""
    failures: int = 0
    """How often it failed."""
    connections: int = 0
    """How often a connection was made."""


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One server's answers to A2S queries."""

    state: QueryState
    """Whether the server answers: `off`, `unknown` (not asked for long enough), `answers` or `silent`."""
    address: str | None = None
    """The address where it is reached, `host:port`."""
    error: str | None = None
    """The fault of the last query; None where it was answered."""
    silent_seconds: float | None = None
    """Since the last answer; None: there was none."""
    answer: QueryAnswer | None = None
    """The last one."""
    failures: int = 0
    """How often it failed."""


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """A game server by its own protocols, at one moment."""

    server: ServerId
    rcon: RconStatus
    """The state of its RCON."""
    query: QueryStatus
    """The state of its A2S."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The state of the plugin by the game server's console, and what else moves players there."""

    sourcemod: bool
    """Whether SourceMod answers."""
    version: str | None
    """SourceMod's version, where it says one."""
    plugin: str | None
    """The plugin's version; None: it is not loaded."""
    plugin_state: str | None
    """`Running`, or SourceMod's word for why it does not."""
    switched_on: tuple[str, ...]
    """Variables by which the game balances teams itself."""
    rivals: tuple[str, ...]
    """Running plugins that balance teams too, by their names."""


@dataclass(frozen=True, slots=True)
class WebState:
    """The state of an NS2 server by its web admin, at one moment; names as `one_line` leaves them."""

    name: str
    map: str
    players: int
    """Bots included."""
    bots: int
    cheats: bool
    """`sv_cheats` is on."""


class GameServers(Protocol):
    """All configured game servers."""

    def nudge(self, server: ServerId) -> None:
        """Have the server's script call now, because there are orders for it. Never fails, never waits."""

    async def execute(self, server: ServerId, command: str) -> str | None:
        """Return a console command's output; None: it returns none. PeerError: no RCON, or it does not answer."""

    async def inspect(self, server: ServerId) -> Inspection | WebState:
        """Look at the plugin and its rivals by RCON, at the state by NS2's web admin. PeerError as above."""

    async def attempt(self) -> tuple[str, ...]:
        """Try the RCON of all servers whose last command was not answered; return a line on each."""

    async def ask(self, server: ServerId) -> None:
        """Send an A2S query now, so that the status is of this moment."""

    def status(self, server: ServerId) -> PeerStatus:
        """Return what is known of a server, without asking."""

    def statuses(self) -> Iterable[PeerStatus]:
        """The same for every server that has an address in the configuration."""
