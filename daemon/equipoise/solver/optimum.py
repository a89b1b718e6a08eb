"""The optimum of a problem for each goal: by `halves` where players differ by value only, else by `constrained`."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.solver import halves
from equipoise.solver.constrained import Programme
from equipoise.solver.problem import Goal, Problem, Solution


def optimum(problem: Problem, goals: Sequence[Goal]) -> list[Solution | None]:
    """The assignment closest to each goal's target, in the goals' order; None where the constraints allow none."""
    small, left, factor = problem.scaled(goals)
    solutions = _plain(small, left) if small.plain else _constrained(small, left)
    return [s and Solution(s.distance * factor, s.places) for s in solutions]


def _plain(problem: Problem, goals: Sequence[Goal]) -> list[Solution | None]:
    players = problem.open
    solutions = halves.solve([problem.a[i] for i in players], goals)
    return [Solution(s.distance, problem.whole(dict(zip(players, s.places, strict=True)))) for s in solutions]


def _constrained(problem: Problem, goals: Sequence[Goal]) -> list[Solution | None]:
    programme = Programme(problem, goals)
    return [programme.nearest(goal) for goal in goals]
