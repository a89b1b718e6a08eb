"""Pools: the configured ones, how even two sides of their players are, their refits, and all that they hold.

GET /v1/admin/pools, POST /v1/admin/pools/{pool}/upgrade, POST …/match, POST and GET …/refit, GET …/export, GET and
POST …/seasons, GET …/seasons/{name}.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from equipoise.balancing.chances import match_to_come
from equipoise.core.model import MOST_PLAYERS, Context, Mode, PlayerId
from equipoise.errors import RatingError, ScriptError
from equipoise.service.lookups import outlook_of
from equipoise.service.pool import Pool, Sharing
from equipoise.service.refits import RefitStatus
from equipoise.store.notes import Audit
from equipoise.store.pool_file import Standing
from equipoise.store.seasons import Season
from equipoise.web.players import concealed_from, names_of, player_id
from equipoise.web.routes import ADMINS, LARGEST, READERS, Ask, Limited, Ok, Request, Routes, Stream, refused
from equipoise.web.splits import Evenness, fields_of

routes = Routes()


class PoolSeen(msgspec.Struct, frozen=True):
    """A configured pool."""

    pool: str
    system: str
    """Its rating system."""
    sharing: Sharing | None
    """Its log, where several machines share it; null: it is this daemon's own."""


class PoolsFound(Ok, frozen=True):
    """The configured pools, by name."""

    pools: tuple[PoolSeen, ...]
    """One or more."""


@routes.add("GET", "/v1/admin/pools", "The configured pools", READERS, reply=PoolsFound)
async def show_pools(request: Request) -> PoolsFound:
    """The configured pools."""
    pools = request.services.pools
    return PoolsFound(
        pools=tuple(PoolSeen(name, pools[name].system.name, pools[name].sharing) for name in sorted(pools))
    )


class VersionRaised(Ok, frozen=True):
    """The rating version of a shared pool: what the same events give."""

    pool: str
    before: int
    """The version until now; the same where nothing changed."""
    version: int
    """Machines with an older one follow, and append no more."""


@routes.add(
    "POST", "/v1/admin/pools/{pool}/upgrade", "Raise a shared pool's rating version", ADMINS, reply=VersionRaised
)
async def upgrade_pool(request: Request) -> VersionRaised:
    """Raise the rating version of a shared pool to this daemon's, when all of its machines have that."""
    pool = request.services.pool(request.path["pool"])
    before, version = await pool.upgrade()
    return VersionRaised(pool=pool.name, before=before, version=version)


Named = Annotated[str, Meta(min_length=1, max_length=128)]
"""A player: an id in any form, or a last name that only one player has."""
Side = Annotated[tuple[Named, ...], Meta(min_length=1, max_length=MOST_PLAYERS)]


class MatchAsked(Ask, frozen=True):
    """Two sides of players, by id or name."""

    a: Side
    """Players on side A: RED, Marines."""
    b: Side
    """Players on side B: BLU, Aliens."""
    mode: Mode | None = None
    """The kind of map; by default what the pool's game plays, without anything that is special to a kind of map."""
    map: Annotated[str, Meta(max_length=128)] = ""
    """Its name, for rating systems that know maps."""


class InMatch(msgspec.Struct, frozen=True):
    """A player of a side."""

    id: PlayerId
    name: str | None
    """Their last known name."""


class MatchFound(Evenness, frozen=True, kw_only=True):
    """How even two sides of a pool's players are known to be."""

    ok: Literal[True] = True
    """Whether the request was accepted."""
    pool: str
    a: tuple[InMatch, ...]
    """Players on side A: RED, Marines."""
    b: tuple[InMatch, ...]
    """Players on side B: BLU, Aliens."""


@routes.add(
    "POST",
    "/v1/admin/pools/{pool}/match",
    "How even two sides are known to be",
    READERS,
    body=MatchAsked,
    reply=MatchFound,
    body_example={"a": ["76561197960265729"], "b": ["Bob"]},
    reply_example={
        "ok": True,
        "pool": "main",
        "a": [{"id": "76561197960265729", "name": "Ann"}],
        "b": [{"id": "76561197960265730", "name": "Bob"}],
        "win_probability": 0.52,
        "low": 0.3,
        "high": 0.73,
        "unevenness": 0.13,
        "evenness": 0.74,
        "quality": 0.74,
        "trueskill_quality": 0.42,
    },
)
async def show_match(request: Request) -> MatchFound:
    """The outlook of two sides."""
    body: MatchAsked = request.body
    pool = request.services.pool(request.path["pool"])
    concealed = await concealed_from(request)
    a, b = await _side(pool, body.a, "$.a", concealed), await _side(pool, body.b, "$.b", concealed)
    if twice := [player for n, player in enumerate((*a, *b)) if player in (*a, *b)[:n]]:
        raise ScriptError("twice", f"{twice[0]} is here twice", path="$.b" if twice[0] in b else "$.a")
    context = Context(body.mode or _usual_mode(pool), body.map)
    outlook = await outlook_of(pool, context, a, b)
    names = await names_of(pool, {*a, *b} - concealed)
    return MatchFound(
        pool=pool.name,
        a=tuple(InMatch(player, names.get(player)) for player in a),
        b=tuple(InMatch(player, names.get(player)) for player in b),
        **fields_of(outlook, pool.balancing.trueskill_quality(match_to_come(context, a, b))),
    )


