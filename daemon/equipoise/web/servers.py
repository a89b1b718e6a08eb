"""Game servers: their status, admins' commands to their sessions, commands to their consoles, and their plugin.

GET /v1/admin/servers, GET /v1/admin/servers/{server}, POST /v1/admin/servers/{server}/{action}, POST …/rcon,
POST …/plugin.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

import equipoise
from equipoise.core.model import Outlook, PlayerId, ServerId, Side
from equipoise.core.phrases import Text
from equipoise.errors import ConfigError, PeerError, ScriptError, StoreError
from equipoise.game.port import PeerStatus
from equipoise.install.game_folders import PLUGIN, GameFolder, inspect, remembered
from equipoise.install.server_files import prepare_update
from equipoise.service.diagnosis import SCRIPTS, of_balance, of_refused, of_sharing, of_webhooks, remarks
from equipoise.service.host import CHANGED, Host
from equipoise.service.jobs import JobStatus
from equipoise.service.live import LAST
from equipoise.service.reloads import ConfigurationStatus
from equipoise.service.status import LONGEST_COMMAND, CommandAnswer, Proposal, ServerStatus, check_command, defused
from equipoise.shared.log import Server as PublishedServer
from equipoise.store.notes import Audit, Decision
from equipoise.web.administration import StoreSeen, store_seen, waiting_rounds
from equipoise.web.players import concealed_from, concealing, names_of
from equipoise.web.routes import ADMINS, READERS, Ask, Ok, Request, Routes, Services, refused
from equipoise.wire import Game

routes = Routes()


class Elsewhere(msgspec.Struct, frozen=True):
    """A game server that feeds a shared pool on another machine."""

    server: str
    """Its name there."""
    machine: str
    """Where its daemon runs; orders to it go there."""
    pool: str
    """The shared pool."""
    map: str
    """The map that is played; empty before its script came."""
    players: int
    """How many play, on both sides, or wait for one."""
    lost: bool
    """Its script has been silent."""


class Servers(Ok, frozen=True):
    """All configured servers, silent ones too, the store, the daemon's jobs, and its configuration."""

    version: str
    """The daemon's version."""
    servers: tuple[ServerStatus, ...]
    """Every configured game server, or those that were asked for."""
    waiting_rounds: int
    """Rounds of all pools that wait for the store."""
    store: StoreSeen
    """Whether the store is well."""
    jobs: tuple[JobStatus, ...]
    """The jobs that the daemon runs on a timer."""
    configuration: ConfigurationStatus
    """Whether the files of the configuration are in force."""
    game_servers: tuple[PeerStatus, ...]
    """The last answers to RCON and A2S, of the servers that have an address in the configuration."""
    elsewhere: tuple[Elsewhere, ...]
    """Game servers of other machines that share a pool with this one."""
    remarks: tuple[str, ...]
    """Sentences that say where that does not fit what a server's script says, what the daemon does not take from a
    script, why `balance` does not make the teams, and which webhook takes no notices."""


class Some(Ask, frozen=True):
    """All servers, or some."""

    servers: Annotated[str, Meta(max_length=10_000)] | None = None
    """Only these, named with commas between; what is no server's name is passed over."""


