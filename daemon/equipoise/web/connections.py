"""The connections to the daemon: how many there may be, and which one is closed to make room for another.

A plain limit, in all or per address, would let a program without a secret lock out the game servers: all game servers
of a machine call from 127.0.0.1, and so may the attacker. What tells them apart is an accepted secret. A connection
that has carried one is *proven* and is kept between requests; any other connection has to begin its one request within
`HEAD_SECONDS`, and is closed after the answer. At the limit

- the oldest unproven connection is closed, of the address that has most of them: new connections always get in, and an
  address displaces another's connections only while it has fewer;
- a proven connection is closed only when all are proven, and then the longest unused of the caller who has most. So
  a program without a secret never closes a game server's connection.

The daemon accepts connections itself, because asyncio's server is deaf for a second whenever the process has too many
open files, and logs a traceback for each connection that waits (Python 3.11).

What aiohttp refuses before the application sees a request becomes JSON here: its parser answers a malformed request
line, header or chunk with a line of plain text, and its router an `Expect` that it does not know. A script finds no
`ok` in either.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Container, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError

from equipoise.errors import ScriptError
from equipoise.service.log import Repeats
from equipoise.service.metrics import Metrics, Reading
from equipoise.web.refusals import HEAD_BYTES, Refusals

HEAD_SECONDS = 10.0
"""For the head of a connection's first request."""
KEEP_ALIVE_SECONDS = 150.0
"""Longer than scripts keep an idle connection (curl: 118 s): one that we close as they post would lose the post."""
BACKLOG = 1024
"""Connections that may wait to be accepted; the kernel may allow fewer (`net.core.somaxconn`)."""
RESERVED_FILES = 64
"""Open files of the process that are no connections: the store, the rings, the log, the loop's own."""
PAUSE_SECONDS = 0.1
"""After a failed accept, when no connection could be closed to make room."""
DRAIN_SECONDS = 2.0
MOST_BYTES = 1 << 20
"""The limit of one request, four times the largest body: a script that sends somewhat too much still reads why it is
refused."""

_OPTIONS: Mapping[str, Any] = {
    "access_log": None,
    "keepalive_timeout": KEEP_ALIVE_SECONDS,
    "lingering_time": 0,  # `drain` does that
    "auto_decompress": False,  # 4 MB of gzip unpack to 4 GB
}

log = logging.getLogger(__name__)


class Connection(web.RequestHandler):
    """A client's connection: its deadlines, how much it has sent, and whose secret it has carried."""

    def __init__(self, server: web.Server, refusals: Refusals, connections: Connections) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **_OPTIONS)
        self._refusals = refusals
        self._connections = connections
        self._late: asyncio.TimerHandle | None = None
        self._received = 0
        """Bytes since the last request began."""
        self.peer = "unknown"
        """The address at the other end."""
        self.caller: str | None = None
        """Whose secret it carried last; None: it is not proven."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the deadline for the first request."""
        super().connection_made(transport)
        name = transport.get_extra_info("peername")
        if name:  # None when the client has gone already
            self.peer = str(name[0])
        self._late = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._connections.close, self, "late")
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Parse it, unless too much has come: once aiohttp's parser has failed, it keeps all that follows."""
        self._received += len(data)
        if self._received > MOST_BYTES:
            self._connections.close(self, "size")
        else:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Drop the deadline, and the connection's place in the table."""
        self.begin_request()
        self._connections.remove(self)
        super().connection_lost(exc)

    def begin_request(self) -> None:
        """Drop the deadline: the head of a request is here, or will never be."""
        self._received = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def prove(self, caller: str) -> None:
        """Note that it carried this caller's secret."""
        if self._connections.remove(self):  # else it was closed while its request was in work
            self.caller = caller
            self._connections.add(self)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the parser could not read, and close the connection: where the next request begins is unknown."""
        if request.writer.output_size > 0:
            raise ConnectionError("a part of another answer was sent")
        if isinstance(exc, HttpProcessingError):
            # The parser's texts quote the request over several lines, with a mark below the wrong byte.
            error = ScriptError("http", f"this is no HTTP request: {exc.message.splitlines()[0]}", status=400)
        elif isinstance(exc, UnicodeError):
            # aiohttp quotes an unknown `Expect`, and cannot when it is not Unicode.
            error = ScriptError("http", "a header is not Unicode", status=400)
        else:
            log.error("a request failed", exc_info=exc)
            error = ScriptError("internal", "the daemon failed on this; its log says how", status=status)
        return self._refused(request, error)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer; one that aiohttp made by itself becomes JSON."""
        if isinstance(resp, web.HTTPException):
            # A caller whose `Expect` was refused may send the body all the same, or leave it out.
            resp = self._refused(request, ScriptError("http", resp.text or resp.reason, status=resp.status))
        return await super().finish_response(request, resp, start_time)

    def _refused(self, request: web.BaseRequest, error: ScriptError) -> web.Response:
        """Return the refusal, after which the connection is closed."""
        self._refusals.record(request, error, b"")
        response = self._refusals.answer(error)
        response.force_close()
        return response


