"""Splits by what is known of skills alone: asks of the core become questions to the exact solver."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

from equipoise.balancing.chances import NO_PLAYERS, Values, match_to_even, outlook_of
from equipoise.core.asks import AskSplit, Purpose
from equipoise.core.model import Context, Entry, PlayerId, Side
from equipoise.errors import SplitError
from equipoise.ratings.system import System
from equipoise.solver import Assignment, Budget, Pin, best_split, new_teams

T = TypeVar("T")

Pins = dict[int, Pin]
"""Where players must be, by their index among the ask's entries."""


def even_difference(
    system: System[Any],
    context: Context,
    a: Sequence[PlayerId],
    b: Sequence[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> float:
    """The difference Σ(A) − Σ(B) at which sides as large as these are even."""
    return system.difference_at(0.5, match_to_even(context, a, b, commanders))


NEXT_TO_JOIN = PlayerId("bot:next")
"""Stands for a player of whom nothing is known."""


def chance_at_equal_numbers(
    system: System[Any],
    context: Context,
    a: Sequence[PlayerId],
    b: Sequence[PlayerId],
    commanders: Collection[PlayerId] = NO_PLAYERS,
) -> float:
    """The win probability of side A by what splits make even: the players, not what TF2's sides or a map are worth.

    Nor does one player more count: the next to join goes to the smaller side, and is taken as if they were there
    already, with the skill of a newcomer. So 13 against 12 compares with 12 against 13.

    >>> from equipoise.core.model import Mode
    >>> from equipoise.ratings import create
    >>> system, ann, bob, cid = create("synelo"), PlayerId("ann"), PlayerId("bob"), PlayerId("cid")
    >>> context = Context(Mode.KOTH, "koth_viaduct")
    >>> chance_at_equal_numbers(system, context, [ann, bob], [cid])
    0.5
    >>> system.seed(ann, rating=1400.0)
    >>> round(chance_at_equal_numbers(system, context, [ann, bob], [cid]), 3)
    0.542
    """
    first, second = tuple(a), tuple(b)
    if len(first) - len(second) == 1:
        second += (NEXT_TO_JOIN,)
    elif len(second) - len(first) == 1:
        first += (NEXT_TO_JOIN,)
    return system.predict(match_to_even(context, first, second, commanders)).expected(0)


def best(ask: AskSplit, values: Values, system: System[Any]) -> Assignment:
    """The best split for the ask's purpose; of very many players the best that one budget suffices to find.

    The tolerance comes as a win probability. The solver wants rating points, and the system converts: how much a
    probability is in points depends on its scale and on the team size.
    """
    sides = Means(ask, values, system)
    if ask.purpose is Purpose.SCRAMBLE:
        return sides.scrambled()
    pins = dict[int, Pin]()
    if ask.purpose is Purpose.EQUAL_SIDES and sides.benches:
        # Whose turn it is on the bench does not depend on how even the others could be made by moving them.
        pins = dict.fromkeys(sides.within(math.inf).bench, Pin.BENCH)
    return sides.within(system.gap(ask.tolerance, max(ask.sizes)), pins)


FEW_WHO_CAME = 2
"""Players on no side yet, of whom every placement is tried; of more that of the best split."""

EQUAL = 1e-6
"""Win probability; splits that differ by less cost the same."""
GIVEN_UP = 0.02
"""Unevenness that a due scramble may give up so that people notice it."""


def renewed(found: T, each_way: int, attempts: Callable[[int], Iterable[T]], uneven: Callable[[T], float]) -> T:
    """Of a due scramble: teams in which so many players change side each way, or as many as is about as even.

    `attempts` finds the best of those in which at least so many do, and others if that is too uneven; `found` is the
    best of all.
    """
    limit = uneven(found) + GIVEN_UP
    for least in range(each_way, 0, -1):
        for other in attempts(least):
            if uneven(other) <= limit:
                return other
    return found


def can_leave(entries: Iterable[Entry], each_way: int) -> int:
    """How many players at most can be asked to leave each side, with as many who stay on it; up to so many."""
    stand = Counter(entry.side for entry in entries)
    return min(each_way, stand[Side.A] // 2, stand[Side.B] // 2)


def leave(entries: Iterable[Entry], a: Collection[PlayerId], each_way: int) -> bool:
    """Whether as many players leave each side, and as many do not, when these are on A and all others on B."""
    stay = Counter((entry.side, (entry.side is Side.A) is (entry.id in a)) for entry in entries)
    return all(stay[side, there] >= each_way for side in Side for there in (True, False))


def unevenness(system: System[Any], context: Context, a: Iterable[PlayerId], b: Iterable[PlayerId]) -> float:
    """How far the chance of these sides is expected to be from a half, by what splits make even."""
    return outlook_of(system, match_to_even(context, a, b)).unevenness


def who_plays(ask: AskSplit, values: Values, system: System[Any]) -> Assignment:
    """The players who play, chosen by what is known alone; their sides are a start for the search of better ones."""
    sides = Means(ask, values, system)
    if not sides.benches:
        return min(sides.optima(preferring=False).values(), key=lambda found: abs(found.difference))
    return sides.within(math.inf) if ask.purpose is Purpose.EQUAL_SIDES else sides.in_turn()


class Means:
    """An ask as the exact solver reads it, with one budget for all its questions."""

    def __init__(self, ask: AskSplit, values: Values, system: System[Any]) -> None:
        self.ask, self.values, self.system = ask, values, system
        self.benches = sum(ask.sizes) < len(ask.entries)
        self.pins, self.budget = _pins(ask), Budget()
        self.moves_count = True
        """Of splits that are as good otherwise, the one that moves fewer."""

    def within(self, tolerance: float, pins: Pins | None = None) -> Assignment:
        """The best split within a tolerance in points; of uneven sizes either side may be the larger one."""
        self.pins |= pins or {}
        if self.ask.sizes[0] == self.ask.sizes[1]:
            return self._best_of(self.ask.sizes, tolerance)
        optima = {sizes: self._off(found) for sizes, found in self.optima().items()}
        limit = min(optima.values()) + tolerance
        # One limit for both ways round: the tolerance is counted from the better of the two optima.
        close = [self._best_of(sizes, limit - least) for sizes, least in optima.items() if least <= limit]
        return min(close, key=lambda found: (found.bench_cost, found.moves, self._off(found)))

    def scrambled(self) -> Assignment:
        """The least difference of those whose turn it is to play, and in it the players move whom people expect to."""
        found = self.in_turn() if self.benches else self.within(self.system.gap(EQUAL, max(self.ask.sizes)))
        there = [self.ask.entries[index] for index in (*found.a, *found.b)]

        def uneven(found: Assignment) -> float:
            a, b = ([self.ask.entries[index].id for index in side] for side in (found.a, found.b))
            return unevenness(self.system, self.ask.context, a, b)

        def attempts(each_way: int) -> Iterable[Assignment]:
            if leave(there, {self.ask.entries[index].id for index in found.a}, each_way):
                return [found]
            return filter(None, [self._moving(found, each_way)])

        return renewed(found, can_leave(there, self.ask.each_way), attempts, uneven)

    def in_turn(self) -> Assignment:
        """Within the tolerance the fair bench, with it the least difference, and in that the fewest moves."""
        self.moves_count = False
        near = self.within(self.system.gap(self.ask.tolerance, max(self.ask.sizes)))
        least = min(map(self._off, self.optima(preferring=False).values()))
        self.moves_count = True
        equal = self.system.gap(EQUAL, max(self.ask.sizes))
        found = self.within(max(0.0, self._off(near) - least) + equal)
        if found.bench_cost > near.bench_cost:  # by rounding
            found = self.within(equal, dict.fromkeys(near.bench, Pin.BENCH))
        return found

    def _moving(self, found: Assignment, each_way: int) -> Assignment | None:
        """The nearest of those splits of the same players in which so many leave each side, and as many do not."""
        players = sorted((*found.a, *found.b))
        entries = [self.ask.entries[index] for index in players]
        came = [place for place, entry in enumerate(entries) if entry.side is None]
        ways = [tuple(found.side_of(players[place]) for place in came)]
        if len(came) <= FEW_WHO_CAME:
            ways = [*product(Side, repeat=len(came))]
        nearest: tuple[float, int, Assignment] | None = None
        for sides, sizes in product(ways, dict.fromkeys((self.ask.sizes, self.ask.sizes[::-1]))):
            current = [entry.side for entry in entries]
            for place, side in zip(came, sides, strict=True):
                current[place] = side
            try:
                teams = new_teams(
                    [self.values[0][index] for index in players],
                    current,
                    each_way,
                    size_a=sizes[0],
                    values_b=[self.values[1][index] for index in players],
                    target=self._target(sizes),
                    movable=[place for place, entry in enumerate(entries) if not entry.stays],
                    came=came,
                    budget=self.budget.share(1 / 2),
                )
            except SplitError:
                continue
            a, b = (tuple(players[place] for place in side) for side in (teams.a, teams.b))
            made = replace(found, a=a, b=b, difference=teams.difference, moves=teams.moves)
            if nearest is None or (self._off(made), made.moves) < nearest[:2]:
                nearest = self._off(made), made.moves, made
        return nearest and nearest[2]

    def optima(self, preferring: bool = True) -> dict[tuple[int, int], Assignment]:
        """The nearest split with A and with B as the larger side; SplitError when bots rule out both."""
        optima = {}
        for sizes in dict.fromkeys((self.ask.sizes, self.ask.sizes[::-1])):
            try:
                optima[sizes] = self._best_of(sizes, 0.0, preferring)
            except SplitError as error:
                refusal = error
        if not optima:
            raise refusal
        return optima

    def _best_of(self, sizes: tuple[int, int], tolerance: float, preferring: bool = True) -> Assignment:
        on_a, on_b = self.values
        entries = self.ask.entries
        return best_split(
            on_a,
            values_b=on_b,
            sizes=sizes,
            target=self._target(sizes),
            pins=self.pins,
            bench_cost=[self.ask.bench_cost.get(entry.id, 0) for entry in entries] if preferring else None,
            current=[entry.side for entry in entries] if preferring and self.moves_count else None,
            tolerance=tolerance,
            # An ask takes up to five of these.
            budget=self.budget.share(1 / 2),
        )

    def _off(self, found: Assignment) -> float:
        return abs(found.difference - self._target(found.sizes))

    def _target(self, sizes: tuple[int, int]) -> float:
        if sizes[0] == sizes[1]:
            return 0.0
        players = [entry.id for entry in self.ask.entries]
        return even_difference(self.system, self.ask.context, players[: sizes[0]], players[sizes[0] : sum(sizes)])


def _pins(ask: AskSplit) -> Pins:
    """Constraints for the solver: some players stay on their side, and some may not be benched."""
    pins = {index: Pin.PLAY for index, entry in enumerate(ask.entries) if entry.id in ask.must_play}
    stand = {Side.A: Pin.A, Side.B: Pin.B}
    return pins | {index: stand[entry.side] for index, entry in enumerate(ask.entries) if entry.stays and entry.side}
