"""The optimum with constraints and preferences: two halves that meet over states.

What constraints count (players on each side, surplus of each role, bench cost, moves) is one integer per state
(`states`), and each state has the bitset of its differences. A pair of states, one per half, is a whole assignment
when their sum meets the goal's sizes, the caps on roles and the limits; its distance is found as in `halves`. The
upper half's bitsets hold −(Σ(A) − Σ(B)), so that the two halves cancel where their bits coincide.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.solver.bitset import UNBOUNDED, coincidence, nearest, search_work, touches, within
from equipoise.solver.budget import Budget
from equipoise.solver.problem import Goal, Problem, Solution, Unit
from equipoise.solver.states import (
    COUNT,
    COUNT_BITS,
    FAR,
    NO_LIMITS,
    NO_PREFERENCES,
    PLAYING,
    Limits,
    Preferences,
    StateLayout,
    States,
)
from equipoise.solver.sweep import STATE_WORK, Sweep


class Ladder(NamedTuple):
    """States that differ only in what is counted last, ascending by that count."""

    state: int
    counts: list[int]
    unions: list[int]
    """`unions[i]`: the differences that the first i counts can make."""


JOIN_WORK = 1 << 14
ROLES_TOGETHER = 2 / 3
"""Units with roles go into one half when they are at most this share of all units."""

Allowed = tuple[list[States], list[States]]
"""For each layer of the lower and of the upper half: the differences that can still lead to a wanted assignment."""


def solve(problem: Problem, goals: Sequence[Goal], budget: Budget) -> Iterator[tuple[Goal, Solution | None]]:
    """The optimum for each goal as it is found; None where the constraints allow none."""
    programme = Programme(problem, goals, budget)
    for goal in goals:
        yield goal, programme.nearest(goal)


class Programme:
    """The dynamic programmes of both halves, and the pairs of states in which they meet."""

    def __init__(
        self,
        problem: Problem,
        goals: Sequence[Goal],
        budget: Budget,
        preferences: Preferences = NO_PREFERENCES,
        limits: Limits = NO_LIMITS,
        allowed: Allowed | None = None,
    ) -> None:
        budget.spend(len(problem.units) * STATE_WORK)
        self.problem, self.budget, self.allowed = problem, budget, allowed
        self.layout = StateLayout(problem, goals, preferences, limits)
        self.symmetric = problem.a == problem.b and limits.moves is None and not any(self.layout.fixed_surplus)
        lower, upper = _halves(problem)
        self.lower = Sweep(problem, self.layout, lower, upper, 1, budget)
        self.upper = Sweep(problem, self.layout, upper, lower, -1, budget)
        self.join = JOIN_WORK + self.lower.span + self.upper.span
        """Work of looking at one pair of states, in bits."""
        self.run(limits)

    def run(self, limits: Limits) -> None:
        """Compute both halves within the limits."""
        self.limits, self.layout.beyond = limits, FAR
        lower, upper = self.allowed or (None, None)
        self.lower.run(limits, lower)
        self.upper.run(limits, upper)
        self.evenly = sorted(self.lower.states, key=_surplus)
        self.partners: dict[int, list[int]] = {}
        for state in self.upper.states:
            self.partners.setdefault(state & PLAYING, []).append(state)

    def within(self, goal: Goal, width: int, limits: Limits) -> Allowed:
        """The partial assignments that lead to one within the limits and at most `width` from the target."""
        lower_ends: States = {}
        upper_ends: States = {}
        for lower, upper in self._joins(goal, limits, mirrored=False):
            first, second, shift = self._sets(lower, upper, goal)
            lower_ends[lower] = lower_ends.get(lower, 0) | within(second, first, -shift, -width, width)
            upper_ends[upper] = upper_ends.get(upper, 0) | within(first, second, shift, -width, width)
        return self.lower.paths(lower_ends), self.upper.paths(upper_ends)

    def nearest(self, goal: Goal, limits: Limits = NO_LIMITS, least: int = 0) -> Solution | None:
        """The assignment within the limits that is closest to the goal's target; None when there is none.

        `least`: a known lower bound on the distance, at which the search may stop.
        """
        mirrored = self.symmetric and goal.a == goal.b and goal.target == 0
        floor = max(least, self.problem.parity_bound(goal))
        best, found = UNBOUNDED, None
        for lower, upper in self._joins(goal, limits, mirrored):
            first, second, shift = self._sets(lower, upper, goal)
            distance = nearest(first, second, shift, floor, best)
            if distance < best:
                self.budget.spend(search_work(first, second))
                best, found = distance, (lower, upper)
                if best == floor:
                    break
        return Solution(best, self._places(*found, goal, best)) if found else None

    def fewest(self, goal: Goal, width: int) -> int | None:
        """The least count of what is counted last, over assignments at most `width` from the target.

        None when that is above the limit; `beyond` is then the least that it may be.
        """
        layout, ladders, limit = self.layout, self._ladders(), self.limits.last
        best = limit + 1
        for lower in sorted(self.lower.states):
            first, spent = self.lower.states[lower], layout.counted(lower)
            here = ladders.get(_missing(lower, goal), ())
            self.budget.spend(len(here) * self.join)
            for ladder in here:
                if not layout.fits(layout.uncounted(lower) + ladder.state, self.limits):
                    continue
                shift = self.lower.least(lower) - self.upper.least(ladder.state) - goal.target
                rung = bisect_left(ladder.counts, best - spent)
                while rung and (width >= UNBOUNDED or touches(first, ladder.unions[rung], shift, width)):
                    rung -= 1
                    best = spent + ladder.counts[rung]
                if best > limit and rung < len(ladder.counts):
                    layout.beyond = min(layout.beyond, spent + ladder.counts[rung])
        return best if best <= limit else None

    def _ladders(self) -> dict[int, list[Ladder]]:
        """The upper half's states as ladders, by their numbers of players."""
        ladders: dict[int, Ladder] = {}
        for state in sorted(self.upper.states):
            key = self.layout.uncounted(state)
            ladder = ladders.setdefault(key, Ladder(key, [], [0]))
            ladder.counts.append(self.layout.counted(state))
            ladder.unions.append(ladder.unions[-1] | self.upper.states[state])
        by_sizes: dict[int, list[Ladder]] = {}
        for ladder in ladders.values():
            by_sizes.setdefault(ladder.state & PLAYING, []).append(ladder)
        return by_sizes

    def _joins(self, goal: Goal, limits: Limits, mirrored: bool) -> Iterator[tuple[int, int]]:
        """The pairs of states that meet the goal's sizes, the caps on roles and the limits.

        States with about equally many players on both sides come first: they have the most differences, so a good pair
        is found early and rules out many others. `mirrored`: skip pairs that only exchange A and B of another.
        """
        for lower in self.evenly:
            if mirrored and lower & COUNT < lower >> COUNT_BITS & COUNT:
                continue
            partners = self.partners.get(_missing(lower, goal), ())
            self.budget.spend(len(partners) * self.join)
            for upper in partners:
                if self.layout.fits(lower + upper, limits):
                    yield lower, upper

    def _sets(self, lower: int, upper: int, goal: Goal) -> tuple[int, int, int]:
        shift = self.lower.least(lower) - self.upper.least(upper) - goal.target
        return self.lower.states[lower], self.upper.states[upper], shift

    def _places(self, lower: int, upper: int, goal: Goal, distance: int) -> list[int]:
        low, high = coincidence(*self._sets(lower, upper, goal), distance)
        return self.problem.whole(self.lower.trace(lower, low) | self.upper.trace(upper, high))


def _surplus(state: int) -> int:
    return abs((state & COUNT) - (state >> COUNT_BITS & COUNT))


def _missing(state: int, goal: Goal) -> int:
    """The players on A and B that the other half must add to meet the goal's sizes; negative where none can."""
    return goal.a - (state & COUNT) + ((goal.b - (state >> COUNT_BITS & COUNT)) << COUNT_BITS)


def _halves(problem: Problem) -> tuple[list[Unit], list[Unit]]:
    """Part the units, ascending by value; if they fit, all units with roles go into the lower half.

    Once all players of a role are placed, its cap is settled and states need not count it any more: that keeps the
    number of states small.
    """

    def signature(unit: Unit) -> list[bool]:
        return [role.isdisjoint(unit.members) for role in problem.roles]

    def value(unit: Unit) -> float:
        return sum(problem.a[i] for i in unit.members) / len(unit.members)

    units = sorted(problem.units, key=lambda unit: (all(signature(unit)), signature(unit), value(unit)))
    with_role = sum(not all(signature(unit)) for unit in units)
    middle = len(units) // 2
    cut = max(middle, with_role) if with_role <= ROLES_TOGETHER * len(units) else middle
    return units[:cut], units[cut:]
