"""The daemon itself: whether it stores rounds, its metrics, what is wrong with it and with the game servers, its
configuration read again, links by which a browser logs in, the decision log, and the audit.

GET /healthz, GET /metrics, GET /v1/admin/doctor, POST /v1/admin/reload, POST /v1/admin/login, GET /v1/admin/decisions,
GET /v1/admin/servers/{server}/chances, GET /v1/admin/audit.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

import equipoise
from equipoise.core.model import PlayerId, ServerId
from equipoise.core.rules import MATCH_HUMANS
from equipoise.errors import ConfigError, PeerError, StoreError
from equipoise.game.port import GameServers, Inspection, WebState
from equipoise.service import diagnosis, metrics
from equipoise.service.diagnosis import Finding
from equipoise.service.host import Host
from equipoise.store.connection import StoreHealth, StoreState
from equipoise.store.notes import Audit, Chance, Decision
from equipoise.web.logins import LINK_SECONDS
from equipoise.web.players import concealed_from, concealing, names_of, player_id
from equipoise.web.routes import (
    ADMINS,
    LARGEST,
    READERS,
    Answer,
    Ask,
    Listed,
    Ok,
    Paged,
    Request,
    Routes,
    Services,
    page,
    refused,
)
from equipoise.wire.orders import Fault, Refusal

LASTING_SECONDS = 60.0
"""A store that is locked or full for so long needs a person."""
INSPECTION_SECONDS = 7.0
"""For one game server. Commands wait 10 s for the daemon."""

routes = Routes()


class StoreSeen(msgspec.Struct, frozen=True):
    """Whether the store takes rounds."""

    state: StoreState
    """Whether the store takes what is written."""
    since: float | None
    """When it stopped to take them, in seconds since the epoch."""
    advice: str
    """Advice for the operator."""


class LogSeen(msgspec.Struct, frozen=True):
    """Whether the logs of shared pools are followed."""

    connected: bool
    """All of them answer."""
    behind: int
    """Events of theirs that are not here yet."""


class Health(Ok, frozen=True):
    """The daemon works."""

    version: str
    """The daemon's version."""
    waiting_rounds: int
    """Finished rounds that the store has not taken yet."""
    store: StoreSeen
    """Whether the store is well."""
    shared: LogSeen | None = None
    """Where a pool is shared with other machines; null: none is."""


class Unhealthy(Refusal, frozen=True, kw_only=True):
    """The daemon answers, but stores no rounds: a refusal that says the rest too."""

    version: str
    waiting_rounds: int
    store: StoreSeen


@routes.add(
    "GET",
    "/healthz",
    "Does the daemon store rounds",
    frozenset(),
    reply_example={
        "ok": True,
        "version": "0.2.0",
        "waiting_rounds": 0,
        "store": {"state": "ok", "since": None, "advice": ""},
        "shared": None,
    },
)
async def show_health(request: Request) -> Health | Answer:
    """200 while rounds are stored or the store's trouble is short; 503, which monitoring sees, when it is not.

    It needs no credentials, so it names no path and no server.
    """
    health, count = request.services.store.health(), waiting_rounds(request.services)
    store = store_seen(health)
    recent = health.began is None or time.monotonic() - health.began < LASTING_SECONDS
    if health.state != "damaged" and recent:
        pools = [pool.sharing for pool in request.services.pools.values() if pool.sharing is not None]
        log = LogSeen(all(pool.connected for pool in pools), sum(pool.behind for pool in pools)) if pools else None
        return Health(version=equipoise.__version__, waiting_rounds=count, store=store, shared=log)
    fault = Fault("store", f"the store is {health.state}: {health.advice}")
    refusal = Unhealthy(fault, version=equipoise.__version__, waiting_rounds=count, store=store)
    return Answer(msgspec.json.encode(refusal), 503)


def store_seen(health: StoreHealth) -> StoreSeen:
    """Return the store's health as operators see it."""
    return StoreSeen(health.state, health.since, health.advice)


def waiting_rounds(services: Services) -> int:
    """Return the number of rounds of all pools that wait for the store."""
    return sum(pool.ring_depth for pool in services.pools.values())


@routes.add("GET", "/metrics", "Prometheus metrics", READERS, media_type="text/plain")
async def measures(request: Request) -> Answer:
    """The metrics in Prometheus' text format."""
    return Answer(request.services.metrics.text(), content_type=metrics.CONTENT_TYPE)


class Findings(Ok, frozen=True):
    """Faults, and what else is worth knowing; none: all is well."""

    version: str
    """The daemon's."""
    uid: int
    """The user that the daemon runs as."""
    pid: int
    """The daemon's process."""
    findings: tuple[Finding, ...]
    """Faults, and what else is worth knowing."""


