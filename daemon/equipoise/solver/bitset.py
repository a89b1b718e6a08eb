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
    return (first << shift) & second if shift >= 0 else (first >> -shift) & second


def close(first: int, second: int, shift: int, width: int) -> int:
    """The numbers of the second set that are at most `width` from one of the first, as bits of the second."""
    if width >= UNBOUNDED:
        return second
    return overlap(dilate(first, 2 * width), second, shift - width)


def touches(first: int, second: int, shift: int, width: int) -> bool:
    """A number of the first set is at most `width` from one of the second."""
    if not width:
        return overlap(first, second, shift) != 0
    if first.bit_length() <= second.bit_length():
        return overlap(dilate(first, 2 * width), second, shift - width) != 0
    return overlap(first, dilate(second, 2 * width), shift + width) != 0


def nearest(first: int, second: int, shift: int, floor: int, ceiling: int) -> int:
    """The least distance between numbers of the two sets, if it is below `ceiling`; else `ceiling`.

    `floor` must be a valid lower bound. The gap between the end of one set and the start of the other is one, too. The
    least width at which the sets touch is found by steps that double, then halve: `covered` is the first set dilated by
    2·width, and `runs[i]` by 2^(i+1) − 1, so that one shift of it widens `covered` by a step of 2^i.

    >>> nearest(0b1, 0b100000, shift=0, floor=0, ceiling=UNBOUNDED)
    5
    """
    floor = max(floor, shift - second.bit_length() + 1, 1 - first.bit_length() - shift)
    if floor >= ceiling:
        return ceiling
    if ceiling < UNBOUNDED and not touches(first, second, shift, ceiling - 1):
        return ceiling
    if first.bit_length() > second.bit_length():
        first, second, shift = second, first, -shift
    width, covered = floor, dilate(first, 2 * floor)
    if overlap(covered, second, shift - width):
        return width
    runs = [first | first << 1]
    rising, i = True, 0
    while i >= 0:
        wider = covered | runs[i] << (2 * width + 1)
        if not overlap(wider, second, shift - width - (1 << i)):
            width, covered = width + (1 << i), wider
            if rising:
                runs.append(runs[i] | runs[i] << (2 << i))
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
