"""The two logs for admins: decisions and the audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from equipoise.core.model import PlayerId, ServerId
from equipoise.store.notes import Decision
from equipoise.web.ids import player_id
from equipoise.web.messages.logs import Audits, Decisions
from equipoise.web.pages import page
from equipoise.web.players import names_of
from equipoise.web.routes import Asked
from equipoise.web.services import Services


async def show_decisions(asked: Asked) -> Decisions:
    """Lines of the decision log, newest first, of one server or of all, about one player or about all."""
    services, query = asked.services, asked.query
    host = None if query.server is None else services.host(query.server)
    for each in services.hosts.values():
        await each.write_down()
    server = None if host is None else host.server
    lines: Sequence[Decision]
    if query.player is None:
        player, more = None, None
        lines = await services.store.decisions(server, query.limit, before=query.before, after=query.after)
    else:
        pool = services.pool(query.pool) if host is None else host.pool
        player = await player_id(pool, query.player, path="?player")
        lines, more = await services.store.decisions_about(
            player, server, query.limit, before=query.before, after=query.after, since=query.since
        )
    kept, before = page(lines, query, lambda line: line.at, lambda line: line.number)
    return Decisions(
        decisions=kept,
        names=await _names(services, kept),
        sides={line.server: sides for line in kept if (sides := services.sides(line.server))},
        player=player,
        before=more if len(kept) == len(lines) and more is not None else before,
    )


async def show_audit(asked: Asked) -> Audits:
    """Lines of the audit, newest first."""
    services, query = asked.services, asked.query
    for host in services.hosts.values():
        await host.write_down()
    lines = await services.store.audits(query.limit, before=query.before)
    kept, before = page(lines, query, lambda line: line.at, lambda line: line.number)
    names: dict[PlayerId, str] = {}
    for pool in services.pools.values():
        names |= await names_of(pool, (PlayerId(line.target) for line in kept))
    return Audits(audit=kept, names=names, before=before)


async def _names(services: Services, lines: Iterable[Decision]) -> Mapping[PlayerId, str]:
    """Last known names of the players in decisions, in the pools of their servers."""
    players: dict[ServerId, set[PlayerId]] = {}
    for line in lines:
        players.setdefault(line.server, set()).update(_players(line.detail or {}))
    names: dict[PlayerId, str] = {}
    for server, ids in players.items():
        if server in services.hosts:
            names |= await names_of(services.hosts[server].pool, ids)
    return names


def _players(detail: Mapping[str, object]) -> Iterable[PlayerId]:
    split = detail.get("split")
    lists = [detail.get("players"), *(split.values() if isinstance(split, Mapping) else ())]
    return (PlayerId(id) for ids in lists if isinstance(ids, list) for id in ids)
