"""Where a pool's rounds are: stored, in the ring, or still with their scripts; logged when it changes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from equipoise.errors import SpillError
from equipoise.store.rated import RatedRound
from equipoise.wire.values import RoundStatus

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a round."""

    status: RoundStatus
    rated: RatedRound | None
    """Its first answer; None while it is kept."""


def stored(outcome: RatedRound | Exception) -> Recorded | Exception:
    """What became of a round that the store took, or refused alone."""
    return outcome if isinstance(outcome, Exception) else Recorded("stored", outcome)


class Whereabouts:
    """The log of one pool: the store's own log says how its trouble goes on."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._waits_in: Literal["ring", "script"] | None = None
        """Where the last rounds wait, by the log."""
        self._waits_since = 0
        """Rounds stored by then."""

    def say(self, outcomes: Sequence[Recorded | Exception], applied: int, why: str) -> None:
        """Log where rounds wait, if that has changed; `applied`: rounds stored so far, `why`: the store's refusal."""
        before = self._waits_in if self._waits_since == applied else None
        self._waits_in, self._waits_since = None, applied
        for outcome in outcomes:
            if isinstance(outcome, SpillError):
                self._waits_in, why = "script", str(outcome)
            elif isinstance(outcome, Recorded) and outcome.status == "kept":
                self._waits_in = "ring"
        if self._waits_in == "ring" != before and why:
            log.warning("pool %s: rounds wait in the ring: %s", self._pool, why)
        elif self._waits_in == "script" != before:
            log.error("pool %s: neither store nor ring takes rounds; scripts keep their last 8: %s", self._pool, why)