@routes.add("GET", "/v1/admin/servers", "All servers", READERS, query=Some)
async def show_servers(request: Request) -> Servers:
    """The status of every configured server, the store, the jobs and the configuration; what RCON and A2S say."""
    services = request.services
    query: Some = request.query
    names = services.hosts.keys() if query.servers is None else set(query.servers.split(","))
    servers = []
    for host in [host for server, host in services.hosts.items() if server in names]:
        servers.append(_status(services, host))
        await services.precedence.give_way()  # each is a prediction
    game_servers = {peer.server: peer for peer in services.game_servers.statuses() if peer.server in names}
    sentences: list[str] = []
    for server in servers:
        if (peer := game_servers.get(server.server)) is not None:
            sentences += remarks(server, peer, SCRIPTS[services.games[server.server].name])
    for server in servers:
        script = SCRIPTS[services.games[server.server].name]
        for finding in of_refused(server, script, equipoise.__version__, services.clock.epoch()):
            sentences.append(f"{finding.about}: {finding.what}; {finding.advice}.")
    for pool in services.pools.values():
        sentences += (f"{finding.what}; {finding.advice}." for finding in (*of_sharing(pool), *of_balance(pool)))
    sentences += (f"{finding.what}; {finding.advice}." for finding in of_webhooks(services.webhooks()))
    return Servers(
        version=equipoise.__version__,
        servers=tuple(servers),
        waiting_rounds=waiting_rounds(services),
        store=store_seen(services.store.health()),
        jobs=services.scheduler.status(),
        configuration=services.reloads.status(),
        game_servers=tuple(game_servers.values()),
        elsewhere=tuple(map(_elsewhere, services.elsewhere())) if query.servers is None else (),
        remarks=tuple(sentences),
    )


def _elsewhere(other: PublishedServer) -> Elsewhere:
    status = other.status
    players = sum(status[key] for key in ("players_a", "players_b", "waiting"))
    return Elsewhere(other.server, other.machine, other.pool, status["map"], players, status["lost"])


class OneServer(Ok, frozen=True):
    """One server and its last decisions."""

    at: float
    """When this was so, in seconds since the epoch."""
    server: ServerStatus
    """Its status."""
    decisions: tuple[Decision, ...]
    """Its last decisions, newest first."""


@routes.add("GET", "/v1/admin/servers/{server}", "A server", READERS)
async def show_server(request: Request) -> OneServer:
    """The status of a server, and its last decisions."""
    host = request.host
    host.write_down()
    last = tuple(await request.services.store.decisions(host.server, LAST))
    last = concealing(last, await concealed_from(request), tuple[Decision, ...])
    return one_server(request.services, host.server, last)


def one_server(services: Services, server: ServerId, decisions: Sequence[Decision]) -> OneServer:
    """Return what is shown of a server beside its last decisions; ScriptError 404."""
    status = _status(services, services.host(server))
    return OneServer(at=services.clock.epoch(), server=status, decisions=tuple(decisions))


def _status(services: Services, host: Host) -> ServerStatus:
    status = host.status()
    return replace(status, sides=services.sides(host.server) or status.sides)


When = Literal["now", "next", "skip"]


class Command(Ask, frozen=True):
    """Options of an admin's command to a server."""

    dry_run: bool = False
    """Only say what would be done."""
    when: When = "now"
    """For `scramble` alone: at once where the mode allows it, or at the next round start; NS2: `skip`, not before."""
    seen: Annotated[str, Meta(max_length=64)] | None = None
    """The `seen` of a dry run: only that is ordered. 409 with `changed`, and nothing done, where it would be another
    one now. Null: whatever it is."""


class Line(msgspec.Struct, frozen=True):
    """A line that answers a command, as a phrase and in English."""

    phrase: str
    """The key of the text in the translation files."""
    args: tuple[str, ...]
    """One that is a text itself is in English."""
    english: str
    """The text in English."""


class PlayerMoved(msgspec.Struct, frozen=True):
    """A player who would change place."""

    id: PlayerId
    name: str | None
    side: str
    """The side they would go to, in the game's words; `none`: the bench."""


class Seat(msgspec.Struct, frozen=True):
    """A player of a proposal."""

    id: PlayerId
    name: str | None
    rating: float
    """The rating, in points."""
    visible: bool
    was: Side | None
    """The side that they are on; null: none."""
    goes: Side | None
    """The side that they would be on; null: the bench."""


