"""What a pool's own rounds teach at night: whole-history fits, the spread of skill, and what its chances are worth."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from equipoise import ratings
from equipoise.errors import PoolMoved, RatingError, StoreError
from equipoise.ratings.calibration import NONE, Calibration
from equipoise.ratings.system import System
from equipoise.service.clock import Clock
from equipoise.service.held import calibration_at, calibration_of, fingerprint_of
from equipoise.service.place import Place, before_first
from equipoise.service.pool import Pool
from equipoise.service.replayed import is_of
from equipoise.store.notes import Audit
from equipoise.store.player_rows import PlayerRow
from equipoise.store.recalculation import CalibrationFit, CalibrationFound, CaughtUp, Fitted, SpreadFound
from equipoise.store.sequence import BulkEdit, Edit, LearntSpread, Purpose

ANOTHER_SECONDS = 12 * 3600.0
"""A refit that another machine made so long ago is that of this night."""

log = logging.getLogger(__name__)


async def _each(pools: Mapping[str, Pool], work: Callable[[Pool], Awaitable[None]]) -> None:
    """Do this for every pool, whatever becomes of the others. StoreError names those that could not be."""
    failures = []
    for pool in list(pools.values()):
        try:
            await work(pool)
        except StoreError as error:
            failures.append(str(error))
    if failures:
        raise StoreError("; ".join(failures))


@dataclass(frozen=True, slots=True)
class RefitStatus:
    """The refit of a pool that is under way, or the last one; times in seconds since the epoch."""

    running_since: float | None = None
    """Since when it runs, in seconds since the epoch; null: it does not."""
    ended_at: float | None = None
    """When it ended, in seconds since the epoch."""
    dry_run: bool = False
    """Whether it only says what would change."""
    error: str | None = None
    """Why the ratings stayed as they were."""
    fitted: Fitted | None = None
    """The outcome of the fit."""
    result: CaughtUp | None = None
    """The changes by the new ratings."""


class Refits:
    """One fit at a time: each is a process that may need much memory."""

    def __init__(self, pools: Mapping[str, Pool], clock: Clock) -> None:
        self._pools, self._clock = pools, clock
        self._turn = asyncio.Lock()
        self._status: dict[str, RefitStatus] = {}
        self._seen: dict[str, int] = {}
        """The last event of a pool when it was fitted last."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """What was started by hand."""

    async def run(self) -> None:
        """Refit every pool that can be, and has new rounds. StoreError names those that kept their ratings."""
        await _each(self._pools, self._refit_due)

    async def _refit_due(self, pool: Pool) -> None:
        if (by_hand := self._tasks.get(pool.name)) is not None:  # after it there may be nothing to do
            await asyncio.wait([by_hand])
        if await self._due(pool):
            await self._refit(pool, "job", dry_run=False)
            if error := self._status[pool.name].error:
                raise StoreError(error)

    async def last_run(self) -> float | None:
        """When a pool was refitted last, by this daemon or one before, in seconds since the epoch; None: never."""
        at = [await pool.store.refitted_at(pool.name) for pool in self._pools.values()]
        return max((moment for moment in at if moment is not None), default=None)

    def start(self, pool: Pool, who: str, *, dry_run: bool) -> RefitStatus:
        """Begin a refit by hand, if none of this pool is under way. RatingError: its system has no such fit."""
        if not _fits(pool):
            raise RatingError(f"pool {pool.name}: {pool.system.name} has no whole-history fit")
        if self.status(pool).running_since is None:
            # Before the task's first step: a second call finds that one runs.
            self._status[pool.name] = RefitStatus(running_since=self._clock.epoch(), dry_run=dry_run)
            task = asyncio.create_task(self._refit(pool, who, dry_run=dry_run))
            self._tasks[pool.name] = task
            task.add_done_callback(lambda _: self._tasks.pop(pool.name))
        return self.status(pool)

    def status(self, pool: Pool) -> RefitStatus:
        """How it goes, or went."""
        return self._status.get(pool.name, RefitStatus())

    async def close(self) -> None:
        """End what was started by hand."""
        for task in (tasks := list(self._tasks.values())):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _due(self, pool: Pool) -> bool:
        if not _fits(pool) or await pool.store.pruned_rounds(pool.name):
            return False
        if await pool.store.last_number(pool.name) == self._seen.get(pool.name):
            return False
        if pool.sharing is not None:  # once for all machines
            at = await pool.store.refitted_at(pool.name)
            if at is not None and self._clock.epoch() - at < ANOTHER_SECONDS:
                return False
        return bool(await pool.store.predictions(pool.name, 1))

    async def _refit(self, pool: Pool, who: str, *, dry_run: bool) -> None:
        now = self._clock.epoch
        self._status[pool.name] = RefitStatus(running_since=now(), dry_run=dry_run)
        # What stands there if the task is cancelled: `finally` writes the status either way.
        error, numbers, result = "it was ended", None, None
        try:
            async with self._turn, pool.store.fitting(pool.name) as fit:
                numbers = await fit.fitted()
                if not numbers.converged:
                    steps = numbers.iterations
                    raise StoreError(f"pool {pool.name}: the fit did not converge in {steps} iterations")
                if dry_run:
                    result = await fit.tried()
                else:
                    entry = Audit(now(), who, "refit", f"pool {pool.name}", "", f"fit of {numbers.rounds} rounds")
                    result = await pool.refit(fit, entry)
                    self._seen[pool.name] = await pool.store.last_number(pool.name)
                    log.info(
                        "%d players fitted to %d rounds", result.players, numbers.rounds, extra={"pool": pool.name}
                    )
            error = ""
        except StoreError as failed:
            error = str(failed)
        finally:
            self._status[pool.name] = RefitStatus(
                None, now(), dry_run, error or None, numbers, result and replace(result, shared={})
            )


def _fits(pool: Pool) -> bool:
    return ratings.SYSTEMS[pool.system.name].fit is not None


# The spread of skill, for pools that `joint` rates or makes the teams of.
#
# What the rounds say is adopted as an event of the pool's sequence: from it on, all that is known is what the events
# before it say by the new spread. Nothing waits for that: the system is brought there beside the one that goes on, and
# the event is stored with its snapshot when it has seen the last round.

TRIES = 20
"""Rounds may come while a system is brought to the last one."""


@dataclass(frozen=True, slots=True)
class SpreadStatus:
    """The state of a pool's spread of skill."""

    configured: float
    """Where it began; log-odds."""
    learnt: LearntSpread | None
    """What the rounds have taught; None: nothing yet, from there."""
    found: SpreadFound | None
    """What the last fit says of the present one; None: it was not fitted, or no spread fits."""
    fixed: bool
    """It stays as it is: old rounds were deleted, and those that are left cannot teach another one."""

    @property
    def present(self) -> float:
        """The spread in use."""
        return self.configured if self.learnt is None else self.learnt.spread


