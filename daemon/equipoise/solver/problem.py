"""A split problem in whole numbers: the types of its answers, values as ticks, constraints checked and united.

From N players choose so many for side A and so many for side B; the others sit on the bench. The best assignment has
the least |Σ(A) − Σ(B) − target|. This is number partitioning with counts, which is NP-hard in the size of the numbers,
but easy for ratings: they span a few thousand points, so there are few different sums.

Players are indices into the caller's list of values. Places are numbers throughout the solver: 1 is side A, -1 is side
B, 0 is the bench, so that a player adds `place · value` to the difference.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from equipoise.core.model import Side
from equipoise.errors import SplitError


class Pin(Enum):
    """The place where a player must be: on a side, on the bench, or on either side but playing."""

    A = "a"
    B = "b"
    BENCH = "bench"
    PLAY = "play"


class Gap(NamedTuple):
    """The most by which the best assignment can be better, in each of the quantities that are minimised."""

    points: float = 0.0
    """In |Σ(A) − Σ(B) − target|."""
    bench_cost: int = 0
    moves: int = 0


NO_GAP = Gap()


@dataclass(frozen=True, slots=True)
class Assignment:
    """Players, by index, on two sides and a bench."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    bench: tuple[int, ...]
    difference: float
    """Signed: the sum of A's values less the sum of B's, in points, of the values as they were given."""
    optimal: bool
    """Proven: no assignment that meets the constraints is better by more than twice `error_bound`."""
    method: str
    """The method that found it."""
    error_bound: float = 0.0
    """The most by which rounding to ticks changed differences while solving, in points; 0 for values that are whole
    ticks."""
    bench_cost: int = 0
    moves: int = 0
    """Players who change to the other side; from or to the bench is no move."""
    gap: Gap = NO_GAP
    """The most by which the best is better; where the assignment is optimal, only what rounding hides."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of players on A and on B."""
        return len(self.a), len(self.b)

    def side_of(self, index: int) -> Side | None:
        """Return a player's side; None for the bench."""
        if index in self.a:
            return Side.A
        return Side.B if index in self.b else None


@dataclass(frozen=True, slots=True)
class Splits(Mapping[int, Assignment]):
    """The best assignment for every team size k that the constraints allow."""

    by_size: Mapping[int, Assignment]
    uneven: Assignment | None = None
    """⌈N/2⌉ against ⌊N/2⌋ with an empty bench, if it was asked for and N is odd."""

    def __getitem__(self, k: int) -> Assignment:
        return self.by_size[k]

    def __iter__(self) -> Iterator[int]:
        return iter(self.by_size)

    def __len__(self) -> int:
        return len(self.by_size)

    @property
    def largest(self) -> Assignment:
        """The assignment with the fewest players on the bench."""
        return self.uneven or self.by_size[max(self.by_size)]


# Values as ticks. Whole numbers are kept, others are rounded to a fine grid. Bitsets are as long as the range of the
# values in ticks, so the grid decides about time and memory; the default error is far below what ratings mean.

