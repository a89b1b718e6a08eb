"""Routes: how a handler is declared, what it is given, and what it answers.

Each file of a resource has its routes from top to bottom: the structs of a request and its answer, then the handler
below its path. `openapi.TABLE` holds them all; it feeds the router and /openapi.json. `requests` has the way of a
request to its handler.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import msgspec
from aiohttp import web
from msgspec import Meta

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError, StoreError
from equipoise.game.port import GameServers
from equipoise.service.clock import Clock
from equipoise.service.copies import Exports
from equipoise.service.diagnosis import Tried
from equipoise.service.event_loop import Precedence
from equipoise.service.host import Host
from equipoise.service.jobs import Scheduler
from equipoise.service.live import Live
from equipoise.service.metrics import Metrics
from equipoise.service.notices import WebhookStatus
from equipoise.service.pool import Pool
from equipoise.service.refits import Calibrations, Refits, Spreads
from equipoise.service.reloads import Reloads
from equipoise.shared.log import Server as PublishedServer
from equipoise.shared.log import Survey
from equipoise.store.store import Store
from equipoise.web.logins import Login, Logins, Network
from equipoise.wire import Game
from equipoise.workers.process import Warm
from equipoise.workers.solving import SolvedSplits

Role = Literal["script", "viewer", "admin"]

SCRIPTS: frozenset[Role] = frozenset({"script"})
READERS: frozenset[Role] = frozenset({"viewer", "admin"})
ADMINS: frozenset[Role] = frozenset({"admin"})
WRITERS: frozenset[Role] = SCRIPTS | ADMINS
ANYBODY: frozenset[Role] = SCRIPTS | READERS

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of every answer."""
STALLED_SECONDS = 60.0
"""How long a caller may leave a piece of a long answer unread."""
MOST_LINES = 1000
LARGEST = 2**53
"""The largest whole number: as far as a double counts exactly, and well below where SQLite's end."""

STREAMED = web.AppKey("streamed", set[asyncio.Transport | None])
"""The connections of answers that are sent while they are made."""

Row = TypeVar("Row")

log = logging.getLogger(__name__)


# Who calls: game servers' scripts and holders of tokens, whose secrets are known by their SHA-256 only.


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller whose secret is known."""

    role: Role
    name: str
    """The script's server, or the token's name."""

    @property
    def who(self) -> str:
        """The caller's name in the audit."""
        return f"{'script' if self.role == 'script' else 'token'}:{self.name}"


@dataclass(frozen=True, slots=True)
class Callers:
    """Every caller by the SHA-256 of their secret."""

    digests: Mapping[bytes, Caller] = field(default_factory=dict)

    def names(self) -> frozenset[str]:
        """Return all callers as the audit names them."""
        return frozenset(caller.who for caller in self.digests.values())

    def known(self, secret: str) -> Caller | None:
        """Return the caller who has this secret; None: nobody has it.

        All digests are compared, so that the time taken reveals none.
        """
        # `surrogateescape`: aiohttp reads a header's bytes that are no UTF-8 so, and this makes them bytes again.
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        match = None
        for entry, caller in self.digests.items():
            if hmac.compare_digest(entry, digest):
                match = caller
        return match

    def digest(self, caller: Caller) -> bytes:
        """Return the SHA-256 of a caller's secret; ScriptError 401: a reload has taken them away."""
        for digest, entry in self.digests.items():
            if entry == caller:
                return digest
        raise ScriptError("credentials", "this secret is not known here any more", status=401)


def check_server(caller: Caller, server: str) -> None:
    """403: a script speaks for its own server only."""
    if caller.role == "script" and caller.name != server:
        raise ScriptError("server", "this secret belongs to another server", path="$.server", status=403)


