"""How well each pool predicts, kept as a time series."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from equipoise.ratings.quality import assess
from equipoise.service.pool import Pool
from equipoise.store.port import Clock
from equipoise.store.upkeep import QualityPoint

ROUNDS = 500
"""The last of a pool: as many as `equipoise pool quality` looks at."""


class QualitySnapshots:
    """`run` adds a point for each pool that stored rounds since the last one."""

    def __init__(self, pools: Mapping[str, Pool], clock: Clock) -> None:
        self._pools, self._clock = pools, clock
        self._seen: dict[str, int] = {}
        """Rounds that a pool had stored at its last point."""

    async def run(self) -> None:
        """StoreError: the rest waits for the next run."""
        for pool in list(self._pools.values()):
            if (applied := pool.applied) == self._seen.get(pool.name, 0):
                continue
            predictions = await pool.store.predictions(pool.name, ROUNDS)
            quality = await asyncio.to_thread(assess, [(each.predicted, each.score) for each in predictions])
            if quality is not None:
                point = QualityPoint(
                    at=self._clock.epoch(),
                    rounds=quality.rounds,
                    brier=quality.brier.value,
                    log_loss=quality.log_loss.value,
                    calibration_error=quality.calibration_error,
                )
                await pool.store.keep_quality(pool.name, point)
            self._seen[pool.name] = applied