class Proposed(msgspec.Struct, frozen=True):
    """The sides after a scramble or a balance, as a dry run has found them."""

    a: tuple[PlayerId, ...]
    b: tuple[PlayerId, ...]
    bench: tuple[PlayerId, ...]
    before: float | None
    """Win probability of side A with the present sides; null while one is empty."""
    after: float | None
    """Win probability of side A after it."""
    before_outlook: Outlook | None
    """`before`, and how sure it is."""
    after_outlook: Outlook | None
    """`after`, and how sure it is."""
    spread_before: tuple[float, float] | None
    """Standard deviations of the skills on A and on B with the present sides, in points; null while one is empty."""
    spread_after: tuple[float, float] | None
    """The same after it."""
    moves: tuple[PlayerMoved, ...]
    """Who changes sides."""
    sides: tuple[str, str]
    players: tuple[Seat, ...]
    """All whom it is about, those on the bench too."""
    balanced_by: str
    """The rating system that makes the teams now."""


class CommandDone(Ok, frozen=True):
    """The result of a command."""

    lines: tuple[Line, ...]
    """Lines of the answer."""
    proposal: Proposed | None
    """The result of a dry run; null for an order that was given."""
    seen: str | None
    """Names what a dry run has shown, for the order that is to be just that; null for an order that was given."""


@routes.add(
    "POST",
    "/v1/admin/servers/{server}/{action:scramble|balance|cancel|on|off}",
    "Order something",
    ADMINS,
    body=Command,
    body_example={"dry_run": True},
    reply_example={
        "ok": True,
        "lines": [],
        "proposal": {
            "a": ["76561197960265730"],
            "b": ["76561197960265729"],
            "bench": [],
            "before": 0.61,
            "after": 0.51,
            "before_outlook": {"chance": 0.61, "low": 0.42, "high": 0.79, "unevenness": 0.14},
            "after_outlook": {"chance": 0.51, "low": 0.44, "high": 0.58, "unevenness": 0.04},
            "spread_before": [120.0, 80.0],
            "spread_after": [95.0, 101.0],
            "moves": [{"id": "76561197960265729", "name": "Ann", "side": "blu"}],
            "sides": ["red", "blu"],
            "players": [
                {
                    "id": "76561197960265729",
                    "name": "Ann",
                    "rating": 1500.0,
                    "visible": True,
                    "was": "a",
                    "goes": "b",
                },
                {
                    "id": "76561197960265730",
                    "name": "Bob",
                    "rating": 1400.0,
                    "visible": True,
                    "was": "b",
                    "goes": "a",
                },
            ],
            "balanced_by": "joint",
        },
        "seen": "9f86d081884c7d65",
    },
)
async def command(request: Request) -> CommandDone:
    """Give a server's host a command. 409: it is refused, with the host's answer, or it is not what was seen."""
    services, action, body = request.services, request.path["action"], request.body
    host = request.host
    words = {"scramble": ("scramble", body.when), "cancel": ("scramble", "cancel")}.get(action, (action,))
    version = None
    if body.seen is not None and not body.dry_run:
        shown = await _look(host, words, request.caller.who)
        if seen_of(host, shown) != body.seen:
            raise refused("changed", CHANGED)
        version = shown.version
    if body.dry_run:
        answer = _accepted(await _look(host, words, request.caller.who))
    else:
        status = host.status()
        before = f"{'on' if status.enabled else 'off'}, pending: {status.pending or 'nothing'}"
        async with _audited(request, "command", host.server, before, " ".join(words)):
            answer = _accepted(await host.command(words, request.caller.who, version=version))
    game = services.games[host.server]
    return CommandDone(
        lines=tuple(_line(line) for line in answer.lines),
        proposal=None if answer.proposal is None else await _proposed(answer.proposal, host, game),
        seen=seen_of(host, answer) if body.dry_run else None,
    )


