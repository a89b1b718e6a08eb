"""What NS2 keeps of no single player: win rates of the plus side, and how long rounds last."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from equipoise.errors import RatingError
from equipoise.ratings.ns2 import formulas as kernel
from equipoise.ratings.ns2.arrays import Shared
from equipoise.ratings.ns2.time_weights import remember
from equipoise.ratings.system import Parts

UNKNOWN = -1

ALL, MAP, LENGTHS = "all", "map:", "lengths"
"""What parts are called; a map's begins so."""


def no_rounds(width: int) -> Shared:
    """Nothing played; the median looks `width` rounds back."""
    return Shared([0.0], [0.0], [math.inf] * width, [math.inf] * width, [0, 0])


@dataclass(slots=True)
class Environment:
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

    def parts(self) -> Parts:
        """All that is known: of `all` rounds, of each map after `MAP`, and `lengths`."""
        known = self._parts(self.maps)
        return {key: part for key, part in known.items() if part is not None}

    def parts_of(self, name: str) -> Parts:
        """What a round on a map changes; None before the first."""
        return self._parts([name] if name else [])

    def _parts(self, names: Iterable[str]) -> dict[str, object]:
        maps = {MAP + name: self._played(self._place(name), kernel.TALLIES) for name in names}
        (everywhere,) = self._played(0, 1) or (None,)
        return {ALL: everywhere, LENGTHS: self.lengths() or None, **maps}

    def restore(self, key: str, part: object) -> None:
        """A part again, with None as before the first round; `RatingError` names what cannot be."""
        if key == ALL:
            self._take(0, [_pair(ALL, [0.0, 0.0] if part is None else part)])
        elif key == LENGTHS:
            self._take_lengths([] if part is None else part)
        elif key.startswith(MAP) and key != MAP:
            self._take_map(key.removeprefix(MAP), [[0.0, 0.0]] * kernel.TALLIES if part is None else part)
        else:
            raise RatingError(f"not a part of what ns2 shares: {key}")

    def _place(self, name: str) -> int:
        return 1 + kernel.TALLIES * self.maps[name] if name in self.maps else len(self.shared.wins)

    def _played(self, place: int, count: int) -> list[list[float]] | None:
        """[won by the plus side, played] of so many kinds of rounds; None before the first."""
        pairs = zip(self.shared.wins[place : place + count], self.shared.rounds[place : place + count], strict=True)
        listed = [list(pair) for pair in pairs]
        return listed if any(played for _, played in listed) else None

    def _take(self, place: int, pairs: Iterable[tuple[float, float]]) -> None:
        for each, (won, played) in enumerate(pairs, place):
            self.shared.wins[each], self.shared.rounds[each] = won, played

    def _take_map(self, name: str, pairs: object) -> None:
        if not isinstance(pairs, list | tuple) or len(pairs) != kernel.TALLIES:
            raise RatingError(f"ns2 shares: map {name!r} is not {kernel.TALLIES} pairs")
        checked = [_pair(name, pair) for pair in pairs]
        self.enter(name)
        self._take(self._place(name), checked)

    def _take_lengths(self, lengths: object) -> None:
        if not isinstance(lengths, list | tuple):
            raise RatingError("ns2 shares: lengths of the wrong kind")
        width = len(self.shared.lengths)
        fresh = no_rounds(width)
        for length in lengths[-width:]:
            remember(_positive(LENGTHS, length), fresh)
        self.shared = self.shared._replace(lengths=fresh.lengths, ordered=fresh.ordered, cursor=fresh.cursor)


def _pair(name: str, pair: object) -> tuple[float, float]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise RatingError(f"ns2 shares: {name}: {pair!r} is not [won, played]")
    won, played = (_number(name, value) for value in pair)
    if not 0.0 <= won <= played:
        raise RatingError(f"ns2 shares: {name}: {won:g} won of {played:g} played")
    return won, played


def _positive(name: str, value: object) -> float:
    number = _number(name, value)
    if number <= 0.0:
        raise RatingError(f"ns2 shares: {name}: {value!r} is not above 0")
    return number


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RatingError(f"ns2 shares: {name}: {value!r} is not a number")
    return float(value)
