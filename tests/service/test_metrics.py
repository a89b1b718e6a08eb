"""What the daemon measures of itself."""

from __future__ import annotations

import asyncio
import time

from equipoise.service.metrics import Metrics

BLOCKED = 0.3


async def lag_after_a_pause() -> float | None:
    metrics = Metrics()
    measuring = asyncio.create_task(metrics.measure_loop(every=0.01))
    await asyncio.sleep(0)  # it begins to wait
    time.sleep(BLOCKED)  # noqa: ASYNC251 (the loop is to be held up)
    await asyncio.sleep(0.02)
    measuring.cancel()
    return metrics.registry.get_sample_value("equipoise_loop_lag_seconds_sum")


def test_an_event_loop_that_is_held_up_is_seen_to_be_late() -> None:
    late = asyncio.run(lag_after_a_pause())
    assert late is not None
    assert late > BLOCKED / 2
