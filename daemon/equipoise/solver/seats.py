"""Which sizes the units can fill exactly, whatever their values: groups of three do not make sides of four.

One bitset per number of players on A holds the numbers of players that B may then have. Going back through the layers,
an assignment of any possible size can be put together unit by unit: a place is open where the other units can still
fill the seats that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from equipoise.solver.problem import BENCH, A, B, Unit

Choose = Callable[[int, Sequence[int]], int]
"""Picks one of the places that are open to a unit, which is given by its number."""


class Seats:
    """The sizes that units can fill, after 0, 1, … all of them.

    >>> Seats([Unit((0, 1)), Unit((2,))]).fill(1, 2, lambda unit, places: places[0])
    [-1, 1]
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self.units = units
        self.layers = [[1] + [0] * sum(len(unit.members) for unit in units)]
        for unit in units:
            self.layers.append(_extended(self.layers[-1], unit))

    def fit(self, a: int, b: int) -> bool:
        """All the units together can fill these sizes."""
        return self._holds(len(self.units), a, b)

    def fill(self, a: int, b: int, choose: Choose) -> list[int]:
        """The place of every unit, chosen from the last unit to the first; the sizes must fit."""
        places = []
        for number in range(len(self.units) - 1, -1, -1):
            unit = self.units[number]
            size = len(unit.members)
            left = {A: (a - size, b), BENCH: (a, b), B: (a, b - size)}
            place = choose(number, [p for p in unit.places if self._holds(number, *left[p])])
            a, b = left[place]
            places.append(place)
        return places[::-1]

    def _holds(self, placed: int, a: int, b: int) -> bool:
        layer = self.layers[placed]
        return 0 <= a < len(layer) and b >= 0 and bool(layer[a] >> b & 1)


def _extended(before: Sequence[int], unit: Unit) -> list[int]:
    size = len(unit.members)
    layer = list(before) if BENCH in unit.places else [0] * len(before)
    if B in unit.places:
        layer = [bits | other << size for bits, other in zip(layer, before, strict=True)]
    if A in unit.places:
        on_a = [*([0] * size), *before[:-size]]
        layer = [bits | other for bits, other in zip(layer, on_a, strict=True)]
    return layer
