"""The least change of the present teams, and the source's greedy way for comparison."""

from __future__ import annotations

import random
from functools import partial
from itertools import combinations

import pytest

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import fewest_moves, greedy_swaps, new_teams, transfer

A, B = Side.A, Side.B


def frontier(
    values: list[int], there: list[int], present: list[Side | None], target: int, movable: list[int]
) -> list[tuple[int, int]]:
    """Every worthwhile (moves, imbalance), by trying all subsets."""
    playing = [i for i, side in enumerate(present) if side]
    best: list[tuple[int, int]] = []
    for moves in range(len(movable) + 1):
        for moved in combinations(movable, moves):
            a = [i for i in playing if (present[i] is A) != (i in moved)]
            b = [i for i in playing if i not in a]
            imbalance = abs(sum(values[i] for i in a) - sum(there[i] for i in b) - target)
            if abs(len(a) - len(b)) <= 1 and (not best or imbalance < best[-1][1]):
                best = [point for point in best if point[0] < moves] + [(moves, imbalance)]
    return best


@pytest.mark.parametrize("seed", range(4))
def test_frontiers_agree_with_trying_everything(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        n = rng.randint(2, 9)
        values = [rng.randint(0, 40) for _ in range(n)]
        there = [value + rng.randint(-9, 9) for value in values] if rng.random() < 0.4 else values
        present: list[Side | None] = [A, *(rng.choice((A, B, A, None)) for _ in range(n - 1))]
        playing = [i for i, side in enumerate(present) if side]
        movable = playing if rng.random() < 0.5 else rng.sample(playing, rng.randint(0, len(playing)))
        target = rng.choice((0, 7))
        expected = frontier(values, there, present, target, movable)
        if not expected:
            with pytest.raises(SplitError, match="too few players are movable"):
                fewest_moves(values, present, values_b=there, target=target, movable=movable)
            continue

        found = fewest_moves(values, present, values_b=there, target=target, movable=movable)

        assert [(step.moves, abs(step.difference - target)) for step in found.steps] == expected
        for step in found.steps:
            assert sorted(step.a + step.b) == playing
            assert {i for i in playing if (i in step.a) != (present[i] is A)} == set(step.moved) <= set(movable)
            assert step.difference == sum(values[i] for i in step.a) - sum(there[i] for i in step.b)


def test_the_two_choices_read_the_frontier() -> None:
    found = fewest_moves([20, 20, 12, 10, 9, 7, 6, 3, 3, 2], [A] * 5 + [B] * 5)

    assert [(step.moves, step.imbalance) for step in found.steps] == [(0, 50), (2, 14), (4, 0)]
    assert found.with_moves(0).imbalance == 50
    assert found.with_moves(3).imbalance == 14
    assert found.with_moves(99).imbalance == 0
    assert found.within(1000).moves == 0
    assert found.within(14).moves == 2
    assert found.within(1).moves == 4
    assert fewest_moves([9, 1, 1, 1], [A, B, A, B]).within(0).imbalance == 8, "the nearest"
    uneven = fewest_moves([5, 5, 5, 5, 5, 5], [A, A, A, A, A, B])
    assert (uneven.with_moves(0), uneven.steps[0].moves) == (uneven.steps[0], 2), "sizes come first"


def test_the_exact_frontier_is_never_worse_than_greedy_swaps() -> None:
    rng = random.Random(3)
    better = 0
    for _ in range(60):
        values = [rng.randint(100, 4000) for _ in range(12)]
        present: list[Side | None] = rng.sample([A, B] * 6, 12)
        greedy = greedy_swaps(values, present)

        exact = fewest_moves(values, present).with_moves(greedy.moves)

        assert exact.imbalance <= greedy.imbalance
        better += exact.imbalance < greedy.imbalance
    assert better > 0


def test_greedy_swaps_take_the_best_pair_until_none_helps() -> None:
    found = greedy_swaps([10, 8, 1, 3], [A, A, B, B])

    assert (found.moves, found.imbalance) == (2, 0)
    assert greedy_swaps([1, 1], [A, B]).moves == 0


def test_teams_without_players_and_lists_of_wrong_length_are_refused() -> None:
    with pytest.raises(SplitError, match="nobody is on a side"):
        fewest_moves([1, 2], [None, None])
    with pytest.raises(SplitError, match="1 present sides for 2 players"):
        fewest_moves([1, 2], [A])
    with pytest.raises(SplitError, match="1 present sides for 2 players"):
        greedy_swaps([1, 2], [A])
    with pytest.raises(SplitError, match="2 values on side A, but 1 on side B"):
        fewest_moves([1, 2], [A, B], values_b=[1])


@pytest.mark.parametrize("seed", range(4))
def test_new_teams_are_the_nearest_in_which_so_many_leave_each_side_and_as_many_stay(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        n, each_way, target = rng.randint(4, 10), rng.choice((1, 2)), rng.choice((0, 7))
        values = [rng.randint(0, 40) for _ in range(n)]
        present = [rng.choice((A, B)) for _ in range(n)]
        came = rng.sample(range(n), rng.choice((0, 1)))
        movable = [i for i in range(n) if rng.random() < 0.9]
        possible: list[tuple[int, int]] = []
        for on_a in combinations(range(n), n // 2):
            moved = [i for i in range(n) if (present[i] is A) is not (i in on_a)]
            counts = [
                sum(present[i] is side and i not in came and (i in moved) is leaves for i in range(n))
                for side in (A, B)
                for leaves in (True, False)
            ]
            if min(counts) >= each_way and {*moved} <= {*movable} - {*came}:
                difference = sum(value if i in on_a else -value for i, value in enumerate(values))
                possible.append((abs(difference - target), len(moved)))

        asked = partial(new_teams, values, present, each_way, size_a=n // 2, target=target, movable=movable, came=came)
        if not possible:
            with pytest.raises(SplitError):
                asked()
            continue
        teams = asked()
        assert (abs(teams.difference - target), teams.moves) == min(possible)


# Players who cross from the larger side: jointly, signed, exactly.


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
