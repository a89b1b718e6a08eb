"""Effect of banker's rounding on favourites: exactly, and over a history in which the sides differ."""

from __future__ import annotations

import numpy as np

from bench.findings.people import crowd, player, random_rounds, true_order
from bench.findings.table import compared, figure, show
from equipoise.lab.models import Model
from equipoise.ratings import replay
from equipoise.ratings.synelo.system import SynElo

K_FACTORS = (2.0, 3.0, 5.0, 10.0, 40.0)
CHANCES = (0.52, 0.6, 0.7, 0.76, 0.8, 0.9)
RATING = 1200.0
SEEDS, ROUNDS, SIZES = range(1, 11), 3000, (12, 4)
TOP = 6


def main() -> None:
    drifts()
    histories()


def drifts() -> None:
    """Print the exact expected drift by K and win probability."""
    rows = [(f"{k:g}", *(figure(drift(k, chance), "+.2f") for chance in CHANCES)) for k in K_FACTORS]
    head = ("K", *(f"P = {chance}" for chance in CHANCES))
    show("Points per round that a rightly predicted favourite gains from rounding alone", head, rows)


def histories() -> None:
    """Print what rounding changes over simulated histories."""
    rows = [row for size in SIZES for k in (72.0, 2.0) for row in _over_a_history(size, k)]
    head = (
        "teams",
        "K_max",
        "rounding",
        "mean rating",
        "top 6, points",
        "bottom 6, points",
        "ρ",
        "log loss, last third",
    )
    show(f"{ROUNDS:,} rounds in random teams, {len(SEEDS)} seeds", head, rows)


def drift(k: float, chance: float, rating: float = RATING) -> float:
    """Expected change of a rating that wins as often as predicted; unrounded it is 0. The new rating is rounded."""
    won, lost = round(rating + k * (1 - chance)), round(rating - k * chance)
    return chance * (won - rating) + (1 - chance) * (lost - rating)


def _over_a_history(size: int, most: float) -> list[tuple[str, ...]]:
    """Unrounded, and what rounding changes on the same rounds."""
    ways = ("none", "bankers")
    found = [[_ratings(size, most, rounding, seed) for seed in SEEDS] for rounding in ways]
    table = compared(found, (".1f", ".0f", ".0f", ".3f", ".4f"))
    return [(f"{size} v {size}", f"{most:g}", rounding, *cells) for rounding, cells in zip(ways, table, strict=True)]


def _ratings(size: int, most: float, rounding: str, seed: int) -> tuple[float, ...]:
    rng = np.random.default_rng(seed)
    skills = crowd(rng)
    system = Model("synelo", {"rounding": rounding, "k_max": size, "k_factor_max": most}).make()
    assert isinstance(system, SynElo)
    history = random_rounds(skills, ROUNDS, size, rng)
    wins = replay(system, history).wins[0::2]
    late = slice(2 * ROUNDS // 3, None)
    score = 1.0 - history.ranks[0::2]
    loss = -float(np.mean(np.log(np.where(score == 1, wins, 1 - wins)[late])))
    ratings = np.array([system.skill(player(number)) for number in np.argsort(-skills)])
    top, bottom = float(ratings[:TOP].mean()), float(ratings[-TOP:].mean())
    return float(ratings.mean()), top, bottom, true_order(system, skills), loss


if __name__ == "__main__":
    main()
