"""The exact search of a shuffle: stage by stage, two halves of the players that meet.

As in `preferences`, each stage counts one thing more than the stage before, and keeps all partial assignments that lead
to the least of it. Here everyone has one of two places, which needs less: the difference of the sides is a sum over A
alone, friends may be parted at a cost, and what is wanted is a difference inside a window rather than the nearest one.

Bits of the lower half stand for the sum of the weights on A, bits of the upper half for that on B, each less the
half's middle weight per player. So the difference is an offset plus a bit of the lower half less one of the upper half,
and two states make a difference in the window where their bits are near each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import or_
from typing import NamedTuple

from equipoise.solver.bitset import UNBOUNDED, dilate, nearest, overlap, within
from equipoise.solver.budget import Budget
from equipoise.solver.constrained import JOIN_WORK
from equipoise.solver.layers import Half, Least, Stage
from equipoise.solver.sides import MOVES, ON_A, SPREAD, Count, Sides, Unit, Window
from equipoise.solver.states import FAR, States

NOTHING = Count(0, 0)
"""Counts nothing: of the first stage without a limit on moves."""


Rests = tuple[list[Least], list[Least]]
"""For the lower and the upper half, after each of its units: the least that may follow, by state."""


@dataclass(slots=True)
class Bits:
    """The bits of a state, to be met by the other half's: also as wide as the window, unless that is too long."""

    exact: int
    width: int
    longest: int
    _wide: int | None = None

    def near(self, others: int, shift: int, high: int) -> int:
        """Those of the others that make a difference in the window with one of these; it ends at `high`."""
        if self._wide is None:
            if self.exact.bit_length() + self.width > self.longest:
                return within(self.exact, others, shift, high - self.width, high)
            self._wide = dilate(self.exact, self.width)
        return overlap(self._wide, others, shift - high)


@dataclass(slots=True)
class Ladder:
    """States of the upper half that differ only in the count, ascending by it."""

    state: int
    counts: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)
    unions: list[int] = field(default_factory=lambda: [0])
    """`unions[i]`: the bits of the first i states."""
    known: dict[int, Bits] = field(default_factory=dict)
    """The same unions as the other half meets them."""


