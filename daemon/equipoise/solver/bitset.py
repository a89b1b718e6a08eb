"""Sets of integers as bits of one Python integer: bit i of `bits` stands for the number `low + i`.

One operation on a long integer, at machine speed, shifts, unites or intersects whole sets. Functions take the bits of
two sets and `shift`, how far the first set lies above the second; all distances are in ticks.
"""

from __future__ import annotations

UNBOUNDED = 1 << 62
"""More than any distance between two differences."""

_BYTE_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def mirrored(bits: int, highest: int) -> int:
    """The bits 0 to `highest` in reverse: the set of negated numbers.

    >>> f"{mirrored(0b0011, 3):04b}"
    '1100'
    """
    size = highest // 8 + 1
    reverse = int.from_bytes(bits.to_bytes(size, "little").translate(_BYTE_MIRRORED), "big")
    return reverse >> (8 * size - 1 - highest)


def dilate(bits: int, width: int) -> int:
    """Every number of the set and the `width` numbers above it.

    >>> f"{dilate(0b10001, 2):b}"
    '1110111'
    """
    covered, wanted = 1, width + 1
    while 2 * covered <= wanted:
        bits |= bits << covered
        covered *= 2
    return bits | bits << (wanted - covered)


def overlap(first: int, second: int, shift: int) -> int:
    """The numbers of the second set that are in the first set, too, as bits of the second; `shift` may be negative."""
    return (first & second >> shift) << shift if shift >= 0 else first >> -shift & second


def within(first: int, second: int, shift: int, low: int, high: int) -> int:
    """The numbers of the second set that are `low` to `high` below one of the first, as bits of the second.

    However far apart the sets are and however wide the range is, no set on the way is longer than both together.

    >>> f"{within(0b1, 0b11111, shift=3, low=-1, high=1):b}"
    '11100'
    """
    width, length = high - low, first.bit_length()
    if width + 1 >= length:
        # Together the ranges of all numbers of the first set have no hole.
        lowest = (first & -first).bit_length() - 1
        return between(second, shift + lowest - high, shift + length - 1 - low) if first else 0
    up = shift - low
    needed = second.bit_length() + width - up
    if needed < length:
        first = first & (1 << needed) - 1 if needed > 0 else 0
    return dilated_down(first << up if up >= 0 else first >> -up, width) & second


def between(bits: int, least: int, greatest: int) -> int:
    """The numbers of a set from `least` to `greatest`."""
    if greatest + 1 < bits.bit_length():
        bits = bits & (1 << greatest + 1) - 1 if greatest >= 0 else 0
    return bits >> least << least if least > 0 else bits


def dilated_down(bits: int, width: int) -> int:
    """Every number of the set and the `width` numbers below it, down to 0."""
    covered, wanted = 1, width + 1
    while 2 * covered <= wanted:
        bits |= bits >> covered
        covered *= 2
    return bits | bits >> (wanted - covered)


def touches(first: int, second: int, shift: int, width: int) -> bool:
    """A number of the first set is at most `width` from one of the second."""
    if not width:
        return overlap(first, second, shift) != 0
    if first.bit_length() <= second.bit_length():
        return within(first, second, shift, -width, width) != 0
    return within(second, first, -shift, -width, width) != 0


def nearest(first: int, second: int, shift: int, floor: int, ceiling: int) -> int:
    """The least distance between numbers of the two sets, if it is below `ceiling`; else `ceiling`.

    `floor` must be a valid lower bound. The gap between the end of one set and the start of the other is one, too.

    >>> nearest(0b1, 0b100000, shift=0, floor=0, ceiling=UNBOUNDED)
    5
    """
    floor = max(floor, shift - second.bit_length() + 1, 1 - first.bit_length() - shift)
    if floor >= ceiling or (ceiling < UNBOUNDED and not touches(first, second, shift, ceiling - 1)):
        return ceiling
    lowest, other = ((bits & -bits).bit_length() - 1 for bits in (first, second))
    first, second, shift = first >> lowest, second >> other, shift + lowest - other
    if first.bit_length() > second.bit_length():
        first, second, shift = second, first, -shift
    apart = max(shift - second.bit_length() + 1, 1 - first.bit_length() - shift)
    return apart if apart > 0 else _distance(first, second, shift, floor, min(ceiling - 1, second.bit_length() // 2))


def search_work(first: int, second: int) -> int:
    """The work of `nearest` where it finds less than the ceiling, in bits: an operation for each doubling of a step."""
    length = first.bit_length() + second.bit_length()
    return length * length.bit_length()


def _distance(first: int, second: int, shift: int, floor: int, most: int) -> int:
    """The least distance between sets of which one begins or ends inside the other: from `floor` to `most`.

    The second set is the longer one, and a number inside it is no farther from one of its own than half its length. The
    least width at which the sets touch is found by steps that double, then halve: `covered` is the first set dilated by
    2·width, and `runs[i]` by 2^(i+1) − 1, so that one shift of it widens `covered` by a step of 2^i.
    """
    if floor >= most:
        return floor
    width, covered = floor, dilate(first, 2 * floor)
    if overlap(covered, second, shift - width):
        return width
    runs = [first | first << 1]
    rising, i = True, 0
    while i >= 0:
        step = 1 << i
        wider = covered | runs[i] << (2 * width + 1) if width + step < most else 0
        if wider and not overlap(wider, second, shift - width - step):
            width, covered = width + step, wider
            if rising:
                runs.append(runs[i] | runs[i] << 2 * step)
        else:
            rising = False
        i += 1 if rising else -1
    return width + 1


def coincidence(first: int, second: int, shift: int, distance: int) -> tuple[int, int]:
    """Positions of two numbers that are exactly `distance` apart: a bit of the first set, and one of the second."""
    for signed in (-distance, distance):
        both = overlap(first, second, shift + signed)
        if both:
            position = (both & -both).bit_length() - 1
            return position - shift - signed, position
    raise AssertionError("the sets were measured to be this far apart")
