"""Answers how well a pool predicts, and who is in it."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence

from equipoise.core.model import PlayerSummary
from equipoise.ratings.quality import Pair, assess, fit_scale, rounds_missing
from equipoise.service.pool import Pool
from equipoise.web.messages import Crowd, QualityFound
from equipoise.web.routes import Asked
from equipoise.web.theta import LEAST, theta_of

ROUNDS = LEAST
"""As many are looked at, and as many are needed before a scale is proposed."""


async def show_quality(asked: Asked) -> QualityFound:
    """How well the pool predicted its last `ROUNDS` rounds, and the numbers of its players."""
    pool, now = asked.services.pool(asked.path["pool"]), asked.services.clock.epoch()
    predictions = await asked.services.store.predictions(pool.name, ROUNDS)
    pairs = [(each.predicted, each.score) for each in predictions]
    summaries = await asked.services.store.summaries(pool.name)
    return await asyncio.to_thread(_found, pool, pairs, summaries, now)


def _found(pool: Pool, pairs: Sequence[Pair], summaries: Sequence[PlayerSummary], now: float) -> QualityFound:
    return QualityFound(
        pool=pool.name,
        quality=assess(pairs),
        players=_crowd(pool, summaries, now),
        suggested_theta=_suggested_theta(pool, pairs),
    )


def _crowd(pool: Pool, summaries: Sequence[PlayerSummary], now: float) -> Crowd:
    ratings = [summary.rating for summary in summaries]
    return Crowd(
        count=len(summaries),
        visible=sum(summary.visible for summary in summaries),
        shadow=sum(not summary.visible for summary in summaries),
        stale=sum(pool.system.stale(summary.last_played, now) for summary in summaries),
        mean=statistics.fmean(ratings) if ratings else None,
        spread=statistics.pstdev(ratings) if ratings else None,
    )


def _suggested_theta(pool: Pool, pairs: Sequence[Pair]) -> float | None:
    theta = theta_of(pool)
    if theta is None or len(pairs) < LEAST:
        return None
    fit = fit_scale(pairs, theta)
    return fit.scale if fit and not rounds_missing(fit, theta, len(pairs)) else None
