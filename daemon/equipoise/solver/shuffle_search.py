"""The exact search of a shuffle: stage by stage, two halves of the players that meet.

As in `preferences`, each stage counts one thing more than the stage before, and keeps all partial assignments that lead
to the least of it. Here everyone has one of two places, which needs less: the difference of the sides is a sum over A
alone, friends may be parted at a cost, and what is wanted is a difference inside a window rather than the nearest one.

Bits of the lower half stand for the sum of the weights on A, bits of the upper half for that on B, each less the half's
least weight per player. So the difference is an offset plus a bit of the lower half less one of the upper half, and two
states make a difference in the window where their bits are near each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from equipoise.solver.bitset import UNBOUNDED, dilate, nearest, overlap
from equipoise.solver.budget import Budget
from equipoise.solver.constrained import JOIN_WORK
from equipoise.solver.layers import Half, Stage
from equipoise.solver.sides import MOVES, ON_A, SPREAD, Count, Sides, Unit, Window
from equipoise.solver.states import FAR, States

NOTHING = Count(0, 0)
"""Counts nothing: of the first stage without a limit on moves."""


@dataclass(slots=True)
class Ladder:
    """States of the upper half that differ only in the count, ascending by it."""

    state: int
    counts: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    unions: list[int] = field(default_factory=lambda: [0])
    """`unions[i]`: the bits of the first i states."""
    wide: dict[int, int] = field(default_factory=dict)
    """The same unions as wide as the window."""


@dataclass(slots=True)
class Bits:
    """The bits of a state of the lower half; also as wide as the window, where that is asked for."""

    exact: int
    width: int
    _wide: int | None = None

    @property
    def wide(self) -> int:
        """The bits and as many above each as the window is wide."""
        if self._wide is None:
            self._wide = dilate(self.exact, self.width)
        return self._wide


class Meeting(NamedTuple):
    """A state of the lower half and states of the upper one that together meet all limits."""

    state: int
    bits: Bits
    offset: int
    """The difference is this plus a bit of the lower half less one of the upper half."""
    ladder: Ladder

    def hits(self, reached: int, high: int) -> int:
        """The bits of the ladder's first states that make a difference in the window, which ends at `high`."""
        return overlap(self.bits.wide, self.ladder.unions[reached], self.offset - high) if reached else 0

    def fewest(self, reached: int, high: int) -> int:
        """Of the ladder's first states, which have hits, as many as are needed for one."""
        return 1 + bisect_left(range(1, reached), True, key=lambda number: self.hits(number, high) != 0)


