"""Routes: how a handler is declared, what it is given, and the parts of the daemon that it may use.

Each file of a resource has its routes from top to bottom: the structs of a request and its answer, then the handler
below its path. `openapi.TABLE` holds them all; it feeds the router and /openapi.json.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError
from equipoise.game.port import GameServers
from equipoise.service.calibrations import Calibrations
from equipoise.service.exporting import Exports
from equipoise.service.host import Host
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool
from equipoise.service.refits import Refits
from equipoise.service.reloads import Reloads
from equipoise.service.scheduler import Scheduler
from equipoise.service.spreads import Spreads
from equipoise.solving.worker import Worker
from equipoise.store.port import Clock, Store
from equipoise.web.answers import Answer, Stream
from equipoise.web.guards import Caller, Callers, Role
from equipoise.web.refusals import Refusals
from equipoise.wire import Game

SCRIPTS: frozenset[Role] = frozenset({"script"})
READERS: frozenset[Role] = frozenset({"viewer", "admin"})
ADMINS: frozenset[Role] = frozenset({"admin"})
WRITERS: frozenset[Role] = SCRIPTS | ADMINS
ANYBODY: frozenset[Role] = SCRIPTS | READERS

MOST_LINES = 1000
LARGEST = 2**53
"""The largest whole number: as far as a double counts exactly, and well below where SQLite's end."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a handler may use; `app` hands it in.

    A reload of the configuration replaces the whole of it at once, and a request keeps what it began with: no handler
    sees half a reload.
    """

    store: Store
    clock: Clock
    metrics: Metrics
    refusals: Refusals
    solving: Worker
    """Splits for other programs."""
    scheduler: Scheduler
    exports: Exports
    reloads: Reloads
    game_servers: GameServers
    """RCON and A2S."""
    refits: Refits
    spreads: Spreads
    calibrations: Calibrations
    hosts: Mapping[ServerId, Host] = field(default_factory=dict)
    games: Mapping[ServerId, Game] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    callers: Callers = field(default_factory=Callers)
    names: frozenset[str] = frozenset()
    """Values of the Host header that are served."""

    def host(self, server: str) -> Host:
        """Return the host of a configured server; ScriptError 404."""
        try:
            return self.hosts[ServerId(server)]
        except KeyError:
            raise ScriptError("not_found", f"no server {server!r} is configured", status=404) from None

    def sides(self, server: ServerId) -> tuple[str, str] | None:
        """Return the words of a server's players for sides A and B; None: the server is not configured."""
        if server not in self.hosts:
            return None
        return self.hosts[server].rules.sides or self.games[server].sides

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
    """A request that passed all checks of `web.guards`."""

    services: Services
    caller: Caller
    body: Any
    """A value of the route's `body` type; None where the route has none."""
    query: Any
    """A value of the route's `query` type; None where the route has none."""
    path: Mapping[str, str]
    gone: Callable[[], bool]
    """Whether the caller has hung up."""


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
        """Return the decorator that adds the handler below it."""

        def register(handler: AnyHandler) -> AnyHandler:
            types = (reply, body, query, body_example, reply_example)
            self.append(Route(method, path, summary, roles, handler, *types, media_type, form))
            return handler

        return register


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


def refused(code: str, message: str, path: str | None = None) -> ScriptError:
    """Return the error 409: the request is valid, but not possible now."""
    return ScriptError(code, message, path=path, status=409)
