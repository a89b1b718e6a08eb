"""Effect of the Gaussian compression of K on the best players: where they end, and how their sides fare."""

from __future__ import annotations

from statistics import fmean

import numpy as np

from bench.findings.people import balanced_rounds, crowd, player, true_order
from bench.findings.table import compared, show
from equipoise.lab.models import Model

SEEDS, SIZE, TOP, STAR = range(1, 17), 12, 6, 1.0
ROUNDS, LATE = 2000, 1000
OFF = 1e6
WIDTHS = (400.0, 800.0, 1600.0, OFF)
WAYS = ((400.0, 72.0), (400.0, 24.0), (OFF, 72.0), (OFF, 24.0))
"""σ and K_max; the first is the source's."""
SPREADS = (0.1, 0.25)
POINTS = (1000, 1400, 1800, 2200, 2600)


def main() -> None:
    factors()
    fates()


def factors() -> None:
    """Print K by rating and σ, from the formula."""
    rows = [(_width(width), *(f"{k_factor(width, points):.1f}" for points in POINTS)) for width in WIDTHS]
    show("K of a rating while C = 1", ("σ", *(f"{points:,}" for points in POINTS)), rows)


def fates() -> None:
    """Print how the best players and their sides do, by simulation."""
    rows = [row for spread in SPREADS for row in _rows(spread)]
    head = (
        "spread",
        "σ",
        "K_max",
        "best 6: true − rated",
        "their sides win",
        "star's side wins",
        "favourite, truly",
        "ρ",
    )
    show(f"Balanced {SIZE} v {SIZE}, rounds {LATE:,} to {ROUNDS:,}, {len(SEEDS)} seeds", head, rows)


def k_factor(width: float, rating: float) -> float:
    """F5 with C = 1."""
    return 2.0 + 70.0 * float(np.exp(-((rating - 1000.0) ** 2) / (2 * width**2)))


def _width(width: float) -> str:
    return f"{width:.0f}" if width < OFF else "off"


def _rows(spread: float) -> list[tuple[str, ...]]:
    found = [[_measured(*way, spread, seed) for seed in SEEDS] for way in WAYS]
    rows_by_way = compared(found, (".3f", ".1%", ".1%", ".1%", ".3f"))
    return [
        (f"{spread:g}", _width(width), f"{most:g}", *cells)
        for (width, most), cells in zip(WAYS, rows_by_way, strict=True)
    ]


def _measured(width: float, most: float, spread: float, seed: int) -> tuple[float, ...]:
    """One run; the first of the crowd is a star, `STAR` log-odds above the others' mean."""
    rng, settings = np.random.default_rng(seed), {"compression": width, "k_factor_max": most}
    system = Model("synelo", settings).make()
    skills = crowd(rng, spread=spread)
    skills[0] = STAR
    played = list(balanced_rounds(system, skills, ROUNDS, SIZE, rng))[LATE:]
    best = np.argsort(-skills)[:TOP].tolist()
    rated = np.array([system.skill(player(number)) for number in range(len(skills))]) / system.gap(0.25, SIZE)
    short = (skills - skills.mean()) - (rated - rated.mean())
    sides = [won for one in played for number in best if (won := one.chance(number)) is not None]
    star = [won for one in played if (won := one.chance(0)) is not None]
    favourite = fmean(max(one.true, 1 - one.true) for one in played)
    return float(short[best].mean()), fmean(sides), fmean(star), favourite, true_order(system, skills)


if __name__ == "__main__":
    main()
