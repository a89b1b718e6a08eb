"""Ratings that are not whole: rounded to ticks, with a bound that holds."""

from __future__ import annotations

import random

import pytest

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver import fewest_moves, splits, transfer
from equipoise.solver.problem import Ticks

from .oracles import Puzzle


@pytest.mark.parametrize(
    ("values", "resolution", "ticks", "per_point", "bound"),
    [
        ([1500.0, 1600, -3], None, (1500, 1600, -3), 1, 0),
        ([0.1, 0.7, 1.3, 2.9], 10, (1, 7, 13, 29), 10, 0),
        ([0.123, 0.7, 1.3, 2.9], 10, (1, 7, 13, 29), 10, 4 / 2 / 10),
    ],
    ids=["whole numbers, even as floats", "fractions that ticks can hold", "half a tick per player"],
)
def test_what_ticks_cannot_hold_is_rounded_and_bounded(
    values: list[float], resolution: float | None, ticks: tuple[int, ...], per_point: float, bound: float
) -> None:
    found = Ticks.of(values, resolution=resolution)
    assert (found.a, found.per_point) == (ticks, per_point)
    assert found.error_bound(4) == pytest.approx(bound)


@pytest.mark.parametrize("resolution", [0.5, 1, 8, None])
def test_the_answer_is_within_twice_the_bound_of_the_optimum(resolution: float | None) -> None:
    rng = random.Random(11)
    for _ in range(40):
        values = [rng.gauss(25, 8) for _ in range(7)]
        puzzle = Puzzle(values, (3, 3))
        best = puzzle.best_score()
        assert best is not None

        found = splits(values, resolution=resolution)[3]

        assert abs(found.difference) <= best[2] + 2 * found.error_bound
        assert found.difference == pytest.approx(puzzle.difference(puzzle.places(found)))


def test_narrow_and_wide_ranges_both_get_ticks_enough() -> None:
    for unit in (1e-9, 1.0, 1e9):
        values = [unit * value for value in (1.1, 2.3, 3.7, 5.9, 6.1, 7.3)]
        best = Puzzle(values, (3, 3)).best_score()
        assert best is not None

        found = splits(values)[3]

        assert abs(found.difference) == pytest.approx(best[2])
        assert found.error_bound < 0.01 * unit
    assert splits([0.1] * 6)[3].difference == 0
    fractions = Ticks.of([0.5, 1.25, 7])
    assert [tick / fractions.per_point for tick in fractions.a] == [0.5, 1.25, 7]


def test_transfers_and_moves_of_a_wide_range_are_rounded_and_say_how_much() -> None:
    wide = [10**9 * i * i + i for i in range(30)]
    moved = transfer(wide, wide[:20], range(30), 5)
    steps = fewest_moves(wide, [Side.A, Side.B] * 15).steps

    assert 0 < moved.error_bound < 10**9
    assert moved.difference == sum(wide) - sum(wide[:20]) - 2 * sum(wide[i] for i in moved.moved)
    assert 0 < steps[-1].error_bound < 10**9


@pytest.mark.parametrize("resolution", [0, -1, float("nan"), float("inf")])
def test_a_resolution_that_is_not_above_zero_is_refused(resolution: float) -> None:
    with pytest.raises(SplitError, match="ticks per point above 0"):
        splits([1, 2, 3, 4], resolution=resolution)
