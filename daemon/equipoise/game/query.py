"""A2S queries: a game server's own word on its map and its players, by UDP.

Only A2S_INFO is asked, and only one packet is an answer, which python-a2s decodes. The socket is ours: python-a2s 1.4.2
takes answers in fragments too, and unpacks what a fragment of 500 bytes says is compressed, to gigabytes, inside the
event loop. Addresses are literal, because looking up a name has no time limit.
"""

from __future__ import annotations

import asyncio
import io
import logging

import a2s
from a2s.byteio import ByteReader
from a2s.info import A2S_INFO_RESPONSE, InfoProtocol

from equipoise.errors import PeerError
from equipoise.game.port import Address, QueryAnswer, QueryState, QueryStatus, one_line, reason, written

TIMEOUT_SECONDS = 2.0
SILENT_SECONDS = 90.0
"""A server that changes its map answers nothing for up to a minute."""
LARGEST = 1400
"""Bytes of a packet, as the game sends them; a longer answer comes in fragments."""
MOST_CHALLENGES = 5
"""In one query: a right server sends one."""

HEADER, FRAGMENT = b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff"
CHALLENGE = 0x41
CHALLENGE_BYTES = 9
REQUEST = HEADER + InfoProtocol.serialize_request(0)

log = logging.getLogger(__name__)


class _BadPacket(PeerError):
    """Something came that is no answer."""

    def __init__(self, why: str) -> None:
        super().__init__(f"this is no answer to A2S_INFO: {why}")


class Query:
    """The answers of one game server."""

    def __init__(self, server: str, address: Address) -> None:
        self._server = server
        self._address = address
        self._answer: QueryAnswer | None = None
        self._error: str | None = None
        self._failures = 0
        self._began = asyncio.get_running_loop().time()
        self._heard_at: float | None = None
        self._bad = False
        """A bad packet was logged, and no right one has come since."""

    async def ask(self) -> None:
        """Send one query and keep what came of it; a PeerError is kept, not raised."""
        try:
            self._answer = await info(self._address)
        except PeerError as error:
            self._error = str(error)
            self._failures += 1
            if isinstance(error, _BadPacket) and not self._bad:
                self._bad = True
                log.warning("A2S failed: %s", error, extra={"server": self._server})
        else:
            self._error, self._bad = None, False
            self._heard_at = asyncio.get_running_loop().time()

    def status(self) -> QueryStatus:
        """Return the status by the answers so far."""
        now, state = asyncio.get_running_loop().time(), self._state()
        silent = None if self._heard_at is None else now - self._heard_at
        return QueryStatus(state, written(self._address), self._error, silent, self._answer, self._failures)

    def _state(self) -> QueryState:
        now = asyncio.get_running_loop().time()
        if self._heard_at is not None and now - self._heard_at < SILENT_SECONDS:
            return "answers"
        return "unknown" if now - self._began < SILENT_SECONDS else "silent"


async def info(address: Address, seconds: float = TIMEOUT_SECONDS) -> QueryAnswer:
    """Return one answer to A2S_INFO; PeerError where there is none, or none that makes sense."""
    loop = asyncio.get_running_loop()
    try:
        # Connected to the address, so that the kernel drops what comes from any other.
        transport, exchange = await loop.create_datagram_endpoint(_Exchange, remote_addr=address)
        try:
            async with asyncio.timeout(seconds):
                return await exchange.answer
        finally:
            transport.close()
    except TimeoutError:
        raise PeerError(f"no answer within {seconds:g} s") from None
    except OSError as error:
        raise PeerError(reason(error)) from None


class _Exchange(asyncio.DatagramProtocol):
    """One query. Every packet ends it but the first challenges, so that a flood is read no further."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[QueryAnswer] = asyncio.get_running_loop().create_future()
        self._challenges = 0

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport
        transport.sendto(REQUEST)

    def datagram_received(self, data: bytes, addr: object) -> None:
        if self.answer.done():
            return
        try:
            kind = _kind(data)
            if kind == A2S_INFO_RESPONSE:
                self.answer.set_result(_decoded(data))
            else:
                self._challenges += 1
                if self._challenges > MOST_CHALLENGES:
                    raise _BadPacket("one challenge after another")
                # The request again, with the number that proves that its sender is at this address.
                self._transport.sendto(REQUEST + data[5:CHALLENGE_BYTES])
        except _BadPacket as error:
            self.answer.set_exception(error)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


def _kind(packet: bytes) -> int:
    """Return the byte that says whether a packet is an answer or a challenge; _BadPacket: it is neither."""
    if len(packet) > LARGEST:
        raise _BadPacket(f"a packet of {len(packet)} bytes")
    if packet.startswith(FRAGMENT):
        raise _BadPacket("a fragment")
    if packet.startswith(HEADER) and len(packet) > len(HEADER):
        kind = packet[len(HEADER)]
        if kind == A2S_INFO_RESPONSE or (kind == CHALLENGE and len(packet) == CHALLENGE_BYTES):
            return kind
    raise _BadPacket(f"{len(packet)} bytes that begin with {packet[:5].hex()}")


def _decoded(packet: bytes) -> QueryAnswer:
    reader = ByteReader(io.BytesIO(packet[5:]), endian="<", encoding="utf-8")
    try:
        fields = InfoProtocol.deserialize_response(reader, A2S_INFO_RESPONSE, ping=None)
    except a2s.BrokenMessageError:
        raise _BadPacket("it is cut off") from None
    names = one_line(fields.server_name), one_line(fields.map_name)
    counts = fields.player_count, fields.bot_count, fields.max_players
    return QueryAnswer(*names, *counts, one_line(fields.game), fields.app_id)
