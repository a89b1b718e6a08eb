"""The consoles of game servers: RCON over TCP, NS2's web admin by HTTP; one command at a time, and failures between.

RCON is the console of a Source game server. The packets are those of the package `rcon`. Its connections are not used:
they take a packet that arrives in two segments for a whole one, return the first packet of a long answer only, and wait
for ever for a server that is silent.

What a game server does, by "Source RCON Protocol" of the Valve Developer Community:

- It answers a login with an empty packet, then with the result, whose id is -1 when the password is wrong. After some
  wrong passwords (`sv_rcon_maxfailures`) it bans the address, and closes every connection from there at once. So a
  refused password is never sent again.
- It splits a long answer and does not mark its end. It mirrors an empty packet, which it is sent after the first part:
  when that one comes back, the answer is complete. Another packet with the same id follows, so the connection is closed
  after a long answer. The empty packet must not be sent with the command: some servers read one packet at a time.
- Whenever `rcon_password` is set, as a `server.cfg` does at each change of the map, it closes all connections. A
  connection that was closed while nothing was asked is therefore no failure.

NS2's web admin takes commands and returns the state, but no output. From the game's `lua/ServerWebInterface.lua` (build
266, and later ones as mods copied it), and from measurements on engines of September 2026
(LZZZZ/ns2-improved-web-admin:
docs/API.md, docs/CONSTRAINTS.md):

- `OnWebRequest` gets the parameters of a GET, nothing else. `command`, whatever it is, has the text in `rcon` run as by
  the server's own console; what it prints goes into the server's log alone. Every answer is the state as JSON
  (`GetServerState`): status and content are the same for a command that failed.
- The login is HTTP's digest with MD5, by `-webuser` and `-webpassword`. A nonce is good for 300 s and as many requests;
  each of its counts once. Ten wrong logins a minute lock an address out for one, so a refused password is not sent
  again. Without a login the web admin listens on this machine alone, and refuses a Host that is no IP address (403).
- While a map is loaded, and if the script fails, an answer is 200 and empty. A request that the game does not get to
  within 30 s is answered with 503.
"""

from __future__ import annotations

import asyncio
import io
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

import aiohttp
import msgspec
from rcon.exceptions import UnexpectedTerminator
from rcon.source.proto import LittleEndianSignedInt32, Packet, Type

from equipoise.errors import PeerError
from equipoise.game.port import Address, RconState, RconStatus, WebState, one_line, reason, written

EXCHANGE_SECONDS = 5.0
"""From the wait for the command before to the end of the answer."""
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds after a failure, which double with each further one, before the server is tried again unasked."""

CLOSED = "the daemon closed its RCON connection: the configuration has changed, or it stops"

log = logging.getLogger(__name__)


class Failure(Exception):
    """An exchange that failed, and the state that the connection is in since."""

    def __init__(self, text: str, state: RconState = "unreachable") -> None:
        super().__init__(text)
        self.state: RconState = state


class Console(ABC):
    """The console of one game server, which one command uses at a time."""

    harmless: ClassVar[str]
    """A command that does nothing, to see whether the server answers."""

    def __init__(self, server: str, address: Address, seconds: float = EXCHANGE_SECONDS) -> None:
        self._server = server
        self._address = address
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._closed = False
        self._state: RconState = "unused"
        self._error: str | None = None
        self._failed_in_a_row = 0
        self._retry_at = 0.0
        self._commands = self._failures = self._connections = 0

    async def execute(self, command: str, *, unasked: bool = False) -> str | None:
        """Return a command's output; None: this console returns none. PeerError: no answer, or not as it should be.

        `unasked`: nobody waits for the output, and a server that failed lately is left in peace.
        """
        if self._state == "refused":
            raise PeerError(f"{self._error}; it is not tried again until the configuration is loaded again")
        if unasked and asyncio.get_running_loop().time() < self._retry_at:
            raise PeerError(f"{self._error}; it was tried lately")
        self._commands += 1
        try:
            async with asyncio.timeout(self._seconds), self._lock:
                answer = await self._try(command)
        except Failure as failure:
            raise self._failed(str(failure), failure.state) from None
        except TimeoutError:
            raise self._failed(f"no answer within {self._seconds:g} s") from None
        except asyncio.IncompleteReadError:
            raise self._failed("the game server closed the connection") from None
        except OSError as error:
            raise self._failed(reason(error)) from None
        self._succeeded()
        return answer

    def status(self) -> RconStatus:
        """Return the state in which the last command left it."""
        address = written(self._address)
        return RconStatus(self._state, address, self._error, self._commands, self._failures, self._connections)

    def forgive(self) -> None:
        """Try the password again that was refused."""
        if self._state == "refused":
            self._state, self._error = "unused", None

    def close(self) -> None:
        """End the connection for good; commands that are under way fail."""
        self._closed = True
        self._drop()

    async def _try(self, command: str) -> str | None:
        if self._state == "refused":  # while this command waited for its turn
            raise Failure(self._error or "", "refused")
        self._check_open()
        try:
            return await self._exchange(command)
        except BaseException:
            # Whatever comes later on a connection that failed, or whose caller has gone, belongs to nobody.
            self._drop()
            raise

    def _check_open(self) -> None:
        """`close` may have come while a command waited: there must be no connection beside that of its successor."""
        if self._closed:
            raise Failure(CLOSED)

    def _failed(self, text: str, state: RconState = "unreachable") -> PeerError:
        if self._closed:  # which looks like a fault of the game server
            return PeerError(CLOSED)
        self._failures += 1
        self._failed_in_a_row += 1
        # With a random part below: servers that failed in one
        # moment, as their machine did, are not tried in one moment.
        delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(self._failed_in_a_row - 1, 10))
        self._retry_at = asyncio.get_running_loop().time() + delay * random.uniform(0.5, 1.5)
        if self._state != state:
            log.warning("RCON failed: %s", text, extra={"server": self._server})
        self._state, self._error = state, text
        return PeerError(text)

    def _succeeded(self) -> None:
        if self._failed_in_a_row:
            log.info("RCON works again", extra={"server": self._server})
        self._failed_in_a_row, self._retry_at = 0, 0.0
        self._state, self._error = "answers", None

    @abstractmethod
    async def _exchange(self, command: str) -> str | None:
        """Send a command and return its output; the lock is held."""

    @abstractmethod
    def _drop(self) -> None:
        """End the connection, if there is one."""


# RCON.

SMALLEST, LARGEST = 10, 8192
"""Bytes of a packet after its size. srcds sends up to 4,096."""
SPLIT_FROM = 3900
"""Bytes of an answer's first packet from which on another may follow."""
LONGEST = 1 << 20
"""Bytes of an answer."""
MOST_BEFORE, MOST_PACKETS = 64, 512
"""Packets before an answer, which belong to nobody, and packets from its first part to its end."""


