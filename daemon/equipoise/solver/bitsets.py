"""Sets of integers as the bits of one long Python integer, and the budget that their length is counted against.

Bit i of `bits` stands for the number `low + i`, where the caller keeps `low`. Adding a constant to every member of a
set is a shift, the union of two sets is `|`, their intersection `&`: each is one operation at the speed of memory on a
set of any size, and plain Python needs no warm-up. Compiled with numba the same programmes ran five to ten times as
fast, at the price of 10 s of compilation, or 0.2 s and 150 MB with its cache: more than a daemon beside a game server
should pay for milliseconds.

Functions that compare two sets take the bits of both and `shift`, by how much the low end of the first set lies above
that of the second. All distances are in ticks (`problem`). Two sets may lie arbitrarily far apart, and a range may be
arbitrarily wide: no function builds an integer longer than both sets together. Targets of 1e15 points would otherwise
exhaust the memory (`tests/solver/test_law.py` measures every left shift).

The time of an operation is proportional to the length of its operands, so a `Budget` counts bits. Counts make an answer
repeatable: the same question has the same answer on every machine and under every load. A clock does not; it is for
programs that wait for the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

UNBOUNDED = 1 << 62
"""More than any distance between two differences."""

_BYTE_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def mirrored(bits: int, highest: int) -> int:
    """Return the bits 0 to `highest` in reverse order: the set of the negated numbers.

    >>> f"{mirrored(0b0011, 3):04b}"
    '1100'
    """
    # Bytes are mirrored by a table, and their order is reversed by reading them as big-endian.
    size = highest // 8 + 1
    reverse = int.from_bytes(bits.to_bytes(size, "little").translate(_BYTE_MIRRORED), "big")
    return reverse >> (8 * size - 1 - highest)


def dilate(bits: int, width: int) -> int:
    """Return every number of the set and the `width` numbers above each.

    >>> f"{dilate(0b10001, 2):b}"
    '1110111'
    """
    # The reach doubles with each shift: log₂(width) operations instead of width.
    reach, numbers = 1, width + 1
    while 2 * reach <= numbers:
        bits |= bits << reach
        reach *= 2
    return bits | bits << (numbers - reach)


def _dilate_down(bits: int, width: int) -> int:
    """Return every number of the set and the `width` numbers below each, down to 0."""
    reach, numbers = 1, width + 1
    # As in `dilate`; bits that are shifted below 0 fall away, which spares a mask.
    while 2 * reach <= numbers:
        bits |= bits >> reach
        reach *= 2
    return bits | bits >> (numbers - reach)


def overlap(first: int, second: int, shift: int) -> int:
    """Return the numbers of the second set that the first also has, as bits of the second; `shift` may be negative."""
    return (first & second >> shift) << shift if shift >= 0 else first >> -shift & second


def within(first: int, second: int, shift: int, low: int, high: int) -> int:
    """Return the numbers of the second set that are `low` to `high` below a number of the first, as bits of the second.

    >>> f"{within(0b1, 0b11111, shift=3, low=-1, high=1):b}"
    '11100'
    """
    width, length = high - low, first.bit_length()
    if width + 1 >= length:
        # The range is as wide as the first set: the ranges of all its numbers join to one interval.
        lowest = (first & -first).bit_length() - 1
        return _between(second, shift + lowest - high, shift + length - 1 - low) if first else 0
    up = shift - low
    # Numbers that lie too high for all of the second set are cut off, so that the shift does not lengthen anything.
    room = second.bit_length() + width - up
    if room < length:
        first = first & (1 << room) - 1 if room > 0 else 0
    return _dilate_down(first << up if up >= 0 else first >> -up, width) & second


def _between(bits: int, least: int, greatest: int) -> int:
    """Return the numbers of a set from `least` to `greatest`."""
    if greatest + 1 < bits.bit_length():
        bits = bits & (1 << greatest + 1) - 1 if greatest >= 0 else 0
    return bits >> least << least if least > 0 else bits


def touches(first: int, second: int, shift: int, width: int) -> bool:
    """Return whether a number of the first set is at most `width` away from one of the second."""
    if not width:
        return overlap(first, second, shift) != 0
    # The shorter set is dilated.
    if first.bit_length() <= second.bit_length():
        return within(first, second, shift, -width, width) != 0
    return within(second, first, -shift, -width, width) != 0


def nearest(first: int, second: int, shift: int, floor: int, ceiling: int) -> int:
    """Return the least distance between numbers of the two sets, neither empty, or `ceiling` if none is below it.

    `floor` must be a valid lower bound: at it the search stops. One test decides whether the sets come nearer than the
    ceiling at all; only then the distance is bisected. A caller that passes its best distance so far as the ceiling
    pays one test for each pair of sets that does not improve on it.

    >>> nearest(0b1, 0b100000, shift=0, floor=0, ceiling=UNBOUNDED)
    5
    """
    # The gap between the end of one set and the start of the other is a lower bound, too.
    floor = max(floor, shift - second.bit_length() + 1, 1 - first.bit_length() - shift)
    if floor >= ceiling or (ceiling < UNBOUNDED and not touches(first, second, shift, ceiling - 1)):
        return ceiling
    # Without trailing zeros both sets begin at bit 0, and the shorter one is the one to dilate.
    lowest_first, lowest_second = ((bits & -bits).bit_length() - 1 for bits in (first, second))
    first, second, shift = first >> lowest_first, second >> lowest_second, shift + lowest_first - lowest_second
    if first.bit_length() > second.bit_length():
        first, second, shift = second, first, -shift
    # Where one set lies wholly beyond the other, their ends are the nearest numbers.
    apart = max(shift - second.bit_length() + 1, 1 - first.bit_length() - shift)
    return apart if apart > 0 else _distance(first, second, shift, floor, min(ceiling - 1, second.bit_length() // 2))


def _distance(first: int, second: int, shift: int, floor: int, most: int) -> int:
    """Return the least distance, between `floor` and `most`, of sets of which one begins or ends inside the other.

    The second set is the longer one, and a number inside it is no farther from one of its own than half its length. The
    least width at which the sets touch is found by steps that double, then halve: `covered` is the first set dilated by
    2·width, and `runs[i]` by 2^(i+1) − 1, so that one shift of it widens `covered` by a step of 2^i.
    """
    if floor >= most:
        return floor
    width, cover = floor, dilate(first, 2 * floor)
    if overlap(cover, second, shift - width):
        return width
    runs = [first | first << 1]
    # Invariant: the sets do not touch at `width`, and they do at `most`, so the answer is from `width` + 1 to `most`.
    growth, i = True, 0
    while i >= 0:
        step = 1 << i
        # A step to `most` or beyond counts as one that touches: it need not be tested.
        wider = cover | runs[i] << (2 * width + 1) if width + step < most else 0
        if wider and not overlap(wider, second, shift - width - step):
            width, cover = width + step, wider
            if growth:
                runs.append(runs[i] | runs[i] << 2 * step)
        else:
            growth = False
        i += 1 if growth else -1
    return width + 1


def coincidence(first: int, second: int, shift: int, distance: int) -> tuple[int, int]:
    """Return the positions of two numbers that are exactly `distance` apart: one in each set."""
    for offset in (-distance, distance):
        # Of several pairs the lowest is taken, so that an answer does not depend on how the sets were built.
        both = overlap(first, second, shift + offset)
        if both:
            position = (both & -both).bit_length() - 1
            return position - shift - offset, position
    raise AssertionError("the sets were measured to be this far apart")


# The budget. Each constant is a measured price in bits: so many bits could be shifted in the time of the step.

IDLE_SPAN = 4000
"""Handling one set at all, whatever its length."""
JOIN_WORK = 1 << 14
"""Looking at one pair of sets, besides comparing their bits."""
STATE_WORK = 1 << 14
"""One choice for a state (`constraints`, `shuffle_search`), besides the shift of its bitset."""
STATE_BITS = 1 << 10
"""Memory of a state besides its bitset. Bitsets are estimated at half of their greatest length."""
TRADE_WORK = 1 << 15
"""Judging one trade of a local search."""
HALVES = 2
"""Both halves of the players are in memory at once: a half's sets count twice."""

