"""Answers how well a pool predicts, and who is in it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import Any

import msgspec

from equipoise.balancing import chance
from equipoise.core.model import Context, is_even
from equipoise.ratings.quality import Pair, Seats, assess, difference, fit_scale, groups, rounds_missing
from equipoise.service.pool import Pool
from equipoise.service.team_sizes import team_sizes
from equipoise.store import upkeep
from equipoise.store.sequence import Edit
from equipoise.store.upkeep import MeasuredRound, Prediction, TeamSize
from equipoise.web.messages.pools import (
    BalanceQuality,
    Calibrated,
    CalibrateFound,
    Crowd,
    PoolSeen,
    PoolsFound,
    QualityFound,
    ScoreMap,
    ScoreWeight,
    TypicalRound,
)
from equipoise.web.routes import Asked
from equipoise.web.services import Services
from equipoise.web.theta import LEAST, theta_of

RANDOM = 100
"""Rounds whose players are put on random sides."""
ROUNDS = LEAST
"""As many are looked at, and as many are needed before a scale is proposed."""


async def show_pools(asked: Asked) -> PoolsFound:
    """The configured pools."""
    pools = asked.services.pools
    return PoolsFound(pools=tuple(PoolSeen(name, pools[name].system.name) for name in sorted(pools)))


async def show_quality(asked: Asked) -> QualityFound:
    """How well the pool predicted its last `ROUNDS` rounds, and the numbers of its players."""
    pool, store = asked.services.pool(asked.path["pool"]), asked.services.store
    predictions = await store.predictions(pool.name, ROUNDS)
    rounds, sizes = await store.measured(pool.name, ROUNDS), await store.team_sizes(pool.name, ROUNDS)
    crowd = await store.crowd(pool.name, since=pool.active_since())
    found = await asyncio.to_thread(_found, pool, predictions, rounds, sizes, crowd)
    typical = await _typical(asked.services, pool, rounds)
    spread = await asked.services.spreads.status(pool)
    if spread is not None:
        found = msgspec.structs.replace(found, spread=spread.found, learnt_spread=spread.learnt)
    adopted = (await asked.services.calibrations.status(pool)).adopted
    return msgspec.structs.replace(found, typical=typical, calibration=_calibrated(adopted))


async def calibrate(asked: Asked) -> CalibrateFound:
    """What the pool's results say of its predictions; from now on it is said, if it is better."""
    services, dry_run = asked.services, asked.body.dry_run
    pool = services.pool(asked.path["pool"])
    before = (await services.calibrations.status(pool)).adopted
    found = await services.calibrations.calibrate(pool, asked.caller.who, dry_run=dry_run)
    adopted = found is not None and found.better and not dry_run
    return CalibrateFound(pool=pool.name, present=_calibrated(before), found=found, adopted=adopted)


def _calibrated(adopted: Edit | None) -> Calibrated | None:
    return None if adopted is None else msgspec.convert({**adopted.detail, "at": adopted.at}, Calibrated)


async def _typical(services: Services, pool: Pool, rounds: Sequence[MeasuredRound]) -> TypicalRound | None:
    chances = [round.predicted if round.said is None else round.said for round in rounds]
    if not chances:
        return None
    even = fmean(is_even(chance) for chance in chances)
    stored = await services.store.rounds(None, None, RANDOM, pool.name)
    drawn = [one for one in stored if one.lineup_a]
    await pool.summaries(list({player for one in drawn for player in (*one.lineup_a, *one.lineup_b)}))
    likely = []
    for one in drawn:
        players = sorted((*one.lineup_a, *one.lineup_b))
        Random(one.number).shuffle(players)
        cut = len(one.lineup_a)
        likely.append(chance(pool.balancing, Context(one.mode, one.map), players[:cut], players[cut:]))
        await asyncio.sleep(0)  # others are let in
    return TypicalRound(_favourite(chances), even, _favourite(likely) if likely else None)


def _favourite(chances: Sequence[float]) -> float:
    return fmean(max(chance, 1.0 - chance) for chance in chances)


def _found(
    pool: Pool,
    predictions: Sequence[Prediction],
    rounds: Sequence[MeasuredRound],
    sizes: Sequence[TeamSize],
    crowd: upkeep.Crowd,
) -> QualityFound:
    pairs = [(each.predicted, each.score) for each in predictions]
    return QualityFound(
        pool=pool.name,
        typical=None,
        quality=assess(pairs, [each.unevenness for each in predictions]),
        players=Crowd(
            count=crowd.count,
            visible=crowd.visible,
            shadow=crowd.count - crowd.visible,
            stale=crowd.stale,
            mean=crowd.mean,
            spread=crowd.spread,
        ),
        suggested_theta=_suggested_theta(pool, pairs),
        groups=groups(_seats(rounds)),
        balance=_balance(rounds),
        team_sizes=team_sizes(pool, sizes),
        scores=_scores(pool),
        spread=None,
        learnt_spread=None,
        calibration=None,
    )


def _seats(rounds: Sequence[MeasuredRound]) -> Seats:
    return Seats.of(
        (number, one.predicted, one.score, one.squad, one.rounds, one.last)
        for number, round in enumerate(rounds)
        for one in round.seats
    )


def _balance(rounds: Sequence[MeasuredRound]) -> BalanceQuality | None:
    both = [(round, round.said) for round in rounds if round.said is not None]
    made = [(said, round.score) for round, said in both]
    found = assess(made, [round.unevenness for round, _ in both])
    shown = [(round.predicted, round.score) for round, _ in both]
    return None if found is None else BalanceQuality(found, difference(made, shown))


def _scores(pool: Pool) -> tuple[ScoreMap, ...]:
    maps: Sequence[Any] = getattr(pool.balancing, "score_map", tuple)()  # `joint` alone has one
    return tuple(
        ScoreMap(
            mode=each.mode,
            rounds=each.rounds,
            used=each.used,
            gain=each.gain,
            weights=tuple(ScoreWeight(one.feature, one.weight, one.deviation) for one in each.weights),
            noise=_finite(each.noise),
            offset=_finite(each.offset),
            correlation=each.correlation,
        )
        for each in maps
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _suggested_theta(pool: Pool, pairs: Sequence[Pair]) -> float | None:
    theta = theta_of(pool)
    if theta is None or len(pairs) < LEAST:
        return None
    fit = fit_scale(pairs, theta)
    return fit.scale if fit and not rounds_missing(fit, theta, len(pairs)) else None
