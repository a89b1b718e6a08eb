"""The decision log, the course of a server's maps, and the audit.

GET /v1/admin/decisions, GET /v1/admin/servers/{server}/chances, GET /v1/admin/audit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from equipoise.core.model import PlayerId, ServerId
from equipoise.store.notes import Audit, Chance, Decision
from equipoise.web.players import concealed_from, concealing, names_of, player_id
from equipoise.web.routes import LARGEST, READERS, Ok, Paged, Request, Routes, Services, page

routes = Routes()


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


class Decisions(Ok, frozen=True):
    """The decision log, newest first."""

    decisions: tuple[Decision, ...]
    """Lines of the decision log, newest first."""
    names: Mapping[PlayerId, str]
    """Last known names of the players in them."""
    sides: Mapping[str, tuple[str, str]]
    """The words of these servers' games for sides A and B."""
    player: PlayerId | None
    """Who was asked for."""
    before: int | None
    """The value of `before` that asks for the next page; null at the end."""


@routes.add("GET", "/v1/admin/decisions", "The decision log", READERS, query=Reasons, reply=Decisions)
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
    concealed = await concealed_from(request)
    lines: Sequence[Decision]
    if query.player is None:
        player, more = None, None
        lines = await services.store.decisions(server, query.limit, before=before, after=query.after)
    else:
        pool = services.pool(query.pool) if host is None else host.pool
        player = await player_id(pool, query.player, path="?player", concealed=concealed)
        lines, more = await services.store.decisions_about(
            player, server, query.limit, before=before, after=query.after, since=query.since
        )
    recent, before = page(lines, query, lambda line: line.at, lambda line: line.number)
    recent = concealing(recent, concealed, tuple[Decision, ...])
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


class Chances(Ok, frozen=True):
    """The course of a server's maps, newest first."""

    server: ServerId
    sides: tuple[str, str]
    """The game's words for sides A and B."""
    chances: tuple[Chance, ...]
    """A line for each change of the sides that lasted, newest first."""
    before: int | None
    """The value of `before` that asks for the next page; null at the end."""


@routes.add(
    "GET",
    "/v1/admin/servers/{server}/chances",
    "How even a server's sides were",
    READERS,
    query=OfMap,
    reply=Chances,
)
async def show_chances(request: Request) -> Chances:
    """How even the sides of a server were, from each change of them on."""
    services, query = request.services, request.query
    host = services.host(request.path["server"])
    lines = await services.store.chances(host.server, query.session, query.limit, before=query.before)
    recent, before = page(lines, query, lambda line: line.at, lambda line: line.number)
    sides = services.sides(host.server) or host.session.memory.mode.sides
    return Chances(server=host.server, sides=sides, chances=recent, before=before)


class Audits(Ok, frozen=True):
    """Lines of the audit: who changed what, newest first."""

    audit: tuple[Audit, ...]
    """Lines of the audit, newest first."""
    names: Mapping[PlayerId, str]
    """Last known names, by player id."""
    before: int | None
    """The value of `before` that asks for the next page; null at the end."""


@routes.add("GET", "/v1/admin/audit", "What admins did", READERS, query=Paged, reply=Audits)
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
