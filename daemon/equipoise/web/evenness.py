"""Is it fair: how even a pool's rounds began over the last weeks, whether predictions hold, who was moved; its maps.

GET /v1/admin/pools/{pool}/evenness, GET /v1/admin/pools/{pool}/maps, GET /v1/admin/pools/{pool}/maps/{map}.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from equipoise.core.model import Mode, ServerId, Side
from equipoise.errors import ScriptError
from equipoise.ratings.quality import Bin, Columns, accuracy, assess
from equipoise.service.pool import Pool
from equipoise.store.listings import MapResult
from equipoise.web.routes import READERS, Ask, Ok, Request, Routes

BARS = 20
"""Bars of the histogram, each as wide as another."""
DAY, HOUR = 86400.0, 3600.0
SCORES = {Side.A: 1.0, None: 0.5, Side.B: 0.0}
MOST_IN_A_ROW = 2
"""Uneven rounds of one side in a row that the rules let pass: the third is one too many."""

routes = Routes()


class Weeks(Ask, frozen=True):
    """The time that is looked at."""

    days: Annotated[float, Meta(ge=1, le=36500)] = 28.0
    """How many days back from now."""


class Began(msgspec.Struct, frozen=True):
    """A bar of the histogram: rounds by the chance of side A at their start."""

    low: float
    """Lower end of the chances: a win probability."""
    high: float
    """Upper end."""
    rounds: int
    """How many rounds began so."""


class FairFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the rated rounds of some weeks, by the chances that players heard."""

    even: float
    """The part of the rounds that began between 40 and 60 %."""
    favourite_won: float | None
    """The part of the rounds with a winner that the favourite won; null where none had a winner."""
    favourite_expected: float
    """The favourite's mean chance."""
    moved: int
    """How often a player was moved to another side."""
    moved_an_hour: float | None
    """The same in an hour that a player plays; null where nobody's time is known any more."""
    lopsided: int
    """Rounds that began beyond 60 % for one side, as the two before them on that map had for the same side."""
    began: tuple[Began, ...]
    """All rounds by the chance of side A at their start, in bars of 5 %."""
    calibration: tuple[Bin, ...]
    """Predictions beside results, in ten bins without the empty ones."""
    brier: float
    """Mean squared error of the chances; 0.25 is a coin's."""


class Fairness(Ok, frozen=True, kw_only=True):
    """Whether a pool's rounds of the last weeks were fair."""

    pool: str
    days: float
    """How many days were looked at."""
    rounds: int
    """Rated rounds of that time; at most the last 100,000."""
    servers: int
    """Servers that they were played on."""
    sides: tuple[str, str]
    """The words of the last round's game for sides A and B."""
    balanced_by: str
    """The rating system that makes the teams now."""
    players: int
    """Players of the pool whose rating may be shown."""
    figures: FairFigures | None
    """Null without rounds."""


@routes.add("GET", "/v1/admin/pools/{pool}/evenness", "Is it fair", READERS, query=Weeks)
async def show_evenness(request: Request) -> Fairness:
    """How fair the rounds of the last days were."""
    services, pool = request.services, request.pool
    for host in services.hosts.values():
        host.write_down()
    since = services.clock.epoch() - request.query.days * DAY
    rounds = await services.store.rounds_on_maps(pool.name, since, MOST_ROUNDS)
    changes = await services.store.changes_of_sides(since)
    servers = {host.server for host in services.hosts.values() if host.pool is pool} | {row.server for row in rounds}
    moves = sum(change.moved for change in changes if change.server in servers)
    crowd = await services.store.crowd(pool.name, since=pool.active_since())
    return Fairness(
        pool=pool.name,
        days=request.query.days,
        rounds=len(rounds),
        servers=len({row.server for row in rounds}),
        sides=_sides(request, pool, rounds),
        balanced_by=pool.balancing.name,
        players=crowd.visible,
        # A hundred thousand rounds take a second, in which other callers are answered.
        figures=await asyncio.to_thread(figures, rounds, moves) if rounds else None,
    )


