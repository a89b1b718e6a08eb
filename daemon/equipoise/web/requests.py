"""A request from its connection to its answer: it passes the checks in order, and every answer is JSON with `ok`.

First the connections: how many there may be, and which one is closed to make room for another. A plain limit, in all or
per address, would let a program without a secret lock out the game servers: all game servers of a machine call from
127.0.0.1, and so may the attacker. What tells them apart is an accepted secret. A connection that has carried one is
*proven* and is kept between requests; any other connection has to begin its one request within `HEAD_SECONDS`, and is
closed after the answer. At the limit

- the oldest unproven connection is closed, of the address that has most of them: new connections always get in, and an
  address displaces another's connections only while it has fewer;
- a proven connection is closed only when all are proven, and then the longest unused of the caller who has most. So
  a program without a secret never closes a game server's connection.

The daemon accepts connections itself, because asyncio's server is deaf for a second whenever the process has too many
open files, and logs a traceback for each connection that waits (Python 3.11).

Then the checks of a request, in the order of docs/protocol.md, each of which raises ScriptError with the status that
its docstring names; then its handler, and its answer or its refusal. What aiohttp refuses before the application sees a
request becomes JSON, too: its parser answers a malformed request line, header or chunk with a line of plain text, and
its router an `Expect` that it does not know. A script finds no `ok` in either.
"""

from __future__ import annotations

import asyncio
import logging
import re
import resource
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Container, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any, Protocol

import msgspec
from aiohttp import ClientPayloadError, StreamReader, web
from aiohttp.http_exceptions import BadHttpMessage, HttpProcessingError
from aiohttp.typedefs import Middleware

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError, SpillError, StoreError
from equipoise.service.host import Host
from equipoise.service.log_lines import Repeats
from equipoise.service.metrics import Metrics, Reading
from equipoise.web.logins import HOST, seen_through
from equipoise.web.openapi import TABLE
from equipoise.web.refusals import BODY, CALLER, CUT, EVENTS, HEAD_BYTES, Refusals
from equipoise.web.routes import STREAMED, Answer, Caller, Callers, Request, Route, Services, Stream, in_router
from equipoise.wire import decode_as, split_form, unquoted

HEAD_SECONDS = 10.0
"""For the head of a connection's first request."""
BODY_SECONDS = 10.0
LIMIT = 256 * 1024
"""Bytes of a body."""
MOST_BYTES = 4 * LIMIT
"""The limit of one request: a script that sends somewhat too much still reads why it is refused."""
KEEP_ALIVE_SECONDS = 150.0
"""Longer than scripts keep an idle connection (curl: 118 s): one that we close as they post would lose the post."""
BACKLOG = 1024
"""Connections that may wait to be accepted; the kernel may allow fewer (`net.core.somaxconn`)."""
RESERVED_FILES = 64
"""Open files of the process that are no connections: the store, the rings, the log, the loop's own."""
PAUSE_SECONDS = 0.1
"""After a failed accept, when no connection could be closed to make room."""
DRAIN_SECONDS = 2.0
LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
"""A Host header that names this machine as itself sees it."""
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

_OPTIONS: Mapping[str, Any] = {
    "access_log": None,
    "keepalive_timeout": KEEP_ALIVE_SECONDS,
    "lingering_time": 0,  # `drain` does that
    "auto_decompress": False,  # 4 MB of gzip unpack to 4 GB
}
_HTTP_CODES: Mapping[int, str] = {404: "not_found", 405: "method", 413: "size"}

Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Site(Protocol):
    """The pages for people, beside the routes for programs."""

    def add_to(self, app: web.Application) -> None:
        """Add their routes."""

    async def refusal(self, request: web.Request, error: ScriptError) -> web.Response | None:
        """Return a refusal as a person reads it; None: a program has asked."""


log = logging.getLogger(__name__)


# Connections.


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
        # aiohttp has a deadline between requests, but none for the first one.
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

    def __init__(
        self,
        server: web.Server,
        most: int,
        refusals: Refusals,
        metrics: Metrics,
        which: str = "web.max_connections",
    ) -> None:
        self.most = most
        """A lower limit closes no connection by itself: the next ones that come do."""
        self._server, self._refusals, self._metrics = server, refusals, metrics
        self._which = which
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
        # Before it has a place itself, or it might be the one that is closed.
        if self._open >= self.most:
            oldest = _oldest_of_most(self._unproven or self._proven)
            which = {"peer": oldest.peer, "caller": oldest.caller} if oldest.caller else {"peer": oldest.peer}
            message = "%s are open: a connection is closed to make room for another"
            self._crowded.log((oldest.peer, oldest.caller), message % self._which, **which)
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


# Requests.


def application(current: Callable[[], Services], refusals: Refusals, site: Site | None = None) -> web.Application:
    """Return all routes of the table behind their checks, and those of the site.

    Each request is answered by the services that are current at its beginning.
    """
    app = web.Application(middlewares=[_answer_everything(current, refusals, site)])
    app[STREAMED] = set()
    app.on_shutdown.append(_cut_streams)
    for route in TABLE:
        app.router.add_route(route.method, in_router(route.path), _guarded(route, current))
    if site is not None:
        site.add_to(app)
    return app


