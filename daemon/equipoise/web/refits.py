"""Refits of pools by hand."""

from __future__ import annotations

from equipoise.errors import RatingError
from equipoise.web.messages.pools import RefitSeen
from equipoise.web.routes import Asked, refused


async def start_refit(asked: Asked) -> RefitSeen:
    """Begin to fit all rounds of a pool at once; 409 if its system cannot."""
    services = asked.services
    pool = services.pool(asked.path["pool"])
    try:
        return RefitSeen(refit=services.refits.start(pool, asked.caller.who, dry_run=asked.body.dry_run))
    except RatingError as error:
        raise refused("refused", str(error)) from None


async def show_refit(asked: Asked) -> RefitSeen:
    """How the pool's refit goes, or went."""
    services = asked.services
    return RefitSeen(refit=services.refits.status(services.pool(asked.path["pool"])))
