"""Sets of integers as bits of one Python integer: bit i of `bits` stands for the number `low + i`.

A whole set is shifted, united or intersected by one machine-speed operation on a long integer; that is the
solver's arithmetic.
"""

from __future__ import annotations

UNBOUNDED = 1 << 62
"""Farther than any two differences lie apart."""


_BYTE_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def mirrored(bits: int, highest: int) -> int:
    """The bits 0 to `highest` in reverse."""
    size = highest // 8 + 1
    reverse = int.from_bytes(bits.to_bytes(size, "little").translate(_BYTE_MIRRORED), "big")
    return reverse >> (8 * size - 1 - highest)


def dilate(bits: int, width: int) -> int:
    """Every number of the set and the `width` numbers above it."""
    covered, wanted = 1, width + 1
    while 2 * covered <= wanted:
        bits |= bits << covered
        covered *= 2
    return bits | bits << (wanted - covered)


def overlap(first: int, second: int, shift: int) -> int:
    """The second set's bits that coincide with the first's, moved up by `shift` (down where negative)."""
    return (first << shift) & second if shift >= 0 else (first >> -shift) & second


def close(first: int, second: int, shift: int, width: int) -> int:
    """The second set's bits that are at most `width` from a number of the first, moved up by `shift`."""
    if width >= UNBOUNDED:
        return second
    return overlap(dilate(first, 2 * width), second, shift - width)


def touches(first: int, second: int, shift: int, width: int) -> bool:
    """True when a number of the first set, moved by `shift`, is at most `width` from one of the second."""
    if not width:
        return overlap(first, second, shift) != 0
    if first.bit_length() <= second.bit_length():
        return overlap(dilate(first, 2 * width), second, shift - width) != 0
    return overlap(first, dilate(second, 2 * width), shift + width) != 0


def nearest(first: int, second: int, shift: int, floor: int, ceiling: int) -> int:
    """The least distance in floor ≤ w < ceiling between the first set, moved by `shift`, and the second.

    Returns `ceiling` when they are no nearer than that. `floor` must be a valid lower bound; so are the gaps
    between one set's ends and the other's.
    """
    floor = max(floor, shift - second.bit_length() + 1, 1 - first.bit_length() - shift)
    if floor >= ceiling:
        return ceiling
    if ceiling < UNBOUNDED and not touches(first, second, shift, ceiling - 1):
        return ceiling
    if first.bit_length() > second.bit_length():
        first, second, shift = second, first, -shift
    return _least_width(first, second, shift, floor)


def _least_width(first: int, second: int, shift: int, floor: int) -> int:
    """The least width, from `floor` on, at which the sets touch: found by steps that double, then halve.

    `covered` is the first set with the 2·width numbers above each of its own; `runs[i]` the same with 2^(i+1) − 1,
    so that widening `covered` by a step of 2^i is one shift.
    """
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
    """Bit positions in the first and the second set of two numbers exactly `distance` apart."""
    for signed in (-distance, distance):
        both = overlap(first, second, shift + signed)
        if both:
            position = (both & -both).bit_length() - 1
            return position - shift - signed, position
    raise AssertionError("the sets were measured to be this far apart")
