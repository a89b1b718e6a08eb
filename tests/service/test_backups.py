"""The nightly backup: made, the newest kept, and a failure that costs no older one."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from equipoise.errors import StoreError
from equipoise.service.copies import FOLDER, Backups
from equipoise.service.jobs import Scheduler, schedule_backups
from equipoise.service.metrics import Metrics
from equipoise.store.store import Store
from tests.hosts import GivenClock
from tests.store.disk import no_file_above
from tests.store.samples import Submitted, a_round, opened, submit, until

pytestmark = pytest.mark.slow

DAY = 86_400.0


class House:
    """A store with a round in it, its backups, and a clock that the test sets."""

    def __init__(self, store: Store, keep: int = 3) -> None:
        self.directory, self.clock = store.path.parent / FOLDER, GivenClock(1_763_699_400.0)
        self.backups = Backups(store, self.directory, self.clock, keep)

    async def night(self, days: float = 1.0) -> None:
        self.clock.now += days * DAY
        await self.backups.run()

    def names(self) -> list[str]:
        return sorted(each.name for each in self.directory.iterdir())


async def test_each_night_has_a_backup_and_the_newest_are_kept(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await submit(store, Submitted(a_round()))
        house = House(store)
        assert house.backups.last() is None
        for _ in range(5):
            await house.night()
        assert house.names() == [f"equipoise-202511{day}T043000Z.db" for day in (24, 25, 26)]
        assert house.backups.last() == house.clock.now


async def test_what_others_put_beside_them_stays(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        house = House(store, keep=1)
        await house.night()
        for name in ("before-upgrade.db", "equipoise-20251131T000000Z.db"):  # November has 30 days
            (house.directory / name).touch()
        await house.night()
        assert house.names() == [
            "before-upgrade.db",
            "equipoise-20251123T043000Z.db",
            "equipoise-20251131T000000Z.db",
        ]


async def test_backups_that_a_wrong_clock_has_dated_ahead_displace_no_right_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        house = House(store)
        for days in (1, 3650, 1, 1, -3651, 1):
            await house.night(days)
        assert house.names() == [f"equipoise-{day}T043000Z.db" for day in ("20251123", "20251124", "20351122")]


async def test_a_backup_that_fails_costs_no_older_one(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        await submit(store, *(Submitted(a_round(number)) for number in range(20)))
        house = House(store, keep=1)
        await house.night()
        with no_file_above(40_000), pytest.raises(StoreError, match="no backup was made"):
            await house.night()
        assert house.names() == ["equipoise-20251122T043000Z.db"]


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        house = House(store)
        house.directory.symlink_to(tmp_path / "missing" / "mount")
        with pytest.raises(StoreError, match="backups"):
            await house.night()


async def test_the_job_begins_changes_and_ends_as_the_configuration_says(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        house, scheduler = House(store), Scheduler(Metrics())
        scheduler.start()
        seen = []
        for day, (keep, at) in enumerate([(0, "04:30"), (2, "04:30"), (5, "23:15"), (0, "04:30")], 1):
            await house.night(day)  # several may be made within a second: their names must differ
            house.clock.now = time.time()  # the backup is a fresh one: none is made up for
            schedule_backups(scheduler, house.backups, keep, at)
            seen.append(
                [f"{datetime.fromtimestamp(job.next_run or 0).astimezone():%H:%M}" for job in scheduler.status()]
            )
        await scheduler.close()
    assert seen == [[], ["04:30"], ["23:15"], []]


async def test_a_reload_that_changes_nothing_of_it_keeps_what_is_known_of_the_job(tmp_path: Path) -> None:
    async with opened(tmp_path / "s.db") as store:
        house, scheduler = House(store), Scheduler(Metrics())
        scheduler.start()
        schedule_backups(scheduler, house.backups, 3, "04:30")
        scheduler._timer.get_job("backup").modify(next_run_time=datetime.now(UTC))
        await until(lambda: scheduler.status()[0].last_seconds is not None)
        before = scheduler.status()
        schedule_backups(scheduler, house.backups, 5, "04:30")
        assert scheduler.status() == before
        await scheduler.close()
    assert house.backups.keep == 5
