"""The spread of skill is fitted by a job, beside the daemon, and learnt by an event of the pool's sequence."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.core.model import Side
from equipoise.errors import StoreError
from equipoise.ratings import create
from equipoise.service.diagnosis import of_spread
from equipoise.service.pool import Pool
from equipoise.service.refits import Spreads, SpreadStatus, is_due
from equipoise.service.retention import Retention, RetentionDays
from equipoise.store.recalculation import SpreadFound
from equipoise.store.sequence import LearntSpread
from tests.hosts import GivenClock
from tests.opened_pool import NOW, opened
from tests.store.samples import a_round, player, sql

pytestmark = [pytest.mark.slow, pytest.mark.also_shared]  # numba compiles in a process of its own

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


async def test_a_pool_of_joint_learns_the_spread_that_its_rounds_say_at_most_once_a_week(tmp_path: Path) -> None:
    async with opened(tmp_path, "joint", spread=0.05) as pool:
        clock = GivenClock(1_800_000_000.0)
        job = Spreads({"main": pool}, clock)
        await play(pool, 90)
        await job.run()
        assert await job.status(pool) == SpreadStatus(0.05, None, None, fixed=False)
        await play(pool, 110, first=91)
        shown = ratings_of(pool)
        await job.run()
        status = await job.status(pool)
        learnt = status.learnt
        assert (learnt.rounds, learnt.before, learnt.configured, learnt.at) == (200, 0.05, 0.05, clock.epoch())
        assert abs(math.log(learnt.spread / 0.8)) < 3 * learnt.error / learnt.spread
        assert (pool.system.spread, pool.system.params.spread) == (learnt.spread, 0.05)
        assert ratings_of(pool) != shown, "they are those that all rounds have by the new spread"
        (line,) = await pool.store.audits(1)
        assert (line.who, line.action, line.target, line.before) == ("job", "spread", "pool main", "0.05")
        assert line.after == f"{learnt.spread:.3g} ± {learnt.error:.2g} by 200 rounds"

        await play(pool, 1, first=201)
        await job.run()
        again = await job.status(pool)
        assert again.learnt == learnt
        assert (again.found.rounds, again.found.present) == (201, learnt.spread)


def ratings_of(pool: Pool) -> list[float]:
    return [pool.system.summary(player(number)).rating or 0.0 for number in range(12)]


@pytest.mark.parametrize(
    ("found", "days", "due"),
    [
        (SpreadFound(500, 0.25, 0.40, 0.02, 0), None, True),
        (SpreadFound(500, 0.25, 0.28, 0.002, 0), None, False),  # hardly another
        (SpreadFound(500, 0.25, 0.40, 0.2, 90), None, False),  # not two errors apart
        (SpreadFound(500, 0.25, 0.10, 0.02, 0), 6.9, False),
        (SpreadFound(500, 0.25, 0.10, 0.02, 0), 7.0, True),
    ],
)
def test_a_spread_is_adopted_that_is_another_one_for_sure_a_week_after_the_last(
    found: SpreadFound, days: float | None, due: bool
) -> None:
    now = 1_800_000_000.0
    last = None if days is None else LearntSpread(7, now - days * 86_400, 0.25, 0.02, 300, 0.4, 0.4)
    assert is_due(found, SpreadStatus(0.4, last, None, fixed=False), now) == due
    assert not is_due(found, SpreadStatus(0.4, last, None, fixed=True), now)


async def test_the_teams_of_a_pool_are_made_by_the_old_spread_until_the_new_one_has_seen_every_round(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, balance=create("joint")) as pool:
        await play(pool, 150)
        follower = pool.follower
        await follower.caught_up()
        job = Spreads({"main": pool}, GivenClock(1_800_000_000.0))
        ready: list[bool] = []
        version = pool.version
        task = asyncio.create_task(job.adopt(pool, SpreadFound(150, 0.25, 0.8, 0.1, 0)))
        while not task.done():
            ready.append(follower.ready)
            await asyncio.sleep(0)
        await task
        await follower.caught_up()
        assert all(ready)
        assert (pool.balancing.spread, pool.system.spread, pool.version > version) == (0.8, None, True)
        assert (await job.status(pool)).learnt is not None
        before = pool.balancing.deviation(player(1))
    async with opened(tmp_path, balance=create("joint")) as pool:
        await pool.follower.caught_up()
        assert (pool.balancing.spread, pool.balancing.deviation(player(1))) == (0.8, before)


async def test_a_spread_that_the_configuration_gives_by_hand_ends_what_was_learnt_from_another(tmp_path: Path) -> None:
    async with opened(tmp_path, balance=create("joint")) as pool:
        await play(pool, 20)
        await Spreads({}, GivenClock()).adopt(pool, SpreadFound(150, 0.25, 0.8, 0.1, 0))
    async with opened(tmp_path, balance=create("joint", spread=0.4)) as pool:
        await pool.follower.caught_up()
        assert pool.balancing.spread == 0.4
        assert await Spreads({"main": pool}, GivenClock()).status(pool) == SpreadStatus(0.4, None, None, fixed=False)


async def test_rounds_that_were_deleted_fix_the_spread_and_the_doctor_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path, balance=create("joint")) as pool:
        await play(pool, 30)
        sql(tmp_path / "s.db", "UPDATE rounds SET recorded_at = 1000 WHERE number <= 10")
        await Retention(pool.store, [pool], GivenClock(NOW), RetentionDays(rounds_days=30)).run()
        job, found = Spreads({"main": pool}, GivenClock()), SpreadFound(150, 0.25, 0.8, 0.1, 0)
        with pytest.raises(StoreError, match=r"old rounds were deleted \(retention.rounds_days\)"):
            await job.adopt(pool, found)
        assert pool.balancing.spread == 0.25
        status = await job.status(pool)
        assert status.fixed
        (finding,) = of_spread("main", replace(status, found=found))
        assert finding.what == "pool main: spread is 0.25, but its rounds say 0.8 ± 0.1"
        assert list(of_spread("main", replace(status, found=found, fixed=False))) == []


async def test_rounds_that_come_while_a_spread_is_adopted_are_part_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path, "joint") as pool:
        await play(pool, 120)
        job = Spreads({"main": pool}, GivenClock())
        adopted = asyncio.create_task(job.adopt(pool, SpreadFound(150, 0.25, 0.8, 0.1, 0)))
        for number in range(121, 141):
            await play(pool, 1, first=number)
        await adopted
        assert (await pool.store.learnt_spread("main")) is not None
        live = [pool.system.deviation(player(number)) for number in range(12)]
        assert pool.system.spread == 0.8
    async with opened(tmp_path, "joint") as pool:
        assert [pool.system.deviation(player(number)) for number in range(12)] == live


async def test_a_pool_that_joint_has_nothing_to_do_with_is_not_fitted(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        await play(pool, 120)
        job = Spreads({"main": pool}, GivenClock())
        await job.run()
        assert await job.status(pool) is None


def test_a_spread_that_is_not_told_from_the_present_one_is_no_finding() -> None:
    assert list(of_spread("main", SpreadStatus(0.25, None, SpreadFound(200, 0.25, 0.3, 0.05, 400), fixed=True))) == []
    assert list(of_spread("main", None)) == []
