"""Jobs run on a timer, whatever the clock does, and say how their last run went."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from equipoise.errors import StoreError
from equipoise.service.jobs import MISSED_SECONDS, Daily, Every, JobStatus, Run, Scheduler, retry
from equipoise.service.metrics import Metrics
from tests.opened_pool import opened
from tests.store.failing import locked
from tests.store.samples import a_round, player, until

NIGHT = Daily("04:30")


async def nothing() -> None:
    """A job without work."""


@asynccontextmanager
async def scheduled(run: Run, trigger: Every | Daily | None = None) -> AsyncIterator[Scheduler]:
    """A scheduler of one job, by default again and again at once."""
    scheduler = Scheduler(Metrics(), look_seconds=0.01)
    scheduler.add("job", trigger or Every(0.01), run)
    scheduler.start()
    try:
        yield scheduler
    finally:
        await scheduler.close()


def status(scheduler: Scheduler) -> JobStatus:
    (only,) = scheduler.status()
    return only


def next_run(scheduler: Scheduler) -> datetime:
    at = status(scheduler).next_run
    return datetime.fromtimestamp(at, UTC)


@pytest.mark.parametrize("years", [0, 10, -10])
async def test_a_round_that_was_kept_is_stored_once_the_store_is_free_though_the_clock_is_set(
    tmp_path: Path, years: int
) -> None:
    """The clock is set when the scheduler has begun: its next runs are as far away then."""
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"):
            assert (await pool.record(a_round(), None)).status == "kept"
        assert pool.summary(player(1)).rounds == 0
        async with scheduled(partial(retry, {"main": pool})) as scheduler:
            for job in scheduler._timer.get_jobs():
                job.modify(next_run_time=job.next_run_time - timedelta(days=years * 365))
            await until(lambda: not pool.ring_depth)
        assert pool.summary(player(1)).rounds == 1


def test_runs_that_a_clock_set_forward_has_missed_are_not_counted_up() -> None:
    then = datetime(1970, 1, 1, tzinfo=UTC)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert Every(30).get_next_fire_time(then, now) == now + timedelta(seconds=30)


async def test_a_trouble_that_no_round_waits_for_is_over_once_the_store_is_free(tmp_path: Path) -> None:
    async with opened(tmp_path) as pool:
        with locked(tmp_path / "s.db"), pytest.raises(StoreError):
            await pool.edit(player(1), 1500.0, "owner")
        assert pool.store.health().state == "locked"
        async with scheduled(partial(retry, {"main": pool})):
            await until(lambda: pool.store.health().state == "ok")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's time zone is one with summer time."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def nights(trigger: Daily, start: datetime, count: int) -> list[str]:
    """The next runs in the machine's time, each reckoned from the one before."""
    found = []
    for _ in range(count):
        start = trigger.get_next_fire_time(None, start)
        found.append(f"{start.astimezone():%d %H:%M}")
    return found


@pytest.mark.usefixtures("berlin")
def test_a_daily_job_runs_once_a_day_by_the_machines_time_also_where_summer_time_skips_or_repeats_it() -> None:
    assert nights(NIGHT, datetime(2026, 6, 1, 12, tzinfo=UTC), 3) == ["02 04:30", "03 04:30", "04 04:30"]
    early = Daily("02:30")
    assert [night[:2] for night in nights(early, datetime(2026, 3, 28, 12, tzinfo=UTC), 2)] == ["29", "30"]
    assert nights(early, datetime(2026, 10, 24, 12, tzinfo=UTC), 2) == ["25 02:30", "26 02:30"]


async def test_a_daily_job_follows_a_clock_that_is_set_back() -> None:
    async with scheduled(nothing, NIGHT) as scheduler:
        (job,) = scheduler._timer.get_jobs()
        job.modify(next_run_time=datetime.now(UTC) + timedelta(days=3650))
        await until(lambda: next_run(scheduler) - datetime.now(UTC) <= NIGHT.longest)
        assert status(scheduler).last_run is None