class Spreads:
    """One fit at a time: each is a process."""

    def __init__(self, pools: Mapping[str, Pool], clock: Clock) -> None:
        self._pools, self._clock = pools, clock
        self._found: dict[str, SpreadFound | None] = {}
        self._seen: dict[str, tuple[int, Mapping[str, Any]]] = {}
        """Rounds that a pool had stored when it was fitted last, and the parameters then."""

    async def run(self) -> None:
        """Fit every such pool that has new rounds, and adopt what they say. StoreError names those that cannot."""
        await _each(self._pools, self._fit_new)

    async def _fit_new(self, pool: Pool) -> None:
        if (system := learning(pool)) is None:
            self._found.pop(pool.name, None)
            return
        params = asdict(system.params)
        # Rounds since this start, which are enough to see that none came since the last run.
        if self._seen.get(pool.name) != (seen := (pool.applied, params)):
            await self._fit(pool, params)
            self._seen[pool.name] = seen

    async def status(self, pool: Pool) -> SpreadStatus | None:
        """Say what is known of a pool's spread; None: neither its ratings nor its teams are made by one."""
        if (system := learning(pool)) is None:
            return None
        learnt, result = await pool.store.learnt_spread(pool.name), self._found.get(pool.name)
        status = SpreadStatus(
            system.params.spread,
            learnt if is_of(learnt, system) else None,
            None,
            bool(await pool.store.pruned_rounds(pool.name)),
        )
        return replace(status, found=result) if result is not None and result.present == status.present else status

    async def _fit(self, pool: Pool, params: Mapping[str, Any]) -> None:
        before = await self.status(pool)
        assert before is not None
        result = await pool.store.spread(pool.name, {**params, "spread": before.present})
        self._found[pool.name] = result
        if result is not None and is_due(result, before, self._clock.epoch()):
            await self.adopt(pool, result)

    async def adopt(self, pool: Pool, found: SpreadFound) -> None:
        """Have a pool that learns go on with this spread. StoreError: it goes on as it did."""
        system = learning(pool)
        assert system is not None
        # What is shown and stored changes only where the pool's own system learns.
        purpose: Purpose = "system" if system is pool.system else "balance"
        place = await before_first(pool.store, pool.name, system, fingerprint_of(pool.system), found.spread)
        for _ in range(TRIES):
            # It may have been there in the try before, and rounds have come since.
            place.at_end = False
            await place.go_to_end()
            if place.struck or place.left:
                raise StoreError(f"pool {pool.name}: its past has changed while its spread of skill was fitted")
            try:
                await pool.adopt(await asyncio.to_thread(self._event, place, purpose, found))
            except PoolMoved:
                continue
            text = "the spread of skill is %.3g ± %.2g by %d rounds; it was %.3g"
            log.info(text, found.spread, found.error, found.rounds, found.present, extra={"pool": pool.name})
            return
        raise StoreError(f"pool {pool.name}: rounds come too fast to adopt a spread of skill")

    def _event(self, place: Place, purpose: Purpose, found: SpreadFound) -> BulkEdit:
        learnt = {
            "spread": found.spread,
            "error": found.error,
            "rounds": found.rounds,
            "before": found.present,
            "configured": place.replayed.system.params.spread,
        }
        return BulkEdit(
            action="spread",
            at=self._clock.epoch(),
            who="job",
            rows=_rows(place) if purpose == "system" else (),
            before=f"{found.present:.3g}",
            after=f"{found.spread:.3g} ± {found.error:.2g} by {found.rounds} rounds",
            detail=learnt,
            last=place.number,
            snapshot=place.replayed.snapshot(place.number, purpose),
        )


