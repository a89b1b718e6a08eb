"""Answers how well a pool predicts, and who is in it."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence

from equipoise.core.model import Card
from equipoise.pool import Pool
from equipoise.ratings.quality import Pair, assess
from equipoise.web.messages import Crowd, QualityFound
from equipoise.web.routes import Asked
from equipoise.web.theta import LEAST, fitted, still_needed, theta_of

ROUNDS = LEAST
"""As many are looked at, and as many are needed before a scale is proposed."""


async def show_quality(asked: Asked) -> QualityFound:
    """Over the pool's last rounds and all its players."""
    pool, now = asked.services.pool(asked.path["pool"]), asked.services.clock.epoch()
    predictions = await asked.services.store.predictions(pool.name, ROUNDS)
    pairs = [(each.predicted, each.score) for each in predictions]
    cards = await asked.services.store.cards(pool.name)
    return await asyncio.to_thread(_found, pool, pairs, cards, now)


def _found(pool: Pool, pairs: Sequence[Pair], cards: Sequence[Card], now: float) -> QualityFound:
    return QualityFound(
        pool=pool.name,
        quality=assess(pairs),
        players=_crowd(pool, cards, now),
        suggested_theta=_suggested_theta(pool, pairs),
    )


def _crowd(pool: Pool, cards: Sequence[Card], now: float) -> Crowd:
    ratings = [card.rating for card in cards]
    return Crowd(
        count=len(cards),
        visible=sum(card.visible for card in cards),
        shadow=sum(not card.visible for card in cards),
        stale=sum(pool.system.stale(card.last_played, now) for card in cards),
        mean=statistics.fmean(ratings) if ratings else None,
        spread=statistics.pstdev(ratings) if ratings else None,
    )


def _suggested_theta(pool: Pool, pairs: Sequence[Pair]) -> float | None:
    theta = theta_of(pool)
    if theta is None or len(pairs) < LEAST:
        return None
    fit = fitted(pairs, theta)
    return fit.theta if fit and not still_needed(fit, theta, len(pairs)) else None
