"""The players who move from the larger side to the smaller: chosen jointly, with the signed difference, exactly.

Moving a player of skill r turns D = Σ(larger) − Σ(smaller) into D − 2r; if their skill is r on this side and s on the
other, into D − (r + s). So the best set is the one whose sum of r + s is nearest to D, which `subsets` finds. SynElo's
formula F11 drops the sign of D, which is wrong when the larger side is the weaker one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from equipoise.errors import SplitError
from equipoise.solver.budget import EXHAUSTED, Budget
from equipoise.solver.model import Gap, Transfer
from equipoise.solver.subsets import Subsets, exchanged, most_ticks
from equipoise.solver.sums import total
from equipoise.solver.ticks import SUMS, Ticks


def transfer(
    larger: Sequence[float],
    smaller: Sequence[float],
    movable: Collection[int],
    m: int,
    costs: Sequence[int] | None = None,
    *,
    larger_there: Sequence[float] | None = None,
    resolution: float | None = None,
    budget: Budget | None = None,
) -> Transfer:
    """The `m` movable players of the larger side whose move leaves the least |difference|.

    Values are in points, per player, on their present side; `larger_there` holds the values of the larger side's
    players on the smaller side, where they differ. `movable` are indices into `larger`. `costs`, one per player of
    `larger`, decide between sets that leave the same |difference|: the least sum wins. What the budget does not suffice
    to prove is not `optimal`; its `gap` says how far off.

    >>> transfer([1200, 1000, 1100, 900], [1500, 1600], [0, 1, 2, 3], 1).moved
    (3,)
    """
    there, budget = larger if larger_there is None else larger_there, budget or Budget()
    candidates = _candidates(larger, there, movable, m, costs)
    difference = total(larger) - total(smaller)
    weights = [larger[i] + there[i] for i in candidates]
    ticks = Ticks.of(weights, None, difference, resolution, most_ticks(len(candidates), m, budget), SUMS)
    prices = [0 if costs is None else costs[i] for i in candidates]
    chosen, least, proven = _chosen(ticks, m, prices, budget)
    moved, cost = tuple(sorted(candidates[i] for i in chosen)), sum(prices[i] for i in chosen)
    left = difference - total([larger[i] + there[i] for i in moved])
    missing = (abs(sum(ticks.a[i] for i in chosen) - ticks.target) - least) / ticks.per_point
    gap = Gap(missing + ticks.hidden(m), 0 if proven else cost - sum(prices[:m]))
    return Transfer(moved, left, cost, ticks.error_bound(m + 1), proven, gap)


def _chosen(ticks: Ticks, m: int, prices: Sequence[int], budget: Budget) -> tuple[Sequence[int], int, bool]:
    """The numbers of those who move, the least rest in ticks that is proven, and whether they are proven to be best."""
    factor = math.gcd(*(weight - ticks.a[0] for weight in ticks.a)) or 1
    try:
        subsets = Subsets(ticks.a, m, m, factor, budget)
        found = [subsets.cheapest(m, each, prices) for each in subsets.nearest(m, ticks.target)]
    except EXHAUSTED:
        ends = sorted(ticks.a)
        least = max(0, sum(ends[:m]) - ticks.target, ticks.target - sum(ends[-m:]))
        return exchanged(ticks.a, m, ticks.target, prices, budget), least, False
    best = min(found)
    return best.indices, abs(sum(ticks.a[i] for i in best.indices) - ticks.target), all(each.proven for each in found)


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
