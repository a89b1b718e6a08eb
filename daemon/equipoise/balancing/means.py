"""Splits by the means of skills alone: a question of the core becomes one or more to the exact solver.

A scramble and equal sides weigh three things, in this order: how even the sides are, whose turn it is on the bench, and
how few players move. A tolerance is a win probability; the solver wants rating points, and how much a probability is in
points depends on the system's scale and on the team size (`System.gap`).

Of uneven sizes either side may be the larger one, so both ways round are solved. A due scramble has to be noticed: at
least so many players change side, each way, while some such teams are about as even as the best (`renewed`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

from equipoise.balancing.chances import Values, even_difference, unevenness
from equipoise.core.asks import AskSplit, Purpose
from equipoise.core.model import Entry, PlayerId, Side
from equipoise.errors import SplitError
from equipoise.ratings.system import System
from equipoise.solver import Assignment, Budget, Pin, best_split, new_teams

T = TypeVar("T")

Pins = dict[int, Pin]
"""The places where players must be, by their index among the question's entries."""

FEW_WHO_CAME = 2
"""Players on no side yet, of whom every placement is tried; of more that of the best split."""
EQUAL = 1e-6
"""Win probability; splits that differ by less cost the same."""
GIVEN_UP = 0.02
"""Unevenness that a due scramble may give up so that people notice it."""


def best(ask: AskSplit, values: Values, system: System[Any]) -> Assignment:
    """Return the best split for the question's purpose, as far as one budget suffices to find it."""
    means = Means(ask, values, system)
    if ask.purpose is Purpose.SCRAMBLE:
        return means.scrambled()
    pins = Pins()
    if ask.purpose is Purpose.EQUAL_SIDES and means.benches:
        # Whose turn it is on the bench does not depend on how even the others could be made by moving them: so first
        # without a limit of points.
        pins = dict.fromkeys(means.within(math.inf).bench, Pin.BENCH)
    return means.within(system.gap(ask.tolerance, max(ask.sizes)), pins)


def who_plays(ask: AskSplit, values: Values, system: System[Any]) -> Assignment:
    """Return the players who play, chosen by means alone; their sides are a start for the search of better ones."""
    means = Means(ask, values, system)
    if not means.benches:
        # Sides that any preference would change are no better a start: only the least difference is asked for.
        return min(means.optima(preferring=False).values(), key=lambda split: abs(split.difference))
    return means.within(math.inf) if ask.purpose is Purpose.EQUAL_SIDES else means.in_turn()