# What a handler is given.


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a handler may use; `app` hands it in.

    A reload of the configuration replaces the whole of it at once, and a request keeps what it began with: no handler
    sees half a reload.
    """

    store: Store
    clock: Clock
    metrics: Metrics
    tried: Callable[[], Iterable[Tried]]
    """Returns the requests with a wrong secret, or another server's, of the last hour."""
    solving: Warm[SolvedSplits]
    """Splits for other programs."""
    scheduler: Scheduler
    exports: Exports
    reloads: Reloads
    game_servers: GameServers
    """RCON and A2S."""
    refits: Refits
    spreads: Spreads
    calibrations: Calibrations
    logins: Logins | None
    """Of browsers; None: the page is off."""
    live: Live
    precedence: Precedence
    webhooks: Callable[[], Sequence[WebhookStatus]]
    """Returns how the last attempts of all webhooks went."""
    elsewhere: Callable[[], Sequence[PublishedServer]]
    """Returns the game servers that feed shared pools on other machines."""
    surveys: Callable[[], Awaitable[Mapping[str, Survey]]]
    """Asks the databases of shared pools what they are, by pool."""
    config: Path
    """The configuration's file."""
    hosts: Mapping[ServerId, Host] = field(default_factory=dict)
    games: Mapping[ServerId, Game] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    callers: Callers = field(default_factory=Callers)
    proxies: tuple[Network, ...] = ()
    """Addresses of proxies whose headers are believed."""
    names: frozenset[str] = frozenset()
    """Values of the Host header that are served."""

    def host(self, server: str) -> Host:
        """Return the host of a configured server; ScriptError 404."""
        try:
            return self.hosts[ServerId(server)]
        except KeyError:
            for neighbour in self.elsewhere():
                if neighbour.server == server:
                    message = f"server {server!r} is on machine {neighbour.machine}: ask the daemon there"
                    raise ScriptError("elsewhere", message, status=404) from None
            raise ScriptError("not_found", f"no server {server!r} is configured", status=404) from None

    def sides(self, server: ServerId) -> tuple[str, str] | None:
        """Return the words of a server's players for sides A and B; None: the server is not configured."""
        if server not in self.hosts:
            return None
        return self.hosts[server].rules.sides or self.games[server].sides

    def login(self, login_id: str) -> tuple[Login, Caller] | None:
        """Return a browser's login and whose it is; None: it is over, or their token is not what it was."""
        login = self.logins and self.logins.find(login_id, self.clock.epoch())
        caller = self.callers.digests.get(login.token) if login else None
        return (login, caller) if login and caller and caller.role == login.role else None

    def pool(self, name: str | None) -> Pool:
        """Return a pool by name; None means the only one. ScriptError 404."""
        if name is None and len(self.pools) == 1:
            (pool,) = self.pools.values()
            return pool
        try:
            return self.pools[name or ""]
        except KeyError:
            names = ", ".join(sorted(self.pools))
            fault = f"no pool {name!r} is configured; " if name else ""
            raise ScriptError("not_found", f"{fault}name one of the pools: {names}", status=404) from None


@dataclass(frozen=True, slots=True)
class Request:
    """A request that passed all checks of `web.requests`."""

    services: Services
    caller: Caller
    body: Any
    """A value of the route's `body` type; None where the route has none."""
    query: Any
    """A value of the route's `query` type; None where the route has none."""
    path: Mapping[str, str]
    gone: Callable[[], bool]
    """Whether the caller has hung up."""
    cut: Callable[[], None] = lambda: None
    """Closes the caller's connection at once."""
    last_event: str = ""
    """The id of the last event of a stream that the caller has had; empty: they say none."""

    @property
    def pool(self) -> Pool:
        """The pool that the path names; ScriptError 404."""
        return self.services.pool(self.path["pool"])

    @property
    def host(self) -> Host:
        """The host of the server that the path names; ScriptError 404."""
        return self.services.host(self.path["server"])

    @classmethod
    def of(cls, request: web.Request, services: Services, caller: Caller, body: Any, query: Any) -> Request:
        """Return the request that came by HTTP, with what its checks have made of it."""
        return cls(
            services,
            caller,
            body,
            query,
            path=dict(request.match_info),
            gone=lambda: request.transport is None or request.transport.is_closing(),
            cut=lambda: None if request.transport is None else request.transport.abort(),
            last_event=request.headers.get("Last-Event-ID", ""),
        )


# What it answers.


