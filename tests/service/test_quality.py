"""How well a pool predicts is kept every hour in which it stored rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.errors import StoreError
from equipoise.ratings.quality import assess
from equipoise.service.jobs import QualitySnapshots
from tests.hosts import GivenClock
from tests.opened_pool import opened
from tests.store.failing import locked
from tests.store.samples import a_round


async def test_an_hour_with_rounds_has_a_point_and_one_without_has_none(tmp_path: Path) -> None:
    clock = GivenClock()
    async with opened(tmp_path) as pool:
        snapshots = QualitySnapshots({"main": pool}, clock)
        await snapshots.run()
        assert await pool.store.qualities("main", since=0.0) == []
        for hour in range(1, 3):
            await pool.record(a_round(hour), None)
            await snapshots.run()
            clock.now += 3600
            await snapshots.run()
        first, second = await pool.store.qualities("main", since=0.0)
        assert await pool.store.qualities("main", since=second.at) == [second]
        found = assess([(each.predicted, each.score) for each in await pool.store.predictions("main", None)])
    assert found is not None
    assert (first.rounds, second.rounds, second.at - first.at) == (1, 2, 3600.0)
    assert (second.brier, second.log_loss) == (found.brier.value, found.log_loss.value)


async def test_a_point_that_could_not_be_stored_comes_with_the_next_run(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        snapshots = QualitySnapshots({"main": pool}, GivenClock())
        await pool.record(a_round(1), None)
        with locked(tmp_path / "s.db"), pytest.raises(StoreError):
            await snapshots.run()
        await snapshots.run()
        assert len(await pool.store.qualities("main", since=0.0)) == 1
