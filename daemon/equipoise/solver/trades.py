"""A good shuffle where the budget does not suffice for the best one: players change side while that is better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations

from equipoise.solver.budget import Budget, Spent
from equipoise.solver.exchange import TRADE_WORK
from equipoise.solver.problem import A, B
from equipoise.solver.sides import MOVES, PARTED, Count, Sides, Window, parted


def first_places(sides: Sides) -> list[int]:
    """The present places, with those who have none on the smaller side, and as many moved as the sizes need."""
    players = range(len(sides.a))
    places = [sides.pins.get(i, sides.current[i]) for i in players]
    for i in players:
        if not places[i]:
            places[i] = A if places.count(A) < places.count(B) else B
    on_a, on_b = (list(sides.pins.values()).count(side) for side in (A, B))
    fitting = [size for size in sides.sizes if on_a <= size <= len(places) - on_b]
    missing = min((size - places.count(A) for size in fitting), key=abs)
    larger = B if missing > 0 else A
    movable = [i for i in players if places[i] == larger and i not in sides.pins]
    for i in movable[: abs(missing)]:
        places[i] = -larger
    return places


def traded(
    sides: Sides, places: Sequence[int], window: Window, cap: int, counts: Sequence[Count], budget: Budget
) -> list[int]:
    """The places after changes of one player, and of two, until none is better or the budget is used up."""
    trades = Trades(sides, list(places), window, cap, counts)
    with suppress(Spent):
        while sum(trades.better(players, budget) for players in trades.changes()):
            pass
    return trades.places


class Trades:
    """The places of all players, and how good they are."""

    def __init__(self, sides: Sides, places: list[int], window: Window, cap: int, counts: Sequence[Count]) -> None:
        self.sides, self.places, self.window, self.cap, self.counts = sides, places, window, cap, counts
        self.group_of = {player: number for number, group in enumerate(sides.groups) for player in group}
        self.steps = [sides.step(i, A) - sides.step(i, B) for i in range(len(places))]
        self.weights = [sides.weight([i]) for i in range(len(places))]
        self.difference, self.state = sides.difference(places), sides.state(places)
        self.score = self._score(self.difference, self.state)

    def changes(self) -> Iterator[tuple[int, ...]]:
        """One or two players who may leave their sides, by the pins."""
        free = [i for i in range(len(self.places)) if i not in self.sides.pins]
        yield from ((i,) for i in free)
        yield from combinations(free, 2)

    def better(self, players: tuple[int, ...], budget: Budget) -> bool:
        """Let the players change side if that is better."""
        places = self.places
        on_a = places.count(A) - sum(places[i] for i in players)
        if on_a not in self.sides.sizes:
            return False
        budget.spend(TRADE_WORK)
        difference = self.difference - sum(places[i] * self.weights[i] for i in players)
        state = self.state - sum(places[i] * self.steps[i] for i in players)
        groups = {self.group_of[i] for i in players if i in self.group_of}
        if groups:
            before = self._apart(groups, ())
            state += (self._apart(groups, players) - before) << PARTED.shift
        score = self._score(difference, state)
        if score >= self.score:
            return False
        self.difference, self.state, self.score = difference, state, score
        for i in players:
            places[i] = -places[i]
        return True

    def _apart(self, groups: set[int], changed: tuple[int, ...]) -> int:
        """How many of these groups' friends are parted once some players have changed side."""
        return sum(
            parted([-self.places[i] if i in changed else self.places[i] for i in self.sides.groups[group]])
            for group in groups
        )

    def _score(self, difference: int, state: int) -> tuple[int, ...]:
        low, high, target = self.window
        outside = max(0, low - difference, difference - high) if low <= high else abs(difference - target)
        return (
            max(0, MOVES.of(state) - self.cap),
            outside,
            self.sides.excess(state),
            *(count.of(state) for count in self.counts),
            abs(difference - target),
        )