class Search:
    """The search; `found` has the places of the best stage so far, and keeps them after `Spent`."""

    def __init__(self, sides: Sides, window: Window, tolerance: int, max_moves: int | None, budget: Budget) -> None:
        self.sides, self.window, self.tolerance, self.budget = sides, window, tolerance, budget.halved()
        units, middle = sides.units, 0
        while sum(len(unit.members) for unit in units[:middle]) < len(sides.a) // 2:
            middle += 1
        self.lower = Half(sides, units[:middle], True, self.budget)
        self.upper = Half(sides, units[middle:], False, self.budget)
        self.base = self.upper.weight - sum(sides.b) - self.upper.players * self.upper.least
        self.known, self.counted = 0, ON_A.bits | SPREAD.bits
        self.excess = len(sides.a)
        self.limits: dict[Count, int] = {}
        self.fewest = self._rests(MOVES)[0][0][0]
        """The fewest moves that sizes and pins allow."""
        self.cap = FAR if max_moves is None else max(max_moves, self.fewest)
        if max_moves is not None:
            self.limits[MOVES] = self.cap
            self.counted |= MOVES.bits
        self.allowed: tuple[list[States], list[States]] | None = None
        self.stage = Stage(NOTHING, 0, 0, least=False)
        self.ladders: dict[int, list[Ladder]] = {}
        self.found: list[int] | None = None

    def solve(self, counts: Sequence[Count]) -> list[int]:
        """The places of all players: inside the window, then spread evenly, then each of the counts is least."""
        if MOVES in self.limits:
            self.stage = Stage(MOVES, 0, self.limits[MOVES], least=False)
        self._run(self._rests(self.stage.count))
        if not self._spread():
            self._widen()
            self._spread()
        for count in counts:
            self.allowed = self._leading()
            self.known, self.counted = self.counted, self.counted | count.bits
            self._lessen(count)
        return self._nearest()

    def _run(self, rests: tuple[list[list[int]], list[list[int]]]) -> None:
        lower, upper = self.allowed or (None, None)
        self.lower.run(self.counted, self.stage, rests[0], lower)
        self.ladders, count = {}, self.stage.count
        if not self.lower.states:
            return
        self.upper.run(self.counted, self.stage, rests[1], upper)
        found: dict[int, Ladder] = {}
        for state in sorted(self.upper.states):
            key = state & ~count.bits
            if key not in found:
                found[key] = Ladder(key)
                self.ladders.setdefault(ON_A.of(key), []).append(found[key])
            ladder = found[key]
            ladder.counts.append(count.of(state))
            ladder.states.append(state)
            ladder.unions.append(ladder.unions[-1] | self.upper.states[state])

    def _rests(self, count: Count) -> tuple[list[list[int]], list[list[int]]]:
        """For either half, after each of its units and for each number of players on A: the least that may follow."""
        whole_lower, whole_upper = [self._tables(half.units, [[0]], count)[0] for half in (self.lower, self.upper)]
        rests = []
        for half, other in ((self.lower, whole_upper), (self.upper, whole_lower)):
            tables = self._tables(half.units, [other], count)
            rests.append([self._to_sizes(table, half.players) for table in tables])
        return rests[0], rests[1]

    def _tables(self, units: Sequence[Unit], tables: list[list[int]], count: Count) -> list[list[int]]:
        """The least count of the units from each one on, by how many players they put on A."""
        for unit in reversed(units):
            least: dict[int, int] = {}
            for pattern in unit.patterns:
                on_a = ON_A.of(pattern.step)
                least[on_a] = min(least.get(on_a, FAR), count.of(pattern.step))
            before, most = tables[-1], max(least)
            rows = [
                [FAR] * on_a + [cost + other for other in before] + [FAR] * (most - on_a)
                for on_a, cost in least.items()
            ]
            tables.append(list(map(min, zip(*rows, strict=True))))
        return tables[::-1]

    def _to_sizes(self, table: Sequence[int], players: int) -> list[int]:
        sizes = self.sides.sizes
        return [
            min(table[size - on_a] if 0 <= size - on_a < len(table) else FAR for size in sizes)
            for on_a in range(players + 1)
        ]

    def _meetings(self) -> Iterator[Meeting]:
        """The pairs of states that meet the sizes and the limits of the stages before."""
        lower, upper, count = self.lower, self.upper, self.stage.count
        limits = [(other.shift, other.mask, limit) for other, limit in self.limits.items() if other != count]
        join, excess = JOIN_WORK + lower.spans[-1] + upper.spans[-1], self.excess
        excesses = [self.sides.excess(spread << SPREAD.shift) for spread in range(len(self.sides.spread) + 1)]
        width = max(0, self.window.high - self.window.low)
        for state, bits in lower.states.items():
            on_a, alone, reach = ON_A.of(state), state & ~count.bits, Bits(bits, width)
            for size in self.sides.sizes:
                ladders = self.ladders.get(size - on_a, ())
                self.budget.spend(len(ladders) * join)
                offset = self.base + on_a * lower.least + (size - on_a) * upper.least
                for ladder in ladders:
                    both = alone + ladder.state
                    if excesses[both >> SPREAD.shift & SPREAD.mask] > excess:
                        continue
                    for shift, mask, limit in limits:
                        if both >> shift & mask > limit:
                            break
                    else:
                        yield Meeting(state, reach, offset, ladder)

    def _spread(self) -> bool:
        """Find the least excess of those to be spread evenly inside the window; False when nothing is inside it."""
        best, window = None, self.window
        if window.low > window.high:
            return False
        for meeting in self._meetings():
            excess = self.sides.excess(meeting.state + meeting.ladder.state)
            reached = self._reached(meeting)
            if (best is None or excess < best) and meeting.hits(reached, window.high):
                best, self.found = excess, self._traced(meeting, reached, window.low, window.high)
                if not best:
                    break
        if best is None:
            return False
        self.excess = best
        return True

    def _widen(self) -> None:
        """Nothing is inside the window: take those within the tolerance of the nearest instead."""
        target, distance = self.window.target, UNBOUNDED
        for meeting in self._meetings():
            if reached := self._reached(meeting):
                union = meeting.ladder.unions[reached]
                distance = nearest(meeting.bits.exact, union, meeting.offset - target, 0, distance)
        distance += self.tolerance
        self.window = Window(target - distance, target + distance, target)

    def _reached(self, meeting: Meeting) -> int:
        """How many states of the ladder are within the stage's limit."""
        return bisect_right(meeting.ladder.counts, self.stage.limit - self.stage.count.of(meeting.state))

    def _lessen(self, count: Count) -> None:
        """Find the least of what is counted, and keep to it.

        The limit begins at the least that sizes and pins allow; its excess over that doubles from run to run. What was
        left out has `Stage.beyond` or more: a count below that is the least, and nothing that has it was left out.
        """
        rests = self._rests(count)
        limit = first = rests[0][0][0]
        while True:
            self.stage = Stage(count, self.known, limit, least=True)
            self._run(rests)
            least = self._least()
            if least < self.stage.beyond:
                break
            limit = min(least, max(self.stage.beyond, 3 * limit - 2 * first))
        self.stage.limit = self.limits[count] = least

    def _least(self) -> int:
        """The least count inside the window among the present states; `FAR` when there is none."""
        best, found, (low, high, _) = FAR, None, self.window
        for meeting in self._meetings():
            here, counts = self.stage.count.of(meeting.state), meeting.ladder.counts
            reached = bisect_left(counts, best - here)
            if meeting.hits(reached, high):
                reached = meeting.fewest(reached, high)
                best, found = here + counts[reached - 1], (meeting, reached)
        if found is not None:
            self.found = self._traced(*found, low, high)
        return best

    def _leading(self) -> tuple[list[States], list[States]]:
        """The partial assignments that lead into the window within the limits, by layers of both halves."""
        low, high, _ = self.window
        lower_ends, upper_ends = dict[int, int](), dict[int, int]()
        for meeting in self._meetings():
            state, bits, offset, ladder = meeting
            reached = self._reached(meeting)
            hits = meeting.hits(reached, high)
            if not hits:
                continue
            for upper in ladder.states[:reached]:
                if own := hits & self.upper.states[upper]:
                    upper_ends[upper] = upper_ends.get(upper, 0) | own
            if reached not in ladder.wide:
                ladder.wide[reached] = dilate(ladder.unions[reached], high - low)
            lower_ends[state] = lower_ends.get(state, 0) | overlap(ladder.wide[reached], bits.exact, low - offset)
        return self.lower.paths(lower_ends), self.upper.paths(upper_ends)

    def _nearest(self) -> list[int]:
        """The places that come nearest to the target inside the window, within all limits."""
        low, high, target = self.window
        best, found = UNBOUNDED, None
        for meeting in self._meetings():
            reached = self._reached(meeting)
            if not meeting.hits(reached, high):
                continue
            first, second = meeting.bits.exact, meeting.ladder.unions[reached]
            start, end = max(low, target), min(high, target + best - 1)
            above = first_hit(first, second, meeting.offset - start, end - start, -1)
            if above is not None:
                best, found = start + above - target, (meeting, reached, start + above)
            start, end = min(high, target), max(low, target - best + 1)
            below = first_hit(first, second, meeting.offset - start, start - end, 1)
            if below is not None:
                best, found = target - start + below, (meeting, reached, start - below)
        assert found is not None, "the last stage found an assignment"
        meeting, reached, difference = found
        return self._traced(meeting, reached, difference, difference)

    def _traced(self, meeting: Meeting, reached: int, low: int, high: int) -> list[int]:
        """The places of some assignment of a meeting whose difference is from `low` to `high`."""
        state, bits, offset, ladder = meeting
        hits = overlap(dilate(bits.exact, high - low), ladder.unions[reached], offset - high)
        second = (hits & -hits).bit_length() - 1
        upper = next(state for state in ladder.states[:reached] if self.upper.states[state] >> second & 1)
        least = max(0, low - offset + second)
        above = bits.exact >> least
        first = least + (above & -above).bit_length() - 1
        places = self.lower.trace(state, first) | self.upper.trace(upper, second)
        return [places[player] for player in range(len(places))]


def first_hit(first: int, second: int, shift: int, most: int, sign: int) -> int | None:
    """The least x from 0 to `most` for which a number of the first set, shifted, is x below one of the second.

    With `sign` 1, x below; with -1, x above. None when there is none.
    """
    if most < 0 or not _hit(first, second, shift, most, sign):
        return None
    return bisect_left(range(most), True, key=lambda x: _hit(first, second, shift, x, sign))


def _hit(first: int, second: int, shift: int, width: int, sign: int) -> bool:
    return overlap(dilate(first, width), second, shift - width if sign < 0 else shift) != 0