class Ok(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every answer that is no refusal."""

    ok: Literal[True] = True
    """Whether the request was accepted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it goes out: body, status and content type."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    refusal: str | None = None
    """The error's code, when the answer is a refusal; it is counted."""

    def response(self) -> web.Response:
        """Return the response of aiohttp, with the headers that every answer has."""
        return web.Response(body=self.body, status=self.status, headers={**HEADERS, "Content-Type": self.content_type})


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is too long for memory: it is made while it goes out."""

    pieces: AsyncGenerator[bytes, None]
    content_type: str
    endless: bool = False
    """A caller who hangs up misses nothing, and no proxy may wait for its end."""

    async def send(self, request: web.Request) -> web.StreamResponse:
        """Send it. An error before the first piece is raised; after it, the answer ends without its last chunk.

        That is how the caller knows that something is missing.
        """
        headers = {**HEADERS, "Content-Type": self.content_type}
        if self.endless:
            headers["X-Accel-Buffering"] = "no"
        response = web.StreamResponse(headers=headers)
        response.enable_chunked_encoding()
        transports, transport = request.app[STREAMED], request.transport
        async with aclosing(self.pieces) as pieces:
            # Before the status goes out: what fails until here still becomes a refusal that can be read.
            piece: bytes | None = await anext(pieces)
            await response.prepare(request)
            transports.add(transport)
            try:
                while piece is not None:
                    async with asyncio.timeout(STALLED_SECONDS):
                        await response.write(piece)
                    piece = await anext(pieces, None)
                await response.write_eof()
            except (StoreError, TimeoutError, ConnectionError) as error:
                if not self.endless:
                    log.warning("an answer was not sent to its end: %s", error or "its caller does not read")
                if request.transport is not None:
                    # Without the last chunk, or a half-sent answer would pass for a whole one.
                    request.transport.abort()
            finally:
                transports.discard(transport)
        return response


def refused(code: str, message: str, path: str | None = None) -> ScriptError:
    """Return the error 409: the request is valid, but not possible now."""
    return ScriptError(code, message, path=path, status=409)


# How it is declared.

Handler = Callable[[Request], Awaitable[msgspec.Struct | Answer | Stream]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


@dataclass(frozen=True, slots=True)
class Route:
    """One route: its handler, the types it takes and returns, and who may call it."""

    method: str
    path: str
    """The path in aiohttp's form; a part with a pattern is `{action:on|off}`."""
    summary: str
    roles: frozenset[Role]
    """Empty: no credentials are needed."""
    handler: Handler
    reply: Any
    """The type of the answer; None where it is text."""
    body: Any
    query: Any
    body_example: Any
    """The JSON value of one in /openapi.json; every body has one."""
    reply_example: Any
    media_type: str
    form: bool
    """Also as a form, with fields `secret` and `data`."""

    @property
    def plain_path(self) -> str:
        """The path without the router's patterns: `/{server}/{action:on|off}` is `/{server}/{action}`."""
        return re.sub(r"{(\w+):[^}]*}", r"{\1}", self.path)


def in_router(path: str) -> str:
    """Return a path as aiohttp's router takes it: by itself it finds no names that have braces.

    >>> in_router("/maps/{pool}/{act:show|hide}")
    '/maps/{pool:[^/]+}/{act:show|hide}'
    """
    return re.sub(r"{(\w+)}", r"{\1:[^/]+}", path)


class Routes(list[Route]):
    """The routes of one resource, in the order of its file."""

    def add(
        self,
        method: str,
        path: str,
        summary: str,
        roles: frozenset[Role],
        *,
        reply: Any = None,
        body: Any = None,
        query: Any = None,
        body_example: Any = None,
        reply_example: Any = None,
        media_type: str = "application/json",
        form: bool = False,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Return the decorator that adds the handler below it; it returns its `reply`, or writes one out by itself."""

        def register(handler: AnyHandler) -> AnyHandler:
            result = get_type_hints(handler)["return"]
            structs = set(get_args(result) or (result,)) - {Answer, Stream}
            types = (reply or next(iter(structs), None), body, query, body_example, reply_example)
            self.append(Route(method, path, summary, roles, handler, *types, media_type, form))
            return handler

        return register


# What many routes ask.


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A body or query of a program: unknown fields are refused."""


class Limited(Ask, frozen=True):
    """The number of lines to return."""

    limit: Annotated[int, Meta(ge=1, le=MOST_LINES)] = 50
    """The most lines to return."""


class Paged(Limited, frozen=True):
    """A page of a list, newest first."""

    before: Annotated[int, Meta(ge=1, le=LARGEST)] | None = None
    """Go on from the page whose answer said so."""
    since: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    """Nothing older, in seconds since the epoch."""


class Listed(Ok, frozen=True, kw_only=True):
    """A page of a list, and where the next one begins."""

    before: int | None
    """The value of `before` that asks for the next page; null at the end."""


def page(
    rows: Sequence[Row], query: Paged, at: Callable[[Row], float], number: Callable[[Row], int]
) -> tuple[tuple[Row, ...], int | None]:
    """Return the rows since the time of the query, and the number before which the next page goes on; None: there is
    none.

    Rows were written in the order of their numbers, so the first one that is too old ends the list.
    """
    recent = tuple(rows if query.since is None else takewhile(lambda row: at(row) >= (query.since or 0.0), rows))
    more = len(recent) == len(rows) == query.limit
    return recent, number(recent[-1]) if more else None
