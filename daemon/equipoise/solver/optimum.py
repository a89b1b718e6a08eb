"""The optimum of a problem for each goal: by `halves` where players differ by value only, else by `constrained`."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.solver import halves
from equipoise.solver.constrained import Programme
from equipoise.solver.problem import Goal, Problem, Solution


def optimum(problem: Problem, goals: Sequence[Goal]) -> list[Solution | None]:
    """The assignment closest to each goal's target, in the goals' order; None where the constraints allow none."""
    small, left, factor = problem.scaled(goals)
    solutions: list[Solution | None]
    if small.plain:
        players = small.open
        found = halves.solve([small.a[i] for i in players], left)
        solutions = [Solution(s.distance, small.whole(dict(zip(players, s.places, strict=True)))) for s in found]
    else:
        programme = Programme(small, left)
        solutions = [programme.nearest(goal) for goal in left]
    return [s and Solution(s.distance * factor, s.places) for s in solutions]
