"""The law of every solve, whatever the values: no set is longer than the sums that can be reached, and work and memory
keep to the budget.

Counted, not timed. Sets grow by left shifts alone: the solver is imported once more with every `<<` of it measured.
"""

from __future__ import annotations

import ast
import math
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import combinations, product
from types import CodeType, ModuleType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.core.model import Side
from equipoise.solver import Budget, transfer
from equipoise.solver.bitsets import WORK

PACKAGE = "equipoise.solver"
SMALL = 192
"""States count players, costs and moves in a few bits, which are no sets."""
OPERATIONS = 4
"""So many bits are shifted for one that is counted as work, at most: a step may take several operations."""
UNCOUNTED = 1 << 21
"""Bits that may be shifted besides those that are counted as work: for sizes, states and the last step."""
PEAK = 64_000_000
"""Bytes."""

MAGNITUDES = (0.0, 25.3, 1000.0, -1000.0, 1e6, 1e9, 1e15)
APART = tuple(10.0**power for power in range(-16, 3))


class Counted:
    """The solver with its left shifts measured."""

    def __init__(self) -> None:
        self.longest, self.shifted, self.limit = 0, 0, 1 << 33
        self.grids: list[Any] = []
        kept = {name: sys.modules.pop(name) for name in list(sys.modules) if (name + ".").startswith(PACKAGE + ".")}
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        try:
            self.solver = import_module(PACKAGE)
            grid = import_module(PACKAGE + ".problem").Ticks
        finally:
            sys.meta_path.remove(self)  # type: ignore[arg-type]
            sys.modules.update(kept)
            equipoise.solver = kept[PACKAGE]  # type: ignore[attr-defined]
        rounded = grid.of

        def noted(*args: Any, **more: Any) -> Any:
            self.grids.append(rounded(*args, **more))
            return self.grids[-1]

        grid.of = noted

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The solver's modules are loaded with `Measuring`."""
        if not (name + ".").startswith(PACKAGE + "."):
            return None
        spec = PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = Measuring(name, spec.origin, self.shift)
        return spec

    def shift(self, bits: int, by: int) -> int:
        """What `<<` does, measured before it is done."""
        length = bits and bits.bit_length() + by
        assert length <= self.limit, f"{length} bits where {self.limit} suffice"
        self.longest = max(self.longest, length)
        self.shifted += length
        return bits << by


class Measuring(SourceFileLoader):
    """Loads a module with its left shifts replaced by calls."""

    def __init__(self, name: str, path: str, shift: Callable[[int, int], int]) -> None:
        super().__init__(name, path)
        self.shift = shift

    def get_code(self, fullname: str) -> CodeType:
        tree = Shifts().visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["_shift"] = self.shift
        super().exec_module(module)