async def _cut_streams(app: web.Application) -> None:
    """End what is being sent, for minutes or for as long as its caller does not read; without its end they see that."""
    transports = app[STREAMED]
    for transport in tuple(transports):
        if transport is not None:
            transport.abort()


def _answer_everything(current: Callable[[], Services], refusals: Refusals, site: Site | None) -> Middleware:
    """Turn every error, also of an unknown path, into an answer that a script can read.

    `except Exception` is right here: NS2 sees neither status nor headers, and an answer without a body would look like
    a silent daemon.
    """

    @web.middleware
    async def answer(request: web.Request, handler: Respond) -> web.StreamResponse:
        connection, services = connection_of(request), current()
        if services.proxies:
            request = seen_through(request, services.proxies)
        connection.begin_request()
        try:
            check_encoding(request)
            check_host(request, services.names)
            check_origin(request, services.names)
            response = await handler(request)
        except Exception as error:
            response = await _refuse(services, refusals, site, request, error)
        if connection.caller is None:
            response.force_close()
        return response

    return answer


def _guarded(route: Route, current: Callable[[], Services]) -> Respond:
    """Put the route's handler behind its checks, in their order."""
    seconds = current().metrics.seconds.labels(f"{route.method} {route.plain_path}")

    async def respond(request: web.Request) -> web.StreamResponse:
        start, services = time.perf_counter(), current()
        reply = await route.handler(await _checked(route, services, request))
        if isinstance(reply, Stream):
            return await reply.send(request)
        answer = reply if isinstance(reply, Answer) else Answer(msgspec.json.encode(reply))
        if answer.refusal is not None:
            services.metrics.refused.labels(answer.refusal).inc()
        seconds.observe(time.perf_counter() - start)
        return answer.response()

    return respond


async def _checked(route: Route, services: Services, request: web.Request) -> Request:
    """Return the request; ScriptError of the first check that it fails."""
    if route.body is not None:
        check_content_type(request, form=route.form)
    check_size(request)
    form = route.form and request.content_type == FORM
    if form:
        # A form has the secret in its body, which must be read for it. A
        # secret in the header is checked before any byte of the body is taken.
        secret, text = split_form(await read_body(request), request.charset or "utf-8")
        caller = _caller(route, services, request, secret)
        body = unquoted(text)
    else:
        caller = _caller(route, services, request, bearer(request))
        body = await read_body(request)
    return Request.of(
        request,
        services,
        caller,
        body=None if route.body is None else decode_as(body, route.body),
        query=None if route.query is None else _query(request, route),
    )


def _caller(route: Route, services: Services, request: web.Request, secret: str | None) -> Caller:
    if not route.roles:
        return Caller("viewer", "")
    caller = check_credentials(services.callers, secret)
    # Before the role: the secret is right, whatever it may do here.
    connection_of(request).prove(caller.who)
    request[CALLER] = caller
    check_role(caller, route.roles)
    return caller


async def read_body(request: web.Request) -> bytes:
    """Return a request's whole body; ScriptError 400, 408, 413."""
    # Not `request.read`: it would hold the body for as long as the request is in work.
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while part := await request.content.readany():
                body += part
                if len(body) > LIMIT:
                    raise too_large()
    except TimeoutError:
        request[BODY] = b""  # the rest is not waited for
        raise too_slow() from None
    except (ConnectionError, RuntimeError) as error:  # RuntimeError: aiohttp's, for a body that can never come
        # It holds the body, and the body's reader holds it: 256 KB until the next collection.
        error.__traceback__ = None
        raise ScriptError("payload", "the connection was closed in the middle of the body", status=400) from None
    request[BODY] = bytes(body[:HEAD_BYTES])
    return bytes(body)


def _query(request: web.Request, route: Route) -> object:
    # `dict` would keep one of the two and not say so.
    if len(request.query) > len(set(request.query)):
        raise ScriptError("schema", "in the query: a parameter is there twice")
    try:
        return msgspec.convert(dict(request.query), route.query, strict=False)
    except msgspec.ValidationError as error:
        raise ScriptError("schema", f"in the query: {error}") from None


# The checks, in their order.


def check_encoding(request: web.Request) -> None:
    """415: no body is unpacked, because 4 MB may unpack to 4 GB."""
    content_encoding = request.headers.get("Content-Encoding", "").lower()
    transfer = request.headers.get("Transfer-Encoding", "chunked").lower()
    if content_encoding not in ("", "identity") or transfer != "chunked":
        raise ScriptError("encoding", "send the body as it is, without Content-Encoding", status=415)


