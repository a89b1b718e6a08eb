"""The spread of skill is fitted by a job, beside the daemon, and only said."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import pytest

from equipoise.core.model import Side
from equipoise.errors import StoreError
from equipoise.service.diagnosis import of_spread
from equipoise.service.pool import Pool
from equipoise.service.spreads import Spreads
from equipoise.store.sqlite import spreads
from equipoise.store.upkeep import SpreadFound
from tests.opened_pool import opened
from tests.store.samples import a_round, in_loop

pytestmark = pytest.mark.slow  # numba compiles in a process of its own

TRUTH = random.Random(4)
SKILL = [TRUTH.gauss(0.0, 0.8) for _ in range(12)]


async def play(pool: Pool, count: int, first: int = 1) -> None:
    """Rounds of three against three among twelve people whose spread is 0.8."""
    chance = random.Random(first)
    for number in range(first, first + count):
        six = chance.sample(range(12), 6)
        odds = sum(SKILL[one] for one in six[:3]) - sum(SKILL[one] for one in six[3:])
        winner = Side.A if chance.random() < 1 / (1 + math.exp(-odds)) else Side.B
        await pool.record(a_round(number, a=six[:3], b=six[3:], winner=winner), None)


@in_loop
async def test_the_spread_of_a_pool_of_joint_is_found_and_stays_until_there_are_new_rounds(tmp_path: Path) -> None:
    async with opened(tmp_path, "joint", spread=0.05) as pool:
        job = Spreads({"main": pool})
        await play(pool, 90)
        await job.run()
        assert job.found(pool) is None
        await play(pool, 110, first=91)
        await job.run()
        found = job.found(pool)
        assert found is not None
        assert (found.rounds, found.present, found.missing) == (200, 0.05, 0)
        assert abs(math.log(found.spread / 0.8)) < 3 * found.error / found.spread
        await job.run()
        assert job.found(pool) is found
        (finding,) = of_spread("main", found)
        assert finding.what.startswith(f"pool main: spread is 0.05, but its rounds say {found.spread:.3g} ± ")
        assert pool.system.params.spread == 0.05


@in_loop
async def test_a_pool_that_joint_has_nothing_to_do_with_is_not_fitted(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await play(pool, 120)
        job = Spreads({"main": pool})
        await job.run()
        assert job.found(pool) is None


@in_loop
async def test_a_process_that_dies_fails_the_job_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreads, "COMMAND", (sys.executable, "-c", ""))
    async with opened(tmp_path, "joint") as pool:
        job = Spreads({"main": pool})
        with pytest.raises(StoreError, match="pool main: the process that fits the spread of skill has died"):
            await job.run()
        assert job.found(pool) is None


def test_a_spread_that_is_not_told_from_the_present_one_is_no_finding() -> None:
    assert list(of_spread("main", SpreadFound(200, 0.25, 0.3, 0.05, 400))) == []
    assert list(of_spread("main", None)) == []
