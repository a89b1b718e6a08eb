"""Answers admins: players, pools, servers and the two logs. Every change is written to the audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from equipoise.core.model import PlayerId, PlayerSummary, Side
from equipoise.core.phrases import Text
from equipoise.errors import RatingError, ScriptError, StoreError
from equipoise.service.host import Host
from equipoise.service.pool import Pool
from equipoise.service.status import CommandAnswer, Proposal
from equipoise.store.port import Audit
from equipoise.web import messages as m
from equipoise.web.health import seen, waiting_rounds
from equipoise.web.routes import Asked, refused
from equipoise.web.services import Services
from equipoise.wire import Game
from equipoise.wire.scalars import Player

LAST = 10
"""Decisions shown beside a server."""


async def show_player(asked: Asked) -> m.PlayerFound:
    """One player; an unknown one is shown as a newcomer."""
    pool, id = asked.services.pool(asked.query.pool), _player(asked)
    return await _found(asked.services, pool, await pool.looked_up(id))


async def set_player(asked: Asked) -> m.PlayerFound:
    """Set a player's rating; the change is written to the audit."""
    return await _edit(asked, asked.body.rating)


async def reset_player(asked: Asked) -> m.PlayerFound:
    """Delete a player's rating and rounds from the pool; the change is written to the audit."""
    return await _edit(asked, None)


async def _edit(asked: Asked, rating: float | None) -> m.PlayerFound:
    pool, id = asked.services.pool(asked.query.pool), _player(asked)
    try:
        summary = await pool.edit(id, rating, asked.caller.who)
    except RatingError as error:
        raise ScriptError("rating", str(error), path="$.rating") from None
    return await _found(asked.services, pool, summary)


def _player(asked: Asked) -> PlayerId:
    try:
        return PlayerId(str(Player.read(asked.path["id"])))
    except ValueError as error:
        raise ScriptError("schema", str(error), path="{id}") from None


async def _found(services: Services, pool: Pool, summary: PlayerSummary) -> m.PlayerFound:
    names = await _names(pool, (summary.id,))
    return m.PlayerFound(pool=pool.name, player=_seen(services, pool, summary, names.get(summary.id)))


def _seen(services: Services, pool: Pool, summary: PlayerSummary, name: str | None) -> m.PlayerSeen:
    return m.PlayerSeen(
        id=summary.id,
        name=name,
        rating=summary.rating,
        rounds=summary.rounds,
        visible=summary.visible,
        stale=pool.system.stale(summary.last_played, services.clock.epoch()),
        last_played=summary.last_played,
    )


async def _names(pool: Pool, ids: Iterable[PlayerId]) -> Mapping[PlayerId, str]:
    """Last known names; empty while the store does not answer, because names are not worth a refusal."""
    try:
        return await pool.store.names(pool.name, tuple(ids))
    except StoreError:
        return {}


async def show_top(asked: Asked) -> m.Top:
    """The leaderboard of a pool, best first."""
    pool = asked.services.pool(asked.path["pool"])
    summaries = await pool.top(asked.query.limit)
    return m.Top(
        pool=pool.name, players=tuple(_seen(asked.services, pool, summary, summary.name) for summary in summaries)
    )


async def find_players(asked: Asked) -> m.PlayersFound:
    """Players by a part of their id or name."""
    pool = asked.services.pool(asked.path["pool"])
    rows = await pool.store.search(pool.name, asked.query.text, asked.query.limit)
    summaries = await pool.summaries([row.id for row in rows])
    seen = (_seen(asked.services, pool, summary, row.name) for summary, row in zip(summaries, rows, strict=True))
    return m.PlayersFound(pool=pool.name, players=tuple(seen))


async def show_servers(asked: Asked) -> m.Servers:
    """The status of every configured server, and of the store."""
    services = asked.services
    return m.Servers(
        servers=tuple(host.status() for host in services.hosts.values()),
        waiting_rounds=waiting_rounds(services),
        store=seen(services.store.health()),
    )


async def show_server(asked: Asked) -> m.OneServer:
    """The status of a server, and its last decisions."""
    host = asked.services.host(asked.path["server"])
    await host.write_down()
    last = await asked.services.store.decisions(host.server, LAST)
    return m.OneServer(server=host.status(), decisions=tuple(last))


async def command(asked: Asked) -> m.CommandDone:
    """Give a server's host a command; 409 with the host's answer when it is refused."""
    services, body = asked.services, asked.body
    host = services.host(asked.path["server"])
    words = _words(asked.path["action"], body)
    if not body.dry_run:
        status = host.status()
        before = f"{'on' if status.enabled else 'off'}, pending: {status.pending or 'nothing'}"
        entry = Audit(services.clock.epoch(), asked.caller.who, "command", host.server, before, " ".join(words))
        await services.store.audit(entry)
    answer = await host.command(words, asked.caller.who, dry=body.dry_run)
    if not answer.ok:
        raise refused("refused", " ".join(line.english for line in answer.lines))
    return await _done(answer, host, services.games[host.server])


def _words(action: str, body: m.Command) -> tuple[str, ...]:
    if action == "scramble":
        return ("scramble", body.when)
    return ("scramble", "cancel") if action == "cancel" else (action,)


async def _done(answer: CommandAnswer, host: Host, game: Game) -> m.CommandDone:
    lines = tuple(_line(line) for line in answer.lines)
    if answer.proposal is None:
        return m.CommandDone(lines=lines, proposal=None)
    return m.CommandDone(lines=lines, proposal=await _proposed(answer.proposal, host.pool, game))


def _line(text: Text) -> m.Line:
    return m.Line(text.phrase.key, text.args, text.english)


async def _proposed(proposal: Proposal, pool: Pool, game: Game) -> m.Proposed:
    names = await _names(pool, (id for id, _ in proposal.moves))

    def moved(id: PlayerId, side: Side | None) -> m.PlayerMoved:
        return m.PlayerMoved(id, names.get(id), game.word(side))

    return m.Proposed(
        a=proposal.split["a"],
        b=proposal.split["b"],
        bench=proposal.split["bench"],
        before=proposal.before,
        after=proposal.after,
        moves=tuple(moved(id, side) for id, side in proposal.moves),
    )


async def show_decisions(asked: Asked) -> m.Decisions:
    """Lines of the decision log, newest first, of one server or of all."""
    server = None if asked.query.server is None else asked.services.host(asked.query.server).server
    for host in asked.services.hosts.values():
        await host.write_down()
    return m.Decisions(decisions=tuple(await asked.services.store.decisions(server, asked.query.limit)))


async def show_audit(asked: Asked) -> m.Audits:
    """Lines of the audit, newest first."""
    for host in asked.services.hosts.values():
        await host.write_down()
    return m.Audits(audit=tuple(await asked.services.store.audits(asked.query.limit)))
