"""Maps of a pool: how long their rounds are, who wins on which side, and how even they begin.

GET /v1/admin/pools/{pool}/maps, GET /v1/admin/pools/{pool}/maps/{map}. All figures are of the last rated rounds.
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
from msgspec import Meta

from equipoise.core.model import Mode, ServerId, Side
from equipoise.errors import ScriptError
from equipoise.store.listings import MapResult
from equipoise.web.routes import READERS, Ask, Ok, Request, Routes

MOST_ROUNDS = 100_000
EVEN = 0.4, 0.6
"""Chances of side A with which a round counts as even from its start: at odds of three to two nobody feels beaten."""

Key = TypeVar("Key", str, ServerId)

routes = Routes()


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
    """The map's name."""
    mode: Mode
    """The mode of its last round."""
    sides: tuple[str, str]
    """The game's words for sides A and B."""


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


@routes.add("GET", "/v1/admin/pools/{pool}/maps", "The maps of a pool", READERS, query=Recent, reply=Maps)
async def list_maps(request: Request) -> Maps:
    """The maps that the last rated rounds of a pool were played on."""
    rounds, splits = await _read(request)

    def grouped() -> tuple[MapSeen, ...]:
        before = new_teams_by_round(rounds, splits)
        maps = _by(rounds, lambda row: row.map)
        return tuple(_seen(request, name, own, before) for name, own in maps.items())

    # A hundred thousand rounds take a second, in which other callers are answered.
    maps = await asyncio.to_thread(grouped)
    return Maps(pool=request.services.pool(request.path["pool"]).name, rounds=len(rounds), maps=maps)


@routes.add("GET", "/v1/admin/pools/{pool}/maps/{map}", "A map of a pool", READERS, query=Recent, reply=MapFound)
async def show_map(request: Request) -> MapFound:
    """One map, on each server that played it."""
    pool, name = request.services.pool(request.path["pool"]).name, request.path["map"]
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
    pool = services.pool(request.path["pool"])
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
