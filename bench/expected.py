"""Splits by mean and variance: what they cost, and what the search loses against trying everything and long annealing.

`python -m bench expected` prints the tables; so does running this module. One thread for numpy's products.
"""

from __future__ import annotations

import os

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

import statistics
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.balancing.chances import expected_distance
from equipoise.balancing.mean_variance import QuadraticProblem, SwapSearch

Numbers = NDArray[np.floating[Any]]

POINTS = 2400.0
"""That are one log-odds."""
SPREAD = 0.25 * POINTS
RUNS = 3
HARD = 1000
"""Problems that are tried wholly."""
ANNEALED = 20
STEPS = 40_000


class Family(NamedTuple):
    """A kind of problem."""

    what: str
    of: Callable[[np.random.Generator, int], tuple[Numbers, Numbers]]
    """Means and covariance of so many players, in points."""


def after(rounds: int) -> Callable[[np.random.Generator, int], tuple[Numbers, Numbers]]:
    """Return the information of so many rounds of random sides, among twice as many people, about their skills."""

    def drawn(rng: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
        people = 2 * count
        sides = np.zeros((rounds, people))
        for row in sides:
            row[rng.permutation(people)[:count]] = rng.permutation([1.0, -1.0] * (count // 2) + [0.0] * (count % 2))
        # A result says as much of the difference as an observation whose variance is that of a logistic variable.
        known = np.linalg.inv(np.eye(people) / SPREAD**2 + sides.T @ sides * 3 / (np.pi * POINTS) ** 2)
        means = rng.multivariate_normal(np.zeros(people), np.eye(people) * SPREAD**2 - known)
        return means[:count], known[:count, :count]

    return drawn


def few_factors(rng: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
    """Errors of three kinds alone: there are sides in which they cancel out, and few of them."""
    factors = rng.normal(0, SPREAD, (count, 3))
    return rng.normal(0, SPREAD, count), factors @ factors.T * rng.uniform(0.01, 1)


def many_factors(rng: np.random.Generator, count: int) -> tuple[Numbers, Numbers]:
    factors = rng.normal(0, SPREAD, (count, 2 * count))
    return rng.normal(0, SPREAD, count), factors @ factors.T / (2 * count)


FAMILIES = (
    Family("after 20 rounds", after(20)),
    Family("after 300 rounds", after(300)),
    Family("many factors", many_factors),
    Family("three factors", few_factors),
)


def problem(family: Family, rng: np.random.Generator, count: int) -> QuadraticProblem:
    means, covariance = family.of(rng, count)
    values = (1000 + means).tolist()
    current = rng.permutation([1, -1] * (count // 2)).tolist()
    return QuadraticProblem((values, values), covariance.tolist(), (count // 2, count // 2), current=current)


def solved(asked: QuadraticProblem) -> tuple[SwapSearch, Numbers]:
    """Return equal sides: the fewest moves within 0.01 of win probability."""
    search = SwapSearch(asked, ())
    return search, search.cheapest(search.limit(0.01, POINTS), asked.moves)


def moving(asked: QuadraticProblem) -> tuple[SwapSearch, Numbers]:
    """Return a scramble: two players at least change side each way, and two at least stay."""
    search = SwapSearch(asked, ())
    found = search.moving(2)
    assert found is not None
    return search, found


def milliseconds(asked: QuadraticProblem, solve: Callable[[QuadraticProblem], object]) -> float:
    times = []
    for _ in range(RUNS):
        started = time.thread_time()
        solve(asked)
        times.append(time.thread_time() - started)
    return 1000 * min(times)


def speed() -> Iterator[str]:
    for count, target in ((24, "3 ms"), (32, ""), (64, "10 ms"), (100, "")):
        rng = np.random.default_rng(count)
        asked = [problem(family, rng, count) for family in FAMILIES for _ in range(5)]
        for what, solve in (("least", lambda each: SwapSearch(each, ())), ("fewest moves", solved), ("due", moving)):
            times = [milliseconds(each, solve) for each in asked]
            yield f"| {what}, N = {count} | {statistics.median(times):.2f} | {max(times):.2f} | {target} |"


def uneven(search: SwapSearch, row: Numbers) -> float:
    return expected_distance(search.lead(row) / POINTS, search.variance(row) / POINTS**2)


def tried() -> Iterator[str]:
    """Every way to place 12 and 14 players."""
    for count in (12, 14):
        chosen = np.array(list(combinations(range(count), count // 2)))
        ways = -np.ones((len(chosen), count))
        np.put_along_axis(ways, chosen, 1.0, 1)
        for family in FAMILIES:
            rng, missed, moved, lost, due = np.random.default_rng(count), 0, 0, [0.0], [0.0]
            for _ in range(HARD // len(FAMILIES)):
                asked = problem(family, rng, count)
                search, found = solved(asked)
                cost = search.cost.of(ways)
                if search.cost.of(search.least[None])[0] > cost.min() * (1 + 1e-9) + 1e-3:
                    missed += 1
                    lost.append(uneven(search, search.least) - uneven(search, ways[cost.argmin()]))
                moves = (ways * np.array(asked.current) < 0).sum(1)[cost <= search.limit(0.01, POINTS)]
                crossing = ((ways < 0) & (np.array(asked.current) > 0)).sum(1)
                right = (crossing >= 2) & (crossing <= count // 2 - 2)
                best = ways[right][cost[right].argmin()]
                due.append(uneven(search, moving(asked)[1]) - uneven(search, best))
                moved += (found * np.array(asked.current) < 0).sum() > moves.min()
            yield (
                f"| {family.what}, N = {count} | {missed} of {HARD // len(FAMILIES)} | {max(lost):.4f} |"
                f" {moved} of {HARD // len(FAMILIES)} | {sum(one > 1e-9 for one in due)}, {max(due):.4f} |"
            )


def annealed(search: SwapSearch, rng: np.random.Generator, row: Numbers) -> float:
    """The least cost that long annealing by swaps finds."""
    row, form = row.copy(), search.cost
    slope, now = row @ form.matrix - form.linear, float(form.of(row[None])[0])
    least, own = now, np.diagonal(form.matrix)
    heat = float(np.abs(np.diagonal(form.matrix)).mean()) * 4
    picks, luck = rng.integers(len(row) // 2, size=(STEPS, 2)), rng.random(STEPS)
    for step in range(STEPS):
        a, b = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
        i, j = a[picks[step, 0]], b[picks[step, 1]]
        change = 4 * (own[i] - slope[i] + own[j] + slope[j] - 2 * form.matrix[i, j])
        if change < 0 or luck[step] < np.exp(-change / (heat * (1 - step / STEPS) ** 3 + 1e-9)):
            row[i], row[j] = -1.0, 1.0
            slope += 2 * (form.matrix[j] - form.matrix[i])
            now += float(change)
            least = min(least, now)
    return least


def long_annealing() -> Iterator[str]:
    for count in (24, 32):
        for family in FAMILIES:
            rng, excess = np.random.default_rng(count), []
            for _ in range(ANNEALED):
                search = SwapSearch(problem(family, rng, count), ())
                least = annealed(search, rng, search.minima[0])
                mine = float(search.cost.of(search.least[None])[0])
                excess.append((max(mine, 0.0) ** 0.5 - max(least, 0.0) ** 0.5) / POINTS / 4)
            yield f"| {family.what}, N = {count} | {statistics.median(excess):+.4f} | {max(excess):+.4f} |"


def main() -> None:
    print("milliseconds | median | worst | target")
    print(*speed(), sep="\n")
    print("against trying everything | missed | unevenness lost, worst | more moves than needed | due: missed, worst")
    print(*tried(), sep="\n")
    print(f"against annealing of {STEPS} steps, as win probability | median | worst")
    print(*long_annealing(), sep="\n")


if __name__ == "__main__":
    main()