def _sides(request: Request, pool: Pool, rounds: Sequence[MapResult]) -> tuple[str, str]:
    servers = [rounds[0].server] if rounds else [h.server for h in request.services.hosts.values() if h.pool is pool]
    names = (sides for server in servers if (sides := request.services.sides(server)) is not None)
    return next(names, rounds[0].mode.sides if rounds else ("a", "b"))


def figures(rounds: Sequence[MapResult], moved: int) -> FairFigures:
    """Return the figures of rounds, newest first, in which players were moved so many times."""
    chances = np.array([row.prediction for row in rounds])
    pairs = Columns(chances, np.array([SCORES[row.winner] for row in rounds]))
    quality, won = assess(pairs), accuracy(pairs)
    assert quality is not None
    hours = sum(row.seconds * row.players for row in rounds) / HOUR
    bars = np.bincount(np.minimum((chances * BARS).astype(int), BARS - 1), minlength=BARS).tolist()
    return FairFigures(
        even=float(np.mean((chances >= EVEN[0]) & (chances <= EVEN[1]))),
        favourite_won=None if won is None else won.value,
        favourite_expected=float(np.maximum(chances, 1.0 - chances).mean()),
        moved=moved,
        moved_an_hour=moved / hours if hours else None,
        lopsided=lopsided(rounds),
        began=tuple(Began(bar / BARS, (bar + 1) / BARS, count) for bar, count in enumerate(bars)),
        calibration=quality.calibration,
        brier=quality.brier.value,
    )


def lopsided(rounds: Sequence[MapResult]) -> int:
    """Count the rounds, newest first, that were one too many beyond 60 % for one side on a map."""
    count = 0
    runs: dict[tuple[str, str], tuple[Side | None, int]] = {}
    for row in reversed(rounds):
        favourite = Side.A if row.prediction > EVEN[1] else Side.B if row.prediction < EVEN[0] else None
        side, length = runs.get((row.server, row.session), (None, 0))
        length = length + 1 if favourite is not None and favourite is side else 1
        runs[row.server, row.session] = favourite, length
        count += favourite is not None and length > MOST_IN_A_ROW
    return count


# Maps: how long their last rated rounds are, who wins on which side, and how even they begin.

MOST_ROUNDS = 100_000
EVEN = 0.4, 0.6
"""Chances of side A with which a round counts as even from its start: at odds of three to two nobody feels beaten."""

Key = TypeVar("Key", str, ServerId)


class Recent(Ask, frozen=True):
    """The rounds that are looked at: the last of the pool."""

    rounds: Annotated[int, Meta(ge=1, le=MOST_ROUNDS)] = 10_000
    """The most of them."""
    since: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    """None older, in seconds since the epoch."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the rated rounds of one map."""

    rounds: int
    """The number of rounds."""
    seconds: float
    """Their mean length, in seconds."""
    wins_a: int
    """Rounds that side A won."""
    wins_b: int
    """Rounds that side B won."""
    stalemates: int
    """Rounds that no side won."""
    expected_a: float
    """The mean chance that side A was given, as players heard it."""
    even: float
    """The part of the rounds that began between 40 and 60 %."""
    new_teams: int
    """Scrambles and shuffles before or in these rounds, as far back as the decision log goes."""
    last_played: float
    """When the last of them went live, in seconds since the epoch."""


class MapSeen(Figures, frozen=True, kw_only=True):
    """A map, and what its rounds were like."""

    map: str
    mode: Mode
    """The mode of its last round."""
    sides: tuple[str, str]


class ServerOnMap(Figures, frozen=True, kw_only=True):
    """The rounds of a map on one server."""

    server: ServerId


class Maps(Ok, frozen=True):
    """The maps of a pool, those with the most rounds first."""

    pool: str
    rounds: int
    """The rounds that were looked at."""
    maps: tuple[MapSeen, ...]
    """The maps that were played."""


class MapFound(Ok, frozen=True):
    """One map of a pool."""

    pool: str
    map: MapSeen
    """The map, and what its rounds were like."""
    servers: tuple[ServerOnMap, ...]
    """The same by server, those with the most rounds first."""


