"""The optimum where players differ by value only: two halves that meet, for every team size at once.

The upper half is computed with its sides exchanged, its class (a, b) having a players on B: then the two halves cancel
where their bits coincide. From `LARGE` players on a narrow pass, over assignments that keep both sides about equal at
any time, comes first. A result on the parity bound is proven optimal; any other limits which classes the full pass has
to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from equipoise.solver.bitset import UNBOUNDED, coincidence, nearest, search_work
from equipoise.solver.budget import Budget
from equipoise.solver.classes import IDLE_SPAN, Class, Half, Window
from equipoise.solver.problem import Floor, Goal, Solution, parity_bound

LARGE = 41
"""Players from which on the narrow pass comes first."""
NARROW = 1
"""The most by which one side may outnumber the other in the narrow pass, in either half and at any time."""


def solve(values: Sequence[int], goals: Sequence[Goal], budget: Budget) -> Iterator[tuple[Goal, Solution]]:
    """The optimum for each goal, in ticks, as it is found; every goal must fit the number of players.

    In large pools a goal may come twice: first with a solution that is near, but not proven. Fastest for values that
    start at 0 and have no common factor.

    >>> list(solve([0, 1, 3, 6], [Goal(2, 2)], Budget()))
    [(Goal(a=2, b=2, target=0), Solution(distance=2, places=[1, -1, -1, 1], floor=None))]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    ascending = [values[i] for i in order]
    halves = Halves(ascending, _cut(ascending), budget)
    near: dict[Goal, Solution] = {}
    if len(values) >= LARGE:
        window = halves.narrow_window(goals)
        halves.lower.sweep(window, budget)
        halves.upper.sweep(window, budget)
        near = {goal: solution for goal in goals if (solution := halves.solution(goal, UNBOUNDED))}
        for goal, solution in near.items():
            floor = halves.parity_bound(goal)
            proven = None if solution.distance <= floor else Floor(floor)
            yield goal, _unsorted(solution, order)._replace(floor=proven)
    left = [goal for goal in goals if goal not in near or near[goal].distance > halves.parity_bound(goal)]
    if left:
        ceilings = {goal: near[goal].distance if goal in near else UNBOUNDED for goal in left}
        lower, upper = halves.windows(ceilings)
        halves.lower.sweep(lower, budget)
        halves.upper.sweep(upper, budget)
        for goal, ceiling in ceilings.items():
            yield goal, _unsorted(halves.solution(goal, ceiling) or near[goal], order)


def _unsorted(solution: Solution, order: list[int]) -> Solution:
    places = [0] * len(order)
    for index, place in zip(order, solution.places, strict=True):
        places[index] = place
    return Solution(solution.distance, places)


def _cut(values: Sequence[int]) -> int:
    """Where to part ascending values so that both halves together take the least time."""
    sums, count = [0, *accumulate(values)], len(values)

    def work(start: int, end: int) -> int:
        size = end - start
        span = sums[end] - sums[end - size // 2] - sums[start + size // 2] + sums[start]
        return size**3 * (IDLE_SPAN + span)

    middle = count // 2
    cuts = range(middle - count // 6, middle + count // 6 + 1)
    return min(cuts, key=lambda cut: work(0, cut) + work(cut, count))


class Halves:
    """Ascending values in two halves, and the pairs of classes in which they meet."""

    def __init__(self, values: Sequence[int], cut: int, budget: Budget) -> None:
        self.lower, self.upper, self.budget = Half(values[:cut]), Half(values[cut:]), budget
        self.counts = cut, len(values) - cut
        self.odd = sum(value & 1 for value in values)

    def parity_bound(self, goal: Goal) -> int:
        """A lower bound on the distance from the goal's target."""
        return parity_bound(self.odd, sum(self.counts) - self.odd, goal)

    def narrow_window(self, goals: Sequence[Goal]) -> Window:
        """The classes of nearly equal sides, in which a good assignment is found fast."""
        return Window(max(max(goal.a, goal.b) for goal in goals), NARROW, drift_max=NARROW)

    def windows(self, ceilings: Mapping[Goal, int]) -> tuple[Window, Window]:
        """The smallest windows with all classes that may come nearer to a goal than its ceiling."""
        if UNBOUNDED in ceilings.values():
            goals = list(ceilings)
            return self._window(goals, 0), self._window(goals, 1)
        lower, upper = list[Class](), list[Class]()
        for goal, ceiling in ceilings.items():
            for a, b in self._classes(goal):
                p, q = goal.b - b, goal.a - a
                shift = self._shift(a, b, goal)
                # Judged by the least and the greatest difference of the two classes.
                if shift - self.upper.span(p, q) < ceiling and -shift - self.lower.span(a, b) < ceiling:
                    lower.append((a, b))
                    upper.append((p, q))
        return Window.around(lower), Window.around(upper)

    def _window(self, goals: Sequence[Goal], half: int) -> Window:
        """All of a half's classes that the other half can complete to a goal."""
        own, other = self.counts[half], self.counts[1 - half]
        return Window(
            players_max=max(max(goal.a, goal.b) for goal in goals),
            surplus_max=min(own, other + max(abs(goal.a - goal.b) for goal in goals)),
            total_min=min(goal.a + goal.b for goal in goals) - other,
        )

    def solution(self, goal: Goal, ceiling: int) -> Solution | None:
        """The best pair of classes below the ceiling; a pair that cannot improve on the best so far costs one test."""
        floor, best, found = self.parity_bound(goal), ceiling, None
        self.budget.spend(2 * (self.lower.work + self.upper.work))
        for a, b in self._classes(goal):
            first, second = self.lower.reach(a, b), self.upper.reach(goal.b - b, goal.a - a)
            if not first or not second:
                continue
            shift = self._shift(a, b, goal)
            distance = nearest(first, second, shift, floor, best)
            if distance < best:
                self.budget.spend(search_work(first, second))
                best, found = distance, (a, b, first, second, shift)
                if best == floor:
                    break
        if found is None:
            return None
        a, b, first, second, shift = found
        low, high = coincidence(first, second, shift, best)
        upper = self.upper.trace(goal.b - b, goal.a - a, high)
        return Solution(best, self.lower.trace(a, b, low) + [-place for place in upper])

    def _classes(self, goal: Goal) -> Iterator[Class]:
        """The lower half's classes that the upper half can complete; those of even halves, the fullest, first."""
        lower, upper = self.counts
        players, surplus = goal.a + goal.b, goal.a - goal.b
        mirrored = surplus == 0 and goal.target == 0
        evenly = sorted(range(max(0, players - upper), min(players, lower) + 1), key=lambda n: abs(2 * n - players))
        for more in sorted(range(0 if mirrored else -goal.b, goal.a + 1), key=lambda n: abs(2 * n - surplus)):
            for total in evenly:
                a, b = (total + more) // 2, (total - more) // 2
                if not (total + more) & 1 and 0 <= a <= goal.a and 0 <= b <= goal.b:
                    yield a, b

    def _shift(self, a: int, b: int, goal: Goal) -> int:
        """How far the bitset of class (a, b) lies above that of the class that completes it."""
        return self.lower.least(a, b) - self.upper.least(goal.b - b, goal.a - a) - goal.target
