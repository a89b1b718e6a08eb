"""The state of NS2 that belongs to no single player: win counts of the plus side and lengths of rounds.

F, by how much a map at a size favours the plus side, is read from counts of wins (`formulas.intercept`), and only these
counts are stored.  The whole-history fit finds F as a sum of three steps instead: of all rounds, of a map's rounds
beyond that, and of a map's rounds at a size beyond both.  `steps_of` and `wins_of` convert one into the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from equipoise.core.model import logistic
from equipoise.errors import RatingError
from equipoise.ratings.ns2.arrays import EnvironmentArrays
from equipoise.ratings.ns2.formulas import SETS_PER_MAP, intercept
from equipoise.ratings.ns2.time_weights import add_length
from equipoise.ratings.parameters import is_number
from equipoise.ratings.system import Parts

UNKNOWN = -1
"""The number of a map without a name, or before its first round."""

ALL, MAP, LENGTHS = "all", "map:", "lengths"
"""The keys of the stored parts; those of maps begin with `MAP`."""

SWEEPS = 1000
TOLERANCE = 1e-14
"""`wins_of` has converged when a sweep changes no win rate by more."""
ROUNDING = 1e-9
"""Relative rounding error allowed when stored counts of maps are compared with that of all rounds."""


def no_rounds(width: int) -> EnvironmentArrays:
    """Empty counts; the median looks `width` rounds back."""
    return EnvironmentArrays([0.0], [0.0], [math.inf] * width, [math.inf] * width, [0, 0])


@dataclass(slots=True)
class Environment:
    """The counts that the kernels read, and the number of each map in them.

    >>> environment = Environment(no_rounds(width=3))
    >>> environment.restore("map:veil", [[3, 4], [2, 2], [1, 2]])
    >>> environment.number("veil"), environment.number("tram"), environment.parts()
    (0, -1, {'map:veil': [[3.0, 4.0], [2.0, 2.0], [1.0, 2.0]]})
    """

    arrays: EnvironmentArrays
    maps: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """The number of a map, or `UNKNOWN`."""
        return self.maps.get(name, UNKNOWN)

    def enter(self, name: str) -> int:
        """The number of a map, assigned now if the map is new; `UNKNOWN` for an empty name."""
        if name and name not in self.maps:
            self.maps[name] = len(self.maps)
            room = [0.0] * SETS_PER_MAP
            wins, rounds = [*self.arrays.wins, *room], [*self.arrays.rounds, *room]
            self.arrays = self.arrays._replace(wins=wins, rounds=rounds)
        return self.number(name)

    def lengths(self) -> list[float]:
        """Lengths of the last rounds, seconds, oldest first."""
        count, oldest = self.arrays.cursor
        lengths = list(self.arrays.lengths[:count])
        return lengths[oldest:] + lengths[:oldest]

    def parts(self) -> Parts:
        """The whole state: counts of `all` rounds, of each map under `MAP` and its name, and `lengths`."""
        parts = self._parts(self.maps)
        return {key: part for key, part in parts.items() if part is not None}

    def parts_of(self, name: str) -> Parts:
        """The parts that a round on a map changes; None for a part without rounds."""
        return self._parts([name] if name else [])

    def _parts(self, names: Iterable[str]) -> dict[str, object]:
        maps = {MAP + name: self._counts(self._place(name), SETS_PER_MAP) for name in names}
        # None, not zeros, for a part without rounds: the store then keeps no row for it.
        (everywhere,) = self._counts(0, 1) or (None,)
        return {ALL: everywhere, LENGTHS: self.lengths() or None, **maps}

    def restore(self, key: str, part: object) -> None:
        """Set a part that `parts` returned, or reset it with None.  Raises `RatingError` for impossible counts."""
        if key == ALL:
            self._set_counts(0, [_pair(ALL, [0.0, 0.0] if part is None else part)])
        elif key == LENGTHS:
            self._set_lengths([] if part is None else part)
        elif key.startswith(MAP) and key != MAP:
            self._set_map(key.removeprefix(MAP), [[0.0, 0.0]] * SETS_PER_MAP if part is None else part)
        else:
            raise RatingError(f"not a part of what ns2 shares: {key}")

    def _place(self, name: str) -> int:
        # Beyond the end for an unknown map: the slices there are empty.
        return 1 + SETS_PER_MAP * self.maps[name] if name in self.maps else len(self.arrays.wins)

    def _counts(self, place: int, count: int) -> list[list[float]] | None:
        """[won by the plus side, played] of `count` sets of rounds from `place` on; None without rounds."""
        pairs = zip(self.arrays.wins[place : place + count], self.arrays.rounds[place : place + count], strict=True)
        rows = [list(pair) for pair in pairs]
        return rows if any(rounds for _, rounds in rows) else None

    def _set_counts(self, place: int, pairs: Iterable[tuple[float, float]]) -> None:
        for index, (won, rounds) in enumerate(pairs, place):
            self.arrays.wins[index], self.arrays.rounds[index] = won, rounds

    def _set_map(self, name: str, pairs: object) -> None:
        if not isinstance(pairs, list | tuple) or len(pairs) != SETS_PER_MAP:
            raise RatingError(f"ns2 shares: map {name!r} is not {SETS_PER_MAP} pairs")
        counts = [_pair(name, pair) for pair in pairs]
        self.enter(name)
        self._set_counts(self._place(name), counts)

    def _set_lengths(self, lengths: object) -> None:
        if not isinstance(lengths, list | tuple):
            raise RatingError("ns2 shares: lengths of the wrong kind")
        width = len(self.arrays.lengths)
        fresh = no_rounds(width)
        for length in lengths[-width:]:
            add_length(_positive(LENGTHS, length), fresh)
        self.arrays = self.arrays._replace(lengths=fresh.lengths, ordered=fresh.ordered, cursor=fresh.cursor)


def steps_of(arrays: EnvironmentArrays, prior_rounds: float) -> list[float]:
    """The most probable steps whose sums are F as it is read from the counts, at each map and size that was played.

    With s for all rounds, d = F - s at each of a map's n sizes gives Σd/(1 + n) to the map and the rest to the sizes.
    What that costs is least where s = Σ over maps of Σd/(1 + n); rounds without a map give s themselves.
    """
    steps = [0.0] * len(arrays.wins)
    maps = range((len(steps) - 1) // SETS_PER_MAP)
    intercepts = {number: _intercepts(number, arrays, prior_rounds) for number in maps}
    # Weights that are no whole numbers add up with rounding errors, so a tiny rest is none.
    if _rounds_without_map(arrays) > ROUNDING * arrays.rounds[0]:
        steps[0] = intercept(UNKNOWN, False, arrays, prior_rounds)
    else:
        total = sum(sum(sizes.values()) / (1 + len(sizes)) for sizes in intercepts.values())
        steps[0] = total / (1.0 + sum(len(sizes) / (1 + len(sizes)) for sizes in intercepts.values()))
    for number, sizes in intercepts.items():
        first = 1 + SETS_PER_MAP * number
        steps[first] = sum(f - steps[0] for f in sizes.values()) / (1 + len(sizes))
        for place, f in sizes.items():
            steps[place] = f - steps[0] - steps[first]
    return steps


def _intercepts(number: int, arrays: EnvironmentArrays, prior_rounds: float) -> dict[int, float]:
    """F of a map at each size it was played at, by index in the counts."""
    first = 1 + SETS_PER_MAP * number
    return {
        first + 1 + large: intercept(number, bool(large), arrays, prior_rounds)
        for large in (0, 1)
        if arrays.rounds[first + 1 + large] > 0.0
    }


def _rounds_without_map(arrays: EnvironmentArrays) -> float:
    return float(arrays.rounds[0] - sum(arrays.rounds[1::SETS_PER_MAP]))


def wins_of(arrays: EnvironmentArrays, steps: Sequence[float], prior_rounds: float) -> list[float]:
    """Wins of the plus side, out of the rounds in `arrays`, from which F is read as the sums of these steps.

    If that needs fewer wins than 0 or more than were played, the nearest possible number.  By Gauss-Seidel: in turn,
    each size gets the wins that make its own rate right, given all others.  The equations' matrix is symmetric and
    positive definite up to the scale of its rows, so sweeps converge from any start, within bounds too.
    """
    rounds = [float(number) for number in arrays.rounds]
    # Any start converges; even odds are the prior's.
    wins = [0.5 * number for number in rounds]
    without_map = max(0.0, _rounds_without_map(arrays))
    won_without_map = 0.5 * without_map
    for _ in range(SWEEPS):
        change = 0.0
        for first in range(1, len(wins), SETS_PER_MAP):
            for place, neighbour in ((first + 1, first + 2), (first + 2, first + 1)):
                target = logistic(steps[0] + steps[first] + steps[place])
                won = _wins_at_size(target, place, first, neighbour, wins, rounds, prior_rounds)
                change = max(change, abs(won - wins[place]) / (rounds[place] + prior_rounds))
                wins[0] += won - wins[place]
                wins[place] = won
                # A map's own count is the sum of its sizes, and is never free.
                wins[first] = won + wins[neighbour]
        everywhere = logistic(steps[0]) * (rounds[0] + prior_rounds) - 0.5 * prior_rounds
        on_maps = sum(wins[1::SETS_PER_MAP])
        before, won_without_map = won_without_map, min(without_map, max(0.0, everywhere - on_maps))
        wins[0] = on_maps + won_without_map
        if max(change, abs(won_without_map - before) / (rounds[0] + prior_rounds)) <= TOLERANCE:
            break
    return [min(number, max(0.0, won)) for won, number in zip(wins, rounds, strict=True)]


def _wins_at_size(
    target: float, place: int, first: int, other: int, wins: list[float], rounds: list[float], prior_rounds: float
) -> float:
    """Wins of a map's rounds at one size that make its smoothed rate the target; `formulas.intercept` inverted."""
    elsewhere = (wins[0] - wins[first] + 0.5 * prior_rounds) / (rounds[0] - rounds[first] + prior_rounds)
    towards = (wins[other] + prior_rounds * elsewhere) / (rounds[other] + prior_rounds)
    won = target * (rounds[place] + prior_rounds) - prior_rounds * towards
    return min(rounds[place], max(0.0, won))


def _pair(name: str, pair: object) -> tuple[float, float]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise RatingError(f"ns2 shares: {name}: {pair!r} is not [won, played]")
    won, rounds = (_number(name, value) for value in pair)
    if not 0.0 <= won <= rounds:
        raise RatingError(f"ns2 shares: {name}: {won:g} won of {rounds:g} played")
    return won, rounds


def _positive(name: str, value: object) -> float:
    number = _number(name, value)
    if number <= 0.0:
        raise RatingError(f"ns2 shares: {name}: {value!r} is not above 0")
    return number


def _number(name: str, value: object) -> float:
    if not is_number(value):
        raise RatingError(f"ns2 shares: {name}: {value!r} is not a number")
    return float(value)
