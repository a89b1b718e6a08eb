"""Within a tolerance of the optimum: the least bench cost, then the fewest moves, then the least imbalance.

The search has a stage per preference. The first finds the optimum and keeps all partial assignments that lead to one
within the tolerance; each later stage looks among those for the least of what it counts, and passes on what leads to
it. Counting multiplies the states, so a stage starts with the limit 0, which leaves few of them, and raises it until
an assignment is found. Nothing exists below the limits that failed, so the least count found is proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from equipoise.solver.bitset import UNBOUNDED
from equipoise.solver.constrained import Programme
from equipoise.solver.optimum import optimum
from equipoise.solver.problem import Goal, Problem, Solution
from equipoise.solver.states import FAR, NO_LIMITS, NO_PREFERENCES, Limits, Preferences


def preferred(problem: Problem, goal: Goal, preferences: Preferences, tolerance: float) -> Solution | None:
    """The preferred assignment at most `tolerance` farther from the target than the optimum; None if there is none."""
    if preferences == NO_PREFERENCES:
        return optimum(problem, [goal])[0]
    small, (left,), factor = problem.scaled([goal])
    solution = Search(small, left, preferences).solution(tolerance, factor)
    return solution and Solution(solution.distance * factor, solution.places)


class Search:
    """The search for one goal, stage by stage."""

    def __init__(self, problem: Problem, goal: Goal, preferences: Preferences) -> None:
        self.problem, self.goal, self.preferences = problem, goal, preferences
        self.width = UNBOUNDED
        self.limits, self.least = NO_LIMITS, 0

    def solution(self, tolerance: float, factor: int) -> Solution | None:
        """The preferred assignment; `tolerance` is in ticks, and `factor` ticks are one unit of the problem."""
        programme = None
        if not math.isinf(tolerance):
            programme = Programme(self.problem, [self.goal])
            best = programme.nearest(self.goal)
            if best is None:
                return None
            self.least, self.width = best.distance, best.distance + int(tolerance) // factor
        if self.preferences.bench_cost is not None:
            programme = self._stage(programme, lambda cost: Limits(cost))
        if self.preferences.current is not None:
            cost = self.limits.bench_cost
            programme = self._stage(programme, lambda moves: Limits(cost, moves))
        return programme.nearest(self.goal, self.limits, self.least) if programme else None

    def _stage(self, before: Programme | None, limits: Callable[[int], Limits]) -> Programme | None:
        """Find the least limit under which an assignment within the tolerance exists; None when there is none.

        The excess over the first bound above 0 doubles from run to run, so a high count takes few runs.
        """
        allowed = before.within(self.goal, self.width, self.limits) if before else None
        programme = Programme(self.problem, [self.goal], self.preferences, limits(0), allowed)
        limit = first = 0
        while (least := programme.fewest(self.goal, self.width)) is None:
            if programme.layout.beyond >= FAR:
                return None
            first = first or programme.layout.beyond
            limit = max(programme.layout.beyond, 2 * limit - first)
            programme.run(limits(limit))
        self.limits = limits(least)
        return programme
