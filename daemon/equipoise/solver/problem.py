"""A split problem with its constraints: checked, and reduced to the decisions that are left.

Places are numbers throughout the solver: 1 is side A, -1 is side B, 0 is the bench.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from equipoise.errors import SplitError
from equipoise.solver.model import Pin

A, B, BENCH = 1, -1, 0
ANYWHERE = (A, BENCH, B)
PLACES: Mapping[Pin, tuple[int, ...]] = {Pin.A: (A,), Pin.B: (B,), Pin.BENCH: (BENCH,), Pin.PLAY: (A, B)}
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
        """The solution of a problem whose values are so many times as large."""
        if factor == 1:
            return self
        floor = self.floor and self.floor._replace(distance=self.floor.distance * factor)
        return Solution(self.distance * factor, self.places, floor)


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
        groups, pins, known_roles = list(groups), pins or {}, tuple(frozenset(role) for role in roles)
        _check_indices("group", groups, len(a))
        _check_indices("role", known_roles, len(a))
        _check_indices("pin", [pins], len(a))
        units = [_unit(members, pins) for members in _united(len(a), groups)]
        fixed = {i: unit.places[0] for unit in units if len(unit.places) == 1 for i in unit.members}
        return cls(a, b, tuple(unit for unit in units if len(unit.places) > 1), fixed, known_roles, role_cap)

    @property
    def plain(self) -> bool:
        """The players still to be placed differ by value only."""
        single = all(len(unit.members) == 1 and unit.places == ANYWHERE for unit in self.units)
        return single and self.a == self.b and not self.roles

    @property
    def open(self) -> list[int]:
        """The players whose place is not fixed."""
        return [i for unit in self.units for i in unit.members]

    def blocked(self, goals: Iterable[Goal]) -> dict[Goal, str]:
        """The goals whose sizes the pins alone rule out, each with the reason."""
        fixed = list(self.fixed.values())
        on_a, on_b = fixed.count(A), fixed.count(B)
        most = on_a + on_b + len(self.open)
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
        """A lower bound on the distance from the goal's target: 1 if parity forbids the target itself, else 0."""
        if self.a != self.b:
            return 0
        odd = sum(self.a[i] & 1 for i in self.open)
        return parity_bound(odd, len(self.open) - odd, goal)

    def difference(self, places: Sequence[int]) -> int:
        """Σ(A) − Σ(B) of the places of all players."""
        return sum(a if place == A else -b for place, a, b in zip(places, self.a, self.b, strict=True) if place)

    def distance(self, places: Sequence[int], goal: Goal) -> int:
        """How far the places of all players are from the goal's target."""
        return abs(self.difference(places) - goal.target)

    @property
    def largest(self) -> int:
        """The largest absolute value of a player whose place is not fixed."""
        return max((abs(side[i]) for side in (self.a, self.b) for i in self.open), default=0)

    def widest(self, goal: Goal) -> int:
        """An upper bound on the distance of any assignment from the goal's target."""
        small, (left,), factor = self.scaled([goal])
        return ((left.a + left.b) * small.largest + abs(left.target)) * factor

    def whole(self, places: Mapping[int, int]) -> list[int]:
        """The place of every player, given those of the open ones."""
        return [self.fixed[i] if i in self.fixed else places[i] for i in range(len(self.a))]

    def scaled(self, goals: Sequence[Goal]) -> tuple[Problem, list[Goal], int]:
        """The problem in small numbers: values from 0 up without a common factor; and that factor.

        The goals become those of the players whose place is not fixed. Subtracting the least value from all values of
        a side moves the target by as much per player of the side.
        """
        on_a = [i for i, place in self.fixed.items() if place == A]
        on_b = [i for i, place in self.fixed.items() if place == B]
        done = sum(self.a[i] for i in on_a) - sum(self.b[i] for i in on_b)
        left = [Goal(goal.a - len(on_a), goal.b - len(on_b), goal.target - done) for goal in goals]
        least_a = min((self.a[i] for i in self.open), default=0)
        least_b = min((self.b[i] for i in self.open), default=0)
        targets = [goal.target - goal.a * least_a + goal.b * least_b for goal in left]
        above = [self.a[i] - least_a for i in self.open] + [self.b[i] - least_b for i in self.open]
        factor = math.gcd(*above, *targets) or 1
        small = replace(
            self,
            a=tuple((value - least_a) // factor for value in self.a),
            b=tuple((value - least_b) // factor for value in self.b),
        )
        return small, [goal._replace(target=t // factor) for goal, t in zip(left, targets, strict=True)], factor

    def allows(self, places: Sequence[int]) -> bool:
        """The pins let every player have this place."""
        fixed = all(places[i] == place for i, place in self.fixed.items())
        return fixed and all(places[unit.members[0]] in unit.places for unit in self.units)

    def rounded(self, unit: int) -> Problem:
        """The values as whole multiples of a unit: each is off by half a unit at most."""
        return replace(
            self,
            a=tuple(rounded(value, unit) for value in self.a),
            b=tuple(rounded(value, unit) for value in self.b),
        )


def rounded(value: int, unit: int) -> int:
    """The value as a multiple of the unit, to the nearest."""
    return (2 * value + unit) // (2 * unit)


def parity_bound(odd: int, even: int, goal: Goal) -> int:
    """1 if any choice of the goal's players among so many odd and even values misses the target by parity, else 0."""
    players = goal.a + goal.b
    fewest, most = max(0, players - even), min(odd, players)
    return (fewest - goal.target) & 1 if fewest == most else 0


def _check_indices(what: str, sets: Iterable[Iterable[int]], count: int) -> None:
    for indices in sets:
        for index in indices:
            if not 0 <= index < count:
                raise SplitError(f"a {what} names player {index}, but the players are 0 to {count - 1}")


def _united(count: int, groups: Sequence[Collection[int]]) -> list[tuple[int, ...]]:
    """The players as disjoint units: groups that share a player become one."""
    if not groups:
        return [(index,) for index in range(count)]
    unit_of = {index: {index} for index in range(count)}
    for group in groups:
        union = {member for index in group for member in unit_of[index]}
        unit_of.update(dict.fromkeys(union, union))
    return [tuple(sorted(unit)) for index, unit in unit_of.items() if index == min(unit)]


def _unit(members: tuple[int, ...], pins: Mapping[int, Pin]) -> Unit:
    places, pinned = set(ANYWHERE), [(index, pins[index]) for index in members if index in pins]
    for _, pin in pinned:
        places &= set(PLACES[pin])
    if not places:
        wishes = ", ".join(f"{index} to {pin.value!r}" for index, pin in pinned)
        raise SplitError(f"players {', '.join(map(str, members))} are kept together, but pinned apart: {wishes}")
    return Unit(members, tuple(place for place in ANYWHERE if place in places))
