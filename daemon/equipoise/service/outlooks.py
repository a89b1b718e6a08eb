"""How even sides are, by the system that a pool's teams are made by."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from equipoise.balancing.chances import NO_PLAYERS, outlook
from equipoise.core.model import Context, Outlook, PlayerId
from equipoise.service.pool import Pool


def outlook_now(
    pool: Pool,
    context: Context,
    a: Sequence[PlayerId],
    b: Sequence[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> Outlook | None:
    """The outlook by what memory holds; None while a side is empty."""
    return outlook(pool.balancing, context, a, b, commanders) if a and b else None


async def outlook_of(pool: Pool, context: Context, a: Sequence[PlayerId], b: Sequence[PlayerId]) -> Outlook:
    """The outlook of any players. StoreError: a player is not in memory, and the store does not answer."""
    for player in (*a, *b):
        await pool.looked_up(player)
    return outlook(pool.balancing, context, a, b)
