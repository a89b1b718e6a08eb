"""Is it fair: how even a pool's rounds began over the last weeks, whether predictions hold, and how often people moved.

GET /v1/admin/pools/{pool}/evenness.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.model import Side
from equipoise.ratings.quality import Bin, accuracy, assess
from equipoise.service.pool import Pool
from equipoise.store.listings import MapResult
from equipoise.web.maps import EVEN, MOST_ROUNDS
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


@routes.add("GET", "/v1/admin/pools/{pool}/evenness", "Is it fair", READERS, query=Weeks, reply=Fairness)
async def show_evenness(request: Request) -> Fairness:
    """How fair the rounds of the last days were."""
    services, pool = request.services, request.services.pool(request.path["pool"])
    for host in services.hosts.values():
        host.write_down()
    since = services.clock.epoch() - request.query.days * DAY
    rounds = await services.store.rounds_on_maps(pool.name, since, MOST_ROUNDS)
    changes = await services.store.changes_of_sides(since)
    servers = {host.server for host in services.hosts.values() if host.pool is pool} | {row.server for row in rounds}
    moved = sum(change.moved for change in changes if change.server in servers)
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
        figures=await asyncio.to_thread(figures, rounds, moved) if rounds else None,
    )


def _sides(request: Request, pool: Pool, rounds: Sequence[MapResult]) -> tuple[str, str]:
    servers = [rounds[0].server] if rounds else [h.server for h in request.services.hosts.values() if h.pool is pool]
    names = (sides for server in servers if (sides := request.services.sides(server)) is not None)
    return next(names, rounds[0].mode.sides if rounds else ("a", "b"))


def figures(rounds: Sequence[MapResult], moved: int) -> FairFigures:
    """Return the figures of rounds, newest first, in which players were moved so many times."""
    pairs = [(row.prediction, SCORES[row.winner]) for row in rounds]
    quality, won = assess(pairs), accuracy(pairs)
    assert quality is not None
    hours = sum(row.seconds * row.players for row in rounds) / HOUR
    bars = [min(int(row.prediction * BARS), BARS - 1) for row in rounds]
    return FairFigures(
        even=fmean(EVEN[0] <= row.prediction <= EVEN[1] for row in rounds),
        favourite_won=None if won is None else won.value,
        favourite_expected=fmean(max(row.prediction, 1.0 - row.prediction) for row in rounds),
        moved=moved,
        moved_an_hour=moved / hours if hours else None,
        lopsided=lopsided(rounds),
        began=tuple(Began(bar / BARS, (bar + 1) / BARS, bars.count(bar)) for bar in range(BARS)),
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
