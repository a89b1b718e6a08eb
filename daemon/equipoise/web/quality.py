"""Answers how well a pool predicts, and who is in it."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Sequence

from equipoise.core.model import Card
from equipoise.pool import Pool
from equipoise.ratings.quality import Pair, assess
from equipoise.web.messages import Crowd, QualityFound
from equipoise.web.routes import Asked

ROUNDS = 500
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
        suggested_theta=_theta(pool) / best_sharpness(pairs) if len(pairs) >= ROUNDS else None,
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


def _theta(pool: Pool) -> float:
    """The present scale: the logistic's slope at an even match is 1/(4·Θ)."""
    return pool.system.gap(0.25, 1)


def best_sharpness(pairs: Sequence[Pair]) -> float:
    """By which factor the predictions' log-odds would have to grow for the least log loss, 0.01 to 100.

    The loss is convex in the factor, so that halving the interval by its slope finds it.
    """
    odds = [(math.log(p / (1 - p)), score) for p, score in ((_inside(p), score) for p, score in pairs)]

    def slope(factor: float) -> float:
        return sum(x * (1 / (1 + math.exp(-factor * x)) - score) for x, score in odds)

    low, high = math.log(0.01), math.log(100.0)
    for _ in range(40):
        middle = (low + high) / 2
        if slope(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def _inside(probability: float) -> float:
    return min(max(probability, 1e-3), 1 - 1e-3)
