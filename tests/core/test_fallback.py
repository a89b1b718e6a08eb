"""Cached splits adapted to the players who are present: the law that the daemon and the scripts share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.fallback import from_cache
from equipoise.core.model import Split, SplitCache
from tests.core.scripts import ids, split

EIGHT = SplitCache(ids("abcdefgh"), (split("ad|bc"), split("adf|bce"), split("adfg|bceh")))
FIVE = SplitCache(ids("abcde"), (split("ad|bc|e"), split("ade|bc")))


def teams(cache: SplitCache, present: str, *, bench: bool) -> Split | None:
    return from_cache(cache, ids(present), bench=bench)


def test_with_all_players_present_the_largest_split_is_taken_as_it_is() -> None:
    assert teams(EIGHT, "abcdefgh", bench=True) == split("adfg|bceh")


def test_the_size_is_half_of_those_present() -> None:
    found = teams(EIGHT, "abcdefg", bench=True)
    assert found == split("adf|bce|g")


def test_the_size_is_at_most_the_largest_cached() -> None:
    found = teams(SplitCache(ids("abcd"), (split("ad|bc"),)), "abcdxyzw", bench=True)
    assert found == split("ad|bc|xyzw")


def test_an_absent_player_is_replaced_by_the_unplaced_player_nearest_in_strength() -> None:
    # b (second) is away; of g and h, who are not in the split of three, g is nearer.
    assert teams(EIGHT, "acdefgh", bench=True) == split("adf|ceg|h")


def test_absentees_are_replaced_strongest_first() -> None:
    # a and f are away. g goes to the place of a, the first to be filled, and h to that of f.
    assert teams(EIGHT, "bcdegh", bench=True) == split("dgh|bce")


def test_strangers_stand_in_the_middle() -> None:
    # h (eighth) is away and x, who stands between d and e, is the only one unplaced.
    assert teams(EIGHT, "abcdefgx", bench=True) == split("adfg|bcex")
    # f (place 5) is replaced by g (place 6) rather than by x (3.5), c (place 2) by x.
    assert teams(EIGHT, "abcdegx", bench=True) == split("adg|bce|x")
    assert teams(EIGHT, "abdefgx", bench=True) == split("adf|bex|g")


def test_of_two_who_are_equally_near_the_stronger_goes_first() -> None:
    cache = SplitCache(ids("abcde"), (split("ae|bc"),))
    # c (place 2) is away; d (place 3) and the stranger (place 2): the stranger is there. b (place 1): x at 2, d at 3.
    assert teams(cache, "abdex", bench=True) == split("ae|bx|d")
    two = SplitCache(ids("abcdefg"), (split("ae|bd"),))
    # d (place 3) is away; c (place 2) and f (place 5) and the stranger (place 3).
    assert teams(two, "abcefx", bench=True) == split("ae|bx|cf")
    assert teams(two, "abcefg", bench=True) == split("ae|bc|fg")


def test_outside_arena_an_odd_number_plays_uneven_and_no_player_sits_out() -> None:
    assert teams(FIVE, "abcde", bench=False) == split("ade|bc")


def test_outside_arena_the_players_left_fill_the_smaller_side_strongest_first() -> None:
    assert teams(FIVE, "abcd", bench=False) == split("ad|bc")
    assert teams(SplitCache(ids("abcd"), (split("ad|bc"),)), "abcdxyz", bench=False) == split("adxz|bcy")


def test_with_a_bench_the_uneven_split_is_never_taken() -> None:
    assert teams(FIVE, "abcde", bench=True) == split("ad|bc|e")


@pytest.mark.parametrize("present", ["", "a", "abc"])
def test_fewer_than_the_smallest_split_needs_get_none(present: str) -> None:
    assert teams(EIGHT, present, bench=True) is None
    assert teams(EIGHT, present, bench=False) is None


def test_an_empty_cache_gives_none() -> None:
    assert teams(SplitCache((), ()), "abcd", bench=True) is None


@given(present=st.sets(st.sampled_from("abcdefghuvwxyz"), min_size=4), lead=st.sampled_from([-1, 1]))
def test_with_a_lone_commander_the_sides_are_as_even_as_their_number_allows(present: set[str], lead: int) -> None:
    found = from_cache(EIGHT, ids("".join(sorted(present))), bench=False, lead=lead)
    assert found is not None
    assert sorted((*found.a, *found.b)) == sorted(present)
    assert abs(len(found.a) - len(found.b) + lead) == (len(present) + 1) % 2


def test_a_split_that_is_uneven_on_the_lone_commanders_side_gives_way_to_a_smaller_one() -> None:
    assert from_cache(FIVE, ids("abcde"), bench=False, lead=1) == split("ad|bce")
    assert from_cache(FIVE, ids("abcde"), bench=False, lead=-1) == split("ade|bc")


@given(present=st.sets(st.sampled_from("abcdefghuvwxyz"), min_size=4), bench=st.booleans())
def test_every_present_player_is_placed_once_and_the_sides_are_even(present: set[str], bench: bool) -> None:
    found = teams(EIGHT, "".join(sorted(present)), bench=bench)
    assert found is not None
    assert sorted((*found.a, *found.b, *found.bench)) == sorted(present)
    if bench:
        assert len(found.a) == len(found.b) == min(len(present) // 2, 4)
    else:
        assert found.bench == ()
        assert abs(len(found.a) - len(found.b)) == len(present) % 2


def test_the_middle_of_an_odd_cache_is_its_middle_player() -> None:
    # d (place 3) is away; e (place 4) and the unknown x (place 2) are equally near: x is the stronger.
    assert teams(FIVE, "abcex", bench=True) == split("ax|bc|e")


def test_the_middle_of_an_even_cache_is_between_two_players() -> None:
    cache = SplitCache(ids("abcdef"), (split("ae|bc"),))
    # e (place 4) is away: f (place 5) is nearer than the unknown x (place 2.5) and than d (place 3) by no more than d.
    assert teams(cache, "abcxf", bench=True) == split("af|bc|x")
    # b (place 1) is away: x (place 2.5) is nearer than d (place 3).
    assert teams(cache, "acedx", bench=True) == split("ae|cx|d")


@pytest.mark.parametrize(
    ("present", "lead", "bench", "expected"),
    [
        ("abcde", 1, False, "ad|bce"),  # one stays on A: the fifth evens the sides
        ("abcde", 1, True, "ad|bce"),  # in arena too, and nobody sits out
        ("abcdef", 2, False, "ad|bcef"),
        ("abcdef", -2, True, "adef|bc"),
        ("abcde", 2, True, "ad|bce"),  # one more cannot be found: nobody sits out for that
        ("abcde", 4, False, None),  # the unplaced cannot make up for it: the scramble waits
    ],
)
def test_who_stays_counts_and_the_unplaced_make_the_sides_even(
    present: str, lead: int, bench: bool, expected: str | None
) -> None:
    cache = SplitCache(ids("abcdefgh"), (split("ad|bc"), split("adf|bce"), split("adfg|bceh")))
    found = from_cache(cache, ids(present), bench=bench, lead=lead)
    assert found == (None if expected is None else split(expected))
