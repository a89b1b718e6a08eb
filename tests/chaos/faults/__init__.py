"""Every fault, in the order in which they are tried first."""

from __future__ import annotations

from tests.chaos.faults import clocks, damage, disks, evenings, network, points, power_loss, processes, together
from tests.chaos.faults.trial import Fault

FAULTS: tuple[Fault, ...] = (
    *processes.FAULTS,
    *network.FAULTS,
    *disks.FAULTS,
    *clocks.FAULTS,
    *damage.FAULTS,
    *together.FAULTS,
    *evenings.FAULTS,
    *power_loss.FAULTS,
    *points.FAULTS,
)