def check_host(request: web.Request, names: Collection[str]) -> None:
    """421: the Host header must name the daemon, which stops DNS rebinding.

    A page cannot rebind a loopback name, and a tunnel or a container has a port of its own, so with these any is right.
    """
    host = host_of(request)
    if host not in names and LOOPBACK.fullmatch(host) is None:
        raise ScriptError(
            "host",
            f"the Host header is {host[:CUT]!r}, and this daemon does not go by that name: add it to web.hosts",
            status=421,
        )


def host_of(request: web.Request) -> str:
    """Return the name by which the daemon was called, in lower case; empty: the request has none."""
    name = request[HOST] if HOST in request else request.headers.get("Host", "")
    return name.lower()


def check_origin(request: web.Request, names: Collection[str]) -> None:
    """403: no page of another site may have a browser call."""
    origin = request.headers.get("Origin")
    own = (*names, host_of(request))
    if origin is not None and origin.lower() not in {f"{s}://{name}" for s in ("http", "https") for name in own}:
        raise ScriptError("origin", "pages of other sites may not call", status=403)
    # A link on another site may open a page: without a cookie, which is SameSite=Strict.
    link = request.method == "GET" and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none") and not link:
        raise ScriptError("origin", "pages of other sites may not call", status=403)


def check_content_type(request: web.Request, *, form: bool) -> None:
    """415: JSON, and where it is allowed a form."""
    types = (JSON, FORM) if form else (JSON,)
    if request.content_type not in types:
        raise ScriptError("content_type", f"send {' or '.join(types)}", status=415)


def check_size(request: web.Request) -> None:
    """413: a body that announces itself as too large is not read."""
    if (request.content_length or 0) > LIMIT:
        raise too_large()


def too_large() -> ScriptError:
    """Return the refusal of a body over the limit."""
    return ScriptError("size", f"a body has at most {LIMIT} bytes", status=413)


def too_slow() -> ScriptError:
    """Return the refusal of a body that does not arrive."""
    return ScriptError("timeout", f"the body did not arrive within {BODY_SECONDS:g} s", status=408)


def bearer(request: web.Request) -> str | None:
    """Return the secret in the Authorization header, None without one; 401 when it is of another kind."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer":
        raise ScriptError("credentials", "send Authorization: Bearer <secret>", status=401)
    return secret.strip()


def check_credentials(callers: Callers, secret: str | None) -> Caller:
    """401: the secret must be known."""
    caller = None if secret is None else callers.known(secret)
    if caller is None:
        raise ScriptError("credentials", "this secret is not known here", status=401)
    return caller


def check_role(caller: Caller, roles: Collection[str]) -> None:
    """403: the caller's role must be among those of the route."""
    if caller.role not in roles:
        raise ScriptError(
            "role", f"this is not for the role {caller.role}, but for: {', '.join(sorted(roles))}", status=403
        )


# Refusals.


async def _refuse(
    services: Services, refusals: Refusals, site: Site | None, request: web.Request, raised: Exception
) -> web.Response:
    """The refusal. It is sent before the rest of the body is read, and the connection is closed then."""
    error = _as_script_error(raised)
    # It holds the frames of the checks, and with them the body: a refusal may be a second late.
    raised.__traceback__ = None
    error = await refusals.throttled(request.remote, error)
    response = (None if site is None else await site.refusal(request, error)) or refusals.answer(error)
    if isinstance(raised, web.HTTPMethodNotAllowed):
        response.headers["Allow"] = raised.headers["Allow"]
    if not request.content.is_eof():
        response.force_close()
        with suppress(ConnectionError):
            await response.prepare(request)
            await response.write_eof()
    body = request[BODY] if BODY in request else await drain(request.content)
    refusals.record(request, error, body, services.hosts)
    if request.path == EVENTS and (host := _host(services, request)) is not None:
        host.refuse(error)
    return response


def _as_script_error(error: Exception) -> ScriptError:
    """The refusal that an error is answered with; an unexpected one is logged and becomes a 500."""
    match error:
        case ScriptError():
            return error
        case web.HTTPException():
            return ScriptError(_HTTP_CODES.get(error.status, "http"), error.reason, status=error.status)
        case StoreError() | SpillError():
            return ScriptError("unavailable", str(error), status=503)
        case ClientPayloadError() | web.RequestPayloadError() | BadHttpMessage() | ConnectionError():
            # A ConnectionError: the caller has gone in the middle of the body. Nothing of ours failed.
            return ScriptError("payload", "the body cannot be read", status=400)
        case _:
            log.error("a request failed", exc_info=error)
            return ScriptError("internal", "the daemon failed on this; its log says how", status=500)


def _host(services: Services, request: web.Request) -> Host | None:
    """Return the server whose script sent a refused request.

    Secrets in headers count for requests that were refused before their check, too.
    """
    caller = request.get(CALLER)
    if caller is None:
        with suppress(ScriptError):
            secret = bearer(request)
            caller = None if secret is None else services.callers.known(secret)
    return services.hosts.get(ServerId(caller.name)) if caller is not None and caller.role == "script" else None


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


def connection_of(request: web.Request) -> Connection:
    """Return the connection that a request came by."""
    assert isinstance(request.protocol, Connection)
    return request.protocol
