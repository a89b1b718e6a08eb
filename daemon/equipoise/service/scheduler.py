"""Jobs on a timer, by APScheduler.

APScheduler reckons by the system's clock. When that is set forward by years, an interval of its own kind makes up a
list of all the runs that were missed, which blocks the event loop for minutes. When it is set back by years, the next
run is as far away. So jobs have the triggers `Every` and `Daily`, and the event loop's clock, which is never set, looks
after them. It also wakes APScheduler after a machine has slept: its own timer does not count that time.

A job runs in a task of its own. While that lasts the job does not begin again, so none piles up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from functools import partial
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from equipoise.errors import EquipoiseError
from equipoise.service.metrics import Metrics

LOOK_SECONDS = 30.0
"""How often the times of the next runs are compared with the clock."""
MISSED_SECONDS = 300.0
"""After a start, until a daily job begins that should have run while the daemon was down."""

# A late job still runs (APScheduler would drop it after a second), and once, however many runs it missed.
_DEFAULTS = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}

Run = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


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
            found = datetime.combine(today + timedelta(days=days), self._at).astimezone()
            if found > now:
                return found
        raise AssertionError("the day after tomorrow is later than now")

    def missed(self, last_run: float | None, now: float) -> bool:
        """Whether a daemon that was down should have run it, or never has."""
        if last_run is None:
            return True
        return self.get_next_fire_time(None, datetime.fromtimestamp(last_run, UTC)).timestamp() <= now


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What operators see of a job; times in seconds since the epoch."""

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
    name: str
    trigger: Every | Daily
    run: Run
    last_run: float | None
    began: float = 0.0
    """By the clock that is never set."""
    last_seconds: float | None = None
    last_error: str | None = None
    task: asyncio.Task[None] | None = None
    """The run that is under way."""


class Scheduler:
    """Call `start` inside the running event loop, and `close` before what the jobs use is closed."""

    def __init__(self, metrics: Metrics, *, look_seconds: float = LOOK_SECONDS) -> None:
        self._metrics = metrics
        self._jobs: dict[str, _Job] = {}
        self._running: set[asyncio.Task[None]] = set()
        """Also of jobs that were removed meanwhile."""
        self._timer = AsyncIOScheduler(timezone="UTC", job_defaults=_DEFAULTS)
        self._look_seconds = look_seconds
        self._looking: asyncio.TimerHandle | None = None

    def add(self, name: str, trigger: Every | Daily, run: Run, *, last_run: float | None = None) -> None:
        """Run this again and again, before or after `start`; names are unique.

        `last_run`: when an earlier process last ran it, in seconds since the epoch. A daily job that was missed since
        then runs soon, and once. At the end of the daemon a job is cancelled, so what must become whole it has to
        shield.
        """
        assert name not in self._jobs, f"there is a job {name}"
        self._jobs[name] = _Job(name, trigger, run, last_run)
        soon = datetime.now(UTC) + timedelta(seconds=MISSED_SECONDS)
        begin = {"next_run_time": soon} if trigger.missed(last_run, time.time()) else {}
        self._timer.add_job(self._begin, trigger, (self._jobs[name],), id=name, **begin)

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
        self._timer.shutdown(wait=False)
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def status(self) -> tuple[JobStatus, ...]:
        """Every job, in the order in which they were added."""
        return tuple(
            JobStatus(
                job.name,
                job.last_run,
                job.last_seconds,
                job.last_error,
                job.last_run if job.task is not None else None,
                self._next_run(job),
            )
            for job in self._jobs.values()
        )

    def _next_run(self, job: _Job) -> float | None:
        known = self._timer.get_job(job.name)
        at: datetime | None = getattr(known, "next_run_time", None)  # APScheduler sets it at its start
        return None if at is None else at.timestamp()

    def _look(self) -> None:
        """Run what is due by the clock as it is now; reckon anew where it was set back."""
        now = datetime.now(UTC)
        for known in self._timer.get_jobs():
            trigger = known.trigger
            if known.next_run_time - now > trigger.longest:
                known.modify(next_run_time=trigger.get_next_fire_time(None, now))
        self._timer.wakeup()
        self._looking = asyncio.get_running_loop().call_later(self._look_seconds, self._look)

    async def _begin(self, job: _Job) -> None:
        """Start the job's task, which APScheduler does not wait for, unless the last one is still under way."""
        if job.task is not None:
            return
        job.last_run, job.last_seconds, job.began = time.time(), None, time.monotonic()
        job.task = asyncio.create_task(job.run(), name=job.name)
        self._running.add(job.task)
        job.task.add_done_callback(partial(self._ended, job))

    def _ended(self, job: _Job, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        job.task, job.last_seconds = None, time.monotonic() - job.began
        if task.cancelled():
            return
        error = task.exception()
        job.last_error = None if error is None else str(error) or type(error).__name__
        if error is not None:
            self._metrics.failed_jobs.labels(job.name).inc()
            fault = None if isinstance(error, EquipoiseError) else error
            log.error("a job failed: %s", job.last_error, extra={"job": job.name}, exc_info=fault)
