"""Pools: the configured ones, all that they hold, how even two sides of their players are; splits for other programs.

GET /v1/admin/pools, POST /v1/admin/pools/{pool}/upgrade, POST …/match, POST and GET …/refit, GET …/export, GET and
POST …/seasons, GET …/seasons/{name}. POST /v1/splits answers the best split for every team size, within constraints.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from equipoise.balancing.chances import match_to_come, outlook_of
from equipoise.core.model import MOST_PLAYERS, Context, Mode, Outlook, PlayerId, Side
from equipoise.errors import RatingError, ScriptError, SplitError
from equipoise.ratings.system import Covariance, Match
from equipoise.service import lookups
from equipoise.service.pool import Pool, Sharing
from equipoise.service.refits import RefitStatus
from equipoise.solver import Assignment, Pin
from equipoise.store.notes import Audit
from equipoise.store.pool_file import Standing
from equipoise.store.seasons import Season
from equipoise.web.players import InPool, Points, concealed_from, names_of, player_id
from equipoise.web.routes import ADMINS, ANYBODY, LARGEST, READERS, Ask, Limited, Ok, Request, Routes, Stream, refused
from equipoise.wire.scalars import Fraction, Player
from equipoise.workers.solving import SplitQuestion, SplitRequest

LOOK_SECONDS = 0.1
"""How often it is looked whether a caller has hung up."""

Place = Literal["a", "b", "bench", "play"]
Label = str | int
"""A player in a split: the id, or the index where only ratings were sent."""
Labels = Annotated[tuple[Label, ...], Meta(max_length=MOST_PLAYERS)]

Result = TypeVar("Result")

routes = Routes()


class Sides(Ask, frozen=True):
    """The sides as they are now."""

    a: Labels = ()
    b: Labels = ()


class SplitsAsked(InPool, frozen=True):
    """A pool of players, by id or by rating, and what a split must respect."""

    ids: Annotated[tuple[Player, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Players, by id."""
    ratings: Annotated[tuple[Points, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Ratings of players who are named by their place in this list."""
    size: Annotated[int, Meta(ge=1, le=MOST_PLAYERS // 2)] | None = None
    """Only this team size."""
    keep_together: Annotated[tuple[Labels, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Groups that play on one side or sit out together."""
    pinned: Annotated[dict[str, Place], Meta(max_length=MOST_PLAYERS)] = msgspec.field(default_factory=dict)
    """Players who must be on a side, on the bench, or in the game on either side."""
    bench_cost: Annotated[dict[str, Annotated[int, Meta(ge=0, le=1_000_000)]], Meta(max_length=MOST_PLAYERS)] = (
        msgspec.field(default_factory=dict)
    )
    """The cheapest bench within the tolerance is taken."""
    current: Sides | None = None
    """The present sides: among splits within the tolerance that have the cheapest bench, the one that moves the fewest
    players wins."""
    tolerance: Fraction = 0.0
    """Win probability that a split may be off the best."""


class SplitGap(msgspec.Struct, frozen=True):
    """The most by which the best split can be better, as far as it is known."""

    points: float
    """Points of the difference, whatever its sign."""
    bench_cost: int
    """Part of the sum of bench costs."""
    moves: int
    """Players who change side."""


class Evenness(msgspec.Struct, frozen=True, kw_only=True):
    """How even two sides are known to be, by the system that makes the teams."""

    win_probability: float
    """Win probability of side A."""
    low: float | None
    """The lower end of the 80 % interval of the true one; null where the system knows no uncertainty, and where ratings
    were sent."""
    high: float | None
    """Its upper end."""
    unevenness: float
    """How far the true win probability is expected to be from a half, 0 to 0.5; without an interval, the predicted
    one."""
    evenness: float
    """1 - 2 · `unevenness`: 1 for sides that are known to be even, 0 for a match that is decided."""
    quality: Annotated[float, Meta(extra_json_schema={"deprecated": True})]
    """Deprecated: `evenness` by its old name. It goes with the next release."""
    trueskill_quality: float | None
    """TrueSkill's match quality, 0 to 1: 1 only for equal sides of players whose skills are known. Null where the
    system is no TrueSkill, and where ratings were sent."""


def fields_of(outlook: Outlook, trueskill_quality: float | None) -> Mapping[str, Any]:
    """Return the fields of `Evenness`, for a struct that has them and more."""
    return {
        "win_probability": outlook.chance,
        "low": outlook.low,
        "high": outlook.high,
        "unevenness": outlook.unevenness,
        "evenness": outlook.evenness,
        "quality": outlook.evenness,
        "trueskill_quality": trueskill_quality,
    }


class SplitFound(Evenness, frozen=True, kw_only=True):
    """The best split of one size, or the best that was found in time."""

    k: int
    """Players on each side."""
    a: tuple[Label, ...]
    b: tuple[Label, ...]
    bench: tuple[Label, ...]
    difference: float
    """Sum of A minus sum of B, rating points."""
    optimal: bool
    """False: the time was over before it was proven that none is better, or the pool's system is correlated."""
    gap: SplitGap
    """How much better the best split of this size can be."""


class SplitsFound(Ok, frozen=True):
    """One split per team size, largest last."""

    splits: tuple[SplitFound, ...]
    """One for every team size from 2."""


@routes.add(
    "POST",
    "/v1/splits",
    "The best split for every team size",
    ANYBODY,
    body=SplitsAsked,
    body_example={"ratings": [1830, 1210, 1450, 990], "keep_together": [[0, 3]]},
    reply_example={
        "ok": True,
        "splits": [
            {
                "k": 2,
                "a": [0, 3],
                "b": [1, 2],
                "bench": [],
                "difference": 160.0,
                "win_probability": 0.5167,
                "low": None,
                "high": None,
                "unevenness": 0.0167,
                "evenness": 0.9666,
                "quality": 0.9666,
                "trueskill_quality": None,
                "optimal": True,
                "gap": {"points": 0.0, "bench_cost": 0, "moves": 0},
            }
        ],
    },
)
async def find_splits(request: Request) -> SplitsFound:
    """Have the worker solve, for as long as the caller waits; 503 when other questions take it too long."""
    body: SplitsAsked = request.body
    question = await _question(body, _pool(request, body.pool))
    solver = request.services.solving
    solution = solver.ask(SplitRequest(question.for_worker(), solver.seconds), request.caller.who)
    try:
        splits = await _unless_gone(solution, request.gone)
    except SplitError as error:
        raise ScriptError("split", str(error)) from None
    return SplitsFound(splits=tuple(question.labelled(split) for split in splits))


def _pool(request: Request, name: str | None) -> Pool:
    """Return the pool whose ratings are asked for.

    A script has only its own server's: the differences of splits give hidden ratings away to the last digit.
    """
    if request.caller.role != "script":
        return request.services.pool(name)
    own = request.services.host(request.caller.name).pool
    if name is not None and name != own.name:
        raise ScriptError("pool", f"a script asks for its own server's pool: {own.name}", path="$.pool", status=403)
    return own


async def _unless_gone(work: Coroutine[Any, Any, Result], gone: Callable[[], bool]) -> Result:
    """Do the work, but cancel it when its caller has gone: then CancelledError.

    The web server could cancel handlers by itself, but only all of them, and an admin's change is not to be half made.
    """
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=LOOK_SECONDS)
            if gone():
                task.cancel()
        return await task
    finally:
        task.cancel()


async def _question(body: SplitsAsked, pool: Pool) -> _Question:
    if bool(body.ids) == bool(body.ratings):
        raise ScriptError("players", "send either ids or ratings", path="$.ids")
    if body.ratings:
        return _Question(body, pool, tuple(range(len(body.ratings))), body.ratings, None)
    players = tuple(PlayerId(str(player)) for player in body.ids)
    if len(set(players)) < len(players):
        raise ScriptError("twice", "a player is here twice", path="$.ids")
    await pool.summaries(players)
    return _Question(body, pool, players, tuple(map(pool.skill, players)), pool.balancing.covariance(players))


class _Question:
    """A request for splits, with players as indices."""

    def __init__(
        self,
        body: SplitsAsked,
        pool: Pool,
        labels: tuple[Label, ...],
        values: tuple[float, ...],
        covariance: Covariance | None,
    ) -> None:
        self.body, self.pool, self.labels, self.values = body, pool, labels, values
        self.covariance = covariance
        """Covariance of the values; None where their deviations are not known."""
        self.places: Mapping[str, int] = {str(label): index for index, label in enumerate(labels)}
        """The index of each label. JSON's keys are strings, so "3" is index 3 where players are indices."""

    def for_worker(self) -> SplitQuestion:
        """Return the question for all sizes at once; with preferences, each size within its own tolerance."""
        body, system = self.body, self.pool.balancing
        sizes = (body.size,) if body.size else range(2, len(self.values) // 2 + 1)
        # Without correlation the means alone decide which split is the most even: the exact solver needs no more.
        covariance = self.covariance if system.correlated else None
        return SplitQuestion(
            values=self.values,
            size=body.size,
            groups=tuple(self._indices(group, f"$.keep_together[{n}]") for n, group in enumerate(body.keep_together)),
            pins={self._index(label, "$.pinned"): Pin(place) for label, place in body.pinned.items()},
            bench_cost=self._costs(),
            current=self._current(),
            tolerances={size: system.gap(body.tolerance, size) for size in sizes}
            if body.bench_cost or body.current
            else {},
            covariance=tuple(map(tuple, covariance)) if covariance else None,
            log_odds={size: self._log_odds(size) for size in sizes} if covariance is not None else {},
        )

    def _costs(self) -> tuple[int, ...] | None:
        if not self.body.bench_cost:
            return None
        costs = {self._index(label, "$.bench_cost"): cost for label, cost in self.body.bench_cost.items()}
        return tuple(costs.get(index, 0) for index in range(len(self.labels)))

    def _current(self) -> tuple[Side | None, ...] | None:
        if self.body.current is None:
            return None
        on_a = self._indices(self.body.current.a, "$.current.a")
        on_b = self._indices(self.body.current.b, "$.current.b")
        sides = dict.fromkeys(on_a, Side.A) | dict.fromkeys(on_b, Side.B)
        return tuple(sides.get(index) for index in range(len(self.labels)))

    def _indices(self, labels: Iterable[Label], path: str) -> tuple[int, ...]:
        return tuple(self._index(label, f"{path}[{n}]") for n, label in enumerate(labels))

    def _index(self, label: Label, path: str) -> int:
        index = self.places.get(str(label))
        if index is None:
            raise ScriptError("stranger", f"{label!r:.40} is none of the players", path=path)
        return index

    def labelled(self, split: Assignment) -> SplitFound:
        """Return a split in the caller's labels, with the win probability that the pool's system predicts."""
        a, b, bench = (tuple(self.labels[i] for i in part) for part in (split.a, split.b, split.bench))
        players = [PlayerId(str(label)) for label in self.labels]
        match = Match(
            teams=(tuple(players[i] for i in split.a), tuple(players[i] for i in split.b)),
            skill_at_start=dict(zip(players, self.values, strict=True)),
        )
        system = self.pool.balancing
        outlook = outlook_of(system, match) if self.body.ids else self._outlook_of_ratings(match, split.difference)
        return SplitFound(
            k=len(split.a),
            a=a,
            b=b,
            bench=bench,
            difference=split.difference,
            optimal=split.optimal,
            gap=SplitGap(*split.gap),
            **fields_of(outlook, system.trueskill_quality(match) if self.body.ids else None),
        )

    def _outlook_of_ratings(self, match: Match, difference: float) -> Outlook:
        """Return the outlook of ratings that were sent, taken as exact.

        A system predicts only by what it has learnt of players itself.
        """
        lead = difference - self.pool.balancing.difference_at(0.5, match)
        # logistic(x) = (1 + tanh(x/2)) / 2, which does not overflow.
        return Outlook.alone(0.5 + math.tanh(lead / self._log_odds(len(match.teams[0])) / 2) / 2)

    def _log_odds(self, size: int) -> float:
        """Return the points that are one log-odds for teams of this size."""
        return self.pool.balancing.gap(1.0, size) / 4


# Pools.


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


@routes.add("GET", "/v1/admin/pools", "The configured pools", READERS)
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
    pool = request.pool
    before, version = await pool.upgrade()
    return VersionRaised(pool=pool.name, before=before, version=version)


Named = Annotated[str, Meta(min_length=1, max_length=128)]
"""A player: an id in any form, or a last name that only one player has."""
Lineup = Annotated[tuple[Named, ...], Meta(min_length=1, max_length=MOST_PLAYERS)]


class MatchAsked(Ask, frozen=True):
    """Two sides of players, by id or name."""

    a: Lineup
    b: Lineup
    mode: Mode | None = None
    """The kind of map; by default what the pool's game plays, without anything that is special to a kind of map."""
    map: Annotated[str, Meta(max_length=128)] = ""
    """Its name, for rating systems that know maps."""


class InMatch(msgspec.Struct, frozen=True):
    """A player of a side."""

    id: PlayerId
    name: str | None


class MatchFound(Evenness, frozen=True, kw_only=True):
    """How even two sides of a pool's players are known to be."""

    ok: Literal[True] = True
    """Whether the request was accepted."""
    pool: str
    a: tuple[InMatch, ...]
    b: tuple[InMatch, ...]


@routes.add(
    "POST",
    "/v1/admin/pools/{pool}/match",
    "How even two sides are known to be",
    READERS,
    body=MatchAsked,
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
    pool = request.pool
    hidden_ids = await concealed_from(request)
    a, b = await _side(pool, body.a, "$.a", hidden_ids), await _side(pool, body.b, "$.b", hidden_ids)
    if twice := [player for n, player in enumerate((*a, *b)) if player in (*a, *b)[:n]]:
        raise ScriptError("twice", f"{twice[0]} is here twice", path="$.b" if twice[0] in b else "$.a")
    # Only systems of NS2 have skills by side.
    usual = Mode.OTHER if pool.summary(PlayerId("0")).skills is None else Mode.NS2
    context = Context(body.mode or usual, body.map)
    outlook = await lookups.outlook_of(pool, context, a, b)
    names = await names_of(pool, {*a, *b} - hidden_ids)
    return MatchFound(
        pool=pool.name,
        a=tuple(InMatch(player, names.get(player)) for player in a),
        b=tuple(InMatch(player, names.get(player)) for player in b),
        **fields_of(outlook, pool.balancing.trueskill_quality(match_to_come(context, a, b))),
    )


async def _side(pool: Pool, texts: Sequence[str], path: str, concealed: Collection[PlayerId]) -> list[PlayerId]:
    return [await player_id(pool, text, path=f"{path}[{n}]", concealed=concealed) for n, text in enumerate(texts)]


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
    body_example={"dry_run": True},
)
async def start_refit(request: Request) -> RefitSeen:
    """Begin to fit all rounds of a pool at once; 409 if its system cannot."""
    services = request.services
    pool = request.pool
    try:
        return RefitSeen(refit=services.refits.start(pool, request.caller.who, dry_run=request.body.dry_run))
    except RatingError as error:
        raise refused("refused", str(error)) from None


@routes.add("GET", "/v1/admin/pools/{pool}/refit", "How that goes", READERS)
async def show_refit(request: Request) -> RefitSeen:
    """How the pool's refit goes, or went."""
    return RefitSeen(refit=request.services.refits.status(request.pool))


@routes.add(
    "GET", "/v1/admin/pools/{pool}/export", "A whole pool as JSON Lines", ADMINS, media_type="application/jsonl"
)
async def export_pool(request: Request) -> Stream:
    """A pool as JSON Lines; docs/moving.md has the format."""
    services, pool = request.services, request.pool
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


@routes.add("GET", "/v1/admin/pools/{pool}/seasons", "A pool's seasons", READERS)
async def show_seasons(request: Request) -> SeasonsFound:
    """The seasons of a pool, the newest first."""
    pool = request.pool
    return SeasonsFound(pool=pool.name, seasons=tuple(await pool.store.seasons(pool.name)))


@routes.add(
    "POST",
    "/v1/admin/pools/{pool}/seasons",
    "Begin a season",
    ADMINS,
    body=SeasonBegun,
    body_example={"name": "Winter 2026"},
)
async def begin_season(request: Request) -> SeasonsFound:
    """Keep the leaderboard of this moment under a season's name; ratings go on."""
    pool, name, now = request.pool, request.body.name, request.services.clock.epoch()
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
)
async def show_season(request: Request) -> SeasonBoard:
    """The leaderboard as it stood when a season began."""
    pool, name = request.pool, request.path["name"]
    for season in await pool.store.seasons(pool.name):
        if season.name == name:
            board = await pool.store.season_board(pool.name, name, request.query.after, request.query.limit)
            return SeasonBoard(pool=pool.name, season=season, players=tuple(board))
    raise ScriptError("not_found", f"pool {pool.name} has no season {name!r}: `pool season list` has them", status=404)
