"""One question to the solver: values in points on the outside, the problem in whole ticks inside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from equipoise.solver.approximate import Approximation
from equipoise.solver.budget import EXHAUSTED, Budget
from equipoise.solver.model import Assignment, Gap
from equipoise.solver.optimum import Found, optimum, proven
from equipoise.solver.preferences import Search
from equipoise.solver.problem import BENCH, A, B, Goal, Problem, Solution
from equipoise.solver.states import NO_PREFERENCES, Preferences
from equipoise.solver.sums import total
from equipoise.solver.ticks import Ticks

Sizes = tuple[int, int]

PROVING, SEARCHING = "half-half dynamic programme", "local search"

SHARE = 3 / 4
"""The part of what is left of the budget that the exact search of a preferred assignment may use."""


@dataclass(frozen=True)
class Question:
    """Values and constraints; answers are exact in ticks, and their differences are in points again."""

    values_a: Sequence[float]
    values_b: Sequence[float]
    ticks: Ticks
    problem: Problem
    budget: Budget
    preferences: Preferences = NO_PREFERENCES

    def best(self, sizes: Iterable[Sizes]) -> dict[Sizes, Assignment]:
        """The assignment closest to the target for each of the sizes that the constraints allow."""
        return self._assignments(self._nearest(self._open(sizes), self.budget))

    def preferred(self, tolerances: Mapping[Sizes, float]) -> dict[Sizes, Assignment]:
        """For each size that the constraints allow: the preferred assignment within its tolerance, in points."""
        goals, found = self._open(tolerances), Found()
        # The budget may suffice for few of many sizes, so each of them begins from an assignment near the target.
        near = self._nearest(goals, self.budget.share(SHARE)) if len(goals) > 1 else Found()
        for number, goal in enumerate(goals):
            tolerance = self.ticks.whole(tolerances[goal.a, goal.b])
            budget = self.budget.share(1 / (len(goals) - number))
            found[goal] = self._preferred(goal, tolerance, near.get(goal), budget)
        return self._assignments(found)

    def _open(self, sizes: Iterable[Sizes]) -> list[Goal]:
        """The goals that the pins do not rule out."""
        goals = [self._goal(pair) for pair in sizes]
        blocked = self.problem.blocked(goals)
        return [goal for goal in goals if goal not in blocked]

    def _nearest(self, goals: Sequence[Goal], budget: Budget) -> Found:
        found = optimum(self.problem, goals, budget) if goals else Found()
        left = [goal for goal in goals if goal not in found or not proven(found[goal])]
        for number, goal in enumerate(left):
            share = budget.share(1 / (len(left) - number))
            found[goal] = self._approximation.nearest(goal, found.get(goal), share)
        return found

    def _preferred(self, goal: Goal, tolerance: float, near: Solution | None, budget: Budget) -> Solution | None:
        search = Search(self.problem, goal, self.preferences, tolerance, budget.share(SHARE))
        with suppress(*EXHAUSTED):
            return search.solution()
        near, floor = search.nearest or near, search.floor
        del search  # and the memory that it holds
        if near is None:
            near = optimum(self.problem, [goal], budget.share(SHARE)).get(goal)
        return self._approximation.preferred(goal, near, tolerance, floor, budget)

    @cached_property
    def _approximation(self) -> Approximation:
        return Approximation(self.problem, self.preferences)

    def _goal(self, sizes: Sizes) -> Goal:
        return Goal(*sizes, self.ticks.target)

    def _assignments(self, found: Found) -> dict[Sizes, Assignment]:
        return {(goal.a, goal.b): self._assignment(solution) for goal, solution in found.items() if solution}

    def _assignment(self, solution: Solution) -> Assignment:
        at: dict[int, list[int]] = {A: [], B: [], BENCH: []}
        for index, place in enumerate(solution.places):
            at[place].append(index)
        a, b, bench = at[A], at[B], at[BENCH]
        cost, current = self.preferences
        bench_cost = sum(cost[i] for i in bench) if cost is not None else 0
        moves = sum(p * c == -1 for p, c in zip(solution.places, current, strict=True)) if current is not None else 0
        error = self.ticks.error_bound(len(a) + len(b))
        return Assignment(
            tuple(a),
            tuple(b),
            tuple(bench),
            difference=total([self.values_a[i] for i in a]) - total([self.values_b[i] for i in b]),
            optimal=solution.floor is None,
            method=PROVING if solution.floor is None else SEARCHING,
            error_bound=error,
            bench_cost=bench_cost,
            moves=moves,
            gap=self._gap(solution, bench_cost, moves, 2 * error),
        )

    def _gap(self, solution: Solution, bench_cost: int, moves: int, rounding: float) -> Gap:
        least = solution.floor
        if least is None:
            return Gap(rounding)
        points = (solution.distance - least.distance) / self.ticks.per_point
        return Gap(points + rounding, max(0, bench_cost - least.bench_cost), max(0, moves - least.moves))

    def obstacle(self, pair: Sizes) -> str:
        """The constraint that rules out these sizes, as a sentence."""
        goal, roles = self._goal(pair), self.problem.roles
        for reason in self.problem.blocked([goal]).values():
            return reason
        sizes = f"{goal.a} against {goal.b}"
        if not self._approximation.fits(goal):
            groups = [unit.members for unit in self.problem.units if len(unit.members) > 1]
            return f"{sizes} cannot keep together the players {'; '.join(map(_listed, groups))}"
        if not self._ruled_out(goal, roles):
            return f"no way was found for {sizes} to share the players of all roles evenly; fewer roles may have one"
        for number, role in enumerate(roles):
            if not self._ruled_out(goal, roles[:number] + roles[number + 1 :]):
                return f"{sizes} cannot share the players {_listed(role)} as evenly as their role demands"
        return f"{sizes} cannot share the players of all roles evenly at once"

    def _ruled_out(self, goal: Goal, roles: tuple[frozenset[int], ...]) -> bool:
        """Proven: these roles cannot be shared evenly, whatever the values are."""
        flat = (0,) * len(self.problem.a)
        found = optimum(replace(self.problem, a=flat, b=flat, roles=roles), [goal], self.budget.share(SHARE))
        return goal in found and found[goal] is None


def _listed(players: Collection[int]) -> str:
    return ", ".join(map(str, sorted(players)))
