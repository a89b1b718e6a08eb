"""RCON, the console of a Source game server over TCP: one connection per server, which one command uses at a time.

The packets are those of the package `rcon`. Its connections are not used: they take a packet that arrives in two
segments for a whole one, return the first packet of a long answer only, and wait for ever for a server that is silent.

What a game server does, by "Source RCON Protocol" of the Valve Developer Community:

- It answers a login with an empty packet, then with the result, whose id is -1 when the password is wrong. After some
  wrong passwords (`sv_rcon_maxfailures`) it bans the address, and closes every connection from there at once. So a
  refused password is never sent again.
- It splits a long answer and does not mark its end. It mirrors an empty packet, which it is sent after the first part:
  when that one comes back, the answer is complete. Another packet with the same id follows, so the connection is closed
  after a long answer. The empty packet must not be sent with the command: some servers read one packet at a time.
- Whenever `rcon_password` is set, as a `server.cfg` does at each change of the map, it closes all connections. A
  connection that was closed while nothing was asked is therefore no failure.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from contextlib import suppress

from rcon.exceptions import UnexpectedTerminator
from rcon.source.proto import LittleEndianSignedInt32, Packet, Type

from equipoise.game.console import CLOSED, EXCHANGE_SECONDS, Console, Failure
from equipoise.game.port import Address

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