@routes.add("GET", "/v1/admin/doctor", "What is wrong, and what to do", ADMINS)
async def show_findings(request: Request) -> Findings:
    """Look at everything now: game servers are asked by RCON and A2S, all at the same time."""
    services, epoch = request.services, request.services.clock.epoch()
    health, jobs = services.store.health(), services.scheduler.status()
    findings = [
        *diagnosis.of_daemon(health, services.pools.values(), jobs, epoch),
        *await _of_parameters(services),
        *await _of_databases(services),
        *diagnosis.of_tries(services.tried(), {name: host.silent_seconds() for name, host in services.hosts.items()}),
        *diagnosis.of_webhooks(services.webhooks()),
    ]
    inspections = [
        _of_server(host, services.game_servers, diagnosis.SCRIPTS[services.games[name].name], epoch)
        for name, host in services.hosts.items()
    ]
    for lines in await asyncio.gather(*inspections):
        findings += lines
    return Findings(version=equipoise.__version__, uid=os.getuid(), pid=os.getpid(), findings=tuple(findings))


async def _of_parameters(services: Services) -> list[Finding]:
    findings = list[Finding]()
    for pool in services.pools.values():
        with suppress(StoreError):  # said by the store's own finding
            findings += diagnosis.of_spread(pool.name, await services.spreads.status(pool))
            gains = await services.store.gained(pool.name, diagnosis.BEST, MATCH_HUMANS)
            findings += diagnosis.of_gained(pool.name, gains)
    return findings


async def _of_databases(services: Services) -> list[Finding]:
    findings = list[Finding]()
    with suppress(StoreError):  # said of the pool
        for pool, survey in (await services.surveys()).items():
            own = [host.server for host in services.hosts.values() if host.pool.name == pool]
            findings += diagnosis.of_survey(pool, survey, services.elsewhere(), own)
    return findings


async def _of_server(host: Host, game_servers: GameServers, script: diagnosis.Script, epoch: float) -> list[Finding]:
    # The status is taken behind both: RCON and A2S have brought it up to now.
    inspection, _ = await asyncio.gather(_inspected(host.server, game_servers), game_servers.ask(host.server))
    status = host.status()
    return [
        *diagnosis.of_server(status, script, equipoise.__version__),
        *diagnosis.of_refused(status, script, equipoise.__version__, epoch),
        *diagnosis.of_peer(status, game_servers.status(host.server), inspection, script, equipoise.__version__),
    ]


async def _inspected(server: ServerId, game_servers: GameServers) -> Inspection | WebState | None:
    if game_servers.status(server).rcon.state == "off":
        return None
    try:
        async with asyncio.timeout(INSPECTION_SECONDS):
            return await game_servers.inspect(server)
    except (PeerError, TimeoutError):
        return None  # its status says why


class ReloadAsked(Ask, frozen=True):
    """Options of a reload."""

    dry_run: bool = False
    """Only say what would change."""
    rcon_passwords: dict[str, str] | None = None
    """RCON passwords by the file that the configuration names, as root reads them: systemd hands the daemon copies when
    it starts, and these are newer. Null: those that the daemon has."""


class ReloadDone(Ok, frozen=True):
    """Changes of the configuration, a line for each."""

    changes: tuple[str, ...]
    """In force from now on."""
    restart: tuple[str, ...]
    """In force after the next start of the daemon."""
    rcon: tuple[str, ...]
    """How each RCON answered that is new, or did not answer before."""


@routes.add(
    "POST", "/v1/admin/reload", "Read the configuration again", ADMINS, body=ReloadAsked, body_example={"dry_run": True}
)
async def reload(request: Request) -> ReloadDone:
    """Put the files in force, or say what that would change; 409 with the file, the key and the reason."""
    body: ReloadAsked = request.body
    try:
        reloads = request.services.reloads
        outcome = await reloads.run(request.caller.who, dry=body.dry_run, passwords=body.rcon_passwords)
    except ConfigError as error:
        raise refused("configuration", str(error)) from None
    return ReloadDone(changes=outcome.changes, restart=outcome.restart, rcon=outcome.rcon)


class LoginLink(Ok, frozen=True):
    """A link that logs a browser in as the caller, once."""

    path: str
    """Its path and query, below the address at which the browser finds the page."""
    expires: float
    """When it is too old, in seconds since the epoch."""


@routes.add(
    "POST",
    "/v1/admin/login",
    "A link that logs a browser in once",
    READERS,
    reply_example={"ok": True, "path": "/login?link=hY3mGq0cVb8kWn5rTz1xPd7sLf2uJe9A", "expires": 1_790_000_600.0},
)
async def make_login_link(request: Request) -> LoginLink:
    """Make a link for ten minutes. 409: the page is off."""
    services = request.services
    if services.logins is None:
        raise refused("refused", "the page is off: write page = true in [web], and start the daemon again")
    token = services.callers.digest(request.caller)
    secret = services.logins.links.make(token, services.clock.monotonic())
    return LoginLink(path=f"/login?{urlencode({'link': secret})}", expires=services.clock.epoch() + LINK_SECONDS)


# The decision log, the course of a server's maps, and the audit.


