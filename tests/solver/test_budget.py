"""A budget that does not suffice: the answer meets every constraint, and its gap bounds what is missing."""

from __future__ import annotations

import random
import tracemalloc
from itertools import count
from math import inf
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import Budget, Pin, best_split, preferred_splits, splits

from .oracles import Puzzle, random_puzzle

budgets = st.builds(Budget, work=st.integers(0, 24).map(lambda power: 1 << power), memory=st.sampled_from([0, 1 << 18]))


@settings(max_examples=4 * settings.default.max_examples)
@given(seed=st.integers(0, 10**6), budget=budgets)
@example(seed=0, budget=Budget(work=0, memory=0))
def test_what_is_missing_is_never_more_than_the_gap(seed: int, budget: Budget) -> None:
    puzzle = random_puzzle(random.Random(seed), most=8)
    best = puzzle.best_score()
    found, refusal = None, ""
    try:
        found = puzzle.solved(budget)
    except SplitError as refused:
        refusal = str(refused)
    if found is None:
        # Only how roles can be shared is searched for; everything else is known without a search.
        assert best is None or "no way was found" in refusal
        return

    places = puzzle.places(found)

    assert best is not None
    assert puzzle.allows(places)
    gaps = (found.gap.bench_cost, found.gap.moves, found.gap.points)
    missing = [mine - least for mine, least in zip(puzzle.score(places), best, strict=True)]
    assert all(less <= gap for less, gap in zip(missing, gaps, strict=True))
    if found.optimal:
        assert missing == [0, 0, 0]
        assert gaps == (0, 0, 0)


@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(seed=st.integers(0, 10**6), budget=budgets)
def test_the_gap_includes_what_rounding_hides(seed: int, budget: Budget) -> None:
    rng = random.Random(seed)
    puzzle = Puzzle([rng.gauss(25, 8) for _ in range(8)], (3, 3), target=rng.choice((0, rng.gauss(0, 5))))
    best = puzzle.best_score()
    assert best is not None

    found = puzzle.solved(budget)

    assert abs(found.difference - puzzle.target) - best[2] <= found.gap.points + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("power", [18, 22, 26, 30])
def test_the_same_budget_gives_the_same_answer(power: int) -> None:
    question = crowd(100)

    assert preferred_splits(**question, budget=Budget(1 << power)) == preferred_splits(
        **question, budget=Budget(1 << power)
    )


def crowd(players: int) -> dict[str, Any]:
    """A question for every size with far more combinations of cost and moves than can be gone through."""
    rng = random.Random(players)
    order = rng.sample(range(players), players)
    return {
        "values": [rng.gauss(1500, 400) for _ in range(players)],
        "tolerances": dict.fromkeys(range(2, players // 2 + 1), inf),
        "groups": [order[2 * i : 2 * i + 2] for i in range(30)],
        "bench_cost": [rng.randint(0, 1000) for _ in range(players)],
        "current": [rng.choice((Side.A, Side.B)) for _ in range(players)],
    }


@pytest.mark.slow
def test_every_size_of_a_crowd_is_answered_within_the_work_and_the_memory() -> None:
    budget, question = Budget(work=1 << 28, memory=1 << 26), crowd(128)
    tracemalloc.start()
    found = preferred_splits(**question, budget=budget)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert list(found) == list(range(2, 65))
    assert budget.meter.done <= budget.work
    assert 8 * peak < 3 * budget.memory
    for k, split in found.items():
        assert split.sizes == (k, k)
        assert all(len({split.side_of(i) for i in group}) == 1 for group in question["groups"])


def test_a_clock_ends_the_search_too() -> None:
    ticking = count()
    budget = Budget(inf, clock=lambda: next(ticking), until=40)

    found = preferred_splits(**crowd(128), budget=budget)

    assert len(found) == 63
    assert not found[64].optimal
    assert next(ticking) < 2000  # once it is over, each size asks a few times more


@pytest.mark.parametrize(
    ("ratings", "tolerance"),
    [([1000.000000001, *[1000.0] * 19], 96.0), ([1.5e-19, -1.5e-19] * 10, 0.04), ([7.0] * 20, 1e15)],
)
def test_a_tolerance_beyond_every_difference_costs_nothing(ratings: list[float], tolerance: float) -> None:
    budget = Budget()
    tracemalloc.start()
    found = best_split(ratings, sizes=(5, 5), bench_cost=[9, *[1] * 19], tolerance=tolerance, budget=budget)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found.optimal
    assert found.bench_cost == 10
    assert peak < 1 << 21
    assert budget.meter.done < 1 << 27


@pytest.mark.parametrize("constraints", [{}, {"groups": [(0, 1)]}, {"current": [Side.A, Side.B] * 12}])
def test_a_single_rating_far_beyond_all_others_takes_no_more_memory(constraints: dict[str, Any]) -> None:
    ratings = [10**12, *range(1000, 1023)]
    tracemalloc.start()
    found = best_split(ratings, sizes=(11, 11), **constraints)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert 0 in found.bench
    assert abs(found.difference) <= found.gap.points
    assert peak < 1 << 27


@pytest.mark.parametrize("constraints", [{}, {"groups": [(0, 1)]}, {"pins": {0: Pin.PLAY}}])
def test_a_range_too_wide_for_the_memory_is_rounded(constraints: dict[str, Any]) -> None:
    rng = random.Random(24)
    values = [rng.randint(0, 10**10) for _ in range(24)]

    found = best_split(values, sizes=(12, 12), **constraints)

    assert not found.optimal
    assert abs(found.difference) <= found.gap.points < 10**10


@pytest.mark.slow
def test_roles_that_cannot_be_counted_are_shared_evenly_all_the_same() -> None:
    rng = random.Random(3)
    roles = [rng.sample(range(100), 60) for _ in range(4)]

    found = best_split([rng.randint(0, 4000) for _ in range(100)], sizes=(30, 30), roles=roles)

    sides = [len(set(role) & set(found.a)) - len(set(role) & set(found.b)) for role in roles]
    assert all(-1 <= surplus <= 1 for surplus in sides)
    assert not found.optimal
    assert found.gap.points < 100


def test_sizes_that_groups_rule_out_are_known_without_a_search() -> None:
    groups = [range(3 * i, 3 * i + 3) for i in range(40)]
    pins = dict.fromkeys(range(120), Pin.PLAY)

    with pytest.raises(SplitError, match="cannot keep together the players 0, 1, 2; 3, 4, 5"):
        best_split(range(120), sizes=(61, 59), groups=groups, pins=pins, budget=Budget(work=0))


@pytest.mark.parametrize("n", [101, 113, 128])
def test_pools_of_more_than_a_hundred_are_split_exactly(n: int) -> None:
    ratings = [random.Random(n * i).randint(100, 4000) for i in range(n)]

    found = splits(ratings)

    assert list(found) == list(range(2, n // 2 + 1))
    assert all(split.optimal for split in found.values())
    assert abs(found[n // 2].difference) <= 1
