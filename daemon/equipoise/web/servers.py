"""Game servers for admins: their status, and commands to them."""

from __future__ import annotations

from dataclasses import replace

import equipoise
from equipoise.core.model import PlayerId, Side
from equipoise.core.phrases import Text
from equipoise.service.diagnosis import SCRIPTS, of_balance, of_refused
from equipoise.service.host import Host
from equipoise.service.peers import remarks
from equipoise.service.pool import Pool
from equipoise.service.status import CommandAnswer, Proposal, ServerStatus
from equipoise.store.notes import Audit
from equipoise.web.health import seen, waiting_rounds
from equipoise.web.messages.servers import (
    Command,
    CommandDone,
    Line,
    OneServer,
    PlayerMoved,
    Proposed,
    Servers,
)
from equipoise.web.players import names_of
from equipoise.web.routes import Asked, refused
from equipoise.web.services import Services
from equipoise.wire import Game

LAST = 10
"""Decisions shown beside a server."""


async def show_servers(asked: Asked) -> Servers:
    """The status of every configured server, the store, the jobs and the configuration; what RCON and A2S say."""
    services = asked.services
    servers = tuple(_status(services, host) for host in services.hosts.values())
    game_servers = {peer.server: peer for peer in services.game_servers.statuses()}
    return Servers(
        version=equipoise.__version__,
        servers=servers,
        waiting_rounds=waiting_rounds(services),
        store=seen(services.store.health()),
        jobs=services.scheduler.status(),
        configuration=services.reloads.status(),
        game_servers=tuple(game_servers.values()),
        remarks=(
            *(
                remark
                for server in servers
                if (peer := game_servers.get(server.server)) is not None
                for remark in remarks(server, peer)
            ),
            *(
                f"{found.about}: {found.what}; {found.advice}."
                for server in servers
                for found in of_refused(
                    server,
                    SCRIPTS[services.games[server.server].name],
                    equipoise.__version__,
                    services.clock.epoch(),
                )
            ),
            *(f"{found.what}; {found.advice}." for pool in services.pools.values() for found in of_balance(pool)),
        ),
    )


async def show_server(asked: Asked) -> OneServer:
    """The status of a server, and its last decisions."""
    host = asked.services.host(asked.path["server"])
    await host.write_down()
    last = await asked.services.store.decisions(host.server, LAST)
    return OneServer(server=_status(asked.services, host), decisions=tuple(last))


def _status(services: Services, host: Host) -> ServerStatus:
    status = host.status()
    return replace(status, sides=services.sides(host.server) or status.sides)


async def command(asked: Asked) -> CommandDone:
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


def _words(action: str, body: Command) -> tuple[str, ...]:
    if action == "scramble":
        return ("scramble", body.when)
    return ("scramble", "cancel") if action == "cancel" else (action,)


async def _done(answer: CommandAnswer, host: Host, game: Game) -> CommandDone:
    lines = tuple(_line(line) for line in answer.lines)
    if answer.proposal is None:
        return CommandDone(lines=lines, proposal=None)
    return CommandDone(
        lines=lines, proposal=await _proposed(answer.proposal, host.pool, game, host.rules.sides or game.sides)
    )


def _line(text: Text) -> Line:
    args = (arg.english if isinstance(arg, Text) else arg for arg in text.args)
    return Line(text.phrase.key, tuple(args), text.english)


async def _proposed(proposal: Proposal, pool: Pool, game: Game, sides: tuple[str, str]) -> Proposed:
    names = await names_of(pool, (id for id, _ in proposal.moves))

    def moved(id: PlayerId, side: Side | None) -> PlayerMoved:
        return PlayerMoved(id, names.get(id), game.word(side))

    return Proposed(
        a=proposal.split["a"],
        b=proposal.split["b"],
        bench=proposal.split["bench"],
        before=proposal.before.chance if proposal.before else None,
        after=proposal.after.chance if proposal.after else None,
        before_outlook=proposal.before,
        after_outlook=proposal.after,
        spread_before=proposal.spread_before,
        spread_after=proposal.spread_after,
        moves=tuple(moved(id, side) for id, side in proposal.moves),
        sides=sides,
    )