async def _look(host: Host, words: tuple[str, ...], who: str) -> CommandAnswer:
    """Return what a command would do now; of one that only switches something there is nothing to say."""
    if words[0] == "balance" or words in (("scramble", "now"), ("scramble", "next")):
        return await host.command(words, who, dry=True)
    if words == ("scramble", "skip") and not host.session.state.ns2:
        raise refused("refused", f"{host.server} is no NS2 server: no shuffle comes before its rounds by itself")
    return CommandAnswer(True, (), version=host.session.state.version)


def seen_of(host: Host, answer: CommandAnswer) -> str:
    """Return a short name of what an admin sees before an order: the map, what is on and due, the sides, the proposal.

    Not the roster's number, which begins anew with the daemon: by what is in it, an old tab stays old.
    """
    state, memory, proposal = host.session.state, host.session.memory, answer.proposal
    due = memory.pending and memory.pending.english
    now = (memory.session, memory.enabled, due, state.voices.order is not None, memory.skip)
    sides = proposal and [sorted((player, str(side)) for player, side in proposal.present.items()), proposal.split]
    return hashlib.sha256(msgspec.json.encode([now, sides])).hexdigest()[:16]


def _line(text: Text) -> Line:
    args = (arg.english if isinstance(arg, Text) else arg for arg in text.args)
    return Line(text.phrase.key, tuple(args), text.english)


def _accepted(answer: CommandAnswer) -> CommandAnswer:
    if not answer.ok:
        raise refused("refused", " ".join(line.english for line in answer.lines))
    return answer


@asynccontextmanager
async def _audited(request: Request, action: str, server: ServerId, before: str, after: str) -> AsyncIterator[None]:
    """Write an order into the audit before it is carried out, in the block, and behind it that it failed, if it does.

    An order that the audit does not take is not given.
    """
    store, clock = request.services.store, request.services.clock
    entry = Audit(clock.epoch(), request.caller.who, action, server, before, after)
    await store.audit(entry)
    try:
        yield
    except ScriptError as error:
        with suppress(StoreError):  # the refusal says more
            await store.audit(replace(entry, at=clock.epoch(), before=after, after=f"failed: {error.message}"))
        raise


async def _proposed(proposal: Proposal, host: Host, game: Game) -> Proposed:
    ids = tuple(proposal.present)
    names, goes = await names_of(host.pool, ids), {**proposal.present, **dict(proposal.moves)}
    summaries = await host.pool.summaries(ids)
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
        moves=tuple(PlayerMoved(player, names.get(player), game.word(side)) for player, side in proposal.moves),
        sides=host.rules.sides or game.sides,
        players=tuple(
            Seat(line.id, names.get(line.id), line.rating, line.visible, proposal.present[line.id], goes[line.id])
            for line in summaries
        ),
        balanced_by=host.pool.balancing.name,
    )


class ConsoleCommand(Ask, frozen=True):
    """One command for a game server's console."""

    command: Annotated[str, Meta(min_length=1, max_length=LONGEST_COMMAND)]
    """Without `;`, quotes and control characters; where it takes a player, these are named by `#userid` or SteamID."""


class ConsoleOutput(Ok, frozen=True):
    """The game server's answer."""

    output: str | None
    """Characters that do something to a terminal are shown as their numbers. Null: NS2's web admin, which returns none;
    the game server's log has it."""


@routes.add(
    "POST",
    "/v1/admin/servers/{server}/rcon",
    "A command to the game server's console",
    ADMINS,
    body=ConsoleCommand,
    body_example={"command": "status"},
)
async def send_command(request: Request) -> ConsoleOutput:
    """Send a command by RCON. It is in the audit before it is sent. 409: no RCON; 502: the game server failed."""
    services = request.services
    host = request.host
    if services.game_servers.status(host.server).rcon.state == "off":
        raise refused("rcon", f"[server.{host.server}] has no `rcon` in the configuration")
    host.write_down()  # names of those who have just come, too
    names = await names_of(host.pool, (entry.id for entry in host.session.state.roster.entries))
    text = check_command(request.body.command, names.values())
    async with _audited(request, "rcon", host.server, "", text):
        try:
            output = await services.game_servers.execute(host.server, text)
        except PeerError as error:
            raise ScriptError("game_server", f"RCON of {host.server}: {error}", status=502) from None
    return ConsoleOutput(output=None if output is None else await asyncio.to_thread(defused, output))


