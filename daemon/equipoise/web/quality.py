"""Answers how well a pool predicts, and who is in it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from equipoise.ratings.quality import Pair, assess, fit_scale, rounds_missing
from equipoise.service.pool import Pool
from equipoise.store import upkeep
from equipoise.web.messages.pools import Crowd, QualityFound
from equipoise.web.routes import Asked
from equipoise.web.theta import LEAST, theta_of

ROUNDS = LEAST
"""As many are looked at, and as many are needed before a scale is proposed."""


async def show_quality(asked: Asked) -> QualityFound:
    """How well the pool predicted its last `ROUNDS` rounds, and the numbers of its players."""
    pool, store = asked.services.pool(asked.path["pool"]), asked.services.store
    predictions = await store.predictions(pool.name, ROUNDS)
    pairs = [(each.predicted, each.score) for each in predictions]
    crowd = await store.crowd(pool.name, since=pool.active_since())
    return await asyncio.to_thread(_found, pool, pairs, crowd)


def _found(pool: Pool, pairs: Sequence[Pair], crowd: upkeep.Crowd) -> QualityFound:
    return QualityFound(
        pool=pool.name,
        quality=assess(pairs),
        players=Crowd(
            count=crowd.count,
            visible=crowd.visible,
            shadow=crowd.count - crowd.visible,
            stale=crowd.stale,
            mean=crowd.mean,
            spread=crowd.spread,
        ),
        suggested_theta=_suggested_theta(pool, pairs),
    )


def _suggested_theta(pool: Pool, pairs: Sequence[Pair]) -> float | None:
    theta = theta_of(pool)
    if theta is None or len(pairs) < LEAST:
        return None
    fit = fit_scale(pairs, theta)
    return fit.scale if fit and not rounds_missing(fit, theta, len(pairs)) else None
