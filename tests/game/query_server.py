"""A stand-in for a game server's answers to A2S queries, by UDP.

Written from "Server queries" of the Valve Developer Community: A2S_INFO, A2S_PLAYER and A2S_RULES with their challenge,
and the header of a split answer. Programs that others wrote read it: quakestat, gamedig and python-a2s.
"""

from __future__ import annotations

import asyncio
import bz2
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

INFO, PLAYER, RULES = 0x54, 0x55, 0x56
SIMPLE, SPLIT = b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff"
CHALLENGE = b"\x0b\x0d\x0e\x0f"
PLAYERS = (("Scout \u2603", 12, 61.5), ("Heavy", 3, 1200.0), ("Bot 01", 0, 10.0))

Answer = Callable[[bytes], list[bytes]]


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def info(name: bytes = b"Fair Arena \xe2\x98\x83", map_name: str = "arena_well") -> bytes:
    head = b"\x49\x11" + name + b"\0" + text(map_name) + text("tf") + text("Team Fortress")
    numbers = struct.pack("<HBBB", 440, len(PLAYERS), 24, 1)
    return head + numbers + b"dl\0\x01" + text("9800111") + b"\xb1" + extra()


def extra() -> bytes:
    """Port, SteamID, tags and game id, as the flags 0x80, 0x10, 0x20 and 0x01 announce."""
    return struct.pack("<HQ", 27015, 85568392920039424) + text("alltalk,arena") + struct.pack("<Q", 440)


def players() -> bytes:
    each = (
        bytes([at]) + text(name) + struct.pack("<lf", score, since) for at, (name, score, since) in enumerate(PLAYERS)
    )
    return b"\x44" + bytes([len(PLAYERS)]) + b"".join(each)


def rules() -> bytes:
    return b"\x45" + struct.pack("<H", 1) + text("mp_autoteambalance") + text("0")


def right(request: bytes) -> list[bytes]:
    """What a server with challenges answers, as all TF2 servers have them since 2020."""
    kind, challenge = request[4], request[-4:]
    if challenge != CHALLENGE:
        return [SIMPLE + b"\x41" + CHALLENGE]
    return [SIMPLE + {INFO: info, PLAYER: players, RULES: rules}[kind]()]


def split(number: int, payload: bytes) -> list[bytes]:
    """An answer in two packets, whose id is the number."""
    middle = len(payload) // 2
    parts = (payload[:middle], payload[middle:])
    return [SPLIT + struct.pack("<LBBH", number, 2, at, 1248) + part for at, part in enumerate(parts)]


def bomb(size: int) -> bytes:
    """One fragment that holds `size` bytes, packed; bit 15 of its id is what python-a2s takes for "compressed"."""
    packed = bz2.compress(bytes(size))
    return SPLIT + struct.pack("<LBBHLL", 1 << 15, 1, 0, 1248, size, 0) + packed


class _Server(asyncio.DatagramProtocol):
    def __init__(self, answer: Answer, listener: socket.socket) -> None:
        self.answer = answer
        self.listener = listener
        self.asked = 0
        self.asker = ("", 0)
        """Who asked last."""

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.asked += 1
        self.asker = addr
        for part in self.answer(data):
            if part:
                self.transport.sendto(part, addr)
            else:  # which asyncio does not send
                self.listener.sendto(part, addr)


@asynccontextmanager
async def query_server(answer: Answer = right, port: int = 0) -> AsyncIterator[tuple[_Server, int]]:
    """The stand-in for as long as the context lasts, and its port. Its `answer` may be changed meanwhile."""
    loop = asyncio.get_running_loop()
    listener = socket.socket(type=socket.SOCK_DGRAM)
    listener.setblocking(False)
    listener.bind(("127.0.0.1", port))
    transport, server = await loop.create_datagram_endpoint(lambda: _Server(answer, listener), sock=listener)
    try:
        yield server, transport.get_extra_info("sockname")[1]
    finally:
        transport.close()
        await asyncio.sleep(0.01)
