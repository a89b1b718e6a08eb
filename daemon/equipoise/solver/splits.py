"""Exact splits: for every team size at once, and for one size with preferences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from equipoise.core.model import Side
from equipoise.errors import SplitError
from equipoise.solver.budget import Budget
from equipoise.solver.model import Assignment, Pin, Splits
from equipoise.solver.problem import A, B, Problem
from equipoise.solver.question import Question
from equipoise.solver.states import Preferences
from equipoise.solver.ticks import Ticks

MIN_TEAM = 2
"""The smallest team size that `splits` returns."""


def splits(
    values: Sequence[float],
    *,
    values_b: Sequence[float] | None = None,
    target: float = 0,
    groups: Iterable[Collection[int]] = (),
    pins: Mapping[int, Pin] | None = None,
    roles: Iterable[Collection[int]] = (),
    role_cap: int = 1,
    resolution: float | None = None,
    k: int | None = None,
    odd_without_bench: bool = False,
    budget: Budget | None = None,
) -> Splits:
    """The assignment with the least |Σ(A) − Σ(B) − target| for every k from 2 to ⌊N/2⌋, or for one `k`.

    `values` are in points, one per player; `values_b` are those on side B, where they differ. Players of a group share
    a place, `pins` fix places, and of each role the sides get equally many, give or take `role_cap`. Values are
    rounded to `resolution` ticks per point. Sizes that the constraints rule out are left out; `SplitError` when they
    rule out all of them. What the budget does not suffice to prove is not `optimal`; its `gap` says how far off.

    >>> found = splits([2000, 1800, 1500, 1400, 1300, 900])
    >>> {k: (split.a, split.b, abs(split.difference)) for k, split in found.items()}
    {2: ((0, 5), (2, 3), 0), 3: ((1, 3, 4), (0, 2, 5), 100)}
    """
    count = len(values)
    sizes = _sizes(count, k)
    uneven_too = odd_without_bench and count % 2
    ticks = Ticks.of(values, values_b, target, resolution)
    problem = Problem.of(ticks.a, ticks.b, groups, pins, roles, role_cap)
    question = Question(values, values if values_b is None else values_b, ticks, problem, budget or Budget())
    found = question.best([(size, size) for size in sizes])
    uneven = None
    if uneven_too:
        either = question.best([(count // 2 + 1, count // 2), (count // 2, count // 2 + 1)]).values()
        uneven = min(either, key=lambda assignment: abs(assignment.difference - target), default=None)
    if not found and uneven is None:
        raise SplitError(question.obstacle((sizes[-1], sizes[-1])))
    return Splits({size: assignment for (size, _), assignment in found.items()}, uneven)


def preferred_splits(
    values: Sequence[float],
    *,
    tolerances: Mapping[int, float],
    groups: Iterable[Collection[int]] = (),
    pins: Mapping[int, Pin] | None = None,
    bench_cost: Sequence[int] | None = None,
    current: Sequence[Side | None] | None = None,
    budget: Budget | None = None,
) -> Splits:
    """For every k in `tolerances` the assignment that `best_split` prefers within that tolerance.

    All of them together keep to the budget. Values and constraints as in `splits`.

    >>> found = preferred_splits([5, 4, 3, 2, 1], tolerances={1: 0, 2: 0}, bench_cost=[0, 0, 0, 0, 9])
    >>> {k: split.bench for k, split in found.items()}
    {1: (0, 1, 2), 2: (2,)}
    """
    count = len(values)
    for k, tolerance in tolerances.items():
        _sizes(count, k)
        check_tolerance(tolerance)
    ticks = Ticks.of(values)
    problem = Problem.of(ticks.a, ticks.b, groups, pins)
    preferences = Preferences(_bench_costs(bench_cost, count), present_places(current, count))
    question = Question(values, values, ticks, problem, budget or Budget(), preferences)
    found = question.preferred({(k, k): tolerance for k, tolerance in tolerances.items()})
    if not found:
        raise SplitError(question.obstacle((max(tolerances), max(tolerances))))
    return Splits({size: assignment for (size, _), assignment in found.items()})


def best_split(
    values: Sequence[float],
    *,
    sizes: tuple[int, int],
    values_b: Sequence[float] | None = None,
    target: float = 0,
    groups: Iterable[Collection[int]] = (),
    pins: Mapping[int, Pin] | None = None,
    roles: Iterable[Collection[int]] = (),
    role_cap: int = 1,
    bench_cost: Sequence[int] | None = None,
    current: Sequence[Side | None] | None = None,
    tolerance: float = 0.0,
    resolution: float | None = None,
    budget: Budget | None = None,
) -> Assignment:
    """The best assignment of `sizes[0]` players against `sizes[1]`; the other players sit on the bench.

    Of those whose |Σ(A) − Σ(B) − target| is within `tolerance` points of the least possible: the one with the
    least sum of bench costs, then the fewest moves to the side opposite to `current`, then the least imbalance.
    Values, constraints and budget as in `splits`; `SplitError` when the constraints allow no assignment.

    >>> best = best_split([5, 4, 3, 2, 1], sizes=(2, 2), bench_cost=[0, 0, 0, 0, 9])
    >>> best.a, best.b, best.bench, best.difference
    ((0, 4), (1, 3), (2,), 0)
    """
    ticks = Ticks.of(values, values_b, target, resolution)
    problem = Problem.of(ticks.a, ticks.b, groups, pins, roles, role_cap)
    if min(sizes) < 1 or sum(sizes) > len(values):
        raise SplitError(f"{len(values)} players cannot play {sizes[0]} against {sizes[1]}")
    check_tolerance(tolerance)
    preferences = Preferences(_bench_costs(bench_cost, len(values)), present_places(current, len(values)))
    question = Question(
        values, values if values_b is None else values_b, ticks, problem, budget or Budget(), preferences
    )
    found = question.preferred({sizes: tolerance})
    if not found:
        raise SplitError(question.obstacle(sizes))
    return found[sizes]


def _sizes(count: int, k: int | None) -> Sequence[int]:
    """All team sizes of so many players, or the one that is asked for; `SplitError` when there is none."""
    sizes = range(MIN_TEAM, count // 2 + 1) if k is None else [k]
    if not sizes or not 0 < 2 * sizes[-1] <= count:
        raise SplitError(f"{count} players cannot play {sizes[-1] if sizes else MIN_TEAM} against as many")
    return sizes


def check_tolerance(tolerance: float) -> None:
    """`SplitError` for a negative tolerance."""
    if not tolerance >= 0:
        raise SplitError(f"a tolerance is not negative, but {tolerance!r} is")


def _bench_costs(costs: Sequence[int] | None, count: int) -> Sequence[int] | None:
    if costs is None:
        return None
    if len(costs) != count:
        raise SplitError(f"{len(costs)} bench costs for {count} players")
    if not all(isinstance(cost, int) and cost >= 0 for cost in costs):
        raise SplitError("bench costs are whole numbers from 0 up")
    return costs


def present_places(sides: Sequence[Side | None] | None, count: int) -> Sequence[int] | None:
    """The present place of each player, 0 for those without a side."""
    if sides is None:
        return None
    if len(sides) != count:
        raise SplitError(f"{len(sides)} present sides for {count} players")
    return [0 if side is None else A if side is Side.A else B for side in sides]
