"""Everyone on one of two sides: what each player adds there, and what a shuffle counts, packed into one integer.

From the lowest bits up: players on A, how many of them are to be spread evenly, moves, parted friends, and what the
denied wishes weigh. Placing players is one addition, and masks select what a stage of the search counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from equipoise.errors import SplitError
from equipoise.solver.model import Pin
from equipoise.solver.problem import MAX_PLAYERS, A, B

FIELD_BITS = 8
FIELD = (1 << FIELD_BITS) - 1
"""Mask of a count of players."""
WISHES_MASK = (1 << 40) - 1
HEAVIEST = 1 << 32
"""The most that all wishes may weigh together."""
LARGEST_GROUP = 4


class Count(NamedTuple):
    """Where a count lies in a state."""

    shift: int
    mask: int = FIELD

    def of(self, state: int) -> int:
        """The count of a state."""
        return state >> self.shift & self.mask

    @property
    def bits(self) -> int:
        """The mask of the count where it lies."""
        return self.mask << self.shift


ON_A, SPREAD, MOVES, PARTED = (Count(FIELD_BITS * n) for n in range(4))
WISHES = Count(FIELD_BITS * 4, WISHES_MASK)


class Window(NamedTuple):
    """The differences that are wanted, from `low` to `high`, and the one to come near to."""

    low: int
    high: int
    target: int


class Pattern(NamedTuple):
    """One way to place the players of a unit, and what it adds to a state."""

    step: int
    on_a: int
    """The weights of the players that it places on A, and of those on B."""
    on_b: int
    places: tuple[int, ...]


class Unit(NamedTuple):
    """A player, or a group of friends, and the ways to place them."""

    members: tuple[int, ...]
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Sides:
    """Who may stand where, and what counts; values in ticks.

    The difference of the sides is the sum of the weights on A less the sum of all values on B: a player on A adds their
    value there and spares B their value on B.
    """

    a: Sequence[int]
    b: Sequence[int]
    sizes: tuple[int, ...]
    """The numbers of players that A may have."""
    current: Sequence[int]
    """The present place of each player; 0 for those without a side."""
    pins: Mapping[int, int]
    groups: Sequence[Sequence[int]]
    wishes: Sequence[tuple[int, int]]
    """What it costs to place each player on A, and on B."""
    spread: frozenset[int]

    @property
    def units(self) -> list[Unit]:
        """Groups and single players, ascending by weight."""
        grouped = {member for group in self.groups for member in group}
        singles = ((player,) for player in range(len(self.a)) if player not in grouped)
        members = [*map(tuple, self.groups), *singles]
        return sorted(map(self._unit, members), key=lambda unit: self.weight(unit.members) / len(unit.members))

    def difference(self, places: Sequence[int]) -> int:
        """Σ(A) − Σ(B) of an assignment, in ticks."""
        return sum(a if place == A else -b for place, a, b in zip(places, self.a, self.b, strict=True))

    def state(self, places: Sequence[int]) -> int:
        """The state of the places of all players."""
        apart = sum(parted([places[i] for i in group]) for group in self.groups)
        return sum(map(self.step, range(len(places)), places)) + (apart << PARTED.shift)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest difference of sides of these sizes, wherever players are pinned."""
        weights, on_b = sorted(self.weight([i]) for i in range(len(self.a))), sum(self.b)
        return (
            min(sum(weights[:size]) for size in self.sizes) - on_b,
            max(sum(weights[len(weights) - size :]) for size in self.sizes) - on_b,
        )

    def excess(self, state: int) -> int:
        """By how many players too many the ones to be spread evenly differ in number."""
        return max(0, abs(2 * SPREAD.of(state) - len(self.spread)) - 1)

    def open(self, player: int) -> tuple[int, ...]:
        """The places that a player may have."""
        return (self.pins[player],) if player in self.pins else (A, B)

    def weight(self, players: Iterable[int]) -> int:
        """What the difference gains when these players change from B to A."""
        return sum(self.a[i] + self.b[i] for i in players)

    def _unit(self, members: tuple[int, ...]) -> Unit:
        return Unit(members, tuple(self._patterns(members)))

    def _patterns(self, members: tuple[int, ...]) -> Iterator[Pattern]:
        for places in product(*map(self.open, members)):
            step = sum(map(self.step, members, places)) + (parted(places) << PARTED.shift)
            on_a = self.weight(i for i, place in zip(members, places, strict=True) if place == A)
            yield Pattern(step, on_a, self.weight(members) - on_a, places)

    def step(self, player: int, place: int) -> int:
        """What a player adds to a state, but for parted friends."""
        on_a = place == A
        return (
            on_a
            | (on_a and player in self.spread) << SPREAD.shift
            | (place == -self.current[player]) << MOVES.shift
            | self.wishes[player][not on_a] << WISHES.shift
        )


def checked_groups(groups: Iterable[Collection[int]], count: int) -> list[list[int]]:
    """The groups of two or more; `SplitError` for one that is too large or shares a player with another."""
    found = [sorted(set(group)) for group in groups]
    members = [member for group in found for member in group]
    for member in members:
        if not 0 <= member < count:
            raise SplitError(f"a group names player {member}, but the players are 0 to {count - 1}")
        if members.count(member) > 1:
            raise SplitError(f"player {member} is in two groups of friends")
    for group in found:
        if len(group) > LARGEST_GROUP:
            raise SplitError(f"a group of friends has {len(group)} players: at most {LARGEST_GROUP} are kept together")
    return [group for group in found if len(group) > 1]


def checked_pins(pins: Mapping[int, Pin], sizes: tuple[int, int], count: int) -> dict[int, int]:
    """The places of pinned players; `SplitError` when they do not fit the sizes, either side being the larger one."""
    if count > MAX_PLAYERS:
        raise SplitError(f"{count} players are too many: at most {MAX_PLAYERS} can be split")
    if min(sizes) < 1 or sum(sizes) != count:
        raise SplitError(f"{count} players cannot all play {sizes[0]} against {sizes[1]}")
    places = {}
    for player, pin in pins.items():
        if not 0 <= player < count:
            raise SplitError(f"a pin names player {player}, but the players are 0 to {count - 1}")
        if pin is Pin.BENCH:
            raise SplitError(f"player {player} is pinned to the bench, but a shuffle has none")
        if pin is not Pin.PLAY:
            places[player] = A if pin is Pin.A else B
    on_a, on_b = (list(places.values()).count(side) for side in (A, B))
    if not any(on_a <= size and on_b <= count - size for size in sizes):
        listed = f"{on_a} players are pinned to side A and {on_b} to side B"
        raise SplitError(f"{listed}, but {max(sizes)} play against {min(sizes)}")
    return places


def parted(places: Sequence[int]) -> int:
    """How many of a group are on the side that has fewer of them."""
    return min(places.count(A), places.count(B))
