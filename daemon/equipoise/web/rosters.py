"""Who stands where on a game server now, what this map's rounds brought, what would make a scramble due; live changes.

GET /v1/admin/servers/{server}/roster, GET /v1/live.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress

import msgspec

from equipoise.core import autobalance
from equipoise.core.bench import bench_costs
from equipoise.core.events import Phase
from equipoise.core.memory import groups
from equipoise.core.model import Entry, PlayerId, PlayerSummary, ServerId, Side
from equipoise.core.wording import due_sentence
from equipoise.errors import StoreError
from equipoise.service.host import Host
from equipoise.service.live import Reader
from equipoise.store.listings import Result
from equipoise.web.players import concealed_from, names_of, without_ids
from equipoise.web.routes import READERS, Ask, Ok, Request, Routes, Services, Stream

routes = Routes()


class PlayerHere(msgspec.Struct, frozen=True, kw_only=True):
    """A player on a game server."""

    id: PlayerId
    name: str | None
    side: Side | None
    """Null: on no side."""
    waiting: bool
    """On no side, but wants to play."""
    rating: float
    """The rating, in points."""
    visible: bool
    rounds: int
    """Rated rounds so far."""
    change: float | None
    """What the last rated round changed; null without one."""
    skill: float | None
    """NS2: the skill on their side, in their role; null where the rating system has one skill for a player."""
    commander: bool
    """NS2: sits in the command chair."""
    locked: float | None
    """Seconds for which they are kept on their side; 0: until the next scramble; null: they are not."""
    moved: bool
    """They were moved a short time ago."""
    immune: bool
    """An admin, whom autobalance does not move."""
    friends: tuple[PlayerId, ...]
    """Their friends who are here."""
    wish: Side | None
    """NS2: the side that they want to play on."""
    offers: bool
    """They offer to be moved first."""
    benched: int
    """How often they have sat out on this map."""


class MapSoFar(Ok, frozen=True, kw_only=True):
    """A game server's map until now."""

    server: ServerId
    sides: tuple[str, str]
    session: str
    """The script's name of this time on this map; empty before it came."""
    live_seconds: float | None
    """How long the running round has been live; null while none is, or when that was not seen."""
    due: str
    """A sentence: what is due, or what would make a scramble due; empty when nothing would."""
    results: tuple[Result, ...]
    """Rounds of this map, newest first; at most the last 200 of the server."""


class RosterFound(MapSoFar, frozen=True, kw_only=True):
    """A game server's players, and its map until now."""

    version: int
    """Of the roster: it grows when somebody comes, leaves or changes side."""
    players: tuple[PlayerHere, ...]
    """All of them but bots, in the script's order."""
    bots: tuple[int, int]
    """Bots on side A and on side B."""
    bench: bool
    """Of an odd number one sits out, as in arena."""
    movable: tuple[PlayerId, ...]
    """Who could be moved now, because the other side is short; empty while no side is."""
    turns: tuple[PlayerId, ...]
    """Whose turn it is to sit out, the next one first; empty where nobody has to."""