WORK = 1 << 33
"""Under half a second. The worst scramble of 64 players takes a quarter of it."""
MEMORY = 5 << 26
"""40 MiB: with the temporary sets of one step no solve holds more than 64 MB."""


class Spent(Exception):
    """The budget is used up."""


EXHAUSTED = (Spent, MemoryError)
"""The exceptions that end a solve before its answer is proven; MemoryError where the process itself may hold less."""


@dataclass(slots=True)
class Meter:
    """The work that has been done, in bits."""

    done: float = 0


def _no_clock() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on the work of one meter, on memory, and on time; shares of a budget count on the same meter.

    >>> whole = Budget(work=100)
    >>> half = whole.share(1 / 2)
    >>> half.spend(40), half.work, whole.share(1 / 2).work
    (None, 50.0, 70.0)
    """

    work: float = WORK
    """The meter's reading at which it is used up, in bits that were shifted, united or compared."""
    memory: int = MEMORY
    """The most bits of sets that may be held at a time."""
    clock: Callable[[], float] = _no_clock
    until: float = math.inf
    """The clock's reading at which it is used up."""
    meter: Meter = field(default_factory=Meter)

    def spend(self, work: float, held: float = 0) -> None:
        """Count work that is about to be done; raise `Spent` if it, or the memory held after it, is too much."""
        # Asked before each step, so that sets that do not fit are never made.
        total = self.meter.done + work
        if total > self.work or held > self.memory or self.clock() > self.until:
            raise Spent
        self.meter.done = total

    def halved(self) -> Budget:
        """Return the budget for a solve that holds its sets twice: the same with half the memory."""
        return replace(self, memory=self.memory // 2)

    def share(self, part: float) -> Budget:
        """Return a budget with a part of the work and of the time that are left."""
        # The meter is common to all shares, so a limit is a reading of it and not an amount.
        total, now = self.meter.done, self.clock()
        until = self.until if math.isinf(self.until) else min(self.until, now + max(0.0, self.until - now) * part)
        return replace(self, work=total + max(0.0, self.work - total) * part, until=until)


def search_work(first: int, second: int) -> int:
    """Return the work of `nearest` where it finds less than the ceiling: an operation for each doubling of a step."""
    length = first.bit_length() + second.bit_length()
    return length * length.bit_length()