class Meeting(NamedTuple):
    """A state of the lower half and states of the upper one that together meet all limits."""

    state: int
    bits: Bits
    offset: int
    """The difference is this plus a bit of the lower half less one of the upper half."""
    ladder: Ladder

    def hits(self, reached: int, high: int) -> int:
        """The bits of the ladder's first states that make a difference in the window, which ends at `high`."""
        return self.bits.near(self.ladder.unions[reached], self.offset, high) if reached else 0

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
        self.base = (
            self.lower.low + self.upper.weight - sum(sides.b) - self.upper.players * self.upper.middle - self.upper.low
        )
        self.known, self.counted = ON_A.bits, ON_A.bits | SPREAD.bits
        self.excess = len(sides.a)
        self.limits: dict[Count, int] = {}
        self.fewest = self._rests(MOVES)[0][0][0]
        """The fewest moves that sizes and pins allow."""
        self.cap = FAR if max_moves is None else max(max_moves, self.fewest)
        if max_moves is not None:
            self.limits[MOVES] = self.cap
            self.counted |= MOVES.bits
        self.allowed: tuple[list[States], list[States]] | None = None
        self.stage = Stage(NOTHING, self.known, 0, least=False)
        self.ladders: dict[int, list[Ladder]] = {}
        self.found: list[int] | None = None

    def solve(self, counts: Sequence[Count]) -> list[int]:
        """The places of all players: inside the window, then spread evenly, then each of the counts is least."""
        if MOVES in self.limits:
            self.stage = Stage(MOVES, self.known, self.limits[MOVES], least=False)
        self._run(self._rests(self.stage.count))
        if not self._spread():
            self._widen()
            self._spread()
        for count in counts:
            self.allowed = self._leading()
            self.known, self.counted = self.counted, self.counted | count.bits
            self._lessen(count)
        return self._nearest()

    def _run(self, rests: Rests) -> None:
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

    def _to_go(self, lower: list[States], upper: list[States], count: Count) -> Rests:
        """For either half, after each of its units and for each state that may lead to an answer: what is to come."""
        below, above = self.lower.spent(lower, self.known, count), self.upper.spent(upper, self.known, count)
        lower_ends, upper_ends = dict.fromkeys(below, FAR), dict.fromkeys(above, FAR)
        by_size: dict[int, list[int]] = {}
        for second in above:
            by_size.setdefault(ON_A.of(second), []).append(second)
        for first, size in product(below, self.sides.sizes):
            for second in by_size.get(size - ON_A.of(first), ()):
                if self._meet(first + second):
                    lower_ends[first] = min(lower_ends[first], above[second])
                    upper_ends[second] = min(upper_ends[second], below[first])
        return (
            self.lower.to_go(lower, self.known, count, lower_ends),
            self.upper.to_go(upper, self.known, count, upper_ends),
        )

    def _rests(self, count: Count) -> Rests:
        """The same for the first stage, by the number of players on A alone."""
        whole_lower, whole_upper = [self._tables(half.units, [[0]], count)[0] for half in (self.lower, self.upper)]
        rests = []
        for half, other in ((self.lower, whole_upper), (self.upper, whole_lower)):
            tables = self._tables(half.units, [other], count)
            rests.append([dict(enumerate(self._to_sizes(table, half.players))) for table in tables])
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

    def _pairs(self) -> Iterator[tuple[list[tuple[int, Bits]], Bits, int, Ladder]]:
        """States of the lower half that differ only in the count, with all their bits; offset and ladder that fit them.

        Together they meet the sizes and the limits of the stages before.
        """
        lower, upper, count = self.lower, self.upper, self.stage.count
        limits = [(other.shift, other.mask, limit) for other, limit in self.limits.items() if other != count]
        join, excess = JOIN_WORK + lower.spans[-1] + upper.spans[-1], self.excess
        excesses = [self.sides.excess(spread << SPREAD.shift) for spread in range(len(self.sides.spread) + 1)]
        for alone, states, whole in self._lower_states():
            on_a = ON_A.of(alone)
            for size in self.sides.sizes:
                ladders = self.ladders.get(size - on_a, ())
                self.budget.spend(len(ladders) * len(states) * join)
                offset = self.base + on_a * lower.middle + (size - on_a) * upper.middle
                for ladder in ladders:
                    both = alone + ladder.state
                    if excesses[both >> SPREAD.shift & SPREAD.mask] > excess:
                        continue
                    for shift, mask, limit in limits:
                        if both >> shift & mask > limit:
                            break
                    else:
                        yield states, whole, offset, ladder

    def _lower_states(self) -> Iterator[tuple[int, list[tuple[int, Bits]], Bits]]:
        """The states of the lower half by what they have besides the count, and all their bits together."""
        others = ~self.stage.count.bits
        found: dict[int, list[tuple[int, Bits]]] = {}
        for state in sorted(self.lower.states):
            found.setdefault(state & others, []).append((state, self._bits(self.lower.states[state])))
        for alone, states in found.items():
            whole = states[0][1]
            if len(states) > 1:
                whole = self._bits(reduce(or_, (bits.exact for _, bits in states)))
            yield alone, states, whole

    def _bits(self, exact: int) -> Bits:
        return Bits(exact, max(0, self.window.high - self.window.low), self.lower.spans[-1] + self.upper.spans[-1] + 1)

    def _meetings(self) -> Iterator[Meeting]:
        """The pairs of a lower state and upper ones that may have a difference in the window."""
        high = self.window.high
        for states, whole, offset, ladder in self._pairs():
            if len(states) == 1 or whole.near(ladder.unions[-1], offset, high):
                for state, bits in states:
                    yield Meeting(state, bits, offset, ladder)

    def _meet(self, state: int) -> bool:
        """The state of a whole assignment meets the limits of the stages before."""
        meets = all(count.of(state) <= limit for count, limit in self.limits.items())
        return meets and self.sides.excess(state) <= self.excess

    def _spread(self) -> bool:
        """Find the least excess of those to be spread evenly inside the window; False when nothing is inside it."""
        best, window = None, self.window
        if window.low > window.high:
            return False
        for meeting in self._meetings():
            excess = self.sides.excess(meeting.state + meeting.ladder.state)
            reached = self._reached(meeting.state, meeting.ladder)
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
        for states, whole, offset, ladder in self._pairs():
            shift = offset - target
            if len(states) > 1 and nearest(whole.exact, ladder.unions[-1], shift, 0, distance) == distance:
                continue
            for state, bits in states:
                if reached := self._reached(state, ladder):
                    distance = nearest(bits.exact, ladder.unions[reached], shift, 0, distance)
        distance += self.tolerance
        self.window = Window(target - distance, target + distance, target)

    def _reached(self, state: int, ladder: Ladder) -> int:
        """How many states of the ladder are within the stage's limit, together with a state of the lower half."""
        return bisect_right(ladder.counts, self.stage.limit - self.stage.count.of(state))

    def _lessen(self, count: Count) -> None:
        """Find the least of what is counted, and keep to it.

        The limit begins at the least that the states allow; its excess over that triples from run to run. What was left
        out has `Stage.beyond` or more: a count below that is the least, and nothing that has it was left out.
        """
        assert self.allowed is not None, "a stage goes before"
        rests = self._to_go(*self.allowed, count)
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
            reached = self._reached(meeting.state, meeting.ladder)
            hits = meeting.hits(reached, high)
            if not hits:
                continue
            for upper in ladder.states[:reached]:
                if own := hits & self.upper.states[upper]:
                    upper_ends[upper] = upper_ends.get(upper, 0) | own
            if reached not in ladder.known:
                ladder.known[reached] = self._bits(ladder.unions[reached])
            lower_ends[state] = lower_ends.get(state, 0) | ladder.known[reached].near(bits.exact, -offset, -low)
        return self.lower.paths(lower_ends), self.upper.paths(upper_ends)

    def _nearest(self) -> list[int]:
        """The places that come nearest to the target inside the window, within all limits."""
        low, high, target = self.window
        best, found = UNBOUNDED, None
        for meeting in self._meetings():
            reached = self._reached(meeting.state, meeting.ladder)
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
        hits = within(bits.exact, ladder.unions[reached], offset, low, high)
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
    return within(first, second, shift, *((0, width) if sign < 0 else (-width, 0))) != 0
