"""Answers which scale of the logistic past rounds fit best."""

from __future__ import annotations

import asyncio

from equipoise.ratings.quality import fit_scale, rounds_missing
from equipoise.service.pool import Pool
from equipoise.web.messages.pools import ThetaFit, ThetaFound
from equipoise.web.routes import Asked, refused

LEAST = 500
"""Rounds that are needed before a scale is proposed."""
MOST = 20_000
"""Rounds that are looked at, the last ones."""


async def show_theta(asked: Asked) -> ThetaFound:
    """The Θ that fits the pool's last `MOST` rounds, for systems that have a Θ."""
    pool = asked.services.pool(asked.path["pool"])
    theta = theta_of(pool)
    if theta is None:
        raise refused("refused", f"{pool.system.name} has no theta to fit")
    predictions = await asked.services.store.predictions(pool.name, MOST)
    pairs = [(each.predicted, each.score) for each in predictions]
    fit = await asyncio.to_thread(fit_scale, pairs, theta) if len(pairs) >= LEAST else None
    missing = rounds_missing(fit, theta, len(pairs)) if fit else max(0, LEAST - len(pairs))
    found = ThetaFit(fit.scale, fit.error, fit.log_loss_before, fit.log_loss) if fit else None
    return ThetaFound(pool=pool.name, rounds=len(pairs), missing=missing, theta=theta, fit=found)


def theta_of(pool: Pool) -> float | None:
    """The configured Θ; None for systems without one. The logistic's slope at an even match is 1/(4·Θ)."""
    return pool.system.gap(0.25, 1) if hasattr(pool.system.params, "theta") else None