class PluginUpdate(Ask, frozen=True):
    """Options of an update of a game server's plugin."""

    dry_run: bool = False
    """Only say what would be done."""
    seen: Annotated[str, Meta(max_length=64)] | None = None
    """`version` of a dry run: only that is installed. 409 with `changed` where the daemon is another one now."""


class PluginUpdated(Ok, frozen=True):
    """A plugin of the daemon's version in the game server's folder."""

    folder: str
    """The server's `tf/`."""
    before: str
    """The version that was there; empty where it is unknown, or none was there."""
    version: str
    """The version that is there now."""
    command: str
    """The command for the game server's console that loads it."""
    rcon: bool
    """The daemon sends that by RCON; else it is loaded when the game server starts next."""
    output: str | None
    """The game server's answer to it, or why there is none; null: it was not sent."""


@routes.add(
    "POST",
    "/v1/admin/servers/{server}/plugin",
    "Update its plugin",
    ADMINS,
    body=PluginUpdate,
    body_example={"dry_run": True},
    reply_example={
        "ok": True,
        "folder": "/srv/dustbowl/tf",
        "before": "0.2.0",
        "version": "0.3.0",
        "command": "sm plugins reload equipoise",
        "rcon": True,
        "output": None,
    },
)
async def update_plugin(request: Request) -> PluginUpdated:
    """Install the plugin of the daemon's version where the daemon may write, as `equipoise server update` does, and
    have it loaded. 409: it may not, with the command that somebody else can type."""
    services, body = request.services, request.body
    host = request.host
    if body.seen not in (None, equipoise.__version__):
        raise refused("changed", f"the daemon is {equipoise.__version__} now, and nothing was done")
    if services.games[host.server].name != "tf2":
        raise refused("refused", f"{host.server} is no TF2 server: its game gets the mod of the Workshop")
    folder = await asyncio.to_thread(_plugin_folder, services.config, host.server)
    answer = PluginUpdated(
        folder=str(folder.path),
        before=folder.plugin or "",
        version=equipoise.__version__,
        command=folder.command(),
        rcon=services.game_servers.status(host.server).rcon.state != "off",
        output=None,
    )
    if body.dry_run:
        return answer
    async with _audited(request, "plugin", host.server, answer.before, answer.version):
        await asyncio.to_thread(_install_plugin, services.config, host.server, folder)
    if not answer.rcon:
        return answer
    try:
        output = await services.game_servers.execute(host.server, answer.command) or ""
    except PeerError as error:
        output = f"{error}; it is loaded when the game server starts next"
    return msgspec.structs.replace(answer, output=await asyncio.to_thread(defused, output))


def _plugin_folder(config: Path, server: ServerId) -> GameFolder:
    """Return the folder of a server's plugin; ScriptError 409 with what to type where the daemon may not write."""
    try:
        tf = remembered(config.parent).get(server, {}).get("tf")
        if tf is None:
            message = f"nobody has said where the folder tf/ of {server} is: equipoise server update {server} --tf DIR"
            raise refused("refused", message)
        if not os.access(Path(tf) / PLUGIN.parent, os.W_OK):
            command = f"sudo equipoise server update {server} --tf {shlex.quote(tf)}"
            raise refused("refused", f"the daemon may not write into {tf}; on its machine: {command}")
        return inspect(Path(tf), server, equipoise.__version__)
    except ConfigError as error:
        raise refused("refused", str(error)) from None


def _install_plugin(config: Path, server: ServerId, folder: GameFolder) -> None:
    try:
        with prepare_update(config, server, folder.path).applied():
            pass
    except ConfigError as error:
        raise refused("refused", str(error)) from None
