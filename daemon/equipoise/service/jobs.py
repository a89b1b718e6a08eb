"""The daemon's own jobs, how often they run, and the timer that runs them, which is APScheduler's.

APScheduler reckons by the system's clock. When that is set forward by years, an interval of its own kind makes up a
list of all the runs that were missed, which blocks the event loop for minutes. When it is set back by years, the next
run is as far away. So jobs have the triggers `Every` and `Daily`, and the event loop's clock, which is never set, looks
after them. It also wakes APScheduler after a machine has slept: its own timer does not count that time.

The rest is APScheduler's: a job runs in a task of its own, does not begin again while that lasts (`max_instances`), and
its events say when it began and how it ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from functools import partial
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, EVENT_JOB_SUBMITTED
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from equipoise.errors import EquipoiseError, StoreError
from equipoise.ratings.quality import assess
from equipoise.service.clock import Clock
from equipoise.service.copies import Backups
from equipoise.service.metrics import Metrics, Reading
from equipoise.service.pool import Pool
from equipoise.service.refits import Calibrations, Refits, Spreads
from equipoise.service.retention import Retention
from equipoise.store.measurements import QualityPoint

RETRY_SECONDS = 30.0
PRUNE_SECONDS = 3600.0
SNAPSHOT_SECONDS = 3600.0
REFIT_AT = "05:00"
"""After the nightly backup, by default."""
SPREAD_AT = "05:30"
"""What it finds is not stored: it also runs soon after each start."""

CALIBRATION_AT = "06:00"
"""After another spread of skill, with which it begins anew."""
PUBLISH_SECONDS = 3.0
"""Between two signs of life to the machines that share a pool with this one."""
BASES_AT = "06:30"
"""When the night's fits are in the pools."""
NOTICES_SECONDS = 10.0
SUMMARY_AT = "09:00"
QUALITY_ROUNDS = 500
"""The last of a pool: as many as `equipoise pool quality` looks at."""
OFTEN = timedelta(hours=1)
"""A job that runs more often, and fails again in the same way, is not logged again."""
LOOK_SECONDS = 30.0
"""How often the times of the next runs are compared with the clock."""
MISSED_SECONDS = 300.0
"""After a start, until a daily job begins that should have run while the daemon was down."""

# A late job still runs (APScheduler would drop it after a second), and once, however many runs it missed.
_DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
_NOTED = EVENT_JOB_SUBMITTED | EVENT_JOB_EXECUTED | EVENT_JOB_ERROR

Run = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)
logging.getLogger("apscheduler.executors").setLevel(logging.CRITICAL)  # what a job raises is logged here


async def add_jobs(
    scheduler: Scheduler,
    pools: Mapping[str, Pool],
    retention: Retention,
    refits: Refits,
    spreads: Spreads,
    calibrations: Calibrations,
    clock: Clock,
) -> None:
    """Add the jobs of every daemon; pools that are added later to the mapping are served too."""
    scheduler.add("ring retry", Every(RETRY_SECONDS), partial(retry, pools))
    scheduler.add("retention", Every(PRUNE_SECONDS), retention.run)
    scheduler.add("quality", Every(SNAPSHOT_SECONDS), QualitySnapshots(pools, clock).run)
    last: float | None = None
    with suppress(StoreError):  # damage to the store is said by /healthz: a daemon that serves keeps rounds
        last = await refits.last_run()
    scheduler.add("refit", Daily(REFIT_AT), refits.run, last_run=last)
    scheduler.add("spread", Daily(SPREAD_AT), spreads.run)
    scheduler.add("calibration", Daily(CALIBRATION_AT), calibrations.run)


def schedule_backups(scheduler: Scheduler, backups: Backups, keep: int, at: str) -> None:
    """Make a backup every night at this time of day and keep so many; 0: make none.

    A later call changes it. One that changes nothing leaves the job alone, which may be at work.
    """
    backups.keep = keep
    due = at if keep else None
    if due == backups.at:
        return
    backups.at = due
    scheduler.remove("backup")
    if due is not None:
        scheduler.add("backup", Daily(due), backups.run, last_run=backups.last())


def schedule_export(scheduler: Scheduler, run: Run, due: str | None, last_run: float | None) -> None:
    """Export the public pages every night at this time of day; None: never. A later call changes it."""
    scheduler.remove("export")
    if due is not None:
        scheduler.add("export", Daily(due), run, last_run=last_run)


