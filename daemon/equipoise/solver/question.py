"""One question to the solver: values in points on the outside, the problem in whole ticks inside."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from equipoise.solver.approximate import Approximation
from equipoise.solver.budget import EXHAUSTED, Budget
from equipoise.solver.model import Assignment, Gap
from equipoise.solver.optimum import Found, optimum, proven
from equipoise.solver.preferences import Search
from equipoise.solver.problem import BENCH, A, B, Floor, Goal, Problem, Solution
from equipoise.solver.states import NO_PREFERENCES, Preferences
from equipoise.solver.sums import total
from equipoise.solver.ticks import Ticks

Sizes = tuple[int, int]

PROVING, SEARCHING = "half-half dynamic programme", "local search"

SHARE, SHARE_OF_MANY = 3 / 4, 1 / 2
"""The part of what is left of the budget that an exact search may use; and many, for different sizes."""


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
        goals = self._open(sizes)
        found = optimum(self.problem, goals, self.budget)
        self._approximate(found, goals, self.budget)
        return self._assignments(found)

    def preferred(self, tolerances: Mapping[Sizes, float]) -> dict[Sizes, Assignment]:
        """For each size that the constraints allow: the preferred assignment within its tolerance, in points."""
        if self.preferences == NO_PREFERENCES:
            return self.best(tolerances)
        goals, found = self._open(tolerances), Found()
        limits = {goal: self._limit(goal, tolerances[goal.a, goal.b]) for goal in goals}
        near, exact = Found(), self.budget.share(SHARE)
        if len(goals) > 1:
            # Few of many searches come to an end: the others need more time, and something to begin from.
            limited = [goal for goal in goals if not math.isinf(limits[goal])]
            near = optimum(self.problem, limited, self.budget.share(SHARE_OF_MANY))
            exact = self.budget.share(SHARE_OF_MANY)
        left: dict[Goal, Search] = {}
        for number, goal in enumerate(goals):
            search = Search(self.problem, goal, self.preferences, limits[goal], exact.share(1 / (len(goals) - number)))
            try:
                found[goal] = search.solution()
            except EXHAUSTED:
                left[goal] = search
        for number, (goal, search) in enumerate(left.items()):
            budget = self.budget.share(1 / (len(left) - number))
            start = search.nearest or near.get(goal)
            found[goal] = self._approximated(goal, start, limits[goal], search.floor, budget)
        return self._assignments({goal: found[goal] for goal in goals})

    def _approximated(
        self, goal: Goal, near: Solution | None, limit: float, floor: Floor, budget: Budget
    ) -> Solution | None:
        if near is None and not math.isinf(limit):
            near = optimum(self.problem, [goal], budget.share(SHARE)).get(goal)
        return self._approximation.preferred(goal, near, limit, floor, budget)

    def _limit(self, goal: Goal, tolerance: float) -> float:
        """A tolerance in whole ticks; infinite if it is beyond every distance.

        Sets are dilated by it, so one that is far too wide would take all the memory there is.
        """
        ticks = self.ticks.whole(tolerance)
        return ticks if ticks < self.problem.widest(goal) else math.inf

    def _open(self, sizes: Iterable[Sizes]) -> list[Goal]:
        """The goals that the pins do not rule out."""
        goals = [self._goal(pair) for pair in sizes]
        blocked = self.problem.blocked(goals)
        return [goal for goal in goals if goal not in blocked]

    def _approximate(self, found: Found, goals: Sequence[Goal], budget: Budget) -> None:
        """Find an assignment for the goals that were not reached, and a better one where the best is not proven."""
        left = [goal for goal in goals if goal not in found or not proven(found[goal])]
        for number, goal in enumerate(left):
            share = budget.share(1 / (len(left) - number))
            found[goal] = self._approximation.nearest(goal, found.get(goal), share)

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
        return Assignment(
            tuple(a),
            tuple(b),
            tuple(bench),
            difference=total([self.values_a[i] for i in a]) - total([self.values_b[i] for i in b]),
            optimal=solution.floor is None,
            method=PROVING if solution.floor is None else SEARCHING,
            error_bound=self.ticks.error_bound(len(a) + len(b)),
            bench_cost=bench_cost,
            moves=moves,
            gap=self._gap(solution, bench_cost, moves, self.ticks.hidden(len(a) + len(b))),
        )

    def _gap(self, solution: Solution, bench_cost: int, moves: int, hidden: float) -> Gap:
        least = solution.floor
        if least is None:
            return Gap(hidden)
        points = (solution.distance - least.distance) / self.ticks.per_point
        return Gap(points + hidden, max(0, bench_cost - least.bench_cost), max(0, moves - least.moves))

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
