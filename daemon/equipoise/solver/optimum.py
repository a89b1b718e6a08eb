"""The optimum of a problem for each goal: by `halves` where players differ by value only, else by `constrained`.

Where that does not fit the budget, the same is solved with values rounded to fewer ticks. Its optimum is a good
assignment, and its distance, less what the rounding may hide, is a lower bound for all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from equipoise.solver import constrained, halves
from equipoise.solver.budget import EXHAUSTED, Budget
from equipoise.solver.problem import Floor, Goal, Problem, Solution, rounded

COARSER = (1 << 11, 1 << 8)
"""The ranges of values, in ticks, to which they are rounded when finer ones do not fit the budget."""
SHARE = 3 / 4
"""The part of what is left of the budget that each try may use."""

Found = dict[Goal, Solution | None]
"""Solutions by goal; None where the constraints allow none. A goal that is missing was not reached."""


def optimum(problem: Problem, goals: Sequence[Goal], budget: Budget) -> Found:
    """The assignment closest to each goal's target, or else the nearest that the budget suffices to find."""
    if not goals:
        return Found()
    small, left, factor = problem.scaled(goals)
    whole, found = dict(zip(left, goals, strict=True)), Found()
    with suppress(*EXHAUSTED):
        for goal, solution in _solutions(small, left, budget.share(SHARE)):
            found[whole[goal]] = solution and solution.times(factor)
    left = [goal for goal in left if whole[goal] not in found or not proven(found[whole[goal]])]
    for ticks in COARSER:
        reached = set[Goal]()
        if left and (unit := small.largest // ticks) > 1:
            with suppress(*EXHAUSTED):
                for goal, rough in _rough_solutions(small, left, unit, budget.share(SHARE)):
                    known = found.get(whole[goal])
                    found[whole[goal]] = rough and _nearer(problem, whole[goal], rough.times(factor), known)
                    reached.add(goal)
        left = [goal for goal in left if goal not in reached]
    return found


def proven(solution: Solution | None) -> bool:
    """Nothing can be better: it is the best, or there is none."""
    return solution is None or solution.floor is None


def _solutions(small: Problem, goals: Sequence[Goal], budget: Budget) -> Iterator[tuple[Goal, Solution | None]]:
    """Solutions as they are found; a goal may come again with a better one."""
    if not small.plain:
        return constrained.solve(small, goals, budget)
    players = small.open

    def with_all_players(found: tuple[Goal, Solution]) -> tuple[Goal, Solution]:
        goal, (distance, places, floor) = found
        return goal, Solution(distance, small.whole(dict(zip(players, places, strict=True))), floor)

    return map(with_all_players, halves.solve([small.a[i] for i in players], goals, budget))


def _rough_solutions(
    small: Problem, goals: Sequence[Goal], unit: int, budget: Budget
) -> Iterator[tuple[Goal, Solution | None]]:
    """The same from values rounded to multiples of a unit; the distances are rough, the floors are not."""
    fine = {goal._replace(target=rounded(goal.target, unit)): goal for goal in goals}
    for rough, found in _solutions(small.rounded(unit), list(fine), budget):
        goal = fine[rough]
        hidden = (goal.a + goal.b + 1) * unit // 2
        least = max(found.least * unit - hidden, small.parity_bound(goal)) if found else 0
        yield goal, found and Solution(found.distance * unit, found.places, Floor(least))


def _nearer(problem: Problem, goal: Goal, rough: Solution, known: Solution | None) -> Solution:
    """The nearer of two unproven solutions, with the higher floor."""
    found = rough._replace(distance=problem.distance(rough.places, goal))
    if known is None:
        return found
    floor = Floor(max(found.least, known.least))
    return min(found, known, key=lambda each: each.distance)._replace(floor=floor)