FINE, COARSE = 1 << 14, 1 << 12
"""Ticks that the range of values spans by default, up to and above `FEW_PLAYERS`."""
FEW_PLAYERS = 40
FINEST = 2.0**40
"""The most ticks per point."""
COARSEST = 1 << 8
"""Values are not rounded to fewer ticks than this."""
REACH = 64
"""Values that span less than this part of the largest have the grid of values that span as much.

A finer one would decide by differences that ratings do not mean, and by the rounding of their sums.
"""
# Below 2⁵³, up to which a float holds every whole number: ticks of whole ratings stay exact.
LARGEST = 1e15
"""The largest absolute value that is accepted."""
# `MAX_PLAYERS` values of two sides each.
SUMS = 256 * LARGEST
"""The same for what is computed from values: their sums, and a player's values on both sides together."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """Values on side A and on side B, and the target difference, in whole ticks."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    target: int
    per_point: float
    lossless: bool

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        values_b: Sequence[float] | None = None,
        target: float = 0,
        resolution: float | None = None,
        widest: float = math.inf,
        largest: float = LARGEST,
    ) -> Ticks:
        """Round to `resolution` ticks per point; by default the finest that is still fast, or 1 for whole numbers.

        The grid is coarser where the values would span more than `widest` ticks. `SplitError` when an absolute value is
        more than `largest`.

        >>> Ticks.of([1500.0, 1200.0]).a, Ticks.of([0.5, 0.25], resolution=4).a
        ((1500, 1200), (2, 1))
        """
        if not values:
            raise SplitError("no players to split")
        if values_b is not None and len(values_b) != len(values):
            raise SplitError(f"{len(values)} values on side A, but {len(values_b)} on side B")
        numbers = [*values, *(values_b or ()), target]
        for number in numbers:
            # Written as a range, so that NaN fails it as well.
            if not isinstance(number, int | float) or not -largest <= number <= largest:
                raise SplitError(f"{number!r} is not a number up to {largest:g}")
        if resolution is not None and not 0 < resolution <= FINEST:
            raise SplitError(f"a resolution is a number of ticks per point above 0, not {resolution!r}")
        per_point = _default_resolution(numbers, len(values)) if resolution is None else resolution
        # The target does not count: it may lie anywhere, and no set reaches to it.
        spread = max(numbers[:-1]) - min(numbers[:-1])
        if spread * per_point > widest:
            per_point = widest / spread
        ticks = [
            # A whole number is not multiplied: up to `SUMS` it may exceed 2⁵³, and a float would lose its last digits.
            number if per_point == 1 and isinstance(number, int) else round(number * per_point)
            for number in numbers
        ]
        count = len(values)
        return cls(
            a=tuple(ticks[:count]),
            b=tuple(ticks[count:-1]) if values_b is not None else tuple(ticks[:count]),
            target=ticks[-1],
            per_point=per_point,
            lossless=all(tick == number * per_point for tick, number in zip(ticks, numbers, strict=True)),
        )

    def error_bound(self, players: int) -> float:
        """Return the most by which rounding changes a difference between sides of `players` in all, in points.

        Half a tick per player: k/t for k players on each side at t ticks per point.
        """
        return 0.0 if self.lossless else players / (2 * self.per_point)

    def hidden(self, players: int) -> float:
        """Return the most by which rounding hides that another assignment is nearer, in points.

        Half a tick per player and for the target. It may make one assignment nearer than it is and the other farther,
        so it counts twice.
        """
        return 0.0 if self.lossless else (players + 1) / self.per_point

    def whole(self, points: float) -> float:
        """Return a distance in points as whole ticks, rounded down; infinity is kept."""
        return points if math.isinf(points) else math.floor(points * self.per_point)


def _default_resolution(numbers: Sequence[float], count: int) -> float:
    """Return ticks per point for the values of so many players and, last of the numbers, the target."""
    if all(number == int(number) for number in numbers):
        return 1
    values = numbers[:-1]
    spread = max(max(values) - min(values), max(map(abs, numbers)) / REACH)
    ticks = FINE if count <= FEW_PLAYERS else COARSE
    # A power of two: halves, quarters and so on stay exact. Values that are all 0 have no spread, and get `FINEST`.
    return 2.0 ** math.floor(math.log2(ticks / max(spread, ticks / FINEST)))


def total(values: Collection[float]) -> float:
    """Return the sum: exact for whole numbers, else correctly rounded.

    >>> total([1, 2]), total([0.1] * 10)
    (3, 1.0)
    """
    whole = sum(values)
    return whole if isinstance(whole, int) else math.fsum(values)


A, B, BENCH = 1, -1, 0
ANYWHERE = (A, BENCH, B)
PLACES: Mapping[Pin, tuple[int, ...]] = {Pin.A: (A,), Pin.B: (B,), Pin.BENCH: (BENCH,), Pin.PLAY: (A, B)}
# The counts of a state have 8 and 9 bits (`constraints`); 128 players on both sides still fit them.
MAX_PLAYERS = 128


class Goal(NamedTuple):
    """Team sizes and the difference Σ(A) − Σ(B) to come close to."""

    a: int
    b: int
    target: int = 0


class Floor(NamedTuple):
    """Proven lower bounds: the best assignment has no less of any of them."""

    distance: int = 0
    bench_cost: int = 0
    moves: int = 0


NO_FLOOR = Floor()


class Solution(NamedTuple):
    """The distance from the goal's target, and the place of every player."""

    distance: int
    places: list[int]
    floor: Floor | None = None
    """None: proven to be the best. Otherwise the best may be as good as this."""

    @property
    def least(self) -> int:
        """The distance that no assignment undercuts."""
        return self.distance if self.floor is None else self.floor.distance

    def times(self, factor: int) -> Solution:
        """Return the solution of the same problem with all values multiplied by the factor."""
        if factor == 1:
            return self
        floor = self.floor and self.floor._replace(distance=self.floor.distance * factor)
        return Solution(self.distance * factor, self.places, floor)


class Preferences(NamedTuple):
    """Quantities to minimise besides the distance: bench costs, and moves away from each player's present place."""

    bench_cost: Sequence[int] | None = None
    current: Sequence[int] | None = None

    @classmethod
    def of(cls, bench_cost: Sequence[int] | None, current: Sequence[Side | None] | None, players: int) -> Preferences:
        """Check costs and present sides; `SplitError` names what is wrong with them."""
        if bench_cost is not None:
            if len(bench_cost) != players:
                raise SplitError(f"{len(bench_cost)} bench costs for {players} players")
            if not all(isinstance(cost, int) and cost >= 0 for cost in bench_cost):
                raise SplitError("bench costs are whole numbers from 0 up")
        return cls(bench_cost, None if current is None else present_places(current, players))