def schedule_notices(scheduler: Scheduler, wanted: bool, look: Run, summarize: Run) -> None:
    """Look for what is to be told, every ten seconds and once a day, while there is a webhook to be told."""
    if wanted == any(job.name == "notices" for job in scheduler.status()):
        return
    if wanted:
        scheduler.add("notices", Every(NOTICES_SECONDS), look)
        # As if it had just run: a start tells of no day.
        scheduler.add("daily summary", Daily(SUMMARY_AT), summarize, last_run=time.time())
    else:
        scheduler.remove("notices")
        scheduler.remove("daily summary")


def schedule_sharing(scheduler: Scheduler, wanted: bool, publish: Run, renew: Run) -> None:
    """Look after the databases of shared pools from the first such pool on: also what the last one showed has to go."""
    if wanted and all(job.name != "machines" for job in scheduler.status()):
        scheduler.add("machines", Every(PUBLISH_SECONDS), publish)
        scheduler.add("bases", Daily(BASES_AT), renew)


async def retry(pools: Mapping[str, Pool]) -> None:
    """Try again to store rounds that wait, and to write a store that was in trouble."""
    await asyncio.gather(
        *(_drain(pool) for pool in pools.values() if pool.ring_depth or pool.store.health().state != "ok")
    )


async def _drain(pool: Pool) -> None:
    depth = pool.ring_depth
    if not depth:
        with suppress(StoreError):  # the store logs it
            await pool.store.ping()
    await pool.drain()
    if count := depth - pool.ring_depth:
        log.info("%d of %d waiting rounds stored", count, depth, extra={"pool": pool.name})


class QualitySnapshots:
    """`run` adds a point for each pool that stored rounds since the last one."""

    def __init__(self, pools: Mapping[str, Pool], clock: Clock) -> None:
        self._pools, self._clock = pools, clock
        self._seen: dict[str, int] = {}
        """Rounds that a pool had stored at its last point."""

    async def run(self) -> None:
        """StoreError: the rest waits for the next run."""
        for pool in list(self._pools.values()):
            if (rounds := pool.applied) == self._seen.get(pool.name, 0):
                continue
            predictions = await pool.store.predictions(pool.name, QUALITY_ROUNDS)
            quality = await asyncio.to_thread(
                assess, [(prediction.predicted, prediction.score) for prediction in predictions]
            )
            if quality is not None:
                point = QualityPoint(
                    at=self._clock.epoch(),
                    rounds=quality.rounds,
                    brier=quality.brier.value,
                    log_loss=quality.log_loss.value,
                    calibration_error=quality.calibration_error,
                )
                await pool.store.keep_quality(pool.name, point)
            self._seen[pool.name] = rounds


# The timer.


