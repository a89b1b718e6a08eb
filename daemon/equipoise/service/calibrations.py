"""Calibrates the chances that are said, once a week: a pool's own results tell what its predictions are worth.

A calibration that predicts rounds better which it has not seen is adopted as an event of the pool's sequence: from it
on the chances that people read are calibrated, and what was said before stays.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.errors import StoreError
from equipoise.ratings.calibration import NONE, Calibration
from equipoise.ratings.system import System
from equipoise.service.clock import Clock
from equipoise.service.fingerprint import fingerprint_of
from equipoise.service.held import calibration_at, calibration_of
from equipoise.service.pool import Pool
from equipoise.store.recalculation import CalibrationFit, CalibrationFound
from equipoise.store.sequence import BulkEdit, Edit

OFTEN = 7 * 86_400.0
"""Seconds between two calibrations by the job."""

log = logging.getLogger(__name__)


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
        failures = []
        for pool in list(self._pools.values()):
            now = self._clock.epoch()
            # The later of the two: a daemon that is restarted often must
            # not fit at each start, nor one that finds nothing every night.
            present = (await self.status(pool)).adopted
            last = max(self._tried.get(pool.name, -math.inf), -math.inf if present is None else present.at)
            if now - last < OFTEN:
                continue
            try:
                await self.calibrate(pool, "job")
                self._tried[pool.name] = now
            except StoreError as error:
                failures.append(str(error))
        if failures:
            raise StoreError("; ".join(failures))

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
