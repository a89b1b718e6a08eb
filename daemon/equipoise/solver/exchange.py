"""Local search: units trade places as long as that is better, by what the solver keeps least.

A trade leaves the sizes as they are: two units of equally many players, or a group and as many single players. The
search ends where no trade is better, or when the budget does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations

from equipoise.solver.budget import Budget, Spent
from equipoise.solver.problem import ANYWHERE, BENCH, A, Goal, Problem, Unit
from equipoise.solver.states import NO_PREFERENCES, Preferences

TRADE_WORK = 1 << 15
"""Work of judging one trade, in bits."""

Score = tuple[int, float, int, int]
"""What is kept least, in this order: players beyond the roles' caps, distance beyond the limit, price, distance."""

Trade = tuple[tuple[int, ...], int, int]
"""The units that a unit trades places with, and the difference and the price after that."""


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
        self.sizes = [len(unit.members) for unit in self.units]
        self.changes = [
            {(p, q): (gains[q] - gains[p], prices[q] - prices[p]) for p, q in permutations(unit.places, 2)}
            for unit, gains, prices in zip(self.units, self.gains, self.prices, strict=True)
        ]
        """What a unit adds when it leaves one place for another."""
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
        self.standing = {(place, size): list[int]() for place in ANYWHERE for size in {1, *offers.sizes}}
        """The units at each place by their number of players."""
        for unit, place in enumerate(self.at):
            self.standing[place, offers.sizes[unit]].append(unit)
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
        here, best, taken = self.at[unit], self.score, None
        within = best[:2] == (0, 0)
        for place in self.offers.units[unit].places:
            if place == here:
                continue
            budget.spend(len(self.standing[place, self.offers.sizes[unit]]) * TRADE_WORK)
            for others, gain, price in self._trades(unit, here, place):
                if within and price > best[2]:
                    continue
                score = self._score(gain, price, self._surplus(unit, others, place - here))
                if score < best:
                    best, taken = score, (others, place)
        if taken is None:
            return False
        self._take(unit, *taken)
        return True

    def _trades(self, unit: int, here: int, place: int) -> Iterator[Trade]:
        """The units that may leave a place to this one and take its own; the difference and the price after that."""
        changes, back = self.offers.changes, (place, here)
        gain, price = changes[unit][here, place]
        gain, price = gain + self.difference, price + self.price
        for other in self.standing[place, self.offers.sizes[unit]]:
            if back in changes[other]:
                more, dearer = changes[other][back]
                yield (other,), gain + more, price + dearer
        if (size := self.offers.sizes[unit]) > 1:
            singles = [v for v in self.standing[place, 1] if back in changes[v]]
            singles.sort(key=lambda v: changes[v][back][1])
            if len(singles) >= size:
                gained = [changes[v][back] for v in singles[:size]]
                yield tuple(singles[:size]), gain + sum(g for g, _ in gained), price + sum(p for _, p in gained)

    def _surplus(self, unit: int, others: tuple[int, ...], step: int) -> Sequence[int]:
        """The surplus of each role when the unit has moved so many steps up, and the others as many down."""
        if not self.surplus:
            return ()
        in_roles = self.offers.in_roles
        moved = zip(in_roles[unit], *(in_roles[other] for other in others), strict=True)
        return [s + step * (one - sum(rest)) for s, (one, *rest) in zip(self.surplus, moved, strict=True)]

    def _take(self, unit: int, others: tuple[int, ...], place: int) -> None:
        here, changes = self.at[unit], self.offers.changes
        self.surplus = list(self._surplus(unit, others, place - here))
        changed = [changes[unit][here, place], *(changes[other][place, here] for other in others)]
        self.difference += sum(gain for gain, _ in changed)
        self.price += sum(price for _, price in changed)
        self.score = self._score(self.difference, self.price, self.surplus)
        self._put(unit, place)
        for other in others:
            self._put(other, here)

    def _put(self, unit: int, place: int) -> None:
        size = self.offers.sizes[unit]
        self.standing[self.at[unit], size].remove(unit)
        self.standing[place, size].append(unit)
        self.at[unit] = place
        for player in self.offers.units[unit].members:
            self.places[player] = place