class Shifts(ast.NodeTransformer):
    """Every `<<` as a call of `_shift`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.LShift):
            return node
        return ast.Call(ast.Name("_shift", ast.Load()), [node.left, node.right], [])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        assert not isinstance(node.op, ast.LShift), "is not measured"
        self.generic_visit(node)
        return node


@pytest.fixture(scope="module")
def counted() -> Counted:
    return Counted()


@pytest.mark.slow
def test_every_left_shift_of_the_solver_is_measured(counted: Counted) -> None:
    counted.longest, counted.limit = 0, 1 << 33
    counted.solver.splits([0, 1 << 20, 3 << 20, (7 << 20) + 1])

    assert counted.longest > 1 << 20


class Question:
    """One call of the solver, and how many sums it can reach, from the grid that it chose."""

    def __init__(self, name: str, ask: Callable[[Any, Any], Any], reached: Callable[[Any], int]) -> None:
        self.name, self.ask, self.reached = name, ask, reached


def off_middle(numbers: Sequence[int]) -> int:
    """How far numbers are from the middle one together: all sums of some of them, less the middle ones, are within."""
    middle = sorted(numbers)[len(numbers) // 2] if numbers else 0
    return sum(abs(number - middle) for number in numbers)


def placed(grid: Any) -> int:
    """Differences that players can make on A, on B or on the bench."""
    return off_middle(grid.a) + off_middle(grid.b) + 1


def moved(m: int) -> Callable[[Any], int]:
    """Sums that m players can make, in steps of what divides all their differences."""

    def reached(grid: Any) -> int:
        weights = sorted(grid.a)
        factor = math.gcd(*(weight - weights[0] for weight in weights)) or 1
        return (sum(weights[-m:]) - sum(weights[:m])) // factor + 1

    return reached


def questions(rng: random.Random, values: Sequence[float]) -> Iterator[Question]:
    """One of every kind, with constraints drawn at random."""
    n = len(values)
    order, k = rng.sample(range(n), n), rng.randint(1, n // 2)
    sides = [rng.choice((Side.A, Side.B)) for _ in values]
    some = [rng.choice((Side.A, Side.B, None)) for _ in values]
    other = [max(-1e15, min(1e15, value + rng.choice((0.0, 0.3, 40.0, -250.0)))) for value in values]
    costs, groups = [rng.randint(0, 3) for _ in values], [order[:2], order[2:4]][: n // 4]
    far = rng.choice((0.0, 0.5, -300.3, 1e6, -1e12))
    yield Question("splits", lambda s, b: s.splits(values, odd_without_bench=True, budget=b) if n > 3 else None, placed)
    yield Question(
        "constrained",
        lambda s, b: s.best_split(
            values,
            values_b=other,
            sizes=(k, max(1, k - 1)),
            target=far,
            groups=groups,
            pins={order[-1]: s.Pin.PLAY},
            roles=[order[: n // 2]],
            role_cap=n,
            budget=b,
        ),
        placed,
    )
    yield Question(
        "preferred",
        lambda s, b: s.best_split(
            values, sizes=(k, k), bench_cost=costs, current=some, tolerance=rng.choice((0.0, 96.0, math.inf)), budget=b
        ),
        placed,
    )
    low = rng.choice((-2000.5, -300.5, 0.0, 1e9, -math.inf))
    terms = {
        "values_b": rng.choice((None, other)),
        "target": far,
        "band": rng.choice((None, (low, low + rng.choice((0.0, 0.4, 3500.0))), (-math.inf, math.inf))),
        "tolerance": rng.choice((0.0, 1.0, 1e9)),
        "groups": groups,
        "wishes": [(rng.randint(0, 2), rng.randint(0, 2)) for _ in values],
        "spread_evenly": order[: n // 2],
        "max_moves": rng.choice((None, 2)),
    }
    yield Question(
        "shuffle",
        lambda s, b: s.shuffle(values, some, sizes=(n // 2, n - n // 2), budget=b, **terms),
        lambda grid: off_middle([one + two for one, two in zip(grid.a, grid.b, strict=True)]) + 1,
    )
    movable, there = order[: rng.randint(1, n)], rng.choice((None, other))
    m = rng.randint(1, len(movable))
    yield Question(
        "transfer",
        lambda s, b: s.transfer(
            values, [far, *other[: n // 2]], movable, m, rng.choice((None, costs)), larger_there=there, budget=b
        ),
        moved(m),
    )
    on_a = sides.count(Side.A)
    yield Question(
        "fewest moves",
        lambda s, b: s.fewest_moves(values, sides, values_b=other, target=far, budget=b),
        lambda grid: off_middle(grid.a[:on_a]) + off_middle(grid.a[on_a:]) + 1,
    )


def asked(counted: Counted, question: Question, work: int) -> Any:
    """The answer, given within the law."""
    budget = counted.solver.Budget(work)
    counted.grids.clear()
    counted.longest = counted.shifted = 0
    tracemalloc.start()
    try:
        found = question.ask(counted.solver, budget)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if counted.grids:
        assert counted.longest <= max(SMALL, question.reached(counted.grids[-1]) + 1), question.name
    assert peak <= PEAK, question.name
    assert budget.meter.done <= work, question.name
    assert counted.shifted <= OPERATIONS * budget.meter.done + UNCOUNTED, question.name
    return found


def values_of(magnitude: float, apart: float, form: int, rng: random.Random, n: int) -> list[float]:
    """Clusters, equal, with a few apart, with an outlier, and with some whole."""
    values = [magnitude + apart * rng.randint(0, (1, 1, 9, 99)[form % 4]) * (form > 0) for _ in range(n)]
    if form == 1:
        values[0] = magnitude + 987.654321
    if form == 3:
        values[0] = rng.choice((1e15, -1e15, 1e6))
    if form == 4:
        values[::2] = [round(value) for value in values[::2]]
    return [max(-1e15, min(1e15, value)) for value in values]


@pytest.mark.slow
def test_clusters_of_every_width_at_every_magnitude_are_within_the_law(counted: Counted) -> None:
    rng = random.Random(20)
    for number, (magnitude, apart) in enumerate(product(MAGNITUDES, APART[::3])):
        values = values_of(magnitude, apart, number % 5, rng, (24, 23, 11, 24, 6, 2)[number % 6])
        for question in questions(rng, values):
            asked(counted, question, rng.choice((WORK, WORK, 1 << 24, 0)))


@pytest.mark.slow
def test_so_are_clusters_of_many_players(counted: Counted) -> None:
    rng = random.Random(100)
    clusters = ((1000.0, 1e-9, 40), (1000.0, 10.0, 100), (25.3, 1e-4, 40), (1e6, 1e-2, 100), (1e9, 100.0, 40))
    for form, (magnitude, apart, n) in enumerate(clusters):
        for question in questions(rng, values_of(magnitude, apart, form, rng, n)):
            asked(counted, question, WORK)


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples * 3 // 5)
@given(
    values=st.lists(
        st.one_of(
            st.sampled_from(MAGNITUDES),
            st.builds(
                lambda at, apart, k: at + apart * k,
                st.sampled_from(MAGNITUDES[:-1]),
                st.sampled_from(APART),
                st.integers(0, 9),
            ),
            st.floats(-1e15, 1e15),
            st.integers(-(10**15), 10**15),
        ),
        min_size=2,
        max_size=24,
    ),
    seed=st.integers(0, 1 << 20),
    work=st.sampled_from([WORK, 1 << 28, 1 << 20, 0]),
)
@example(values=[1000.0] * 23 + [1000.0 + 1e-9], seed=0, work=WORK)
@example(values=[0.0, 1e9], seed=7, work=WORK)
@example(values=[0, 10**9, 3 * 10**9 + 1, 4 * 10**9], seed=7, work=WORK)
@example(values=[float(1 << i) for i in range(24)], seed=1, work=WORK)
def test_so_is_everything_else(counted: Counted, values: list[float], seed: int, work: int) -> None:
    for question in questions(random.Random(seed), values):
        asked(counted, question, work)


@pytest.mark.parametrize("work", [WORK, 1 << 16, 0])
def test_a_transfer_is_as_near_as_it_says(work: int) -> None:
    rng = random.Random(work)
    for magnitude, apart, form in product(MAGNITUDES, APART[::3], range(5)):
        values = values_of(magnitude, apart, form, rng, 7)
        smaller, costs = values[: rng.randint(0, 6)], [rng.randint(0, 2) for _ in values]
        m = rng.randint(1, 6)
        difference = math.fsum(values) - math.fsum(smaller)
        least = min(abs(difference - 2 * math.fsum(values[i] for i in some)) for some in combinations(range(7), m))

        found = transfer(values, smaller, range(7), m, costs, budget=Budget(work))

        assert len(set(found.moved)) == m
        assert found.difference == pytest.approx(difference - 2 * math.fsum(values[i] for i in found.moved), abs=1e-9)
        rounding = 1e-14 * (abs(difference) + 14 * max(map(abs, values)))
        assert abs(found.difference) - least <= found.gap.points + rounding
        assert found.gap == (found.gap.points, 0, 0) or not found.optimal
        assert found.cost - min(sum(sorted(costs)[:m]), found.cost) <= found.gap.bench_cost or found.optimal