async def test_a_daily_job_that_a_clock_set_forward_has_missed_for_years_runs_once() -> None:
    runs = []

    async def run() -> None:
        runs.append(1)

    async with scheduled(run, NIGHT) as scheduler:
        (job,) = scheduler._timer.get_jobs()
        job.modify(next_run_time=datetime.now(UTC) - timedelta(days=3650))
        await until(lambda: bool(runs))
        await asyncio.sleep(0.1)
    assert len(runs) == 1


@pytest.mark.parametrize(("hours_ago", "missed"), [(None, True), (25, True), (0, False), (-8760, False)])
async def test_a_daily_job_that_was_missed_while_the_daemon_was_down_runs_soon(
    hours_ago: float | None, missed: bool
) -> None:
    last = None if hours_ago is None else time.time() - 3600 * hours_ago
    scheduler = Scheduler(Metrics())
    later = f"{datetime.now().astimezone() + timedelta(hours=2):%H:%M}"
    scheduler.add("job", Daily(later), nothing, last_run=last)
    scheduler.start()
    wait = next_run(scheduler) - datetime.now(UTC)
    await scheduler.close()
    assert (wait <= timedelta(seconds=MISSED_SECONDS)) is missed


@pytest.mark.slow
async def test_a_job_that_lasts_longer_than_its_interval_is_seen_running_and_begins_once() -> None:
    runs, go_on = [], asyncio.Event()

    async def run() -> None:
        runs.append(1)
        await go_on.wait()

    async with scheduled(run) as scheduler:
        await until(lambda: status(scheduler).running_since is not None)
        await asyncio.sleep(0.1)
        seen = status(scheduler)
        assert (seen.running_since, seen.last_seconds, len(runs)) == (seen.last_run, None, 1)
        go_on.set()
        await until(lambda: status(scheduler).last_seconds is not None)


async def test_a_job_that_fails_says_why_until_it_succeeds_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    fails, others = [True], []

    async def run() -> None:
        if fails:
            raise StoreError("store: the disk is full")

    async def other() -> None:
        others.append(1)

    async with scheduled(run) as scheduler:
        await until(lambda: scheduler.status()[0].last_error is not None)
        scheduler.add("other", Every(0.01), other)
        await until(lambda: len(others) > 1)
        assert scheduler.status()[0].last_error == "store: the disk is full"
        fails.clear()
        await until(lambda: scheduler.status()[0].last_error is None)
    assert {(each.getMessage(), bool(each.exc_info)) for each in caplog.records} == {
        ("a job failed: store: the disk is full", False)
    }


async def test_a_job_of_every_few_seconds_says_once_why_it_fails_until_that_changes_and_a_nightly_one_each_night(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Nightly(Daily):
        def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
            return now + timedelta(seconds=0.01)

        def missed(self, last_run: float | None, now: float) -> bool:
            return False

    reasons = ["the name is taken", "the name is taken", "the password is wrong", "", "the password is wrong"]

    async def lines(trigger: Every | Daily) -> list[str]:
        caplog.clear()
        done = list[None]()

        async def run() -> None:
            done.append(None)
            if len(done) <= len(reasons) and (reason := reasons[len(done) - 1]):
                raise StoreError(reason)

        async with scheduled(run, trigger):
            await until(lambda: len(done) > len(reasons))
        return [each.getMessage().removeprefix("a job failed: ") for each in caplog.records]

    assert await lines(Every(0.01)) == [reasons[0], reasons[2], reasons[4]]
    assert await lines(Nightly("04:30")) == [reason for reason in reasons if reason]


async def test_a_fault_in_a_job_is_logged_with_where_it_is(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        raise ZeroDivisionError

    async with scheduled(run) as scheduler:
        await until(lambda: status(scheduler).last_error == "ZeroDivisionError")
    assert all(each.exc_info for each in caplog.records)


@pytest.mark.parametrize("removed", [False, True])
async def test_a_daemon_that_ends_waits_for_no_job_also_not_for_one_that_was_removed_in_its_run(removed: bool) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def lasting() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with scheduled(lasting) as scheduler:
        await began.wait()
        if removed:
            scheduler.remove("job")
    assert ended.is_set()
