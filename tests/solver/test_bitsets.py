"""Sets of integers as bits do what sets of integers do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from equipoise.solver.bitsets import UNBOUNDED, coincidence, dilate, mirrored, nearest, touches, within

numbers = st.sets(st.integers(0, 60), min_size=1)
shifts = st.integers(-80, 80)


def bits(members: set[int]) -> int:
    return sum(1 << member for member in members)


def members(bits: int) -> set[int]:
    return {i for i in range(bits.bit_length()) if bits >> i & 1}


def distance(first: set[int], second: set[int], shift: int) -> int:
    return min(abs(a + shift - b) for a in first for b in second)


@given(numbers, st.integers(0, 30))
def test_a_dilated_set_has_all_numbers_up_to_the_width_above(some: set[int], width: int) -> None:
    assert members(dilate(bits(some), width)) == {number + more for number in some for more in range(width + 1)}


@given(numbers, st.integers(0, 9))
def test_a_mirrored_set_counts_from_its_other_end(some: set[int], room: int) -> None:
    highest = max(some) + room

    assert members(mirrored(bits(some), highest)) == {highest - number for number in some}


@given(numbers, numbers, shifts, st.integers(0, 60))
def test_sets_touch_when_two_of_their_numbers_are_near(
    first: set[int], second: set[int], shift: int, width: int
) -> None:
    assert touches(bits(first), bits(second), shift, width) == (distance(first, second, shift) <= width)


@given(numbers, numbers, shifts, st.integers(-90, 90), st.integers(0, 150))
def test_within_a_range_are_those_of_the_second_set_that_are_so_far_below_one_of_the_first(
    first: set[int], second: set[int], shift: int, low: int, width: int
) -> None:
    near = {b for b in second if any(low <= a + shift - b <= low + width for a in first)}

    assert members(within(bits(first), bits(second), shift, low, low + width)) == near
    assert members(within(bits(first), bits(second), shift, -UNBOUNDED, UNBOUNDED)) == second


@given(numbers, numbers, shifts)
def test_the_nearest_numbers_are_found_and_located(first: set[int], second: set[int], shift: int) -> None:
    least = distance(first, second, shift)

    assert nearest(bits(first), bits(second), shift, 0, UNBOUNDED) == least
    a, b = coincidence(bits(first), bits(second), shift, least)
    assert a in first
    assert b in second
    assert abs(a + shift - b) == least


@given(numbers, numbers, shifts, st.integers(0, 150), st.integers(0, 150))
def test_nothing_at_or_above_the_ceiling_is_reported(
    first: set[int], second: set[int], shift: int, floor: int, ceiling: int
) -> None:
    least = distance(first, second, shift)

    assert nearest(bits(first), bits(second), shift, min(floor, least), ceiling) == min(least, ceiling)
