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
    if ceiling >= UNBOUNDED:
        ceiling = _bracket(first, second, shift, floor)
        floor = max(floor, (ceiling + 1) // 2)
    elif touches(first, second, shift, ceiling - 1):
        ceiling -= 1
    else:
        return ceiling
    while floor < ceiling:
        middle = (floor + ceiling) // 2
        if touches(first, second, shift, middle):
            ceiling = middle
        else:
            floor = middle + 1
    return ceiling


def _bracket(first: int, second: int, shift: int, floor: int) -> int:
    """A width at which the sets touch, doubling from `floor`: half of it was too little, unless it is the floor."""
    width = floor
    while not touches(first, second, shift, width):
        width = 2 * width + 1
    return width


def coincidence(first: int, second: int, shift: int, distance: int) -> tuple[int, int]:
    """Bit positions in the first and the second set of two numbers exactly `distance` apart."""
    for signed in (-distance, distance):
        both = overlap(first, second, shift + signed)
        if both:
            position = (both & -both).bit_length() - 1
            return position - shift - signed, position
    raise AssertionError("the sets were measured to be this far apart")
