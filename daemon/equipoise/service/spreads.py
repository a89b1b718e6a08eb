"""The spread of skill is fitted every night for pools that `joint` rates or makes the teams of, and learnt.

What the rounds say is adopted as an event of the pool's sequence: from it on, all that is known is what the events
before it say by the new spread. Nothing waits for that: the system is brought there beside the one that goes on, and
the event is stored with its snapshot when it has seen the last round.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from equipoise.errors import PoolMoved, StoreError
from equipoise.ratings.system import System
from equipoise.service.clock import Clock
from equipoise.service.fingerprint import fingerprint_of
from equipoise.service.place import Place, before_first
from equipoise.service.pool import Pool
from equipoise.service.replayed import is_of
from equipoise.store.player_rows import PlayerRow
from equipoise.store.recalculation import SpreadFound
from equipoise.store.sequence import BulkEdit, LearntSpread, Purpose

TRIES = 20
"""Rounds may come while a system is brought to the last one."""

log = logging.getLogger(__name__)


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
        failures = []
        for pool in list(self._pools.values()):
            if (system := learning(pool)) is None:
                self._found.pop(pool.name, None)
                continue
            params = asdict(system.params)
            # Rounds since this start, which are enough to see that none came since the last run.
            if self._seen.get(pool.name) == (seen := (pool.applied, params)):
                continue
            try:
                await self._fit(pool, params)
                self._seen[pool.name] = seen
            except StoreError as error:
                failures.append(str(error))
        if failures:
            raise StoreError("; ".join(failures))

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