class Means:
    """A question as the exact solver reads it, with one budget for all its solves."""

    def __init__(self, ask: AskSplit, values: Values, system: System[Any]) -> None:
        self.ask, self.values, self.system = ask, values, system
        self.benches = sum(ask.sizes) < len(ask.entries)
        self.pins = {index: Pin.PLAY for index, entry in enumerate(ask.entries) if entry.id in ask.must_play}
        self.pins |= pins_of_staying(ask.entries)
        self.budget = Budget()
        self.moves_count = True
        """Whether the one that moves fewer is taken of splits that are as good otherwise."""

    def within(self, tolerance: float, pins: Pins | None = None) -> Assignment:
        """Return the best split within a tolerance in points; of uneven sizes either side may be the larger one."""
        # Kept: every later solve of the question has these pins, too.
        self.pins |= pins or {}
        if self.ask.sizes[0] == self.ask.sizes[1]:
            return self._best_of(self.ask.sizes, tolerance)
        optima = {sizes: self._off(split) for sizes, split in self.optima().items()}
        limit = min(optima.values()) + tolerance
        # One limit for both ways round, counted from the better of the two optima; `_best_of` counts from the optimum
        # of its own sizes.
        close = [self._best_of(sizes, limit - least) for sizes, least in optima.items() if least <= limit]
        return min(close, key=lambda split: (split.bench_cost, split.moves, self._off(split)))

    def scrambled(self) -> Assignment:
        """Return the least difference among players whose turn it is, in which the players move who are expected to."""
        # A tolerance above 0 lets moves decide among splits that differ by rounding alone, or by nothing that can be
        # noticed.
        split = self.in_turn() if self.benches else self.within(self.system.gap(EQUAL, max(self.ask.sizes)))
        entries = [self.ask.entries[index] for index in (*split.a, *split.b)]

        def uneven(split: Assignment) -> float:
            a, b = ([self.ask.entries[index].id for index in side] for side in (split.a, split.b))
            return unevenness(self.system, self.ask.context, a, b)

        def attempts(each_way: int) -> Iterable[Assignment]:
            if leave(entries, {self.ask.entries[index].id for index in split.a}, each_way):
                return [split]
            return filter(None, [self._moving(split, each_way)])

        return renewed(split, can_leave(entries, self.ask.each_way), attempts, uneven)

    def in_turn(self) -> Assignment:
        """Return, within the tolerance the fair bench, with it the least difference, and in that the fewest moves."""
        # First how even the sides of a fair bench can be, however many move.
        self.moves_count = False
        near = self.within(self.system.gap(self.ask.tolerance, max(self.ask.sizes)))
        least = min(map(self._off, self.optima(preferring=False).values()))
        self.moves_count = True
        equal = self.system.gap(EQUAL, max(self.ask.sizes))
        # The fair bench costs this much of evenness: within it the same bench comes out again, now at the least
        # difference and with moves counted. `tolerance` counts from the optimum of any bench.
        split = self.within(max(0.0, self._off(near) - least) + equal)
        if split.bench_cost > near.bench_cost:  # by rounding
            split = self.within(equal, dict.fromkeys(near.bench, Pin.BENCH))
        return split

    def _moving(self, split: Assignment, each_way: int) -> Assignment | None:
        """Return the nearest of the same players' splits in which so many leave each side, and as many do not."""
        players = sorted((*split.a, *split.b))
        entries = [self.ask.entries[index] for index in players]
        came = [place for place, entry in enumerate(entries) if entry.side is None]
        # Players who came stand on no side yet, so each of their placements is a question of its own.
        ways = [tuple(split.side_of(players[place]) for place in came)]
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
            candidate = replace(split, a=a, b=b, difference=teams.difference, moves=teams.moves)
            if nearest is None or (self._off(candidate), candidate.moves) < nearest[:2]:
                nearest = self._off(candidate), candidate.moves, candidate
        return nearest and nearest[2]

    def optima(self, preferring: bool = True) -> dict[tuple[int, int], Assignment]:
        """Return the nearest split with A and with B as the larger side; SplitError when bots rule out both."""
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
            # A question takes up to five of these.
            budget=self.budget.share(1 / 2),
        )

    def _off(self, split: Assignment) -> float:
        return abs(split.difference - self._target(split.sizes))

    def _target(self, sizes: tuple[int, int]) -> float:
        # Sides, maps and their advantages are not made up for (`match_to_even`): equally large sides are even at 0.
        if sizes[0] == sizes[1]:
            return 0.0
        # `even_difference` reads the sizes and who plays: without a bench any players will do, and else nearly.
        players = [entry.id for entry in self.ask.entries]
        return even_difference(self.system, self.ask.context, players[: sizes[0]], players[sizes[0] : sum(sizes)])


def pins_of_staying(entries: Sequence[Entry]) -> Pins:
    """Return the pins of the players who stay on their side."""
    pins = {Side.A: Pin.A, Side.B: Pin.B}
    return {index: pins[entry.side] for index, entry in enumerate(entries) if entry.stays and entry.side}


# What makes a due scramble noticed.


def renewed(best: T, each_way: int, attempts: Callable[[int], Iterable[T]], uneven: Callable[[T], float]) -> T:
    """Return teams in which so many players change side each way, or as many as is about as even as the best.

    `attempts` finds the best teams in which at least so many do, and others if these are too uneven.
    """
    # From the wish downwards: two each way, then one, then the best as it is.
    limit = uneven(best) + GIVEN_UP
    for least in range(each_way, 0, -1):
        for teams in attempts(least):
            if uneven(teams) <= limit:
                return teams
    return best


def can_leave(entries: Iterable[Entry], each_way: int) -> int:
    """Return how many players at most can be asked to leave each side, with as many who stay on it; up to so many."""
    stand = Counter(entry.side for entry in entries)
    return min(each_way, stand[Side.A] // 2, stand[Side.B] // 2)


def leave(entries: Iterable[Entry], a: Collection[PlayerId], each_way: int) -> bool:
    """Return whether so many players leave each side, and as many do not, with these on A and all others on B."""
    counts = Counter((entry.side, entry.id in a) for entry in entries)
    return all(counts[side, on_a] >= each_way for side in Side for on_a in (True, False))
