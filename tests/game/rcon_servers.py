"""RCON servers: PyPI's rcon-server and rcon-fake, and stand-ins that answer what a broken one would.

The bytes of the stand-ins are written from "Source RCON Protocol" of the Valve Developer Community.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from rcon_server.rcon_connection import RCONConnection
from rcon_server.rcon_packet import RCONPacket
from rcon_server.rcon_server import RCONServer

from tests.chaos.daemon import free_port as free_port

PASSWORD = "not a secret"
AUTH, EXEC, RESULT, VALUE = 3, 2, 2, 0
"""Types of packets: SERVERDATA_AUTH, _EXECCOMMAND, _AUTH_RESPONSE and _RESPONSE_VALUE."""

Answers = Callable[[str], str]


class SourceServer(RCONServer):
    """rcon-server with commands: long answers in packets of 4,086 bytes, as its README shows."""

    def __init__(self, answers: Answers, port: int) -> None:
        super().__init__(bind=("127.0.0.1", port), password=PASSWORD)
        self._answers = answers
        self.commands: list[str] = []
        self.most_at_once = 0

    def connection_factory(self) -> RCONConnection:
        made = super().connection_factory()
        self.most_at_once = max(self.most_at_once, sum(each.state != "closed" for each in self.connections))
        return made

    def handle_execcommand(self, packet: RCONPacket, connection: RCONConnection) -> None:
        self.commands.append(packet.body)
        answer = self._answers(packet.body)
        for start in range(0, max(1, len(answer)), 4086):
            connection.send_packet(RCONPacket(packet.id, RCONPacket.SERVERDATA_RESPONSE_VALUE, answer[start:][:4086]))


@asynccontextmanager
async def source_server(answers: Answers = str.upper, port: int = 0) -> AsyncIterator[tuple[SourceServer, int]]:
    """rcon-server for as long as the context lasts, and its port; at its end all connections are cut."""
    server = SourceServer(answers, port)
    listener = await asyncio.get_running_loop().create_server(server.connection_factory, "127.0.0.1", port)
    try:
        yield server, listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for connection in server.connections:
            if connection._transport is not None:
                connection._transport.abort()
        await asyncio.sleep(0.01)  # a transport closes its socket in the event loop's next turn


FAKE = """
import sys
from rcon_fake import RCON
server = RCON(host="127.0.0.1", port=int(sys.argv[1]), password=sys.argv[2])
server.set_handler(lambda command: "x" * int(command[1:]) if command.startswith("x") else f"<{command}>")
server.start(threading=False)
"""


@contextmanager
def fake_server() -> Iterator[int]:
    """rcon-fake, and its port. `x5000` is answered with 5,000 bytes.

    In a process of its own: its `stop` closes connections under the threads that read them.
    """
    port = free_port()
    with subprocess.Popen([sys.executable, "-c", FAKE, str(port), PASSWORD]) as process:
        try:
            wait_for(port)
            yield port
        finally:
            process.kill()


def wait_for(port: int) -> None:
    """Until something listens."""
    while True:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)


def packet(number: int, kind: int, body: bytes = b"") -> bytes:
    return struct.pack("<iii", len(body) + 10, number, kind) + body + b"\0\0"


Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Acts = Callable[[Reader, Writer], Awaitable[None]]


async def received(reader: Reader) -> tuple[int, int, bytes]:
    """The next packet of the client: its id, its type and its body."""
    (size,) = struct.unpack("<i", await reader.readexactly(4))
    body = await reader.readexactly(size)
    number, kind = struct.unpack_from("<ii", body)
    return number, kind, body[8:-2]


async def accept_login(reader: Reader, writer: Writer) -> None:
    number, kind, password = await received(reader)
    assert (kind, password.decode()) == (AUTH, PASSWORD)
    writer.write(packet(number, VALUE) + packet(number, RESULT))


@asynccontextmanager
async def stand_in(acts: Acts) -> AsyncIterator[int]:
    """A server that does with each connection what the test says, and its port."""

    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: Reader, writer: Writer) -> None:
        try:
            await acts(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def connected(reader: Reader, writer: Writer) -> None:
        tasks.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome
