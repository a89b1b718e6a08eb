"""A good assignment where the budget does not suffice for the best one: seats filled greedily, then trades of places.

1. Which sizes the units can fill exactly, whatever their values, is known from a small programme over the sizes alone
   (`Seats`). An assignment is put together unit by unit, each in a place that leaves seats for all others, so that
   sizes, pins and groups hold from the beginning (`Approximation`).
2. Units trade places for as long as that is better by `Score` (`Exchange`): first the caps of the roles, then the
   distance beyond the limit, then bench cost and moves, then the distance. That is the order in which the exact search
   minimises them. A trade leaves the sizes as they are: two units of equally many players, or a group and as many
   single players. The search ends where no trade is better, or when the budget does.
3. The answer's floor is whatever was proven before: the rough optimum, parity, limits that failed, and counting.

Descent alone misses by hundreds of points where there are a few stars (median 1, worst 400 in 60 hard pools of 24), so
it starts from a solution of rounded values wherever there is one: 26 at the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import permutations

from equipoise.solver.bitsets import TRADE_WORK, Budget, Spent
from equipoise.solver.problem import (
    ANYWHERE,
    BENCH,
    NO_FLOOR,
    NO_PREFERENCES,
    A,
    B,
    Floor,
    Goal,
    Preferences,
    Problem,
    Solution,
    Unit,
)

Choose = Callable[[int, Sequence[int]], int]
"""Picks one of the places that are open to a unit, which is given by its number."""

Score = tuple[int, float, int, int]
"""Minimised in this order: players beyond the roles' caps, distance beyond the limit, price, distance."""

Trade = tuple[tuple[int, ...], int, int]
"""The units that a unit trades places with, and the difference and the price after that."""