def is_due(found: SpreadFound, before: SpreadStatus, now: float) -> bool:
    """Whether a fit is adopted: the rounds exclude the present spread, by enough for teams to be others."""
    from equipoise.ratings.joint import spread  # numpy: a daemon without `joint` does not load it

    since = math.inf if before.learnt is None else now - before.learnt.at
    return not before.fixed and spread.is_due(found.spread, found.present, found.missing, since)


def learning(pool: Pool) -> System[Any] | None:
    """A system like the pool's that learns the spread of skill from its rounds; None where none does."""
    if pool.system.spread is not None:
        return pool.system
    return None if pool.follower is None or pool.follower.like.spread is None else pool.follower.like


def _rows(place: Place) -> list[PlayerRow]:
    return [place.replayed.player(player) for player in place.replayed.players()]


# Calibrations of the chances that are said, once a week: a pool's own results tell what its predictions are worth.
#
# A calibration that predicts rounds better which it has not seen is adopted as an event of the pool's sequence: from it
# on the chances that people read are calibrated, and what was said before stays.

OFTEN = 7 * 86_400.0
"""Seconds between two calibrations by the job."""


@dataclass(frozen=True, slots=True)
class CalibrationStatus:
    """The state of a pool's calibration."""

    system: System[Any]
    """Whose predictions they are."""
    present: Calibration
    adopted: Edit | None
    """By which it came; None: there is none."""
    since: int
    """The event after which the system predicts as it does now: it began with another spread of skill then."""