@routes.add("GET", "/v1/admin/pools/{pool}/maps", "The maps of a pool", READERS, query=Recent)
async def list_maps(request: Request) -> Maps:
    """The maps that the last rated rounds of a pool were played on."""
    rounds, splits = await _read(request)

    def grouped() -> tuple[MapSeen, ...]:
        before = new_teams_by_round(rounds, splits)
        maps = _by(rounds, lambda row: row.map)
        return tuple(_seen(request, name, own, before) for name, own in maps.items())

    # A hundred thousand rounds take a second, in which other callers are answered.
    maps = await asyncio.to_thread(grouped)
    return Maps(pool=request.pool.name, rounds=len(rounds), maps=maps)


@routes.add("GET", "/v1/admin/pools/{pool}/maps/{map}", "A map of a pool", READERS, query=Recent)
async def show_map(request: Request) -> MapFound:
    """One map, on each server that played it."""
    pool, name = request.pool.name, request.path["map"]
    rounds, splits = await _read(request)
    own = [row for row in rounds if row.map == name]
    if not own:
        which = f"the last {len(rounds):,} of pool {pool}; `equipoise map list` has them"
        message = f"no rated round on map {name} is among {which}"
        raise ScriptError("not_found", message, path="{map}", status=404)

    def grouped() -> tuple[MapSeen, tuple[ServerOnMap, ...]]:
        before = new_teams_by_round(rounds, splits)
        servers = _by(own, lambda row: row.server)
        rows = tuple(
            ServerOnMap(server=server, **_figures(own_rounds, before)) for server, own_rounds in servers.items()
        )
        return _seen(request, name, own, before), rows

    whole, servers = await asyncio.to_thread(grouped)
    return MapFound(pool=pool, map=whole, servers=servers)


def _by(rounds: Iterable[MapResult], key: Callable[[MapResult], Key]) -> dict[Key, list[MapResult]]:
    """Return rounds in groups, the largest first."""
    groups: dict[Key, list[MapResult]] = {}
    for row in rounds:
        groups.setdefault(key(row), []).append(row)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


async def _read(request: Request) -> tuple[Sequence[MapResult], Sequence[tuple[ServerId, float]]]:
    """Return rounds, newest first, and the server and time of each decision since then that made new teams."""
    services, query = request.services, request.query
    pool = request.pool
    for host in services.hosts.values():
        host.write_down()
    rounds = await services.store.rounds_on_maps(pool.name, query.since or -math.inf, query.rounds)
    changes = await services.store.changes_of_sides(min((row.started_at for row in rounds), default=math.inf))
    return rounds, [(change.server, change.at) for change in changes if change.new_teams]


def new_teams_by_round(rounds: Iterable[MapResult], splits: Iterable[tuple[ServerId, float]]) -> Counter[int]:
    """Count new teams, given by server and time, by the number of the server's round that they were made before or in.

    They are made in a round's freeze time, for the round that ends next; what no stored round followed is left out.
    """
    ends: dict[ServerId, list[tuple[float, int]]] = {}
    for row in rounds:
        ends.setdefault(row.server, []).append((row.started_at + row.seconds, row.number))
    for column in ends.values():
        column.sort()
    counts: Counter[int] = Counter()
    for server, at in splits:
        column = ends.get(server, [])
        place = bisect_left(column, (at, 0))
        if place < len(column):
            counts[column[place][1]] += 1
    return counts


def _seen(request: Request, name: str, rounds: Sequence[MapResult], before: Counter[int]) -> MapSeen:
    last = rounds[0]
    sides = request.services.sides(last.server) or last.mode.sides
    return MapSeen(map=name, mode=last.mode, sides=sides, **_figures(rounds, before))


def _figures(rounds: Sequence[MapResult], before: Counter[int]) -> dict[str, Any]:
    winners = Counter(row.winner for row in rounds)
    return {
        "rounds": len(rounds),
        "seconds": fmean(row.seconds for row in rounds),
        "wins_a": winners[Side.A],
        "wins_b": winners[Side.B],
        "stalemates": winners[None],
        "expected_a": fmean(row.prediction for row in rounds),
        "even": fmean(EVEN[0] <= row.prediction <= EVEN[1] for row in rounds),
        "new_teams": sum(before[row.number] for row in rounds),
        "last_played": max(row.started_at for row in rounds),
    }
