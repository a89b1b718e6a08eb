"""The solver against its targets: worst and median over known and adversarial pools, on one core.

Each figure is the processor time of the quickest of several runs of one pool, in two rounds, which leaves out what
other processes take; the worst is over pools. `python -m bench solver` prints the table; so does running this module.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from bench.pools import hard_pools, known_pools
from equipoise.core.model import Side
from equipoise.solver import Pin, best_split, fewest_moves, shuffle, splits, transfer

RUNS = 3
SECONDS = 0.015
"""Each pool is solved at least so many times, and for at least so long."""
Solve = Callable[[list[Any]], object]
Terms = tuple[Sequence[Side | None], float, dict[str, Any]]
"""Present sides, half the width of the band, and more of what a shuffle is asked."""


class Row(NamedTuple):
    """One line of the table: median and worst over pools, and the target."""

    what: str
    median: float
    worst: float
    where: str
    target: str


def pools(n: int) -> list[tuple[str, list[int]]]:
    """The known pools of n players and two of each adversarial family."""
    known = [(pool.name, pool.ratings) for pool in known_pools() if len(pool.ratings) == n]
    return known + [(pool.family, pool.ratings) for pool in hard_pools(n, each=2)]


def milliseconds(solve: Solve, ratings: list[Any]) -> float:
    """The quickest of several runs."""
    times = list[float]()
    while len(times) < RUNS or sum(times) < SECONDS:
        started = time.thread_time()
        solve(ratings)
        times.append(time.thread_time() - started)
    return 1000 * min(times)


def measured(what: str, n: int, solves: Sequence[Solve], target: str) -> Row:
    """One row: every way to solve, on every pool of n players."""
    cases = [(solve, name, ratings) for solve in solves for name, ratings in pools(n)]
    times = [(milliseconds(solve, ratings), name) for solve, name, ratings in cases]
    again = [
        (min(first, milliseconds(solve, ratings)), name)
        for (first, name), (solve, _, ratings) in zip(times, cases, strict=True)
    ]
    return Row(what, statistics.median(time for time, _ in again), *max(again), target)


def every_size() -> Iterator[Row]:
    for n, target in ((24, 1.5), (32, 3.5), (48, 8), (64, 15), (100, 60)):
        yield measured(f"every k, N = {n}", n, [splits], f"{target} ms")


def constraints() -> Iterator[Row]:
    """Groups of 2 to 4, four pins of all kinds, a role of eight players, and values by side."""
    for n, target in ((24, 5), (32, 25)):
        order = random.Random(n).sample(range(n), n)
        groups = [order[:4], order[4:7], order[7:10], order[10:12], order[12:14]]
        pins = dict(zip(order, Pin, strict=False))
        offsets = random.Random(n).choices(range(-200, 201), k=n)
        yield measured(f"groups, N = {n}", n, [lambda r, g=groups: splits(r, groups=g)], f"{target} ms")
        yield measured(f"four pins, N = {n}", n, [lambda r, p=pins: splits(r, pins=p)], f"{target} ms")
        yield measured(f"role of eight, N = {n}", n, [lambda r, o=order: splits(r, roles=[o[:8]])], f"{target} ms")
        yield measured(
            f"values by side, N = {n}",
            n,
            [lambda r, o=offsets: splits(r, values_b=[a + b for a, b in zip(r, o, strict=True)])],
            f"{target} ms",
        )


def preferences() -> Iterator[Row]:
    """Bench and move costs for one k: the two largest, as scrambles ask, and two that bench a third or half of all."""
    for n, target in ((24, 8), (32, 20)):
        rng = random.Random(n)
        costs = [rng.randint(0, 3) for _ in range(n)]
        present = rng.choices((Side.A, Side.B), k=n)
        for what, sizes in (("largest k", (n // 2, n // 2 - 1)), ("small k", (n // 3, n // 4))):
            for tolerance in (0, 96, math.inf):
                solves: list[Solve] = [
                    lambda r, k=k, t=tolerance, c=costs, p=present: best_split(
                        r, sizes=(k, k), bench_cost=c, current=p, tolerance=t
                    )
                    for k in sizes
                ]
                yield measured(f"costs, {what}, tolerance {tolerance:g}, N = {n}", n, solves, f"{target} ms")


def shuffles() -> Iterator[Row]:
    """Mixed and stacked teams, wide bands and narrow ones; values by side, four groups of friends and wishes.

    The wide band is 0.45 to 0.55 of an NS2 match. A secret choice spreads half of the players and counts no moves;
    repeated, it counts and limits them.
    """
    for n, target in ((24, 10), (32, 40)):
        rng, wide, narrow = random.Random(n), 80 * n, 20
        order, offsets = rng.sample(range(n), n), rng.choices(range(-200, 201), k=n)
        mixed, stacked = rng.choices((Side.A, Side.B, None), (4, 4, 1), k=n), [Side.A] * (n // 2) + [Side.B] * (n // 2)
        wishes = [rng.choice(((0, weight), (weight, 0), (0, 0))) for weight in rng.choices((1, 1, 2, 4, 8), k=n)]
        every = {"groups": (order[:4], order[4:7], order[7:9], order[9:11]), "wishes": wishes}
        choice = {**every, "moves_count": False, "spread_evenly": order[: n // 2]}
        again = {**choice, "moves_count": True, "max_moves": 6}
        cases: dict[str, list[Terms]] = {
            "fewest moves": [(mixed, wide, {}), (stacked, wide, {})],
            "friends, wishes": [
                (mixed, wide, every),
                (stacked, wide, every),
                (stacked, wide, {**every, "max_moves": 6}),
            ],
            "friends, wishes, narrow": [(mixed, narrow, every), (stacked, narrow, every), (mixed, 0, every)],
            "secret choice": [(mixed, wide, choice), (mixed, narrow, choice)],
            "secret choice, repeated": [(mixed, wide, again), (mixed, narrow, again), (stacked, wide, again)],
        }
        for what, asked in cases.items():
            solves: list[Solve] = [partial(shuffle_descending, terms, offsets) for terms in asked]
            yield measured(f"shuffle: {what}, N = {n}", n, solves, f"{target} ms")


def shuffle_descending(terms: Terms, offsets: list[int], ratings: list[int]) -> object:
    """A shuffle of the ratings, the highest first, to a match that is even at a lead of 37."""
    present, width, more = terms
    best = sorted(ratings, reverse=True)
    half = len(best) // 2
    return shuffle(
        best,
        present,
        sizes=(half, len(best) - half),
        values_b=[value + offset for value, offset in zip(best, offsets, strict=True)],
        target=37,
        band=(37 - width, 37 + width),
        **more,
    )


def moves() -> Iterator[Row]:
    """Transfers from a side of 50, and the frontier from stacked and from mixed teams."""
    rng = random.Random(50)
    costs = [51 * rng.randint(0, 1) + rng.randint(0, 50) for _ in range(50)]
    for m in (1, 5):
        for what, prices in (("", None), (", with costs", costs)):
            yield measured(
                f"transfer of {m} from 50{what}",
                100,
                [lambda r, m=m, c=prices: transfer(r[:50], r[50 : 100 - 2 * m], range(50), m, c)],
                "0.5 ms",
            )
    mixed = [Side.A, Side.B] * 16
    stacked = sorted(mixed, key=lambda side: side.value)
    solves: list[Solve] = [lambda r: fewest_moves(r, mixed), lambda r: fewest_moves(sorted(r), stacked)]
    yield measured("fewest moves, N = 32", 32, solves, "2 ms")


def clusters() -> Iterator[Row]:
    """24 ratings that are equal or nearly so, some with one far beyond: the first evening of a pool, and worse."""
    n, side = 24, 13
    present, costs = [Side.A, Side.B] * (n // 2), [index % 3 for index in range(n)]
    solves: dict[str, Solve] = {
        "transfer": lambda r: transfer(r[:side], r[side:], range(1, side), 1, costs[:side]),
        "transfer of 5": lambda r: transfer(r, r[:side], range(n), 5, costs),
        "every k": splits,
        "groups": lambda r: splits(r, groups=[(0, 1), (2, 3, 4)]),
        "costs": lambda r: best_split(r, sizes=(11, 11), bench_cost=costs, current=present, tolerance=96),
        "shuffle": lambda r: shuffle(r, present, sizes=(12, 12), target=-300.3, band=(-2000.5, 1500.2)),
        "fewest moves": lambda r: fewest_moves(r, present, target=-1e6),
    }
    pools = {
        f"{at:g} + {apart:g} k{', one far' if far else ''}": [at + apart * (index % 9) for index in range(n - 1)]
        + [987.654321 * (10.0**far if far else 1)]
        for at in (25.3, 1000.0, 1e6)
        for apart in (0.0, 1e-13, 1e-9, 1e-4, 0.1, 10.0)
        for far in (0, 6, 12)
    }
    for what, solve in solves.items():
        times = sorted((milliseconds(solve, ratings), name) for name, ratings in pools.items())
        yield Row(f"nearly equal: {what}, N = {n}", statistics.median(t for t, _ in times), *times[-1], "50 ms")


def memory() -> Iterator[Row]:
    """The most memory that one solve holds."""
    for n, target in ((32, 25), (100, 64)):
        peaks = sorted((peak(ratings), name) for name, ratings in pools(n))
        middle = statistics.median(size for size, _ in peaks)
        yield Row(f"peak memory, N = {n} (MB)", middle, *peaks[-1], f"{target} MB")


def peak(ratings: list[int]) -> float:
    """Peak memory of one solve, MB."""
    tracemalloc.start()
    splits(ratings)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size / 1e6


FIRST = """
import json, sys, time
from equipoise.solver import splits
ratings = json.loads(sys.argv[1])
started = time.perf_counter()
splits(ratings)
print(time.perf_counter() - started)
"""


def first() -> Iterator[Row]:
    """The first solve of a new process, after import."""
    times = []
    for name, ratings in pools(24)[:10]:
        command = [sys.executable, "-c", FIRST, json.dumps(ratings)]
        seconds = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(3)]
        times.append((1000 * min(seconds), name))
    yield Row("first solve in a process, N = 24", statistics.median(t for t, _ in times), *max(times), "5 ms")


def main() -> None:
    print(f"{'solver':<48}{'median':>9}{'worst':>9}{'target':>9}  worst pool")
    for rows in (every_size, constraints, preferences, shuffles, moves, clusters, memory, first):
        for row in rows():
            print(f"{row.what:<48}{row.median:>9.2f}{row.worst:>9.2f}{row.target:>9}  {row.where}", flush=True)


if __name__ == "__main__":
    main()