class Every(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """An interval that begins anew with each run: runs that were missed are not caught up with."""

    def __init__(self, seconds: float) -> None:
        self.longest = timedelta(seconds=seconds)
        """No next run is further away."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """An interval from now."""
        return now + self.longest

    def missed(self, last_run: float | None, now: float) -> bool:
        """A start begins a new interval."""
        return False


class Daily(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """A time of day by the machine's clock and time zone, once a day also where summer time skips or repeats it."""

    def __init__(self, at: str) -> None:
        self._at = time_of_day.fromisoformat(at)
        self.longest = timedelta(hours=25)
        """A day on which summer time ends."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The next such time after now."""
        today = now.astimezone().date()
        for days in range(3):  # on the day that summer time ends, today's may be past and tomorrow's too soon
            moment = datetime.combine(today + timedelta(days=days), self._at).astimezone()
            if moment > now:
                return moment
        raise AssertionError("the day after tomorrow is later than now")

    def missed(self, last_run: float | None, now: float) -> bool:
        """Whether a daemon that was down should have run it, or never has."""
        if last_run is None:
            return True
        return self.get_next_fire_time(None, datetime.fromtimestamp(last_run, UTC)).timestamp() <= now


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job for operators; times in seconds since the epoch."""

    name: str
    """The job's name."""
    last_run: float | None
    """When it last began; None: not that anyone knows of."""
    last_seconds: float | None
    """How long that took; None before its end."""
    last_error: str | None
    """Why that failed; None: it did not."""
    running_since: float | None
    """Since when it runs, in seconds since the epoch; null: it does not."""
    next_run: float | None
    """When it runs next, in seconds since the epoch."""


@dataclass(slots=True)
class _Job:
    last_run: float | None
    often: bool
    began: float | None = None
    """By the clock that is never set; None: it does not run."""
    last_seconds: float | None = None
    last_error: str | None = None


class _Tasks(AsyncIOExecutor):  # type: ignore[misc]  # APScheduler has no types
    """Runs each job in a task."""

    @property
    def running(self) -> tuple[asyncio.Task[Any], ...]:
        """The runs that are under way, also of jobs that were removed meanwhile."""
        return tuple(self._pending_futures)


class Scheduler:
    """Call `start` inside the running event loop, and `close` before what the jobs use is closed."""

    def __init__(self, metrics: Metrics, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._metrics = metrics
        self._jobs: dict[str, _Job] = {}
        self._tasks = _Tasks()
        self._timer = AsyncIOScheduler(timezone="UTC", job_defaults=_DEFAULTS, executors={"default": self._tasks})
        self._timer.add_listener(self._note, _NOTED)
        self._look_seconds = look_seconds
        self._looking: asyncio.TimerHandle | None = None

    def add(self, name: str, trigger: Every | Daily, run: Run, *, last_run: float | None = None) -> None:
        """Run this again and again, before or after `start`; names are unique.

        `last_run`: when an earlier process last ran it, in seconds since the epoch. A daily job that was missed since
        then runs soon, and once. At the end of the daemon a job is cancelled, so what must become whole it has to
        shield.
        """
        assert name not in self._jobs, f"there is a job {name}"
        self._jobs[name] = _Job(last_run, trigger.longest < OFTEN)
        # Not at once: a start has rounds to take and rings to empty.
        soon = datetime.now(UTC) + timedelta(seconds=MISSED_SECONDS)
        begin = {"next_run_time": soon} if trigger.missed(last_run, time.time()) else {}
        self._timer.add_job(run, trigger, id=name, **begin)

    def remove(self, name: str) -> None:
        """Run it no more; a run that is under way goes on. Nothing happens where there is no such job."""
        if self._jobs.pop(name, None) is not None:
            self._timer.remove_job(name)

    def start(self) -> None:
        """Begin to count time: an interval's first run comes after a whole one."""
        self._timer.start()
        self._look()

    async def close(self) -> None:
        """Start no more jobs, and end those that run."""
        if self._looking is not None:
            self._looking.cancel()
        self._timer.pause()  # a shutdown comes with the loop's next turn, and a job might begin before
        tasks = self._tasks.running
        self._timer.shutdown(wait=False)
        await asyncio.gather(*tasks, return_exceptions=True)

    def status(self) -> tuple[JobStatus, ...]:
        """Every job, in the order in which they were added."""
        return tuple(
            JobStatus(
                name,
                job.last_run,
                job.last_seconds,
                job.last_error,
                None if job.began is None else job.last_run,
                self._next_run(name),
            )
            for name, job in self._jobs.items()
        )

    def readings(self) -> Iterator[Reading]:
        """Yield the metrics of jobs."""
        for name, job in self._jobs.items():
            yield Reading("equipoise_job_failed", "1: its last run failed.", job.last_error is not None, {"job": name})

    def _next_run(self, name: str) -> float | None:
        at: datetime | None = getattr(self._timer.get_job(name), "next_run_time", None)  # set at APScheduler's start
        return None if at is None else at.timestamp()

    def _look(self) -> None:
        """Run what is due by the clock as it is now; reckon anew where it was set back."""
        now = datetime.now(UTC)
        for job in self._timer.get_jobs():
            # Further away than any interval: the clock was set back since it was reckoned.
            if job.next_run_time - now > job.trigger.longest:
                job.modify(next_run_time=job.trigger.get_next_fire_time(None, now))
        # APScheduler's own timer counts no time in which the machine slept.
        self._timer.wakeup()
        self._looking = asyncio.get_running_loop().call_later(self._look_seconds, self._look)

    def _note(self, event: Any) -> None:
        job = self._jobs.get(event.job_id)
        if event.code == EVENT_JOB_SUBMITTED:
            if job is not None:
                job.last_run, job.last_seconds, job.began = time.time(), None, time.monotonic()
            return
        error = event.exception
        if isinstance(error, asyncio.CancelledError):  # the daemon ends
            return
        reason = None if error is None else str(error) or type(error).__name__
        is_new = job is None or not job.often or reason != job.last_error
        # A job that was removed meanwhile is not shown, nor is one that has taken its name and not begun.
        if job is not None and job.began is not None:
            job.last_seconds, job.last_error, job.began = time.monotonic() - job.began, reason, None
        if error is not None:
            self._metrics.failed_jobs.labels(event.job_id).inc()
            if is_new:
                fault = None if isinstance(error, EquipoiseError) else error
                log.error("a job failed: %s", reason, extra={"job": event.job_id}, exc_info=fault)