NO_PREFERENCES = Preferences()


def present_places(sides: Sequence[Side | None], players: int) -> list[int]:
    """Return the present place of each player, 0 for players without a side; `SplitError` for a wrong number."""
    if len(sides) != players:
        raise SplitError(f"{len(sides)} present sides for {players} players")
    return [0 if side is None else A if side is Side.A else B for side in sides]


def check_tolerance(tolerance: float) -> None:
    """Raise `SplitError` for a negative tolerance, and for one that is not a number."""
    if not tolerance >= 0:
        raise SplitError(f"a tolerance is not negative, but {tolerance!r} is")


@dataclass(frozen=True, slots=True)
class Unit:
    """Players who share a place, one or a group, and the places open to them."""

    members: tuple[int, ...]
    places: tuple[int, ...] = ANYWHERE


@dataclass(frozen=True, slots=True)
class Problem:
    """Whole values on either side, the units still to be placed, and the place of all other players."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    units: tuple[Unit, ...]
    fixed: Mapping[int, int]
    roles: tuple[frozenset[int], ...] = ()
    role_cap: int = 1

    @classmethod
    def of(
        cls,
        a: tuple[int, ...],
        b: tuple[int, ...],
        groups: Iterable[Collection[int]] = (),
        pins: Mapping[int, Pin] | None = None,
        roles: Iterable[Collection[int]] = (),
        role_cap: int = 1,
    ) -> Problem:
        """Check the constraints against the players and against one another; `SplitError` names what is wrong."""
        if len(a) > MAX_PLAYERS:
            raise SplitError(f"{len(a)} players are too many: at most {MAX_PLAYERS} can be split")
        if role_cap < 0:
            raise SplitError(f"a role cap is not negative, but {role_cap} is")
        groups, pins, role_sets = list(groups), pins or {}, tuple(frozenset(role) for role in roles)
        for constraint, sets in (("group", groups), ("role", role_sets), ("pin", [pins])):
            for index in (index for indices in sets for index in indices):
                if not 0 <= index < len(a):
                    raise SplitError(f"a {constraint} names player {index}, but the players are 0 to {len(a) - 1}")
        units = [_unit(members, pins) for members in _united(len(a), groups)]
        pinned_places = {i: unit.places[0] for unit in units if len(unit.places) == 1 for i in unit.members}
        return cls(a, b, tuple(unit for unit in units if len(unit.places) > 1), pinned_places, role_sets, role_cap)

    @property
    def plain(self) -> bool:
        """Whether the players still to be placed differ by value only."""
        # A pinned player is no unit: pins to a place leave a problem plain, groups and `Pin.PLAY` do not.
        single = all(len(unit.members) == 1 and unit.places == ANYWHERE for unit in self.units)
        return single and self.a == self.b and not self.roles

    @property
    def open(self) -> list[int]:
        """The players whose place is not fixed."""
        return [i for unit in self.units for i in unit.members]

    def blocked(self, goals: Iterable[Goal]) -> dict[Goal, str]:
        """Return the goals whose sizes the pins alone rule out, each with the reason."""
        pins = list(self.fixed.values())
        on_a, on_b = pins.count(A), pins.count(B)
        most = on_a + on_b + len(self.open)
        # Groups count as if they could be cut to any size: what they rule out is found by `Approximation.fits`.
        least = on_a + on_b + sum(len(unit.members) for unit in self.units if BENCH not in unit.places)
        reasons = {}
        for goal in goals:
            places, sizes = goal.a + goal.b, f"{goal.a} against {goal.b}"
            if on_a > goal.a:
                reasons[goal] = f"{on_a} players are pinned to side A, but {goal.a} play there"
            elif on_b > goal.b:
                reasons[goal] = f"{on_b} players are pinned to side B, but {goal.b} play there"
            elif most < places:
                reasons[goal] = f"{sizes} needs {places} players who are not pinned to the bench"
            elif least > places:
                reasons[goal] = f"{least} players are pinned to play, but {sizes} has {places} places"
        return reasons

    def parity_bound(self, goal: Goal) -> int:
        """Return a lower bound on the distance from the goal's target: 1 if parity forbids the target, else 0."""
        # The side decides which value a player adds, so the parity of the sum is open.
        if self.a != self.b:
            return 0
        # A value and its negative have the same parity: on which side a player stands does not matter.
        odd = sum(self.a[i] & 1 for i in self.open)
        return parity_bound(odd, len(self.open) - odd, goal)

    def difference(self, places: Sequence[int]) -> int:
        """Return Σ(A) − Σ(B) for the places of all players."""
        return sum(a if place == A else -b for place, a, b in zip(places, self.a, self.b, strict=True) if place)

    def distance(self, places: Sequence[int], goal: Goal) -> int:
        """Return how far the places of all players are from the goal's target."""
        return abs(self.difference(places) - goal.target)

    @property
    def largest(self) -> int:
        """The largest absolute value of a player whose place is not fixed."""
        return max((abs(side[i]) for side in (self.a, self.b) for i in self.open), default=0)

    def widest(self, goal: Goal) -> int:
        """Return an upper bound on the distance of any assignment from the goal's target."""
        small, (rest,), factor = self.scaled([goal])
        return ((rest.a + rest.b) * small.largest + abs(rest.target)) * factor

    def whole(self, places: Mapping[int, int]) -> list[int]:
        """Return the place of every player, given the places of the open ones."""
        return [self.fixed[i] if i in self.fixed else places[i] for i in range(len(self.a))]

    def scaled(self, goals: Sequence[Goal]) -> tuple[Problem, list[Goal], int]:
        """Return the problem in small numbers, with values from 0 up and no common factor; its goals; that factor.

        The goals become those of the players whose place is not fixed. Subtracting the least value from all values of
        a side moves the target by as much per player of the side.
        """
        on_a = [i for i, place in self.fixed.items() if place == A]
        on_b = [i for i, place in self.fixed.items() if place == B]
        # From here on the goals hold what fixed players add. Their values stay in the tuples, rounded down, and are not
        # read.
        offset = sum(self.a[i] for i in on_a) - sum(self.b[i] for i in on_b)
        rest = [Goal(goal.a - len(on_a), goal.b - len(on_b), goal.target - offset) for goal in goals]
        least_a = min((self.a[i] for i in self.open), default=0)
        least_b = min((self.b[i] for i in self.open), default=0)
        targets = [goal.target - goal.a * least_a + goal.b * least_b for goal in rest]
        above = [self.a[i] - least_a for i in self.open] + [self.b[i] - least_b for i in self.open]
        # Without the common factor all bitsets are shorter by it; all values equal leave 0.
        factor = math.gcd(*above, *targets) or 1
        small = replace(
            self,
            a=tuple((value - least_a) // factor for value in self.a),
            b=tuple((value - least_b) // factor for value in self.b),
        )
        return small, [goal._replace(target=t // factor) for goal, t in zip(rest, targets, strict=True)], factor

    def allows(self, places: Sequence[int]) -> bool:
        """Return whether the pins let every player have this place."""
        in_place = all(places[i] == place for i, place in self.fixed.items())
        return in_place and all(places[unit.members[0]] in unit.places for unit in self.units)

    def rounded(self, grain: int) -> Problem:
        """Return the problem with values in whole multiples of a grain: each is off by half a grain at most."""
        return replace(
            self,
            a=tuple(rounded(value, grain) for value in self.a),
            b=tuple(rounded(value, grain) for value in self.b),
        )


def rounded(value: int, grain: int) -> int:
    """Return how many grains the value is, to the nearest."""
    # In whole numbers: a quotient of floats would lose the low digits of large values.
    return (2 * value + grain) // (2 * grain)


def parity_bound(odd: int, even: int, goal: Goal) -> int:
    """Return 1 if all choices of the goal's players among the odd and even values miss the target by parity, else 0."""
    # Parity is decided where as many odd values must play as can.
    players = goal.a + goal.b
    fewest, most = max(0, players - even), min(odd, players)
    return (fewest - goal.target) & 1 if fewest == most else 0


def _united(count: int, groups: Sequence[Collection[int]]) -> list[tuple[int, ...]]:
    """Return the players as disjoint units: groups that share a player become one."""
    # The usual case, without a set for each player.
    if not groups:
        return [(index,) for index in range(count)]
    unit_of = {index: {index} for index in range(count)}
    for group in groups:
        # All members refer to one set, so that a later group with one of them unites with all of them.
        union = {member for index in group for member in unit_of[index]}
        unit_of.update(dict.fromkeys(union, union))
    return [tuple(sorted(unit)) for index, unit in unit_of.items() if index == min(unit)]


def _unit(members: tuple[int, ...], pins: Mapping[int, Pin]) -> Unit:
    places, of_members = set(ANYWHERE), [(index, pins[index]) for index in members if index in pins]
    for _, pin in of_members:
        places &= set(PLACES[pin])
    if not places:
        wishes = ", ".join(f"{index} to {pin.value!r}" for index, pin in of_members)
        raise SplitError(f"players {', '.join(map(str, members))} are kept together, but pinned apart: {wishes}")
    return Unit(members, tuple(place for place in ANYWHERE if place in places))
