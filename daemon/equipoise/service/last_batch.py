"""The last batch of a script: a copy of it gets the same reply."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from equipoise.wire.values import Batch, Reply


@dataclass(slots=True)
class LastBatch:
    """Its numbers, and the reply that it got or waits for."""

    boot: int = 0
    seq: int = 0
    reply: asyncio.Future[Reply] | None = None
    """None: the reply is not known any more, as after a restart."""

    def equals(self, batch: Batch) -> bool:
        """Whether this is a copy of it."""
        return (self.boot, self.seq) == (batch.boot, batch.seq)

    def follows(self, batch: Batch) -> bool:
        """Whether this batch is an older one of the same boot."""
        return self.boot == batch.boot and self.seq > batch.seq

    def misses(self, batch: Batch) -> bool:
        """Whether batches of the same boot between the two never came."""
        return self.boot == batch.boot and self.seq + 1 != batch.seq