class Reasons(Paged, frozen=True):
    """Lines of one server, or of all; about one player, or about all."""

    server: str | None = None
    player: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """An id in any form, or a name that only one player has."""
    pool: str | None = None
    """The pool in which the player's name is looked for, if there are several and no server is named."""
    after: Annotated[int, Meta(ge=0, le=LARGEST)] = 0
    """Only lines that were written after the one with this number."""
    until: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    """Nothing newer, in seconds since the epoch."""


class Decisions(Listed, frozen=True):
    """The decision log, newest first."""

    decisions: tuple[Decision, ...]
    """Lines of the decision log, newest first."""
    names: Mapping[PlayerId, str]
    """Last known names of the players in them."""
    sides: Mapping[str, tuple[str, str]]
    """The words of these servers' games for sides A and B."""
    player: PlayerId | None
    """Who was asked for."""


@routes.add("GET", "/v1/admin/decisions", "The decision log", READERS, query=Reasons)
async def show_decisions(request: Request) -> Decisions:
    """Lines of the decision log, newest first, of one server or of all, about one player or about all."""
    services, query = request.services, request.query
    host = None if query.server is None else services.host(query.server)
    for script in services.hosts.values():
        # Of all servers: the log is one, and its lines of one moment are to be complete.
        script.write_down()
    server, before = None if host is None else host.server, query.before
    if query.until is not None:
        until = await services.store.last_decision(query.until) + 1
        before = until if before is None else min(before, until)
    hidden_ids = await concealed_from(request)
    lines: Sequence[Decision]
    if query.player is None:
        player, more = None, None
        lines = await services.store.decisions(server, query.limit, before=before, after=query.after)
    else:
        pool = services.pool(query.pool) if host is None else host.pool
        player = await player_id(pool, query.player, path="?player", concealed=hidden_ids)
        lines, more = await services.store.decisions_about(
            player, server, query.limit, before=before, after=query.after, since=query.since
        )
    recent, before = page(lines, query, lambda line: line.at, lambda line: line.number)
    recent = concealing(recent, hidden_ids, tuple[Decision, ...])
    return Decisions(
        decisions=recent,
        names=await _names(services, recent),
        sides={line.server: sides for line in recent if (sides := services.sides(line.server))},
        player=player,
        before=more if len(recent) == len(lines) and more is not None else before,
    )


async def _names(services: Services, lines: Sequence[Decision]) -> Mapping[PlayerId, str]:
    """Return last known names of the players in decisions, in the pools of their servers."""
    players: dict[ServerId, set[PlayerId]] = {}
    for line in lines:
        players.setdefault(line.server, set()).update(_players(line.detail or {}))
    names: dict[PlayerId, str] = {}
    for server, ids in players.items():
        if server in services.hosts:
            names |= await names_of(services.hosts[server].pool, ids)
    return names


def _players(detail: Mapping[str, object]) -> Iterator[PlayerId]:
    split = detail.get("split")
    lists = [detail.get("players"), *(split.values() if isinstance(split, Mapping) else ())]
    return (PlayerId(player) for players in lists if isinstance(players, list) for player in players)


class OfMap(Paged, frozen=True):
    """A time on a map, or all of them."""

    session: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """The script's name of a time on a map, as rounds and chances have it."""


class Chances(Listed, frozen=True):
    """The course of a server's maps, newest first."""

    server: ServerId
    sides: tuple[str, str]
    chances: tuple[Chance, ...]
    """A line for each change of the sides that lasted, newest first."""


@routes.add("GET", "/v1/admin/servers/{server}/chances", "How even a server's sides were", READERS, query=OfMap)
async def show_chances(request: Request) -> Chances:
    """How even the sides of a server were, from each change of them on."""
    services, query = request.services, request.query
    host = request.host
    lines = await services.store.chances(host.server, query.session, query.limit, before=query.before)
    recent, before = page(lines, query, lambda line: line.at, lambda line: line.number)
    sides = services.sides(host.server) or host.session.memory.mode.sides
    return Chances(server=host.server, sides=sides, chances=recent, before=before)


class Audits(Listed, frozen=True):
    """Lines of the audit: who changed what, newest first."""

    audit: tuple[Audit, ...]
    """Lines of the audit, newest first."""
    names: Mapping[PlayerId, str]
    """Last known names, by player id."""


@routes.add("GET", "/v1/admin/audit", "What admins did", READERS, query=Paged)
async def show_audit(request: Request) -> Audits:
    """Lines of the audit, newest first."""
    services, query = request.services, request.query
    for host in services.hosts.values():
        host.write_down()
    lines = await services.store.audits(query.limit, before=query.before)
    recent, before = page(lines, query, lambda line: line.at, lambda line: line.number)
    recent = concealing(recent, await concealed_from(request), tuple[Audit, ...])
    names: dict[PlayerId, str] = {}
    for pool in services.pools.values():
        names |= await names_of(pool, (PlayerId(line.target) for line in recent))
    return Audits(audit=recent, names=names, before=before)
