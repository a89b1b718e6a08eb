"""Moving players from the larger side: jointly, signed, exactly."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from equipoise.errors import SplitError
from equipoise.solver import transfer


@pytest.mark.parametrize("seed", range(4))
def test_transfers_agree_with_trying_everything(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(200):
        n = rng.randint(2, 9)
        larger, smaller = [rng.randint(0, 40) for _ in range(n)], [rng.randint(0, 60) for _ in range(rng.randint(0, 8))]
        there = [value + rng.randint(-9, 9) for value in larger] if rng.random() < 0.4 else larger
        costs = [rng.randint(0, 5) for _ in larger] if rng.random() < 0.6 else [0] * n
        movable = rng.sample(range(n), rng.randint(1, n))
        m = rng.randint(1, len(movable))

        found = transfer(larger, smaller, movable, m, costs, larger_there=there)

        def after(moved: tuple[int, ...]) -> int:
            return sum(larger) - sum(smaller) - sum(larger[i] + there[i] for i in moved)  # noqa: B023

        best = min((abs(after(moved)), sum(costs[i] for i in moved)) for moved in combinations(movable, m))
        assert (abs(found.difference), found.cost) == best
        assert found.difference == after(found.moved)
        assert len(found.moved) == m
        assert set(found.moved) <= set(movable)


def test_few_may_be_movable_but_not_fewer_than_must_move() -> None:
    assert transfer([1, 2, 3, 4], [1, 2], [3], 1).moved == (3,)
    with pytest.raises(SplitError, match="2 players must move, but 1 are movable"):
        transfer([1, 2, 3, 4], [1], [3], 2)
    with pytest.raises(SplitError, match="0 players must move"):
        transfer([1, 2, 3, 4], [1], [3], 0)


def test_unknown_movable_players_and_lists_of_wrong_length_are_refused() -> None:
    with pytest.raises(SplitError, match="a movable player is not one of the larger side's 0 to 1"):
        transfer([1, 2], [], [2], 1)
    with pytest.raises(SplitError, match="as many"):
        transfer([1, 2], [], [1], 1, [1])
    with pytest.raises(SplitError, match="as many"):
        transfer([1, 2], [], [1], 1, larger_there=[1])


def test_fractions_are_moved_within_the_bound() -> None:
    larger, smaller = [25.13, 24.2, 26.91, 8.4], [25.5, 24.9]

    found = transfer(larger, smaller, range(4), 1)

    assert found.moved == (1,)
    assert found.difference == pytest.approx(sum(larger) - sum(smaller) - 2 * 24.2)
    assert 0 < found.error_bound < 0.01
