"""A power loss takes nothing that was answered: the daemon's store and rings, opened as a disk may have kept them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest

from equipoise import ratings
from equipoise.service.pool import Pool
from equipoise.service.ring import Ring
from equipoise.store.store import Store
from tests.chaos.faults.points import tracing_missing
from tests.chaos.faults.power_loss import SERVER, missing, recorded
from tests.chaos.formulas import Parameters
from tests.chaos.power import Change, images, losses
from tests.hosts import GivenClock

pytestmark = pytest.mark.rig

SEED = 7
IMAGES = 300


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Change]:
    if lacking := tracing_missing():
        pytest.skip(f"needs {lacking}")
    return recorded(tmp_path_factory.mktemp("power") / "daemon", Random(SEED))


async def opened_and_closed(state: Path) -> None:
    """Open a pool as the daemon's start does, until nothing waits."""
    store = Store(state / "equipoise.db")
    await store.open()
    system = ratings.create("synelo", **asdict(Parameters()))
    pool = Pool("main", system, store, Ring(state / "main.ring"), GivenClock(1_800_000_000.0))
    await pool.open()
    await pool.close()
    await store.close()


async def wrong_after(changes: Sequence[Change], folder: Path, most: int) -> list[str]:
    """What is wrong after the first power loss that took something, of so many."""
    rng = Random(SEED)
    moments = losses(changes, SERVER, rng, most)
    for image, loss in images(changes, moments, folder, rng):
        try:
            await opened_and_closed(image)
            cases = missing(image / "equipoise.db", loss)
        except Exception as error:
            cases = [repr(error)]
        if cases:
            return [f"after {loss.at} of {len(changes)} changes: {case}" for case in cases]
        shutil.rmtree(image)
    return []


async def test_a_power_loss_at_any_moment_takes_nothing_that_was_answered(
    changes: Sequence[Change], tmp_path: Path
) -> None:
    calls = {(change.call, change.name) for change in changes}
    assert {("sync", "main.ring"), ("write", "equipoise.db"), ("unlink", "equipoise.db-wal")} <= calls
    assert await wrong_after(changes, tmp_path, IMAGES) == []


@pytest.mark.parametrize("name", ["equipoise.db-wal", "main.ring", ""])
async def test_a_daemon_without_the_syncs_of_a_file_is_noticed(
    changes: Sequence[Change], tmp_path: Path, name: str
) -> None:
    unsynced = [change for change in changes if (change.call, change.name) != ("sync", name)]
    assert await wrong_after(unsynced, tmp_path, IMAGES) != []