async def _side(pool: Pool, texts: Sequence[str], path: str, concealed: Collection[PlayerId]) -> list[PlayerId]:
    return [await player_id(pool, text, path=f"{path}[{n}]", concealed=concealed) for n, text in enumerate(texts)]


def _usual_mode(pool: Pool) -> Mode:
    """Return NS2's mode for a system that has skills by side, as only NS2's has."""
    return Mode.OTHER if pool.summary(PlayerId("0")).skills is None else Mode.NS2


class RefitAsked(Ask, frozen=True):
    """Options of a refit."""

    dry_run: bool = False
    """Only say what would change."""


class RefitSeen(Ok, frozen=True):
    """How a pool's refit goes, or went."""

    refit: RefitStatus
    """How the refit goes, or went."""


@routes.add(
    "POST",
    "/v1/admin/pools/{pool}/refit",
    "Fit all rounds of a pool at once",
    ADMINS,
    body=RefitAsked,
    reply=RefitSeen,
    body_example={"dry_run": True},
)
async def start_refit(request: Request) -> RefitSeen:
    """Begin to fit all rounds of a pool at once; 409 if its system cannot."""
    services = request.services
    pool = services.pool(request.path["pool"])
    try:
        return RefitSeen(refit=services.refits.start(pool, request.caller.who, dry_run=request.body.dry_run))
    except RatingError as error:
        raise refused("refused", str(error)) from None


@routes.add("GET", "/v1/admin/pools/{pool}/refit", "How that goes", READERS, reply=RefitSeen)
async def show_refit(request: Request) -> RefitSeen:
    """How the pool's refit goes, or went."""
    services = request.services
    return RefitSeen(refit=services.refits.status(services.pool(request.path["pool"])))


@routes.add(
    "GET", "/v1/admin/pools/{pool}/export", "A whole pool as JSON Lines", ADMINS, media_type="application/jsonl"
)
async def export_pool(request: Request) -> Stream:
    """A pool as JSON Lines; docs/moving.md has the format."""
    services, pool = request.services, request.services.pool(request.path["pool"])
    # What waits in the ring is a part of the pool.
    await pool.drain()
    if pool.ring_depth:
        raise refused("waits", f"{pool.ring_depth} rounds wait for the store, and would be missing")
    if services.exports.busy:
        raise ScriptError("busy", "another export is under way", status=503)
    # Who is forgotten later is in it: `forget` names it.
    entry = Audit(services.clock.epoch(), request.caller.who, "export", f"export of pool {pool.name}", "", "")
    await services.store.audit(entry)
    await services.store.names(pool.name, ())  # writes the names and the lines of the audit that wait
    return Stream(services.exports.pieces(pool.name), "application/jsonl")


class SeasonBegun(Ask, frozen=True):
    """A season that begins now."""

    name: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[^\s/]([^/]*[^\s/])?$")]
    """Its name, which no season of the pool has."""


class SeasonsFound(Ok, frozen=True):
    """A pool's seasons."""

    pool: str
    seasons: tuple[Season, ...]
    """The newest first."""


@routes.add("GET", "/v1/admin/pools/{pool}/seasons", "A pool's seasons", READERS, reply=SeasonsFound)
async def show_seasons(request: Request) -> SeasonsFound:
    """The seasons of a pool, the newest first."""
    pool = request.services.pool(request.path["pool"])
    return SeasonsFound(pool=pool.name, seasons=tuple(await pool.store.seasons(pool.name)))


@routes.add(
    "POST",
    "/v1/admin/pools/{pool}/seasons",
    "Begin a season",
    ADMINS,
    body=SeasonBegun,
    reply=SeasonsFound,
    body_example={"name": "Winter 2026"},
)
async def begin_season(request: Request) -> SeasonsFound:
    """Keep the leaderboard of this moment under a season's name; ratings go on."""
    pool, name, now = request.services.pool(request.path["pool"]), request.body.name, request.services.clock.epoch()
    if not await pool.top(1):
        raise refused("refused", f"nobody is on the leaderboard of pool {pool.name} yet: there is nothing to keep")
    entry = Audit(now, request.caller.who, "season", f"pool {pool.name}", "", name)
    if not await pool.begin_season(name, entry):
        raise refused("refused", f"pool {pool.name} has a season {name!r} already: choose another name")
    return await show_seasons(request)


class BehindPlace(Limited, frozen=True):
    """Places of a season's leaderboard."""

    after: Annotated[int, Meta(ge=0, le=LARGEST)] = 0
    """The place behind which they begin."""


class SeasonBoard(Ok, frozen=True):
    """The leaderboard with which a season began."""

    pool: str
    season: Season
    """The season."""
    players: tuple[Standing, ...]
    """The best first, without those who are hidden now."""


@routes.add(
    "GET",
    "/v1/admin/pools/{pool}/seasons/{name}",
    "The leaderboard with which a season began",
    READERS,
    query=BehindPlace,
    reply=SeasonBoard,
)
async def show_season(request: Request) -> SeasonBoard:
    """The leaderboard as it stood when a season began."""
    pool, name = request.services.pool(request.path["pool"]), request.path["name"]
    for season in await pool.store.seasons(pool.name):
        if season.name == name:
            board = await pool.store.season_board(pool.name, name, request.query.after, request.query.limit)
            return SeasonBoard(pool=pool.name, season=season, players=tuple(board))
    raise ScriptError("not_found", f"pool {pool.name} has no season {name!r}: `pool season list` has them", status=404)
