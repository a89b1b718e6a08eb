"""The players who move from the larger side to the smaller: chosen jointly, with the signed difference, exactly.

Moving a player of skill r turns D = Σ(larger) − Σ(smaller) into D − 2r; if their skill is r on this side and s on the
other, into D − (r + s). So the best set is the one whose sum of r + s is nearest to D, which `subsets` finds. SynElo's
formula F11 drops the sign of D, which is wrong when the larger side is the weaker one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from equipoise.errors import SplitError
from equipoise.solver.model import Transfer
from equipoise.solver.subsets import Subsets, most_ticks
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

    Values are in points, per player, on their present side; `larger_there` holds the values of the larger side's
    players on the smaller side, where they differ. `movable` are indices into `larger`. `costs`, one per player of
    `larger`, decide between sets that leave the same |difference|: the least sum wins.

    >>> transfer([1200, 1000, 1100, 900], [1500, 1600], [0, 1, 2, 3], 1)
    Transfer(moved=(3,), difference=-700, cost=0, error_bound=0.0)
    """
    there = larger if larger_there is None else larger_there
    candidates = _candidates(larger, there, movable, m, costs)
    difference = total(larger) - total(smaller)
    weights = [larger[i] + there[i] for i in candidates]
    ticks = Ticks.of(weights, None, difference, resolution, most_ticks(len(candidates), m))
    factor = math.gcd(*(weight - ticks.a[0] for weight in ticks.a)) or 1
    subsets = Subsets(ticks.a, m, factor)
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
