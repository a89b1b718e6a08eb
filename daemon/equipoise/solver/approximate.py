"""A good assignment where the budget does not suffice for the best one.

It begins with one that is known to be near the target, and with seats filled greedily, and lets players trade places
(`exchange`). Sizes, pins and groups hold from the beginning; roles are evened out before anything else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from equipoise.solver.budget import Budget
from equipoise.solver.exchange import Exchange, Offers
from equipoise.solver.problem import BENCH, NO_FLOOR, A, B, Floor, Goal, Problem, Solution
from equipoise.solver.seats import Seats
from equipoise.solver.states import NO_PREFERENCES, Preferences


class Approximation:
    """The search for good assignments of one problem, for any goal."""

    def __init__(self, problem: Problem, preferences: Preferences) -> None:
        self.problem, self.preferences = problem, preferences
        self.evenly = Offers(problem)
        self.preferring = self.evenly if preferences == NO_PREFERENCES else Offers(problem, preferences)
        self.seats = {offers: Seats(offers.units) for offers in (self.evenly, self.preferring)}

    def fits(self, goal: Goal) -> bool:
        """Pins and groups let the sizes be filled; roles and values do not count here."""
        return self.seats[self.evenly].fit(*self._seats_left(goal))

    def nearest(self, goal: Goal, near: Solution | None, budget: Budget) -> Solution | None:
        """An assignment close to the target, with its floor; None when none was found. `near` is close already."""
        found = self._near(goal, near)
        if found is None:
            return None
        found.improve(budget)
        return self._solution(found, near, NO_FLOOR)

    def preferred(
        self, goal: Goal, near: Solution | None, tolerance: float, floor: Floor, budget: Budget
    ) -> Solution | None:
        """One of those within the tolerance of the nearest that is known, as good as can be found in other respects.

        `floor` is what a search has proven before its budget was used up.
        """
        if not self.fits(goal):
            return None
        starts, limit = [self._filled(goal, self.preferring)], tolerance
        if not math.isinf(tolerance) and (nearest := self._near(goal, near)) is not None:
            if near is None or near.floor is not None:
                nearest.improve(budget.share(1 / 3))
            starts.append(self._as_they_stand(goal, nearest.places))
            limit += self.problem.distance(nearest.places, goal)
        tries = [Exchange(self.preferring, goal, start, limit) for start in starts]
        for number, each in enumerate(tries):
            each.improve(budget.share(1 / (len(tries) - number)))
        return self._solution(min(tries, key=lambda each: each.score), near, floor)

    def _near(self, goal: Goal, near: Solution | None) -> Exchange | None:
        if near is not None:
            return Exchange(self.evenly, goal, near.places)
        return Exchange(self.evenly, goal, self._filled(goal, self.evenly)) if self.fits(goal) else None

    def _as_they_stand(self, goal: Goal, places: list[int]) -> list[int]:
        """The places or their mirror image, whichever moves fewer."""
        symmetric = self.problem.a == self.problem.b and goal.a == goal.b and goal.target == 0
        mirrored = [-place for place in places]
        if symmetric and self.problem.allows(mirrored):
            return min(places, mirrored, key=self.preferring.price)
        return places

    def _solution(self, found: Exchange, near: Solution | None, floor: Floor) -> Solution | None:
        if found.beyond_caps:
            return None
        distance = self.problem.distance(found.places, found.goal)
        least = self._floor(found.goal, near, floor)
        proven = Floor(distance, *found.offers.counts(found.price)) == least
        return Solution(distance, found.places, None if proven else least)

    def _seats_left(self, goal: Goal) -> tuple[int, int]:
        fixed = list(self.problem.fixed.values())
        return goal.a - fixed.count(A), goal.b - fixed.count(B)

    def _filled(self, goal: Goal, offers: Offers) -> list[int]:
        """The goal's seats filled unit by unit, those that cost most on the bench first."""
        chosen = self.seats[offers].fill(*self._seats_left(goal), _Filling(offers, goal).choose)
        pairs = zip(offers.units, chosen, strict=True)
        return self.problem.whole({i: place for unit, place in pairs for i in unit.members})

    def _floor(self, goal: Goal, near: Solution | None, floor: Floor) -> Floor:
        """The floor, or what is known otherwise where that is more.

        At least the cheapest sit out, and a side that lacks players of its own first takes those of neither.
        """
        problem, (bench_cost, current) = self.problem, self.preferences
        small, (left,), factor = problem.scaled([goal])
        cost = moves = 0
        if bench_cost is not None:
            may = sorted(bench_cost[i] for unit in problem.units if BENCH in unit.places for i in unit.members)
            cost = sum(may[: len(problem.open) - left.a - left.b])
            cost += sum(bench_cost[i] for i, place in problem.fixed.items() if place == BENCH)
        if current is not None:
            present = list(current)
            lacking = max(0, goal.a - present.count(A)) + max(0, goal.b - present.count(B))
            moves = max(0, lacking - present.count(BENCH))
        distance = max(small.parity_bound(left) * factor, near.least if near else 0)
        return Floor(*map(max, floor, (distance, cost, moves)))


class _Filling:
    """Chooses a place for one unit after the other: to even out roles, to play, on the present side, or evenly."""

    def __init__(self, offers: Offers, goal: Goal) -> None:
        self.offers, problem = offers, offers.problem
        self.surplus = [sum(problem.fixed.get(i, BENCH) for i in role) for role in problem.roles]
        fixed = [problem.fixed.get(i, BENCH) for i in range(len(problem.a))]
        self.missing = goal.target - problem.difference(fixed)

    def choose(self, unit: int, places: Sequence[int]) -> int:
        """The best of the places that are open to the unit."""
        place = min(places, key=lambda place: self._worse(unit, place))
        self.missing -= self.offers.gains[unit][place]
        self.surplus = self._surplus(unit, place)
        return place

    def _worse(self, unit: int, place: int) -> tuple[int, bool, int, int]:
        cap, offers = self.offers.problem.role_cap, self.offers
        beyond = sum(max(0, abs(surplus) - cap) for surplus in self._surplus(unit, place))
        missing = abs(self.missing - offers.gains[unit][place])
        return beyond, place == BENCH, offers.prices[unit][place], missing

    def _surplus(self, unit: int, place: int) -> list[int]:
        return [s + place * n for s, n in zip(self.surplus, self.offers.in_roles[unit], strict=True)]
