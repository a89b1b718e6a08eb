"""What a pool checks and mends before its first round: whose numbers the store has, and times that cannot be."""

from __future__ import annotations

import logging

from equipoise.errors import RatingError, StoreRefused
from equipoise.service.fingerprint import check, fingerprint_of
from equipoise.service.held import Held
from equipoise.store.port import Store

AHEAD = 365 * 86_400.0
"""Seconds. A player who played last this long after now, did so by a clock that was wrong."""
CLOCK_NOT_SET = 1_735_689_600.0
"""The year 2025: a clock that shows less was not set since the machine was started."""

log = logging.getLogger(__name__)


async def agree(pool: str, store: Store, held: Held, now: float) -> None:
    """Load the shared state. ConfigError: another system made the ratings, which mean nothing to this one."""
    fingerprint, recorded = fingerprint_of(held.system), await store.fingerprint(pool)
    if recorded is not None:
        check(pool, recorded, held.system)
    if recorded != fingerprint:
        await store.adopt(pool, fingerprint, now)
    try:
        held.restore((), await store.shared(pool))
    except RatingError as error:
        raise StoreRefused(f"pool {pool}: {error}: restore a backup of the store") from None


async def redate(pool: str, store: Store, now: float) -> None:
    """Rounds that were played while a clock was years ahead must not keep players on the leaderboard for years."""
    if now < CLOCK_NOT_SET:
        log.warning("the system's clock is not set: it shows a time before 2025")
    elif count := await store.redate(pool, now + AHEAD, now):
        log.warning(
            "%d players played last years from now, by a wrong clock: taken as now",
            count,
            extra={"pool": pool},
        )
