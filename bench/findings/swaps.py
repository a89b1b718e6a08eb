"""How many players NS2's greedy swaps move, against the fewest that do as well."""

from __future__ import annotations

import numpy as np

from bench.findings.table import estimate, show
from equipoise.core.model import Side
from equipoise.solver import fewest_moves, greedy_swaps

SEEDS, TEAMS = range(1, 6), 60
DEVIATION, CLOSE = 600.0, 96.0
"""Standard deviation of the ratings; difference that is worth 1 % of win probability at Θ = 2400. Both in points."""


def main() -> None:
    rows = [_row(size, edge) for size in (6, 8, 12) for edge in (0.0, 300.0)]
    head = (
        "teams",
        "imbalance before",
        "greedy: moves",
        "greedy: imbalance",
        "fewest moves as good",
        "frontier in as many",
        "frontier ≤ 96: moves",
        "greedy took more",
    )
    show(f"Random teams, ratings of deviation {DEVIATION:.0f}; points", head, rows)


def _row(size: int, edge: float) -> tuple[str, ...]:
    columns = zip(*(_found(size, edge, seed) for seed in SEEDS), strict=True)
    forms = (".0f", ".2f", ".1f", ".2f", ".1f", ".2f", ".0%")
    cells = [estimate(column, form) for column, form in zip(columns, forms, strict=True)]
    return f"{size} v {size}" + (", stacked" if edge else ""), *cells


def _found(size: int, edge: float, seed: int) -> tuple[float, ...]:
    rng = np.random.default_rng((seed, size))
    each = [measured(draw(rng, size, edge)) for _ in range(TEAMS)]
    return tuple(float(column) for column in np.mean(each, axis=0))


def draw(rng: np.random.Generator, size: int, edge: float) -> list[int]:
    """First side A, which is `edge` better per player, then side B; whole points, at least 100."""
    drawn = rng.normal(2000, DEVIATION, 2 * size).round() + np.repeat((edge, 0), size)
    return [int(value) for value in np.maximum(100, drawn)]


def measured(values: list[int]) -> tuple[float, ...]:
    """One pair of teams: what the columns of the table say."""
    size = len(values) // 2
    sides = [Side.A] * size + [Side.B] * size
    greedy, frontier = greedy_swaps(values, sides), fewest_moves(values, sides)
    fewest = frontier.within(greedy.imbalance).moves
    return (
        abs(sum(values[:size]) - sum(values[size:])),
        greedy.moves,
        greedy.imbalance,
        fewest,
        frontier.with_moves(greedy.moves).imbalance,
        frontier.within(CLOSE).moves,
        greedy.moves > fewest,
    )


if __name__ == "__main__":
    main()
