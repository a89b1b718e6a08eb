"""Cost of an anchor, the highest rated who always plays: anchored against free splits, both exact."""

from __future__ import annotations

import math

import numpy as np

from bench.findings.table import estimate, figure, show
from equipoise.solver import Pin, best_split

SEEDS, POOLS = range(1, 6), 60
THETA = 2400.0
DEVIATION = 400.0
POOLS_OF = ((5, 2), (7, 3), (9, 4), (13, 6), (25, 12), (24, 12), (12, 5), (12, 4), (24, 8))
"""N and k; with N = 2k no player is benched."""


def main() -> None:
    rows = []
    for count, size in POOLS_OF:
        found = [_found(count, size, seed) for seed in SEEDS]
        worse, free, anchored, top, worst = zip(*found, strict=True)
        rows.append(
            (
                f"{count}: {size} v {size}",
                estimate(worse, ".0%"),
                estimate(free, ".1f"),
                estimate(anchored, ".1f"),
                figure(max(worst), ".1%"),
                estimate(top, ".0%"),
            )
        )
    head = (
        "pool",
        "anchored is worse",
        "free, points",
        "anchored, points",
        "worst, win probability",
        "free benches the best",
    )
    show(
        f"Normal ratings, deviation {DEVIATION:.0f}, one in three pools with a star of 2,600; Θ {THETA:.0f}", head, rows
    )


def _found(count: int, size: int, seed: int) -> tuple[float, ...]:
    rng = np.random.default_rng((seed, count, size))
    each = np.array([imbalances(ratings(rng, count), size) for _ in range(POOLS)])
    free, anchored, benched = each.T
    worst = max(math.tanh(gap / THETA / 2) / 2 for gap in anchored - free)
    return float((anchored > free).mean()), float(free.mean()), float(anchored.mean()), float(benched.mean()), worst


def ratings(rng: np.random.Generator, count: int) -> list[int]:
    """Whole points, at least 100."""
    drawn = np.maximum(100, rng.normal(1000, DEVIATION, count).round()).astype(int)
    if rng.random() < 1 / 3:
        drawn[0] = 2600
    return sorted(drawn.tolist(), reverse=True)


def imbalances(values: list[int], size: int) -> tuple[float, float, bool]:
    """Least difference free and with the first one playing, and whether the free optimum benches the first one."""
    free = best_split(values, sizes=(size, size))
    anchored = best_split(values, sizes=(size, size), pins={0: Pin.PLAY})
    return abs(free.difference), abs(anchored.difference), 0 in free.bench


if __name__ == "__main__":
    main()
