"""Splits: for every team size at once, or for one size with preferences. Values in points outside, ticks inside.

The public functions state a problem, which a `SplitSolver` solves in three steps. Each is tried only where the one
before has used up its share of the budget:

1. exactly: by `halves` where players differ by value only, else by `constraints`;
2. the same with values rounded to fewer ticks (`optima` does both). The optimum of the rounded values is a good
   assignment, and its distance, less what the rounding may hide, is a lower bound for all others;
3. by trades of players (`local_search`), from the best assignment of the steps before.

An answer that is not proven has a `Gap`: how much better the best may be, by whatever was proven on the way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import constraints, halves
from equipoise.solver.bitsets import EXHAUSTED, Budget
from equipoise.solver.constraints import PreferenceSearch
from equipoise.solver.local_search import Approximation
from equipoise.solver.problem import (
    BENCH,
    NO_PREFERENCES,
    A,
    Assignment,
    B,
    Floor,
    Gap,
    Goal,
    Pin,
    Preferences,
    Problem,
    Solution,
    Splits,
    Ticks,
    check_tolerance,
    rounded,
    total,
)

MIN_TEAM = 2
"""The smallest team size that `splits` returns."""

Sizes = tuple[int, int]
"""Players on A and on B."""

PROVING, SEARCHING = "half-half dynamic programme", "local search"
"""The methods of an assignment: with a proof, and without."""

SHARE, SHARE_OF_MANY = 3 / 4, 1 / 2
"""The part of what is left of the budget that an exact search may use; and many, for different sizes."""
COARSER = (1 << 11, 1 << 8)
"""The ranges of values, in ticks, to which they are rounded when finer ones do not fit the budget."""

Solutions = dict[Goal, Solution | None]
"""Solutions by goal; None where the constraints allow none. A goal is missing when the budget did not suffice."""


def splits(
    values: Sequence[float],
    *,
    values_b: Sequence[float] | None = None,
    target: float = 0,
    groups: Iterable[Collection[int]] = (),
    pins: Mapping[int, Pin] | None = None,
    roles: Iterable[Collection[int]] = (),
    role_cap: int = 1,
    resolution: float | None = None,
    k: int | None = None,
    odd_without_bench: bool = False,
    budget: Budget | None = None,
) -> Splits:
    """Return the assignment with the least |Σ(A) − Σ(B) − target| for every k from 2 to ⌊N/2⌋, or for one `k`.

    `values` are in points, one per player; `values_b` are their values on side B, where these differ. Players of a
    group share a place, `pins` fix places, and of each role the sides get equally many, give or take `role_cap`. Values
    are rounded to `resolution` ticks per point. Sizes that the constraints rule out are missing; `SplitError` when they
    rule out all of them. An assignment that the budget does not suffice to prove is not `optimal`; its `gap` says how
    far off it may be.

    >>> best = splits([2000, 1800, 1500, 1400, 1300, 900])
    >>> {k: (split.a, split.b, abs(split.difference)) for k, split in best.items()}
    {2: ((0, 5), (2, 3), 0), 3: ((1, 3, 4), (0, 2, 5), 100)}
    """
    count = len(values)
    sizes = _sizes(count, k)
    ticks = Ticks.of(values, values_b, target, resolution)
    problem = Problem.of(ticks.a, ticks.b, groups, pins, roles, role_cap)
    solver = SplitSolver(values, values if values_b is None else values_b, ticks, problem, budget or Budget())
    best = solver.best([(size, size) for size in sizes])
    uneven = None
    if odd_without_bench and count % 2:
        # Which side is the larger one matters for a target and for values by side.
        either = solver.best([(count // 2 + 1, count // 2), (count // 2, count // 2 + 1)]).values()
        uneven = min(either, key=lambda assignment: abs(assignment.difference - target), default=None)
    if not best and uneven is None:
        raise SplitError(solver.obstacle((sizes[-1], sizes[-1])))
    return Splits({size: assignment for (size, _), assignment in best.items()}, uneven)


def preferred_splits(
    values: Sequence[float],
    *,
    tolerances: Mapping[int, float],
    groups: Iterable[Collection[int]] = (),
    pins: Mapping[int, Pin] | None = None,
    bench_cost: Sequence[int] | None = None,
    current: Sequence[Side | None] | None = None,
    budget: Budget | None = None,
) -> Splits:
    """Return for every k in `tolerances` the assignment that `best_split` prefers within that tolerance.

    All of them together keep to the budget. Values and constraints as in `splits`.

    >>> preferred = preferred_splits([5, 4, 3, 2, 1], tolerances={1: 0, 2: 0}, bench_cost=[0, 0, 0, 0, 9])
    >>> {k: split.bench for k, split in preferred.items()}
    {1: (0, 1, 2), 2: (2,)}
    """
    count = len(values)
    for k, tolerance in tolerances.items():
        _sizes(count, k)
        check_tolerance(tolerance)
    ticks = Ticks.of(values)
    problem = Problem.of(ticks.a, ticks.b, groups, pins)
    preferences = Preferences.of(bench_cost, current, count)
    solver = SplitSolver(values, values, ticks, problem, budget or Budget(), preferences)
    answers = solver.preferred({(k, k): tolerance for k, tolerance in tolerances.items()})
    if not answers:
        raise SplitError(solver.obstacle((max(tolerances), max(tolerances))))
    return Splits({size: assignment for (size, _), assignment in answers.items()})


def best_split(
    values: Sequence[float],
    *,
    sizes: Sizes,
    values_b: Sequence[float] | None = None,
    target: float = 0,
    groups: Iterable[Collection[int]] = (),
    pins: Mapping[int, Pin] | None = None,
    roles: Iterable[Collection[int]] = (),
    role_cap: int = 1,
    bench_cost: Sequence[int] | None = None,
    current: Sequence[Side | None] | None = None,
    tolerance: float = 0.0,
    resolution: float | None = None,
    budget: Budget | None = None,
) -> Assignment:
    """Return the best assignment of `sizes[0]` players against `sizes[1]`; the other players sit on the bench.

    Among the assignments whose |Σ(A) − Σ(B) − target| is within `tolerance` points of the least possible: the one with
    the least sum of bench costs, then the fewest moves to the side opposite to `current`, then the least imbalance.
    Values, constraints and budget as in `splits`; `SplitError` when the constraints allow no assignment.

    >>> best = best_split([5, 4, 3, 2, 1], sizes=(2, 2), bench_cost=[0, 0, 0, 0, 9])
    >>> best.a, best.b, best.bench, best.difference
    ((0, 4), (1, 3), (2,), 0)
    """
    ticks = Ticks.of(values, values_b, target, resolution)
    problem = Problem.of(ticks.a, ticks.b, groups, pins, roles, role_cap)
    if min(sizes) < 1 or sum(sizes) > len(values):
        raise SplitError(f"{len(values)} players cannot play {sizes[0]} against {sizes[1]}")
    check_tolerance(tolerance)
    preferences = Preferences.of(bench_cost, current, len(values))
    on_b = values if values_b is None else values_b
    solver = SplitSolver(values, on_b, ticks, problem, budget or Budget(), preferences)
    answers = solver.preferred({sizes: tolerance})
    if not answers:
        raise SplitError(solver.obstacle(sizes))
    return answers[sizes]


def _sizes(count: int, k: int | None) -> Sequence[int]:
    """Return all team sizes of so many players, or the one that is asked for; `SplitError` when there is none."""
    # `MIN_TEAM` holds for all sizes together; one against one may be asked for by name.
    sizes = range(MIN_TEAM, count // 2 + 1) if k is None else [k]
    if not sizes or not 0 < 2 * sizes[-1] <= count:
        raise SplitError(f"{count} players cannot play {sizes[-1] if sizes else MIN_TEAM} against as many")
    return sizes


@dataclass(frozen=True)
class SplitSolver:
    """Solves for values and constraints; answers are exact in ticks, and their differences are in points again."""

    values_a: Sequence[float]
    values_b: Sequence[float]
    ticks: Ticks
    problem: Problem
    budget: Budget
    preferences: Preferences = NO_PREFERENCES

    def best(self, sizes: Iterable[Sizes]) -> dict[Sizes, Assignment]:
        """Return the assignment closest to the target for each of the sizes that the constraints allow."""
        goals = self._open(sizes)
        solutions = optima(self.problem, goals, self.budget)
        unproven = [goal for goal in goals if goal not in solutions or not proven(solutions[goal])]
        for number, goal in enumerate(unproven):
            # What one goal does not use is there for the next ones.
            share = self.budget.share(1 / (len(unproven) - number))
            solutions[goal] = self._approximation.nearest(goal, solutions.get(goal), share)
        return self._assignments(solutions)

    def preferred(self, tolerances: Mapping[Sizes, float]) -> dict[Sizes, Assignment]:
        """Return the preferred assignment for each size that the constraints allow, within its tolerance, in points."""
        if self.preferences == NO_PREFERENCES:
            return self.best(tolerances)
        goals, solutions = self._open(tolerances), Solutions()
        limits = {goal: self._limit(goal, tolerances[goal.a, goal.b]) for goal in goals}
        near, exact_budget = Solutions(), self.budget.share(SHARE)
        if len(goals) > 1:
            # Few of many searches come to an end: the others need more time, and something to begin from.
            # Without a limit there is no optimum to be near (`PreferenceSearch`).
            finite_goals = [goal for goal in goals if not math.isinf(limits[goal])]
            near = optima(self.problem, finite_goals, self.budget.share(SHARE_OF_MANY))
            exact_budget = self.budget.share(SHARE_OF_MANY)
        searches: dict[Goal, PreferenceSearch] = {}
        for number, goal in enumerate(goals):
            share = exact_budget.share(1 / (len(goals) - number))
            search = PreferenceSearch(self.problem, goal, self.preferences, limits[goal], share)
            try:
                solutions[goal] = search.solution()
            except EXHAUSTED:
                searches[goal] = search
        # Trades come last, so that they get all that finished searches have left.
        for number, (goal, search) in enumerate(searches.items()):
            share, limit = self.budget.share(1 / (len(searches) - number)), limits[goal]
            start = search.nearest or near.get(goal)
            if start is None and not math.isinf(limit):
                start = optima(self.problem, [goal], share.share(SHARE)).get(goal)
            solutions[goal] = self._approximation.preferred(goal, start, limit, search.floor, share)
        return self._assignments({goal: solutions[goal] for goal in goals})

    def _limit(self, goal: Goal, tolerance: float) -> float:
        """Return a tolerance in whole ticks; infinite if it is beyond every distance.

        Sets are dilated by it, so one that is far too wide would take all the memory there is.
        """
        # Rounded down: a split that is off by a part of a tick more would be outside of the tolerance.
        ticks = self.ticks.whole(tolerance)
        return ticks if ticks < self.problem.widest(goal) else math.inf

    def _open(self, sizes: Iterable[Sizes]) -> list[Goal]:
        """Return the goals that the pins do not rule out."""
        goals = [Goal(*pair, self.ticks.target) for pair in sizes]
        obstacles = self.problem.blocked(goals)
        return [goal for goal in goals if goal not in obstacles]

    @cached_property
    def _approximation(self) -> Approximation:
        return Approximation(self.problem, self.preferences)

    def _assignments(self, solutions: Solutions) -> dict[Sizes, Assignment]:
        return {(goal.a, goal.b): self._assignment(solution) for goal, solution in solutions.items() if solution}

    def _assignment(self, solution: Solution) -> Assignment:
        at: dict[int, list[int]] = {A: [], B: [], BENCH: []}
        for index, place in enumerate(solution.places):
            at[place].append(index)
        a, b, bench = at[A], at[B], at[BENCH]
        cost, current = self.preferences
        bench_cost = sum(cost[i] for i in bench) if cost is not None else 0
        # Places are 1, -1 and 0: only from one side to the other is the product -1.
        moves = sum(p * c == -1 for p, c in zip(solution.places, current, strict=True)) if current is not None else 0
        gap, floor = Gap(self.ticks.hidden(len(a) + len(b))), solution.floor
        if floor is not None:
            points = (solution.distance - floor.distance) / self.ticks.per_point
            gap = Gap(points + gap.points, max(0, bench_cost - floor.bench_cost), max(0, moves - floor.moves))
        return Assignment(
            tuple(a),
            tuple(b),
            tuple(bench),
            difference=total([self.values_a[i] for i in a]) - total([self.values_b[i] for i in b]),
            optimal=floor is None,
            method=PROVING if floor is None else SEARCHING,
            error_bound=self.ticks.error_bound(len(a) + len(b)),
            bench_cost=bench_cost,
            moves=moves,
            gap=gap,
        )

    def obstacle(self, pair: Sizes) -> str:
        """Return the constraint that rules out these sizes, as a sentence."""
        goal, roles = Goal(*pair, self.ticks.target), self.problem.roles
        # The cheapest explanation comes first: pins by counting, groups by `Seats`, roles by a solve.
        for reason in self.problem.blocked([goal]).values():
            return reason
        sizes = f"{goal.a} against {goal.b}"
        if not self._approximation.fits(goal):
            groups = [unit.members for unit in self.problem.units if len(unit.members) > 1]
            return f"{sizes} cannot keep together the players {'; '.join(map(_listed, groups))}"
        if not self._ruled_out(goal, roles):
            return f"no way was found for {sizes} to share the players of all roles evenly; fewer roles may have one"
        # The role to blame is one without which all others can be shared.
        for number, role in enumerate(roles):
            if not self._ruled_out(goal, roles[:number] + roles[number + 1 :]):
                return f"{sizes} cannot share the players {_listed(role)} as evenly as their role demands"
        return f"{sizes} cannot share the players of all roles evenly at once"

    def _ruled_out(self, goal: Goal, roles: tuple[frozenset[int], ...]) -> bool:
        """Return whether it is proven that these roles cannot be shared evenly, whatever the values are."""
        # Values of 0 leave one difference in every state, so what remains is the question of sizes, groups, pins and
        # roles.
        flat = (0,) * len(self.problem.a)
        solutions = optima(replace(self.problem, a=flat, b=flat, roles=roles), [goal], self.budget.share(SHARE))
        return goal in solutions and solutions[goal] is None


def _listed(players: Collection[int]) -> str:
    return ", ".join(map(str, sorted(players)))


def optima(problem: Problem, goals: Sequence[Goal], budget: Budget) -> Solutions:
    """Return the assignment closest to each goal's target, or else the nearest that the budget suffices to find."""
    if not goals:
        return Solutions()
    small, small_goals, factor = problem.scaled(goals)
    goal_of, solutions = dict(zip(small_goals, goals, strict=True)), Solutions()
    # Solutions come one by one: those that are proven when the budget ends are kept.
    with suppress(*EXHAUSTED):
        for goal, solution in _solutions(small, small_goals, budget.share(SHARE)):
            solutions[goal_of[goal]] = solution and solution.times(factor)
    unproven = [goal for goal in small_goals if goal_of[goal] not in solutions or not proven(solutions[goal_of[goal]])]
    for ticks in COARSER:
        closed_goals = set[Goal]()
        # A grain of 1 would be the same problem again.
        if unproven and (grain := small.largest // ticks) > 1:
            with suppress(*EXHAUSTED):
                for goal, rough in _rough_solutions(small, unproven, grain, budget.share(SHARE)):
                    before = solutions.get(goal_of[goal])
                    solutions[goal_of[goal]] = rough and _nearer(problem, goal_of[goal], rough.times(factor), before)
                    closed_goals.add(goal)
        # The finer grid's answer is as good as any of the coarser one; only goals that it did not get to go on.
        unproven = [goal for goal in unproven if goal not in closed_goals]
    return solutions


def proven(solution: Solution | None) -> bool:
    """Return whether nothing can be better: it is the best, or there is none."""
    return solution is None or solution.floor is None


def _solutions(small: Problem, goals: Sequence[Goal], budget: Budget) -> Iterator[tuple[Goal, Solution | None]]:
    """Yield solutions as they are found; a goal may come again with a better one."""
    if not small.plain:
        yield from constraints.solve(small, goals, budget)
        return
    players = small.open
    for goal, (distance, places, floor) in halves.solve([small.a[i] for i in players], goals, budget):
        yield goal, Solution(distance, small.whole(dict(zip(players, places, strict=True))), floor)


def _rough_solutions(
    small: Problem, goals: Sequence[Goal], grain: int, budget: Budget
) -> Iterator[tuple[Goal, Solution | None]]:
    """Yield solutions for values rounded to multiples of a grain; their distances are rough, their floors are not."""
    fine = {goal._replace(target=rounded(goal.target, grain)): goal for goal in goals}
    for rough, solution in _solutions(small.rounded(grain), list(fine), budget):
        # Goals differ by their sizes, so no two become the same rough goal.
        goal = fine[rough]
        # Each value is off by half a grain at most, and so is the target.
        hidden = (goal.a + goal.b + 1) * grain // 2
        least = max(solution.least * grain - hidden, small.parity_bound(goal)) if solution else 0
        yield goal, solution and Solution(solution.distance * grain, solution.places, Floor(least))


def _nearer(problem: Problem, goal: Goal, rough: Solution, before: Solution | None) -> Solution:
    """Return the nearer of two unproven solutions, with the higher floor."""
    solution = rough._replace(distance=problem.distance(rough.places, goal))
    if before is None:
        return solution
    floor = Floor(max(solution.least, before.least))
    return min(solution, before, key=lambda candidate: candidate.distance)._replace(floor=floor)