class Calibrations:
    """One fit at a time: each is a process."""

    def __init__(self, pools: Mapping[str, Pool], clock: Clock) -> None:
        self._pools, self._clock = pools, clock
        self._turn = asyncio.Lock()
        self._tried: dict[str, float] = {}
        """When a pool was fitted last by the job, since the start."""

    async def run(self) -> None:
        """Calibrate every pool whose week is over. StoreError names those that could not be."""
        await _each(self._pools, self._calibrate_due)

    async def _calibrate_due(self, pool: Pool) -> None:
        now = self._clock.epoch()
        # The later of the two: a daemon that is restarted often must
        # not fit at each start, nor one that finds nothing every night.
        present = (await self.status(pool)).adopted
        last = max(self._tried.get(pool.name, -math.inf), -math.inf if present is None else present.at)
        if now - last >= OFTEN:
            await self.calibrate(pool, "job")
            self._tried[pool.name] = now

    async def status(self, pool: Pool) -> CalibrationStatus:
        """Say what holds of the predictions of the system that makes a pool's teams."""
        system = pool.system if pool.follower is None else pool.follower.like
        edits = await pool.store.calibrations(pool.name)
        present = calibration_at(edits, system)
        about = [edit for edit in edits if calibration_of(edit, system) is not None]
        since = max((edit.number for edit in about if edit.action == "spread"), default=0)
        return CalibrationStatus(system, present, about[-1] if about and present != NONE else None, since)

    async def calibrate(self, pool: Pool, who: str, *, dry_run: bool = False) -> CalibrationFound | None:
        """Fit a calibration, and adopt it if it is better; None: too few rounds, or none fits.

        StoreError: nothing was changed.
        """
        async with self._turn:
            before = await self.status(pool)
            present = before.present
            fit = CalibrationFit(
                pool.follower is not None, before.since, present.temperature, present.sides, present.maps
            )
            result = await pool.store.calibration(pool.name, fit)
            # The rounds were predicted by the spread that is no more: what fits them says nothing of the next ones.
            if (await self.status(pool)).since != before.since:
                raise StoreError(f"pool {pool.name}: another spread of skill was learnt meanwhile")
            if result is not None and result.better and not dry_run:
                await pool.adopt(self._event(before, result, who))
                log.info("chances are calibrated: %s", described(_of(result)), extra={"pool": pool.name})
            return result

    def _event(self, before: CalibrationStatus, found: CalibrationFound, who: str) -> BulkEdit:
        new = _of(found)
        worth = {"rounds": found.rounds, "gain": found.gain, "error": found.error}
        return BulkEdit(
            action="calibration",
            at=self._clock.epoch(),
            who=who,
            rows=(),
            before=described(before.present),
            after=described(new),
            detail={**detail_of(new, before.system), **worth},
        )


def detail_of(calibration: Calibration, system: System[Any]) -> dict[str, object]:
    """The same as an edit stores it; what else it says about itself is added."""
    fingerprint = fingerprint_of(system)
    return {
        "temperature": calibration.temperature,
        "sides": dict(calibration.sides),
        "maps": dict(calibration.maps),
        "system": fingerprint.system,
        "params": dict(fingerprint.params),
    }


def described(calibration: Calibration) -> str:
    """A calibration in the audit and the log.

    >>> described(Calibration(1.31, {"blu": 0.05, "red": -0.05}, {"pl_upward": -0.2}))
    'temperature 1.31, sides blu +0.05 red -0.05, 1 map'
    """
    if calibration == NONE:
        return "none"
    parts = [f"temperature {calibration.temperature:.3g}"]
    if calibration.sides:
        parts.append("sides " + " ".join(f"{name} {worth:+.2g}" for name, worth in sorted(calibration.sides.items())))
    if maps := len(calibration.maps):
        parts.append(f"{maps} map{'s' * (maps > 1)}")
    return ", ".join(parts)


def _of(found: CalibrationFound) -> Calibration:
    return Calibration(found.temperature, found.sides, found.maps)
