"""How far a script's clock is off ours."""

from __future__ import annotations

from equipoise.core.events import RoundEnded
from equipoise.wire.values import Batch

FRESH_SECONDS = 5.0
"""A round that ended longer than this before its batch was queued: when it arrives says nothing of clocks."""


def ahead(batch: Batch, now: float) -> float | None:
    """Seconds by which the script's date is ahead of `now`, the epoch's second; None: the batch does not show it.

    A script dates a round's start. A round that comes right after its end shows what the script takes for now.
    """
    for event in reversed(batch.events):
        if isinstance(event, RoundEnded) and batch.at - event.at < FRESH_SECONDS:
            return event.round.started_at + event.round.seconds - now
    return None