class Seats:
    """The sizes that units can fill, after 0, 1, … all of them.

    `layers[n][a]` is a bitset: bit b is set when the first n units can fill a seats on A and b on B.

    >>> Seats([Unit((0, 1)), Unit((2,))]).fill(1, 2, lambda unit, places: places[0])
    [-1, 1]
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.layers = [[1] + [0] * sum(len(unit.members) for unit in units)]
        for unit in units:
            before, size = self.layers[-1], len(unit.members)
            layer = list(before) if BENCH in unit.places else [0] * len(before)
            if B in unit.places:
                layer = [bits | addition << size for bits, addition in zip(layer, before, strict=True)]
            if A in unit.places:
                on_a = [*([0] * size), *before[:-size]]
                layer = [bits | addition for bits, addition in zip(layer, on_a, strict=True)]
            self.layers.append(layer)

    def fit(self, a: int, b: int) -> bool:
        """Return whether all the units together can fill these sizes."""
        return self._holds(len(self.units), a, b)

    def fill(self, a: int, b: int, choose: Choose) -> list[int]:
        """Return the place of every unit, chosen from the last unit to the first; the sizes must fit."""
        places = []
        for number in range(len(self.units) - 1, -1, -1):
            unit = self.units[number]
            size = len(unit.members)
            # A place is open where the units before this one can fill the seats that are left.
            rest = {A: (a - size, b), BENCH: (a, b), B: (a, b - size)}
            place = choose(number, [p for p in unit.places if self._holds(number, *rest[p])])
            a, b = rest[place]
            places.append(place)
        return places[::-1]

    def _holds(self, placed: int, a: int, b: int) -> bool:
        layer = self.layers[placed]
        return 0 <= a < len(layer) and b >= 0 and bool(layer[a] >> b & 1)


class Offers:
    """The difference and the price that each open unit adds at each of its places, whatever the sizes are.

    A price is a bench cost and moves, packed into one integer. The units that cost most on the bench come last, among
    them the units of the highest values.
    """

    def __init__(self, problem: Problem, preferences: Preferences = NO_PREFERENCES) -> None:
        self.problem, self.preferences = problem, preferences
        self.cost_unit = len(problem.a) + 1
        """The price of a bench cost of 1: more than all moves together."""
        # `Seats.fill` begins at the end: who costs most on the bench, and of these the strongest, chooses a seat first.
        self.units = sorted(problem.units, key=lambda unit: (self._price(unit.members, BENCH), self._gain(unit, A)))
        self.gains = [{place: self._gain(unit, place) for place in unit.places} for unit in self.units]
        self.prices = [{place: self._price(unit.members, place) for place in unit.places} for unit in self.units]
        self.sizes = [len(unit.members) for unit in self.units]
        self.changes = [
            {(p, q): (gains[q] - gains[p], prices[q] - prices[p]) for p, q in permutations(unit.places, 2)}
            for unit, gains, prices in zip(self.units, self.gains, self.prices, strict=True)
        ]
        """The difference and the price that a unit adds when it leaves one place for another."""
        self.in_roles = [[len(role.intersection(unit.members)) for role in problem.roles] for unit in self.units]

    def price(self, places: Sequence[int]) -> int:
        """Return the price of the places of all players."""
        return sum(self._price((i,), place) for i, place in enumerate(places))

    def counts(self, price: int) -> tuple[int, int]:
        """Return the bench cost and the moves of a price."""
        return divmod(price, self.cost_unit)

    def _gain(self, unit: Unit, place: int) -> int:
        values = self.problem.a if place == A else self.problem.b
        return place * sum(values[i] for i in unit.members)

    def _price(self, members: Sequence[int], place: int) -> int:
        cost, current = self.preferences
        if place == BENCH:
            return self.cost_unit * sum(cost[i] for i in members) if cost is not None else 0
        return sum(place == -current[i] for i in members) if current is not None else 0


class Exchange:
    """Every unit in a place, and how good that is; `improve` lets units trade places."""

    def __init__(self, offers: Offers, goal: Goal, places: Sequence[int], limit: float = 0) -> None:
        problem = offers.problem
        self.offers, self.goal, self.limit = offers, goal, limit
        self.cap, self.places = problem.role_cap, list(places)
        self.at = [places[unit.members[0]] for unit in offers.units]
        # Singles have a list even where every unit is a group: a group looks for them (`_trades`).
        self.standing = {(place, size): list[int]() for place in ANYWHERE for size in {1, *offers.sizes}}
        """The units at each place by their number of players."""
        for unit, place in enumerate(self.at):
            self.standing[place, offers.sizes[unit]].append(unit)
        self.difference, self.price = problem.difference(places), offers.price(places)
        self.surplus = [sum(places[i] for i in role) for role in problem.roles]
        self.score = self._score(self.difference, self.price, self.surplus)

    @property
    def beyond_caps(self) -> bool:
        """Whether some role is not shared as evenly as it must be."""
        return self.score[0] > 0

    def improve(self, budget: Budget) -> None:
        """Trade until no unit finds a better place, or until the budget is used up."""
        with suppress(Spent):
            # `sum`, not `any`: every unit gets its turn in a sweep, whether or not one before it traded.
            while sum(self._trade(unit, budget) for unit in range(len(self.at))):
                pass

    def _score(self, difference: int, price: int, surplus: Sequence[int]) -> Score:
        distance = abs(difference - self.goal.target)
        beyond = sum(max(0, abs(s) - self.cap) for s in surplus)
        return beyond, max(0, distance - self.limit), price, distance

    def _trade(self, unit: int, budget: Budget) -> bool:
        """Let a unit take the best place, if any is better than its own; return whether it did."""
        origin, best, trade = self.at[unit], self.score, None
        # Within caps and limit a dearer trade is never better, and need not be scored.
        within = best[:2] == (0, 0)
        for place in self.offers.units[unit].places:
            if place == origin:
                continue
            budget.spend(len(self.standing[place, self.offers.sizes[unit]]) * TRADE_WORK)
            for others, difference, price in self._trades(unit, origin, place):
                if within and price > best[2]:
                    continue
                score = self._score(difference, price, self._surplus(unit, others, place - origin))
                if score < best:
                    best, trade = score, (others, place)
        if trade is None:
            return False
        self._take(unit, *trade)
        return True

    def _trades(self, unit: int, here: int, place: int) -> Iterator[Trade]:
        """Yield the units that may leave a place to this one and take its own."""
        changes, back = self.offers.changes, (place, here)
        gain, price = changes[unit][here, place]
        difference, price = gain + self.difference, price + self.price
        for partner in self.standing[place, self.offers.sizes[unit]]:
            if back in changes[partner]:
                more, dearer = changes[partner][back]
                yield (partner,), difference + more, price + dearer
        if (size := self.offers.sizes[unit]) > 1:
            # A group trades with as many single players, those whose change costs least.
            singles = [v for v in self.standing[place, 1] if back in changes[v]]
            singles.sort(key=lambda v: changes[v][back][1])
            if len(singles) >= size:
                # One choice of singles alone, by price: all choices would multiply the trades of a group.
                sums = [changes[v][back] for v in singles[:size]]
                yield tuple(singles[:size]), difference + sum(g for g, _ in sums), price + sum(p for _, p in sums)

    def _surplus(self, unit: int, others: tuple[int, ...], step: int) -> Sequence[int]:
        """Return the surplus of each role when the unit has moved so many steps up, and the others as many down."""
        if not self.surplus:
            return ()
        in_roles = self.offers.in_roles
        counts = zip(in_roles[unit], *(in_roles[partner] for partner in others), strict=True)
        return [s + step * (head - sum(rest)) for s, (head, *rest) in zip(self.surplus, counts, strict=True)]

    def _take(self, unit: int, others: tuple[int, ...], place: int) -> None:
        origin, changes = self.at[unit], self.offers.changes
        self.surplus = list(self._surplus(unit, others, place - origin))
        steps = [changes[unit][origin, place], *(changes[partner][place, origin] for partner in others)]
        self.difference += sum(gain for gain, _ in steps)
        self.price += sum(price for _, price in steps)
        self.score = self._score(self.difference, self.price, self.surplus)
        self._put(unit, place)
        for partner in others:
            self._put(partner, origin)

    def _put(self, unit: int, place: int) -> None:
        size = self.offers.sizes[unit]
        self.standing[self.at[unit], size].remove(unit)
        self.standing[place, size].append(unit)
        self.at[unit] = place
        for player in self.offers.units[unit].members:
            self.places[player] = place


class Approximation:
    """The search for good assignments of one problem, for any goal."""

    def __init__(self, problem: Problem, preferences: Preferences) -> None:
        self.problem, self.preferences = problem, preferences
        self.evenly = Offers(problem)
        self.preferring = self.evenly if preferences == NO_PREFERENCES else Offers(problem, preferences)
        self.seats = {offers: Seats(offers.units) for offers in (self.evenly, self.preferring)}

    def fits(self, goal: Goal) -> bool:
        """Return whether pins and groups let the sizes be filled; roles and values do not count here."""
        return self.seats[self.evenly].fit(*self._open_seats(goal))

    def nearest(self, goal: Goal, near: Solution | None, budget: Budget) -> Solution | None:
        """Return an assignment close to the target, or None; the search starts from `near`, which is close already."""
        exchange = self._near(goal, near)
        if exchange is None:
            return None
        exchange.improve(budget)
        return self._solution(exchange, near, NO_FLOOR)

    def preferred(
        self, goal: Goal, near: Solution | None, tolerance: float, floor: Floor, budget: Budget
    ) -> Solution | None:
        """Return an assignment within the tolerance of the nearest that is known, and as good as possible otherwise.

        `floor` is what a search has proven before its budget was used up.
        """
        if not self.fits(goal):
            return None
        # From a cheap start and from a near one: neither leads to the better end in all problems.
        starts, limit = [self._filled(goal, self.preferring)], tolerance
        if not math.isinf(tolerance) and (nearest := self._near(goal, near)) is not None:
            # A solution that is proven has nothing to improve. A third of the budget, as for each of the two exchanges
            # below.
            if near is None or near.floor is not None:
                nearest.improve(budget.share(1 / 3))
            starts.append(self._or_mirrored(goal, nearest.places))
            limit += self.problem.distance(nearest.places, goal)
        exchanges = [Exchange(self.preferring, goal, start, limit) for start in starts]
        for number, exchange in enumerate(exchanges):
            exchange.improve(budget.share(1 / (len(exchanges) - number)))
        return self._solution(min(exchanges, key=lambda exchange: exchange.score), near, floor)

    def _near(self, goal: Goal, near: Solution | None) -> Exchange | None:
        if near is not None:
            return Exchange(self.evenly, goal, near.places)
        return Exchange(self.evenly, goal, self._filled(goal, self.evenly)) if self.fits(goal) else None

    def _or_mirrored(self, goal: Goal, places: list[int]) -> list[int]:
        """Return the places or their mirror image, whichever moves fewer."""
        symmetric = self.problem.a == self.problem.b and goal.a == goal.b and goal.target == 0
        mirror = [-place for place in places]
        if symmetric and self.problem.allows(mirror):
            return min(places, mirror, key=self.preferring.price)
        return places

    def _solution(self, exchange: Exchange, near: Solution | None, floor: Floor) -> Solution | None:
        # Without an assignment within the roles' caps there is none to return; `SplitSolver.obstacle` says which role.
        if exchange.beyond_caps:
            return None
        distance = self.problem.distance(exchange.places, exchange.goal)
        least = self._floor(exchange.goal, near, floor)
        proven = Floor(distance, *exchange.offers.counts(exchange.price)) == least
        return Solution(distance, exchange.places, None if proven else least)

    def _open_seats(self, goal: Goal) -> tuple[int, int]:
        pins = list(self.problem.fixed.values())
        return goal.a - pins.count(A), goal.b - pins.count(B)

    def _filled(self, goal: Goal, offers: Offers) -> list[int]:
        """Return the places when the goal's seats are filled unit by unit, the costliest on the bench first.

        Each unit takes the place that evens out the roles, then one that is not the bench, then the cheapest, then the
        one that comes nearest to the target.
        """
        problem = self.problem
        surplus = [sum(problem.fixed.get(i, BENCH) for i in role) for role in problem.roles]
        lack = goal.target - problem.difference([problem.fixed.get(i, BENCH) for i in range(len(problem.a))])

        def surplus_with(unit: int, place: int) -> list[int]:
            return [s + place * n for s, n in zip(surplus, offers.in_roles[unit], strict=True)]

        def choose(unit: int, places: Sequence[int]) -> int:
            nonlocal surplus, lack

            def badness(place: int) -> tuple[int, bool, int, int]:
                beyond = sum(max(0, abs(s) - problem.role_cap) for s in surplus_with(unit, place))
                return beyond, place == BENCH, offers.prices[unit][place], abs(lack - offers.gains[unit][place])

            place = min(places, key=badness)
            lack -= offers.gains[unit][place]
            surplus = surplus_with(unit, place)
            return place

        places = self.seats[offers].fill(*self._open_seats(goal), choose)
        pairs = zip(offers.units, places, strict=True)
        return problem.whole({i: place for unit, place in pairs for i in unit.members})

    def _floor(self, goal: Goal, near: Solution | None, floor: Floor) -> Floor:
        """Return the floor, raised by what counting proves.

        At least the cheapest sit out, and a side that lacks players of its own first takes those of neither.
        """
        problem, (bench_cost, current) = self.problem, self.preferences
        small, (rest,), factor = problem.scaled([goal])
        cost = moves = 0
        if bench_cost is not None:
            # Groups count as single players here: that can only lower the bound, so it stays one.
            may = sorted(bench_cost[i] for unit in problem.units if BENCH in unit.places for i in unit.members)
            cost = sum(may[: len(problem.open) - rest.a - rest.b])
            cost += sum(bench_cost[i] for i, place in problem.fixed.items() if place == BENCH)
        if current is not None:
            present = list(current)
            lack = max(0, goal.a - present.count(A)) + max(0, goal.b - present.count(B))
            moves = max(0, lack - present.count(BENCH))
        distance = max(small.parity_bound(rest) * factor, near.least if near else 0)
        return Floor(*map(max, floor, (distance, cost, moves)))