class Rcon(Console):
    """The RCON of one game server. The connection is made by the first command, and made anew whenever it is gone."""

    harmless = "echo"

    def __init__(self, server: str, address: Address, password: str, *, seconds: float = EXCHANGE_SECONDS) -> None:
        super().__init__(server, address, seconds)
        self._password = password
        self._last_id = 0
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._ending: asyncio.StreamWriter | None = None
        """The connection before: there is none beside it."""

    async def _exchange(self, command: str) -> str:
        await self._connect()
        return (await self._ask(command)).decode(errors="replace")

    async def _connect(self) -> None:
        # `at_eof`: the game server closed it while nothing was asked, as at a change of the map.
        if self._reader is not None and not self._reader.at_eof():
            return
        self._drop()
        if self._ending is not None:
            with suppress(OSError):
                await self._ending.wait_closed()
            self._ending = None
        self._check_open()
        self._reader, self._writer = await asyncio.open_connection(*self._address)
        self._connections += 1
        self._check_open()
        await self._log_in()

    async def _log_in(self) -> None:
        self._send(self._next_id(), Type.SERVERDATA_AUTH, self._password)
        try:
            answer = await self._skip_to(lambda packet: packet.type == Type.SERVERDATA_AUTH_RESPONSE)
        except (asyncio.IncompleteReadError, ConnectionError):
            text = "the game server closed the connection at the login: it may have banned this address (listip there)"
            raise Failure(text, "closed") from None
        if answer.id == -1:
            raise Failure("the game server refused the RCON password", "refused")

    async def _ask(self, command: str) -> bytes:
        number = self._next_id()
        self._send(number, Type.SERVERDATA_EXECCOMMAND, command)
        first = await self._skip_to(lambda packet: packet.id == number or packet.type == Type.SERVERDATA_AUTH_RESPONSE)
        if first.id != number:
            raise Failure("the game server ended the login")
        answer = bytearray(first.payload)
        if len(answer) < SPLIT_FROM:
            return bytes(answer)
        last = self._next_id()
        self._send(last, Type.SERVERDATA_RESPONSE_VALUE, "")
        for _ in range(MOST_PACKETS):
            packet = await self._read()
            if packet.id == last:
                self._drop()
                return bytes(answer)
            if packet.id == number:
                answer += packet.payload
            if len(answer) > LONGEST:
                raise Failure(f"an answer of more than {LONGEST} bytes")
        raise Failure(f"an answer of more than {MOST_PACKETS} packets")

    async def _skip_to(self, meant: Callable[[Packet], bool]) -> Packet:
        """Return the first packet that is meant; those before it belong to nobody."""
        for _ in range(MOST_BEFORE + 1):
            packet = await self._read()
            if meant(packet):
                return packet
        raise Failure(f"more than {MOST_BEFORE} packets before an answer")

    def _next_id(self) -> int:
        self._last_id = self._last_id % LittleEndianSignedInt32.MAX + 1
        return self._last_id

    def _send(self, number: int, kind: Type, text: str) -> None:
        if self._writer is None:
            raise Failure(CLOSED)
        self._writer.write(bytes(Packet(LittleEndianSignedInt32(number), kind, text.encode())))

    async def _read(self) -> Packet:
        await asyncio.sleep(0)  # what has come already is read without a wait: a flood would hold everybody else
        if (reader := self._reader) is None:
            raise Failure(CLOSED)
        head = await reader.readexactly(4)
        size = int.from_bytes(head, "little", signed=True)
        if not SMALLEST <= size <= LARGEST:
            raise Failure(f"this is no RCON: a packet of {size} bytes")
        packet = io.BytesIO(head + await reader.readexactly(size))
        try:
            return Packet.read(packet, raise_unexpected_terminator=True)
        except (ValueError, UnexpectedTerminator) as error:
            raise Failure(f"this is no RCON: {error}") from None

    def _drop(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
            self._ending = self._writer
        self._reader = self._writer = None


# The web admin of Natural Selection 2.

LONGEST_STATE = 1 << 20
"""Bytes of an answer. That of 24 players is 6 KB."""
LOADING = "an empty answer: it loads a map, or its ServerWebInterface.lua failed (the server's log says so)"
STRANGER = "this is no web admin of NS2"


class _Player(msgspec.Struct):
    isbot: bool | str = False


class _State(msgspec.Struct):
    """`GetServerState`; `cheats` and `isbot` are texts in the game's own, and booleans in what mods made of it."""

    map: str
    server_name: str
    player_list: list[_Player]
    cheats: bool | str


def _is_true(value: bool | str) -> bool:
    return value in (True, "true")


class WebAdmin(Console):
    """The web admin of one game server. Each command has a connection of its own."""

    harmless = ""

    def __init__(
        self, server: str, address: Address, user: str, password: str, *, seconds: float = EXCHANGE_SECONDS
    ) -> None:
        super().__init__(server, address, seconds)
        # It keeps the nonce, and refuses a user with a colon, as the configuration does.
        self._digest = aiohttp.DigestAuthMiddleware(user, password)
        self._seen: WebState | None = None

    async def look(self) -> WebState:
        """Return the server's state as it is now. PeerError: it did not answer."""
        await self.execute(self.harmless)
        if self._seen is None:
            raise RuntimeError("an answer without a state")
        return self._seen

    async def _exchange(self, command: str) -> None:
        fields = {"request": "json", **({"command": "Send", "rcon": command} if command else {})}
        self._connections += 1
        try:
            # No connection is kept: aiohttp would send a command again if one ends that was used before.
            async with (
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(force_close=True),
                    cookie_jar=aiohttp.DummyCookieJar(),
                    middlewares=(self._digest,),
                ) as session,
                session.get(f"http://{written(self._address)}/", params=fields, allow_redirects=False) as response,
            ):
                _check(response)
                body = await response.content.read(LONGEST_STATE + 1)
                while body and len(body) <= LONGEST_STATE and (more := await response.content.read(LONGEST_STATE + 1)):
                    body += more
        except aiohttp.ClientConnectorError as error:
            raise error.os_error from None
        except (aiohttp.ClientError, UnicodeError) as error:  # a login for a realm that is no text
            raise Failure(f"{STRANGER}: {one_line(str(error))}") from None
        self._seen = _decoded(body)

    def _drop(self) -> None:
        """There is no connection between two commands."""


def _check(response: aiohttp.ClientResponse) -> None:
    match response.status:
        case 200:
            return
        case 401 if response.headers.get("WWW-Authenticate", "").lower().startswith("digest "):
            text = "the web admin refused user and password (10 wrong ones a minute lock an address out for one)"
            raise Failure(text, "refused")
        case 403:
            raise Failure(
                "the web admin refused the request (403): without a login it takes them to an IP address alone"
            )
        case 503:
            raise Failure("the game server is busy (503)")
        case status:
            raise Failure(f"{STRANGER}: status {status}")


def _decoded(body: bytes) -> WebState:
    if len(body) > LONGEST_STATE:
        raise Failure(f"an answer of more than {LONGEST_STATE} bytes")
    if not body.strip():
        raise Failure(LOADING)
    try:
        # A name may be cut in the middle of a character.
        state = msgspec.json.decode(body.decode(errors="replace"), type=_State)
    except msgspec.MsgspecError:
        raise Failure(STRANGER) from None
    bots = sum(_is_true(player.isbot) for player in state.player_list)
    return WebState(
        one_line(state.server_name), one_line(state.map), len(state.player_list), bots, _is_true(state.cheats)
    )
