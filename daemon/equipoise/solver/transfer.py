"""Who moves from the larger side to the smaller: jointly, with the signed difference, exactly.

Moving a player of rating r turns D = Σ(larger) − Σ(smaller) into D − 2r; where he is worth r here and s there, into
D − (r + s). The seed's F11 drops the sign of D, which is wrong when the larger side is the weaker.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from equipoise.errors import SplitError
from equipoise.solver.memory import MemoryExceeded
from equipoise.solver.model import Transfer
from equipoise.solver.subsets import Subsets
from equipoise.solver.sums import total
from equipoise.solver.ticks import Ticks


def transfer(
    larger: Sequence[float],
    smaller: Sequence[float],
    movable: Collection[int],
    m: int,
    costs: Sequence[int] | None = None,
    *,
    larger_there: Sequence[float] | None = None,
    resolution: float | None = None,
) -> Transfer:
    """The `m` movable players of the larger side whose move leaves the least |difference|.

    Values are per player, each on his present side; `larger_there` is what the larger side's are worth on the
    smaller, where that differs. `movable` are indices into `larger`. `costs`, one per player of `larger`, decide
    among equal residuals: their least sum wins.
    """
    there = larger if larger_there is None else larger_there
    candidates = _candidates(larger, there, movable, m, costs)
    difference = total(larger) - total(smaller)
    ticks = Ticks.of([larger[i] + there[i] for i in candidates], target=difference, resolution=resolution)
    factor = math.gcd(*(weight - ticks.a[0] for weight in ticks.a)) or 1
    try:
        subsets = Subsets(ticks.a, m, factor)
    except MemoryExceeded as exceeded:
        raise SplitError(exceeded.advice(ticks.per_point)) from None
    prices = [0 if costs is None else costs[i] for i in candidates]
    cost, chosen = min(subsets.cheapest(m, position, prices) for position in subsets.nearest(m, ticks.target))
    moved = tuple(sorted(candidates[i] for i in chosen))
    left = difference - total([larger[i] + there[i] for i in moved])
    return Transfer(moved, left, cost, ticks.error_bound(m + 1))


def _candidates(
    larger: Sequence[float], there: Sequence[float], movable: Collection[int], m: int, costs: Sequence[int] | None
) -> list[int]:
    """The movable players, cheapest first."""
    if len(there) != len(larger) or (costs is not None and len(costs) != len(larger)):
        raise SplitError(f"the larger side's {len(larger)} players need as many values there and costs")
    if not all(0 <= i < len(larger) for i in movable):
        raise SplitError(f"a movable player is not one of the larger side's 0 to {len(larger) - 1}")
    if not 0 < m <= len(set(movable)):
        raise SplitError(f"{m} players must move, but {len(set(movable))} are movable")
    return sorted(set(movable), key=lambda i: 0 if costs is None else costs[i])
