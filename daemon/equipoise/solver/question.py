"""One question to the solver: values in points on the outside, the problem in whole ticks inside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from equipoise.errors import SplitError
from equipoise.solver.memory import MemoryExceeded
from equipoise.solver.model import Assignment
from equipoise.solver.optimum import optimum
from equipoise.solver.preferences import preferred
from equipoise.solver.problem import BENCH, A, B, Goal, Problem, Solution
from equipoise.solver.states import NO_PREFERENCES, Preferences
from equipoise.solver.sums import total
from equipoise.solver.ticks import Ticks

Sizes = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    """Values and constraints; answers are exact in ticks, and their differences are in points again."""

    values_a: Sequence[float]
    values_b: Sequence[float]
    ticks: Ticks
    problem: Problem
    preferences: Preferences = NO_PREFERENCES

    def best(self, sizes: Sequence[Sizes]) -> dict[Sizes, Assignment]:
        """The assignment closest to the target for each of the sizes that the constraints allow."""
        goals = [self._goal(pair) for pair in sizes]
        blocked = self.problem.blocked(goals)
        feasible = [goal for goal in goals if goal not in blocked]
        try:
            solutions = optimum(self.problem, feasible) if feasible else []
        except MemoryExceeded as exceeded:
            raise SplitError(exceeded.advice(self.ticks.per_point)) from None
        return {
            (goal.a, goal.b): self._assignment(solution)
            for goal, solution in zip(feasible, solutions, strict=True)
            if solution is not None
        }

    def preferred(self, sizes: Sizes, tolerance: float) -> Assignment:
        """The preferred assignment within a tolerance, in points, of the optimum; `SplitError` when there is none."""
        goal = self._goal(sizes)
        if self.problem.blocked([goal]):
            raise SplitError(self.obstacle(sizes))
        try:
            solution = preferred(self.problem, goal, self.preferences, self.ticks.whole(tolerance))
        except MemoryExceeded as exceeded:
            raise SplitError(exceeded.advice(self.ticks.per_point)) from None
        if solution is None:
            raise SplitError(self.obstacle(sizes))
        return self._assignment(solution)

    def _goal(self, sizes: Sizes) -> Goal:
        return Goal(*sizes, self.ticks.target)

    def _assignment(self, solution: Solution) -> Assignment:
        at: dict[int, list[int]] = {A: [], B: [], BENCH: []}
        for index, place in enumerate(solution.places):
            at[place].append(index)
        a, b, bench = at[A], at[B], at[BENCH]
        cost, current = self.preferences
        return Assignment(
            tuple(a),
            tuple(b),
            tuple(bench),
            difference=total([self.values_a[i] for i in a]) - total([self.values_b[i] for i in b]),
            optimal=True,
            method="half-half dynamic programme",
            error_bound=self.ticks.error_bound(len(a) + len(b)),
            bench_cost=sum(cost[i] for i in bench) if cost is not None else 0,
            moves=sum(p * c == -1 for p, c in zip(solution.places, current, strict=True)) if current is not None else 0,
        )

    def obstacle(self, pair: Sizes) -> str:
        """The constraint that rules out these sizes, as a sentence."""
        goal, roles = self._goal(pair), self.problem.roles
        for reason in self.problem.blocked([goal]).values():
            return reason
        sizes = f"{goal.a} against {goal.b}"
        if roles and self._feasible(goal, ()):
            for number, role in enumerate(roles):
                if self._feasible(goal, roles[:number] + roles[number + 1 :]):
                    return f"{sizes} cannot share the players {_listed(role)} as evenly as their role demands"
            return f"{sizes} cannot share the players of all roles evenly at once"
        groups = [unit.members for unit in self.problem.units if len(unit.members) > 1]
        return f"{sizes} cannot keep together the players {'; '.join(map(_listed, groups))}"

    def _feasible(self, goal: Goal, roles: tuple[frozenset[int], ...]) -> bool:
        return optimum(replace(self.problem, roles=roles), [goal]) != [None]


def _listed(players: Collection[int]) -> str:
    return ", ".join(map(str, sorted(players)))
