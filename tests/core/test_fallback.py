"""Cached splits adapted to the players who are present: the law that the daemon and the scripts share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.core.fallback import from_cache
from equipoise.core.model import SplitCache
from tests.core.scripts import ids, split


def cache(players: str, *splits: str) -> SplitCache:
    return SplitCache(ids(players), tuple(map(split, splits)))


EIGHT = cache("abcdefgh", "ad|bc", "adf|bce", "adfg|bceh")
FIVE = cache("abcde", "ad|bc|e", "ade|bc")
FOUR = cache("abcd", "ad|bc")

BENCH = {
    "with all players present the largest split is taken as it is": (EIGHT, "abcdefgh", "adfg|bceh"),
    "the size is half of those present": (EIGHT, "abcdefg", "adf|bce|g"),
    "the size is at most the largest cached": (FOUR, "abcdxyzw", "ad|bc|xyzw"),
    "fewer than the smallest split needs get none": (EIGHT, "abc", None),
    "one gets none": (EIGHT, "a", None),
    "nobody gets none": (EIGHT, "", None),
    "an empty cache gives none": (cache(""), "abcd", None),
    "the uneven split is never taken": (FIVE, "abcde", "ad|bc|e"),
    # Who is away is replaced by the unplaced player nearest in strength, which is their place in the cache.
    "b (1) is away, and of g and h g is nearer": (EIGHT, "acdefgh", "adf|ceg|h"),
    "a and f are away: the strongest is replaced first, by g": (EIGHT, "bcdegh", "dgh|bce"),
    # Strangers stand in the middle.
    "h (7) is away and the stranger alone unplaced": (EIGHT, "abcdefgx", "adfg|bcex"),
    "f (5) is replaced by g (6) rather than by x (3.5)": (EIGHT, "abcdegx", "adg|bce|x"),
    "c (2) is replaced by x (3.5)": (EIGHT, "abdefgx", "adf|bex|g"),
    "the middle of an odd cache is its middle player: x (2), not e (4), for d (3)": (FIVE, "abcex", "ax|bc|e"),
    "that of an even one is between two: f (5) for e (4)": (cache("abcdef", "ae|bc"), "abcxf", "af|bc|x"),
    "and x (2.5) for b (1)": (cache("abcdef", "ae|bc"), "acedx", "ae|cx|d"),
    # Of two who are equally near the stronger goes first.
    "the stranger (2) for c (2)": (cache("abcde", "ae|bc"), "abdex", "ae|bx|d"),
    "the stranger (3) for d (3)": (cache("abcdefg", "ae|bd"), "abcefx", "ae|bx|cf"),
    "c (2) for d (3), not f (5)": (cache("abcdefg", "ae|bd"), "abcefg", "ae|bc|fg"),
}


@pytest.mark.parametrize("case", BENCH)
def test_in_arena_the_cached_split_of_half_of_those_present_is_played_and_the_others_sit_out(case: str) -> None:
    cached, present, expected = BENCH[case]
    assert from_cache(cached, ids(present), bench=True) == (None if expected is None else split(expected))


@pytest.mark.parametrize(
    ("cached", "present", "lead", "bench", "expected"),
    [
        (FIVE, "abcde", 0, False, "ade|bc"),  # an odd number plays uneven, and no player sits out
        (cache("abcde", "ad|bc", "bc|ade"), "abcde", 0, False, "bc|ade"),  # as it is cached, not the smaller one filled
        (FIVE, "abcd", 0, False, "ad|bc"),
        (FOUR, "abcdxyz", 0, False, "adxz|bcy"),  # those left fill the smaller side, the strongest first
        (EIGHT, "abc", 0, False, None),
        (FIVE, "abcde", 1, False, "ad|bce"),  # one stays on A: the uneven split gives way to a smaller one
        (FIVE, "abcde", -1, False, "ade|bc"),
        (EIGHT, "abcde", 1, False, "ad|bce"),  # the fifth evens the sides
        (EIGHT, "abcde", 1, True, "ad|bce"),  # in arena too, and nobody sits out
        (EIGHT, "abcdef", 2, False, "ad|bcef"),
        (EIGHT, "abcdef", -2, True, "adef|bc"),
        (EIGHT, "abcde", 2, True, "ad|bce"),  # one more cannot be found: nobody sits out for that
        (EIGHT, "abcde", 4, False, None),  # the unplaced cannot make up for it: the scramble waits
    ],
)
def test_outside_arena_and_where_players_stay_the_unplaced_make_the_sides_even(
    cached: SplitCache, present: str, lead: int, bench: bool, expected: str | None
) -> None:
    found = from_cache(cached, ids(present), bench=bench, lead=lead)
    assert found == (None if expected is None else split(expected))


@given(present=st.sets(st.sampled_from("abcdefghuvwxyz"), min_size=4), lead=st.sampled_from([-1, 1]))
def test_with_a_lone_commander_the_sides_are_as_even_as_their_number_allows(present: set[str], lead: int) -> None:
    found = from_cache(EIGHT, ids("".join(sorted(present))), bench=False, lead=lead)
    assert found is not None
    assert sorted((*found.a, *found.b)) == sorted(present)
    assert abs(len(found.a) - len(found.b) + lead) == (len(present) + 1) % 2


@given(present=st.sets(st.sampled_from("abcdefghuvwxyz"), min_size=4), bench=st.booleans())
def test_every_present_player_is_placed_once_and_the_sides_are_even(present: set[str], bench: bool) -> None:
    found = from_cache(EIGHT, ids("".join(sorted(present))), bench=bench)
    assert found is not None
    assert sorted((*found.a, *found.b, *found.bench)) == sorted(present)
    if bench:
        assert len(found.a) == len(found.b) == min(len(present) // 2, 4)
    else:
        assert found.bench == ()
        assert abs(len(found.a) - len(found.b)) == len(present) % 2
