"""Local search: units trade places as long as that is better, by what the solver keeps least.

A trade leaves the sizes as they are: two units of equally many players, or a group and as many single players. The
search ends where no trade is better, or when the budget does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from equipoise.solver.budget import Budget, Spent
from equipoise.solver.problem import BENCH, A, Goal, Problem, Unit
from equipoise.solver.states import NO_PREFERENCES, Preferences

TRADE_WORK = 1 << 16
"""Work of judging one trade, in bits."""

Score = tuple[int, float, int, int]
"""What is kept least, in this order: players beyond the roles' caps, distance beyond the limit, price, distance."""


class Offers:
    """What each open unit adds at each of its places, whatever the sizes are.

    A price is a bench cost and moves, packed into one integer. The units that cost most on the bench come last, among
    them those of the highest values.
    """

    def __init__(self, problem: Problem, preferences: Preferences = NO_PREFERENCES) -> None:
        self.problem, self.preferences = problem, preferences
        self.units = sorted(problem.units, key=lambda unit: (self._price(unit.members, BENCH), self._gain(unit, A)))
        self.gains = [{place: self._gain(unit, place) for place in unit.places} for unit in self.units]
        self.prices = [{place: self._price(unit.members, place) for place in unit.places} for unit in self.units]
        self.in_roles = [[len(role.intersection(unit.members)) for role in problem.roles] for unit in self.units]

    def price(self, places: Sequence[int]) -> int:
        """The price of the places of all players."""
        return sum(self._price((i,), place) for i, place in enumerate(places))

    def counts(self, price: int) -> tuple[int, int]:
        """The bench cost and the moves of a price."""
        return divmod(price, self._unit)

    @property
    def _unit(self) -> int:
        return len(self.problem.a) + 1

    def _gain(self, unit: Unit, place: int) -> int:
        values = self.problem.a if place == A else self.problem.b
        return place * sum(values[i] for i in unit.members)

    def _price(self, members: Sequence[int], place: int) -> int:
        cost, current = self.preferences
        if place == BENCH:
            return self._unit * sum(cost[i] for i in members) if cost is not None else 0
        return sum(place == -current[i] for i in members) if current is not None else 0


class Exchange:
    """Every unit in a place, and how good that is."""

    def __init__(self, offers: Offers, goal: Goal, places: Sequence[int], limit: float = 0) -> None:
        problem = offers.problem
        self.offers, self.goal, self.limit = offers, goal, limit
        self.cap, self.places = problem.role_cap, list(places)
        self.at = [places[unit.members[0]] for unit in offers.units]
        self.difference, self.price = problem.difference(places), offers.price(places)
        self.surplus = [sum(places[i] for i in role) for role in problem.roles]
        self.score = self._score(self.difference, self.price, self.surplus)

    @property
    def beyond_caps(self) -> bool:
        """Some role is not shared as evenly as it must be."""
        return self.score[0] > 0

    def improve(self, budget: Budget) -> None:
        """Trade until no unit finds a better place, or until the budget is used up."""
        with suppress(Spent):
            while sum(self._trade(unit, budget) for unit in range(len(self.at))):
                pass

    def _score(self, difference: int, price: int, surplus: Sequence[int]) -> Score:
        distance = abs(difference - self.goal.target)
        beyond = sum(max(0, abs(s) - self.cap) for s in surplus)
        return beyond, max(0, distance - self.limit), price, distance

    def _trade(self, unit: int, budget: Budget) -> bool:
        """Let a unit take the place that is best, if any is better than its own."""
        best, taken = self.score, None
        for place in self.offers.units[unit].places:
            if place == self.at[unit]:
                continue
            partners = list(self._partners(unit, place))
            budget.spend(len(partners) * TRADE_WORK)
            for others in partners:
                score = self._score(*self._after(unit, others, place))
                if score < best:
                    best, taken = score, (others, place)
        if taken is None:
            return False
        self._take(unit, *taken)
        return True

    def _partners(self, unit: int, place: int) -> Iterator[tuple[int, ...]]:
        """The units that may leave a place to this one and take its own."""
        units, prices, here = self.offers.units, self.offers.prices, self.at[unit]
        size = len(units[unit].members)
        there = [v for v, at in enumerate(self.at) if at == place and here in units[v].places]
        yield from ((v,) for v in there if len(units[v].members) == size)
        if size > 1:
            singles = [v for v in there if len(units[v].members) == 1]
            singles.sort(key=lambda v: prices[v][here] - prices[v][place])
            if len(singles) >= size:
                yield tuple(singles[:size])

    def _after(self, unit: int, others: tuple[int, ...], place: int) -> tuple[int, int, list[int]]:
        """Difference, price and surplus when the unit has taken the place and the others have taken its own."""
        gains, prices, in_roles, here = self.offers.gains, self.offers.prices, self.offers.in_roles, self.at[unit]
        difference = self.difference + gains[unit][place] - gains[unit][here]
        price = self.price + prices[unit][place] - prices[unit][here]
        surplus = [s + (place - here) * n for s, n in zip(self.surplus, in_roles[unit], strict=True)]
        for other in others:
            difference += gains[other][here] - gains[other][place]
            price += prices[other][here] - prices[other][place]
            surplus = [s + (here - place) * n for s, n in zip(surplus, in_roles[other], strict=True)]
        return difference, price, surplus

    def _take(self, unit: int, others: tuple[int, ...], place: int) -> None:
        here = self.at[unit]
        self.difference, self.price, self.surplus = self._after(unit, others, place)
        self.score = self._score(self.difference, self.price, self.surplus)
        self._put(unit, place)
        for other in others:
            self._put(other, here)

    def _put(self, unit: int, place: int) -> None:
        self.at[unit] = place
        for player in self.offers.units[unit].members:
            self.places[player] = place
