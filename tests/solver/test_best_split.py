"""One split with constraints and preferences: what is best, and what is impossible."""

from __future__ import annotations

import random
from math import inf

import pytest

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import Pin, best_split, fewest_moves

from .oracles import Puzzle, random_puzzle


@pytest.mark.parametrize(
    ("seed", "count", "most"), [(1, 60, 12), *(pytest.param(n, 250, 8, marks=pytest.mark.slow) for n in range(12))]
)
def test_small_puzzles_agree_with_trying_everything(seed: int, count: int, most: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        puzzle = random_puzzle(rng, most)
        best = puzzle.best_score()
        if best is None:
            with pytest.raises(SplitError):
                puzzle.solved()
            continue

        found = puzzle.solved()
        places = puzzle.places(found)

        assert puzzle.allows(places), puzzle
        assert puzzle.score(places) == best, puzzle
        assert (found.bench_cost, found.moves) == best[:2]
        assert found.difference == puzzle.difference(places)


@pytest.mark.parametrize("n", [42, 65, 100])
def test_large_pools_move_as_few_as_the_frontier_says(n: int) -> None:
    rng = random.Random(n)
    ratings = [rng.randint(0, 300) for _ in range(n)]
    present = [Side.A if i < n // 2 else Side.B for i in range(n)]
    frontier = fewest_moves(ratings, present)
    sizes = (n // 2, n - n // 2)

    optimum = best_split(ratings, sizes=sizes)
    found = best_split(ratings, sizes=sizes, current=present)

    assert abs(found.difference) == abs(optimum.difference)
    if n % 2 == 0:
        assert found.moves == frontier.steps[-1].moves


@pytest.mark.parametrize("n", [41, 60, 100])
def test_pins_groups_and_roles_hold_in_large_pools(n: int) -> None:
    rng = random.Random(n)
    puzzle = Puzzle(
        [rng.randint(100, 4000) for _ in range(n)],
        (n // 2, n // 2),
        groups=[(0, 1, 2), (3, 4)],
        pins={5: Pin.A, 6: Pin.PLAY, 7: Pin.B},
        roles=[range(8, 16)],
    )

    found = puzzle.solved()

    assert puzzle.allows(puzzle.places(found))
    assert abs(found.difference) <= 1


def test_pins_alone_are_exact_in_a_hundred_players() -> None:
    rng = random.Random(7)
    ratings = [rng.randint(0, 400) for _ in range(100)]
    pins = {0: Pin.A, 1: Pin.A, 2: Pin.B, 3: Pin.BENCH, 4: Pin.BENCH}

    found = best_split(ratings, sizes=(40, 40), pins=pins)

    assert {0, 1} <= set(found.a)
    assert 2 in found.b
    assert {3, 4} <= set(found.bench)
    assert found.difference == 0


def test_large_and_uneven_costs_are_counted_exactly() -> None:
    costs = [10**6 + i * 977 for i in range(20)]
    ratings = [1000 + i * i for i in range(20)]

    found = best_split(ratings, sizes=(6, 6), bench_cost=costs, tolerance=inf)

    assert found.bench_cost == sum(costs[:8])


@pytest.mark.parametrize(("tolerance", "difference", "moves"), [(10.0, 12.75, 0), (9.75, 2.75, 2)])
def test_a_tolerance_is_in_points_whatever_the_fractions_of_the_values(
    tolerance: float, difference: float, moves: int
) -> None:
    sides = [Side.A, Side.A, Side.B, Side.B]

    found = best_split([1010.25, 1005, 1002.5, 1000], sizes=(2, 2), current=sides, tolerance=tolerance)

    assert (abs(found.difference), found.moves) == (difference, moves)


@pytest.mark.parametrize(
    ("constraints", "reason"),
    [
        ({"pins": {0: Pin.A, 1: Pin.A, 2: Pin.A}}, "3 players are pinned to side A, but 2 play there"),
        ({"pins": dict.fromkeys(range(3), Pin.BENCH)}, "2 against 2 needs 4 players who are not pinned to the bench"),
        ({"pins": dict.fromkeys(range(5), Pin.PLAY)}, "5 players are pinned to play, but 2 against 2 has 4 places"),
        ({"groups": [(0, 1)], "pins": {0: Pin.A, 1: Pin.B}}, "players 0, 1 are kept together, but pinned apart"),
        ({"groups": [(0, 1, 2)], "pins": {0: Pin.PLAY}}, "2 against 2 cannot keep together the players 0, 1, 2"),
        (
            {"roles": [(0, 1)], "groups": [(0, 1)], "pins": {0: Pin.A}},
            "the players 0, 1 as evenly as their role",
        ),
        ({"groups": [(0, 9)]}, "a group names player 9, but the players are 0 to 5"),
        ({"pins": {-1: Pin.A}}, "a pin names player -1"),
        ({"roles": [(7,)]}, "a role names player 7"),
        ({"role_cap": -1}, "a role cap is not negative, but -1 is"),
        ({"bench_cost": [1]}, "1 bench costs for 6 players"),
        ({"bench_cost": [1, 2, 3, 4, 5, 0.5]}, "bench costs are whole numbers from 0 up"),
        ({"bench_cost": [1, 2, 3, 4, 5, -1]}, "bench costs are whole numbers from 0 up"),
        ({"current": [Side.A]}, "1 present sides for 6 players"),
        ({"values_b": [1.0]}, "6 values on side A, but 1 on side B"),
        ({"tolerance": -1.0}, "a tolerance is not negative, but -1.0 is"),
        ({"tolerance": float("nan")}, "a tolerance is not negative"),
    ],
)
def test_constraints_that_cannot_be_met_are_refused_with_the_reason(
    constraints: dict[str, object], reason: str
) -> None:
    with pytest.raises(SplitError, match=reason):
        best_split([1, 2, 3, 4, 5, 6], sizes=(2, 2), **constraints)  # type: ignore[arg-type]


@pytest.mark.parametrize("sizes", [(0, 3), (4, 3), (-1, 2)])
def test_sizes_that_the_pool_cannot_fill_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(SplitError, match="6 players cannot play"):
        best_split([1, 2, 3, 4, 5, 6], sizes=sizes)
