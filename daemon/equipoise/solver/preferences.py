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
from equipoise.solver.budget import Budget
from equipoise.solver.constrained import Programme
from equipoise.solver.problem import Floor, Goal, Problem, Solution
from equipoise.solver.states import FAR, NO_LIMITS, Limits, Preferences


class Search:
    """The search for one goal, stage by stage; what it has proven so far is still there after `Spent`."""

    def __init__(
        self, problem: Problem, goal: Goal, preferences: Preferences, tolerance: float, budget: Budget
    ) -> None:
        self.problem, (self.goal,), self.factor = problem.scaled([goal])
        # A stage builds its own sets beside those that the stage before has allowed.
        self.preferences, self.budget = preferences, budget.halved()
        self.tolerance = UNBOUNDED if math.isinf(tolerance) else int(tolerance) // self.factor
        self.width, self.limits = UNBOUNDED, NO_LIMITS
        self.programme: Programme | None = None
        self.nearest: Solution | None = None
        """The optimum without preferences."""
        self.floor = Floor()

    def solution(self) -> Solution | None:
        """The preferred assignment; None when the constraints allow none."""
        try:
            return self._solved()
        finally:
            self.programme = None  # the memory is for others

    def _solved(self) -> Solution | None:
        if self.tolerance < UNBOUNDED:
            self.programme = Programme(self.problem, [self.goal], self.budget)
            found = self.programme.nearest(self.goal)
            if found is None:
                return None
            self.nearest, self.floor = found.times(self.factor), Floor(found.distance * self.factor)
            self.width = found.distance + self.tolerance
        if self.preferences.bench_cost is not None and not self._stage(Limits):
            return None
        cost = self.limits.bench_cost
        if self.preferences.current is not None and not self._stage(lambda moves: Limits(cost, moves)):
            return None
        assert self.programme is not None, "there is a preference"
        best = self.programme.nearest(self.goal, self.limits, self.floor.distance // self.factor)
        return best and best.times(self.factor)

    def _stage(self, limits: Callable[[int], Limits]) -> bool:
        """Find the least limit under which an assignment within the tolerance exists; False when there is none.

        The excess over the first bound above 0 doubles from run to run, so a high count takes few runs.
        """
        before, allowed = self.programme, None
        if before is not None:
            allowed = before.within(self.goal, self.width, self.limits)
        # The sets of the stage before are let go before there are new ones.
        self.programme = before = None
        programme = Programme(self.problem, [self.goal], self.budget, self.preferences, limits(0), allowed)
        limit = first = 0
        while (least := programme.fewest(self.goal, self.width)) is None:
            beyond = programme.layout.beyond
            if beyond >= FAR:
                return False
            self._raise_floor(limits(beyond))
            first = first or beyond
            limit = max(beyond, 2 * limit - first)
            programme.run(limits(limit))
        self.programme, self.limits = programme, limits(least)
        self._raise_floor(self.limits)
        return True

    def _raise_floor(self, least: Limits) -> None:
        self.floor = Floor(self.floor.distance, least.bench_cost or 0, least.moves or 0)
