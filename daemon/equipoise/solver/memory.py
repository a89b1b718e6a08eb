"""The cap on the memory of one solve, and the advice for a problem that would need more."""

from __future__ import annotations

import math

CAP_BITS = 1 << 30
"""128 MiB of bitsets."""


class MemoryExceeded(Exception):
    """A solve would hold `bits` bits, more than the cap; None where no coarser values would help."""

    def __init__(self, bits: float | None) -> None:
        super().__init__(bits)
        self.bits = bits

    def advice(self, per_point: float) -> str:
        """What to change; `per_point` is the resolution that was too fine, in ticks per point."""
        cap = f"{CAP_BITS >> 23} MiB"
        if self.bits is None:
            return f"so many players with such groups, roles and costs have more combinations than fit {cap}"
        fits = per_point * CAP_BITS / self.bits
        unit = 10.0 ** (math.floor(math.log10(fits)) - 1)
        return f"the values span more ticks than fit {cap}: resolution={math.floor(fits / unit) * unit:.2g} fits"
