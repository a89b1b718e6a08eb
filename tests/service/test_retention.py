"""What is old enough is deleted in pieces, and rounds pass in between."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from equipoise.service.jobs import Every, Scheduler
from equipoise.service.metrics import Metrics
from equipoise.service.pool import Pool
from equipoise.service.retention import DAY, LINES, Retention, RetentionDays
from equipoise.store.notes import Audit, Decision
from tests.hosts import GivenClock
from tests.opened_pool import NOW, Stopped, opened
from tests.store.failing import locked
from tests.store.samples import SERVER, a_round, until
from tests.store.traced import Traced

pytestmark = pytest.mark.also_shared


def retention(pool: Pool, **days: float) -> Retention:
    """The job with the pool's own clock."""
    return Retention(pool.store, [pool], Stopped(), RetentionDays(**days))


async def decide(pool: Pool, *ages: float) -> None:
    """Write a line of the decision log for each age in days."""
    pool.store.note(Decision(SERVER, NOW - DAY * age, "move", "3 against 1") for age in ages)
    await pool.store.decisions(None, 1)


async def ages(pool: Pool) -> list[float]:
    return [round((NOW - row.at) / DAY, 6) for row in await pool.store.decisions(None, 10_000)]


async def test_what_is_older_than_its_days_is_deleted_and_0_days_are_for_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with opened(tmp_path, "elo") as pool:
        await decide(pool, 91, 89, 0)
        await pool.store.audit(Audit(NOW - 400 * DAY, "owner", "set", "p", "1000", "1100"))
        await pool.record(a_round(1), None)
        await pool.record(a_round(2), None)
        run = retention(pool, decisions_days=90)
        await run.run()
        assert await ages(pool) == [0, 89]
        assert run.oldest_decision_seconds() == 89 * DAY
        assert run.pruned == {"decisions": 1, "chances": 0, "audit": 0, "rounds": 0}
        assert run.extent == await pool.store.extent()
        assert len(await pool.store.audits(9)) == 1
        assert await pool.store.pruned_rounds("main") == 0
        later = GivenClock(NOW + 2 * DAY)
        run = Retention(pool.store, [pool], later, RetentionDays(audit_days=401, rounds_days=1))
        await run.run()
        assert run.pruned == {"decisions": 0, "chances": 0, "audit": 1, "rounds": 1}
    assert [each.split(";")[0] for each in caplog.messages if "deleted" in each] == [
        "deleted for their age: decisions 1",
        "deleted for their age: audit 1, rounds 1",
    ]


@pytest.mark.also_shared(False)  # its rounds wait for the log
async def test_a_round_waits_for_one_piece_at_most(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=Traced) as pool:
        await decide(pool, *[100.0] * (3 * LINES))
        with pool.store.watched() as statements:
            running = asyncio.create_task(retention(pool, decisions_days=90).run())
            await until(lambda: any("DELETE FROM decisions" in each for each in pool.store.statements))
            assert (await pool.record(a_round(1), None)).status == "stored"
            await running
        deleting = [place for place, each in enumerate(statements) if each.startswith("DELETE FROM decisions")]
        stored = next(place for place, each in enumerate(statements) if "INSERT INTO rounds" in each)
        commits = [place for place, each in enumerate(statements) if each == "COMMIT"]

        assert await ages(pool) == []
        assert len(deleting) == 4
        assert deleting[0] < stored < deleting[2]
        assert all(any(first < commit < second for commit in commits) for first, second in pairwise(deleting))


async def test_a_locked_store_is_pruned_by_the_next_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(tmp_path) as pool:
        await decide(pool, 100)
        run = retention(pool, decisions_days=90)
        with locked(tmp_path / "s.db"):
            await run.run()
        assert "nothing more is deleted until the next run: store: database is locked" in caplog.text
        assert await ages(pool) == [100]
        await run.run()
        assert await ages(pool) == []


async def test_a_run_ends_before_the_next_one_is_due(tmp_path: Path) -> None:
    @dataclass
    class Hurried(Stopped):
        """Twenty minutes pass with each piece."""

        store: Traced

        def monotonic(self) -> float:
            return 1_200.0 * sum("DELETE FROM decisions" in each for each in self.store.statements)

    async with opened(tmp_path, kind=Traced) as pool:
        await decide(pool, *[100.0] * (3 * LINES))
        run = Retention(pool.store, [pool], Hurried(pool.store), RetentionDays(decisions_days=90))
        left = []
        for _ in range(2):
            await run.run()
            left.append(len(await ages(pool)))
        assert left == [LINES, 0]


class SetClock(Stopped):
    """The system's clock may be set; the monotonic one does not follow."""

    ahead = 0.0

    def epoch(self) -> float:
        return NOW + self.ahead


async def test_a_clock_years_ahead_deletes_nothing_whether_it_is_set_so_or_the_daemon_starts_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path) as pool:
        await decide(pool, 80)
        run = Retention(pool.store, [pool], clock := SetClock(), RetentionDays(decisions_days=90))
        clock.ahead = 3650 * DAY
        await run.run()
        assert await ages(pool) == [80]
        run = Retention(pool.store, [pool], GivenClock(NOW + 3650 * DAY), RetentionDays(decisions_days=90))
        await run.look()
        await decide(pool, -3650)  # what the daemon writes by its clock does not make it right
        await run.run()
        assert await ages(pool) == [-3650, 80]
        assert "the newest decision or round is 3730 days old. If the clock is right, restart the daemon" in caplog.text


async def test_a_clock_years_ahead_deletes_no_round_of_a_store_without_decisions(tmp_path: Path) -> None:
    async with opened(tmp_path, "elo") as pool:
        await pool.record(a_round(1), None)
        run = Retention(pool.store, [pool], GivenClock(NOW + 3650 * DAY), RetentionDays(rounds_days=30))
        await run.run()
        assert run.pruned["rounds"] == 0


async def test_a_daemon_that_stops_does_not_wait_until_everything_is_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path, kind=Traced) as pool:
        await decide(pool, *[100.0] * (4 * LINES))
        run = retention(pool, decisions_days=90)
        scheduler = Scheduler(Metrics())
        scheduler.add("retention", Every(0.01), run.run)
        scheduler.start()
        await until(lambda: run.pruned["decisions"] > 0)
        await scheduler.close()
        assert 0 < len(await ages(pool)) < 4 * LINES
        assert run.pruned["decisions"] % LINES == 0
