"""What NS2 keeps of no single player: win rates of the plus side, and how long rounds last."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from equipoise.errors import RatingError
from equipoise.ratings import ns2_kernel as kernel
from equipoise.ratings.base import State
from equipoise.ratings.ns2_arrays import Shared

UNKNOWN = -1


def no_rounds(width: int) -> Shared:
    """Nothing played; the median looks `width` rounds back."""
    return Shared([0.0], [0.0], [0.0] * width, [0.0] * width, [0, 0])


@dataclass(slots=True)
class Ledger:
    """Counts as the kernel reads them, and which map each belongs to."""

    shared: Shared
    maps: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Of a map; `UNKNOWN` without a name or before its first round."""
        return self.maps.get(name, UNKNOWN)

    def enter(self, name: str) -> int:
        """The number of a map, from now on if it is new; `UNKNOWN` without a name."""
        if name and name not in self.maps:
            self.maps[name] = len(self.maps)
            room = [0.0] * kernel.TALLIES
            wins, rounds = [*self.shared.wins, *room], [*self.shared.rounds, *room]
            self.shared = self.shared._replace(wins=wins, rounds=rounds)
        return self.number(name)

    def lengths(self) -> list[float]:
        """The last rounds', oldest first."""
        known, oldest = self.shared.cursor
        lengths = list(self.shared.lengths[:known])
        return lengths[oldest:] + lengths[:oldest]

    def state(self) -> State:
        """[won by the plus side, played] of `all` rounds and of each map's (all, small, large), and `lengths`."""
        pairs = [list(pair) for pair in zip(self.shared.wins, self.shared.rounds, strict=True)]
        places = {name: 1 + kernel.TALLIES * number for name, number in self.maps.items()}
        maps = {name: pairs[place : place + kernel.TALLIES] for name, place in places.items()}
        return {"all": pairs[0], "maps": maps, "lengths": self.lengths()}

    @classmethod
    def read(cls, state: State, width: int) -> Ledger:
        """Of a `state`, which may be empty; `RatingError` names what cannot be."""
        ledger = cls(no_rounds(width))
        if not state:
            return ledger
        if set(state) != {"all", "maps", "lengths"}:
            raise RatingError(f"not an ns2 shared state: {sorted(state)}")
        maps, lengths = state["maps"], state["lengths"]
        if not isinstance(maps, Mapping) or not isinstance(lengths, list | tuple):
            raise RatingError("ns2 shared state: maps or lengths of the wrong kind")
        ledger.shared.wins[0], ledger.shared.rounds[0] = _pair("all", state["all"])
        for name, pairs in maps.items():
            ledger._read_map(name, pairs)
        for length in lengths[-width:]:
            kernel.remember(_positive("lengths", length), ledger.shared)
        return ledger

    def _read_map(self, name: object, pairs: object) -> None:
        if not isinstance(name, str) or not name or not isinstance(pairs, list | tuple) or len(pairs) != kernel.TALLIES:
            raise RatingError(f"ns2 shared state: map {name!r} is not {kernel.TALLIES} pairs")
        first = 1 + kernel.TALLIES * self.enter(name)
        for place, pair in enumerate(pairs, first):
            self.shared.wins[place], self.shared.rounds[place] = _pair(name, pair)


def _pair(name: str, pair: object) -> Iterable[float]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise RatingError(f"ns2 shared state: {name}: {pair!r} is not [won, played]")
    won, played = (_number(name, value) for value in pair)
    if not 0.0 <= won <= played:
        raise RatingError(f"ns2 shared state: {name}: {won:g} won of {played:g} played")
    return won, played


def _positive(name: str, value: object) -> float:
    number = _number(name, value)
    if number <= 0.0:
        raise RatingError(f"ns2 shared state: {name}: {value!r} is not above 0")
    return number


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RatingError(f"ns2 shared state: {name}: {value!r} is not a number")
    return float(value)
