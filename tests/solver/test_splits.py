"""Splits for every team size at once: optimal, whole, and independent of the order and scale of the ratings."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.pools import hard_pools, known_pools
from equipoise.errors import SplitError
from equipoise.solver import Assignment, Pin, splits

from .oracles import Puzzle, enumerated, sequential, without_bench

COUNTEREXAMPLE = [4000, 1010, 1005, 1003, 1002, 1000]


def check(assignment: Assignment, ratings: list[int], k: int) -> int:
    """Every player is placed once and the difference is that of the sides; returns the imbalance."""
    puzzle = Puzzle(ratings, (k, k))
    assert assignment.difference == puzzle.difference(puzzle.places(assignment))
    assert assignment.optimal
    assert assignment.error_bound == 0
    return abs(int(assignment.difference))


def test_every_published_optimum_is_reached() -> None:
    for pool in known_pools():
        found = splits(pool.ratings)

        assert {k: check(found[k], pool.ratings, k) for k in found} == pool.optimal, pool.name


@pytest.mark.parametrize("n", [4, 5, 7, 8, 9])
def test_small_pools_agree_with_trying_everything(n: int) -> None:
    for _, ratings in hard_pools(n, each=2):
        found = splits(ratings)

        assert {k: check(found[k], ratings, k) for k in found} == {
            k: enumerated(ratings, k) for k in range(2, n // 2 + 1)
        }


def test_synelos_anchor_loses_an_optimum_that_we_find() -> None:
    assert enumerated(COUNTEREXAMPLE, 2, anchored=True) == 2985
    assert enumerated(COUNTEREXAMPLE, 2) == 0

    found = splits(COUNTEREXAMPLE)[2]

    assert found.difference == 0
    assert set(found.bench) == {0, 1}


@pytest.mark.parametrize("n", [23, 30, 42])
@pytest.mark.parametrize("k", [3, 6])
def test_pools_beyond_enumeration_agree_with_one_programme_over_all_players(n: int, k: int) -> None:
    rng = random.Random(n * 100 + k)
    ratings = [rng.choice((0, 40, 90)) + rng.randint(0, 4) * 4 + (i == 0) for i in range(n)]

    assert abs(splits(ratings, k=k)[k].difference) == sequential(ratings, k, k)


@pytest.mark.parametrize("n", [42, 57])
def test_large_pools_without_a_bench_agree_with_subset_sums(n: int) -> None:
    for _, ratings in hard_pools(n, seed=3):
        ratings = [rating // 16 for rating in ratings]
        found = splits(ratings, k=n // 2, odd_without_bench=True)
        nobody_benched = found.uneven or found[n // 2]

        assert abs(nobody_benched.difference) == without_bench(ratings, n // 2)


@given(st.lists(st.integers(-3000, 3000), min_size=4, max_size=14), st.integers(-500, 500), st.integers(1, 7))
def test_a_shift_changes_no_imbalance_and_a_factor_multiplies_it(ratings: list[int], shift: int, factor: int) -> None:
    found = splits(ratings)
    moved = splits([shift + factor * rating for rating in ratings])

    for k in found:
        assert abs(moved[k].difference) == factor * abs(found[k].difference)


def test_an_odd_pool_can_be_split_without_a_bench_unless_one_is_pinned_there() -> None:
    ratings = [10, 20, 30, 40, 90]
    found = splits(ratings, odd_without_bench=True)
    assert found.uneven is not None
    assert sorted(found.uneven.sizes) == [2, 3]
    assert found.uneven.bench == ()
    assert abs(found.uneven.difference) == 10
    assert found.largest == found.uneven
    assert list(found) == [2]

    benched = splits(ratings, odd_without_bench=True, pins={4: Pin.BENCH})
    assert (benched.uneven, benched.largest.bench) == (None, (4,))
    all_play = splits(ratings, odd_without_bench=True, pins=dict.fromkeys(range(5), Pin.PLAY))
    assert (dict(all_play), sorted(all_play.largest.sizes)) == ({}, [2, 3])
    even = splits(ratings[:4], odd_without_bench=True)
    assert (even.uneven, even.largest) == (None, even[2])


def test_of_both_uneven_ways_the_better_is_taken() -> None:
    values, there = [10, 10, 10, 10, 10], [15, 15, 15, 15, 15]

    found = splits(values, values_b=there, odd_without_bench=True)

    assert found.uneven is not None
    assert found.uneven.sizes == (3, 2)
    assert found.uneven.difference == 0


def test_sizes_that_pins_rule_out_are_left_out_and_where_none_is_left_the_reason_is_said() -> None:
    found = splits([1, 2, 3, 4, 5, 6], pins={0: Pin.A, 1: Pin.A, 2: Pin.A})
    assert list(found) == [3]
    assert found[3].a == (0, 1, 2)
    with pytest.raises(SplitError, match="3 against 3 needs 6 players who are not pinned to the bench"):
        splits([1, 2, 3, 4, 5, 6], pins=dict.fromkeys(range(4), Pin.BENCH))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "0 players cannot play 2 against as many"),
        ([1, 2, 3], "3 players cannot play 2 against as many"),
        ([1, 2, 3, float("nan")], "nan is not a number"),
        ([1, 2, 3, float("inf")], "inf is not a number"),
        ([1, 2, 3, "4"], "'4' is not a number"),
        ([1, 2, 3, 10**400], "is not a number up to 1e\\+15"),
        (range(129), "129 players are too many: at most 128"),
    ],
)
def test_a_pool_that_cannot_be_split_is_refused_with_the_reason(values: list[float], reason: str) -> None:
    with pytest.raises(SplitError, match=reason):
        splits(values)


@pytest.mark.parametrize("k", [0, -1, 3])
def test_a_size_that_does_not_exist_is_refused_and_one_against_one_can_be_asked_for(k: int) -> None:
    with pytest.raises(SplitError, match=f"5 players cannot play {k} against as many"):
        splits([1, 2, 3, 4, 5], k=k)
    assert splits([1, 5, 6], k=1)[1].bench == (0,)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-3], ids=str)
@pytest.mark.parametrize("target", [0.0, -300.3])
def test_an_odd_number_of_players_of_nearly_equal_skill_needs_no_finer_grid_than_others(
    apart: float, target: float
) -> None:
    values = [1000.5 + apart * index for index in range(23)]
    found = splits(values, target=target, groups=[(0, 1, 2), (4, 5)], odd_without_bench=True)
    assert found.uneven is not None
    assert found.uneven.optimal
