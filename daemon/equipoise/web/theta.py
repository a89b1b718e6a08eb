"""Answers which scale of the logistic past rounds fit best."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from equipoise.ratings.quality import CERTAIN, Pair, surprise
from equipoise.service.pool import Pool
from equipoise.web.messages import ThetaFit, ThetaFound
from equipoise.web.routes import Asked, refused

LEAST = 500
"""Rounds that are needed before a scale is proposed."""
SURE = 2.0
"""Standard errors that the scale as it is must be off by before another one is proposed."""
MOST = 20_000
"""Rounds that are looked at, the last ones."""
STEPS = 40
FACTORS = (0.01, 100.0)


async def show_theta(asked: Asked) -> ThetaFound:
    """Over the pool's last rounds, if its system has a Θ."""
    pool = asked.services.pool(asked.path["pool"])
    theta = theta_of(pool)
    if theta is None:
        raise refused("refused", f"{pool.system.name} has no theta to fit")
    predictions = await asked.services.store.predictions(pool.name, MOST)
    pairs = [(each.predicted, each.score) for each in predictions]
    fit = await asyncio.to_thread(fitted, pairs, theta) if len(pairs) >= LEAST else None
    missing = still_needed(fit, theta, len(pairs)) if fit else max(0, LEAST - len(pairs))
    return ThetaFound(pool=pool.name, rounds=len(pairs), missing=missing, theta=theta, fit=fit)


def theta_of(pool: Pool) -> float | None:
    """Θ as it stands, for systems that have one: the logistic's slope at an even match is 1/(4·Θ)."""
    return pool.system.gap(0.25, 1) if hasattr(pool.system.params, "theta") else None


def fitted(pairs: Sequence[Pair], theta: float) -> ThetaFit | None:
    """Maximum likelihood of Θ, given the differences at the doors: their log-odds times the Θ of the predictions.

    None where no scale fits: favourites won no more often than others, or always.  The standard error is the sandwich
    estimate, which holds with draws too, by the delta method.
    """
    odds = [(math.log(p) - math.log1p(-p), score) for p, score in ((_inside(p), score) for p, score in pairs)]
    factor = best_factor(odds)
    if factor is None:
        return None
    bread = math.fsum(x * x * _chance(factor * x) * _chance(-factor * x) for x, _ in odds)
    meat = math.fsum((x * (_chance(factor * x) - score)) ** 2 for x, score in odds)
    return ThetaFit(
        theta=theta / factor,
        error=theta / factor**2 * math.sqrt(meat) / bread,
        log_loss_before=_log_loss(odds, 1.0),
        log_loss=_log_loss(odds, factor),
    )


def still_needed(fit: ThetaFit, theta: float, rounds: int) -> int:
    """About how many more rounds would tell the two scales apart, if they differ as they seem to; 0: these do.

    Told apart is by `SURE` standard errors of the factor theta/fit.theta, whose error shrinks with the root of rounds.
    """
    apart = abs(fit.theta - theta) / theta / (fit.error / fit.theta)
    return max(0, math.ceil(rounds * min((SURE / max(apart, 1e-9)) ** 2, 1e9)) - rounds)


def best_factor(odds: Sequence[tuple[float, float]]) -> float | None:
    """By which factor log-odds would have to grow for the least log loss; None unless it is within `FACTORS`.

    The loss is convex in the factor, so that halving the interval by its slope finds it.
    """

    def slope(factor: float) -> float:
        return math.fsum(x * (_chance(factor * x) - score) for x, score in odds)

    if not slope(FACTORS[0]) < 0.0 < slope(FACTORS[1]):
        return None
    low, high = map(math.log, FACTORS)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if slope(math.exp(middle)) < 0.0:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def _log_loss(odds: Sequence[tuple[float, float]], factor: float) -> float:
    return math.fsum(surprise(_chance(factor * x), score) for x, score in odds) / len(odds)


def _chance(odds: float) -> float:
    return 0.5 + 0.5 * math.tanh(odds / 2)


def _inside(probability: float) -> float:
    return min(max(probability, CERTAIN), 1.0 - CERTAIN)