_Groups = dict[str, dict[Connection, None]]


class Connections:
    """All open connections, at most `most`. Each group is in order of age, of proven ones since their last request."""

    def __init__(self, server: web.Server, most: int, refusals: Refusals, metrics: Metrics) -> None:
        self.most = most
        """A lower limit closes no connection by itself: the next ones that come do."""
        self._server, self._refusals, self._metrics = server, refusals, metrics
        self._open = 0
        self._proven: _Groups = {}
        """Connections by caller."""
        self._unproven: _Groups = {}
        """Connections by address."""
        self._failures = Repeats(log, logging.ERROR)
        self._crowded = Repeats(log, logging.WARNING)

    def readings(self) -> Iterator[Reading]:
        """Yield the metric of open connections."""
        text = "Open connections; proven: they have carried an accepted secret."
        for proven, groups in (("yes", self._proven), ("no", self._unproven)):
            yield Reading("equipoise_connections", text, sum(map(len, groups.values())), {"proven": proven})

    async def accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled; then the port is free."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        listener.listen(BACKLOG)
        with listener, closing(self._failures), closing(self._crowded):
            while True:
                try:
                    client = await _accept(listener)
                    await loop.connect_accepted_socket(lambda: Connection(self._server, self._refusals, self), client)
                except (OSError, MemoryError) as error:  # anything that ended this loop would leave the daemon deaf
                    await self._accept_failed(error)

    def add(self, connection: Connection) -> None:
        """Give it a place, as the newest of its group."""
        if self._open >= self.most:
            oldest = _oldest_of_most(self._unproven or self._proven)
            which = {"peer": oldest.peer, "caller": oldest.caller} if oldest.caller else {"peer": oldest.peer}
            message = "web.max_connections are open: a connection is closed to make room for another"
            self._crowded.log((oldest.peer, oldest.caller), message, **which)
            self.close(oldest, "room")
        groups, name = self._place(connection)
        groups.setdefault(name, {})[connection] = None
        self._open += 1

    def remove(self, connection: Connection) -> bool:
        """Take its place away; False: it had none."""
        groups, name = self._place(connection)
        group = groups.get(name, {})
        if connection not in group:
            return False
        del group[connection]
        self._open -= 1
        if not group:
            del groups[name]
        return True

    def disown(self, callers: Container[str]) -> None:
        """Take back the proof of connections whose caller is none of these: their secrets are known no longer."""
        for caller in [caller for caller in self._proven if caller not in callers]:
            for connection in list(self._proven[caller]):
                self.remove(connection)
                connection.caller = None
                self.add(connection)

    def close(self, connection: Connection, reason: str) -> None:
        """Close it at once; an answer that is on its way is lost."""
        if self.remove(connection):
            self._metrics.closed.labels(reason).inc()
            if connection.transport is not None:
                connection.transport.abort()

    def _place(self, connection: Connection) -> tuple[_Groups, str]:
        if connection.caller is None:
            return self._unproven, connection.peer
        return self._proven, connection.caller

    async def _accept_failed(self, error: OSError | MemoryError) -> None:
        reason = error.strerror if isinstance(error, OSError) else "out of memory"
        self._metrics.accept_failures.inc()
        self._failures.log(reason, f"cannot accept a connection: {reason}")
        if self._unproven:
            self.close(_oldest_of_most(self._unproven), "room")
            await asyncio.sleep(0)  # the socket is closed in the loop's next turn
        else:
            await asyncio.sleep(PAUSE_SECONDS)


async def _accept(listener: socket.socket) -> socket.socket:
    """Return the next client. `loop.sock_accept` logs a traceback when it is cancelled as one comes (Python 3.11)."""
    loop = asyncio.get_running_loop()
    while True:
        with suppress(BlockingIOError):
            return listener.accept()[0]
        readable = asyncio.Event()
        loop.add_reader(listener, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(listener)


def _oldest_of_most(groups: _Groups) -> Connection:
    largest = max(groups.values(), key=len)
    return next(iter(largest))


def connection_of(request: web.Request) -> Connection:
    """Return the connection that a request came by."""
    assert isinstance(request.protocol, Connection)
    return request.protocol


async def drain(body: StreamReader) -> bytes:
    """Read what a refused client still sends, for a short time, and return the beginning of it.

    A socket that is closed with bytes unread is reset, and the client may lose an answer that it has not read yet.
    """
    first = b""
    # RuntimeError is aiohttp's, for a body that can never come because the connection was closed.
    with suppress(TimeoutError, ConnectionError, RuntimeError, web.RequestPayloadError, BadHttpMessage):
        async with asyncio.timeout(DRAIN_SECONDS):
            while part := await body.readany():
                first = first or part[:HEAD_BYTES]
    return first


def fitting(wanted: int) -> int:
    """Return how many of the connections that are wanted the process may open.

    Its soft limit of open files is raised for them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = min(wanted + RESERVED_FILES, hard)
    if soft < files:
        with suppress(OSError, ValueError):  # a sandbox may forbid it
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
            soft = files
    return max(1, min(wanted, soft - RESERVED_FILES))