@routes.add("GET", "/v1/admin/servers/{server}/roster", "Who stands where", READERS)
async def show_roster(request: Request) -> RosterFound:
    """The players of a server with their ratings, and what has happened on its map."""
    services = request.services
    host = request.host
    host.write_down()
    state, memory = host.session.state, host.session.memory
    sides = services.sides(host.server) or memory.mode.sides
    hidden_ids = await concealed_from(request)
    entries = [entry for entry in state.roster.entries if not entry.bot and entry.id not in hidden_ids]
    ids = [entry.id for entry in entries]
    names = await names_of(host.pool, ids)
    summaries = {summary.id: summary for summary in await host.pool.summaries(ids, memory.context)}
    results: Sequence[Result] = ()
    changes: Mapping[PlayerId, float] = {}
    with suppress(StoreError):  # they are not worth a refusal
        results = await host.pool.store.results(host.server, memory.session)
        changes = await host.pool.store.last_changes(host.pool.name, ids)
    now = services.clock.monotonic()
    friends, lately = groups(memory.friendships), state.lately_moved(now)

    def standing(entry: Entry) -> PlayerHere:
        summary, lock = summaries[entry.id], state.held_side(entry.id, now)
        return PlayerHere(
            id=entry.id,
            name=names.get(entry.id),
            side=entry.side,
            waiting=entry.waiting,
            rating=summary.rating,
            visible=summary.visible,
            rounds=summary.rounds,
            change=changes.get(entry.id),
            skill=_skill(summary, entry, sides),
            commander=entry.commander,
            locked=None if lock is None else max(0.0, lock.until - now) if lock.until is not None else 0.0,
            moved=entry.id in lately,
            immune=bool(entry.immune),
            friends=tuple(friend for friend in ids if friend in friends.get(entry.id, ()) and friend != entry.id),
            wish=None if (wish := memory.wishes.get(entry.id)) is None else wish.side,
            offers=entry.id in state.volunteers,
            benched=memory.benched[entry.id].times if entry.id in memory.benched else 0,
        )

    costs = bench_costs(state.roster, memory.benched) if state.arena else {}
    players = [entry.id for entry in state.roster.eligible() if entry.side is not None and entry.id not in hidden_ids]
    on = [sum(entry.bot for entry in state.roster.on(side)) for side in Side]
    gap = autobalance.proposal(state, now) if state.phase is Phase.RUNNING else None
    return RosterFound(
        **msgspec.structs.asdict(map_so_far(services, host, results)),
        version=state.version,
        players=tuple(standing(entry) for entry in entries),
        bots=(on[0], on[1]),
        bench=state.arena,
        movable=tuple(player for player in gap.movable if player not in hidden_ids) if gap else (),
        turns=tuple(sorted((player for player in players if player in costs), key=lambda player: costs[player])),
    )


def map_so_far(services: Services, host: Host, results: Sequence[Result]) -> MapSoFar:
    """Return what has happened on a server's map; `results` are those of its session."""
    session, memory = host.session, host.session.memory
    live_at, what = session.state.live_at, "shuffle" if session.state.ns2 else "scramble"
    sides = services.sides(host.server) or memory.mode.sides
    # On an empty server no round will end.
    outcomes = session.due_if() if any(entry.side for entry in session.state.roster.entries) else ()
    return MapSoFar(
        server=host.server,
        sides=sides,
        session=memory.session,
        live_seconds=None if live_at is None else max(0.0, services.clock.monotonic() - live_at),
        due=due_sentence(memory.pending.english if memory.pending else None, outcomes, sides, what),
        results=tuple(results),
    )


def _skill(summary: PlayerSummary, entry: Entry, sides: tuple[str, str]) -> float | None:
    if summary.skills is None or entry.side is None:
        return None
    if entry.commander:
        return summary.skills.commander.value
    word = sides[entry.side is Side.B]
    return summary.skills.sides[word].value if word in summary.skills.sides else summary.skills.average.value


# The live stream: what changes on servers, as server-sent events, for pages and other programs.


class Watch(Ask, frozen=True):
    """The servers that a reader follows."""

    server: str | None = None
    """Only this server."""


@routes.add(
    "GET",
    "/v1/live",
    "What changes on servers, as server-sent events",
    READERS,
    query=Watch,
    media_type="text/event-stream",
)
async def watch(request: Request, allowed: Callable[[], bool] = lambda: True) -> Stream:
    """Every server, then every change; `allowed`: whether the caller may still read, asked now and then."""
    live, server = request.services.live, request.query.server
    reader = Reader(
        who=request.caller.who,
        cut=request.cut,
        allowed=allowed,
        server=None if server is None else request.services.host(server).server,
        last=live.last_of(request.last_event),
    )
    return Stream(_concealing(live.read(reader), request), "text/event-stream", endless=True)


async def _concealing(pieces: AsyncGenerator[bytes, None], request: Request) -> AsyncGenerator[bytes, None]:
    async with aclosing(pieces):
        async for piece in pieces:
            yield without_ids(piece, await concealed_from(request))
