"""The whole-history fit's steps of F as the ledger's win rates, and back; needs numpy.

A step is log-odds of all rounds, of a map's rounds less those, or of a map's at a size less both.
"""

from __future__ import annotations

import numpy as np

from equipoise.ratings.history import Floats
from equipoise.ratings.ns2 import formulas as kernel
from equipoise.ratings.ns2.arrays import Shared

SWEEPS = 1000
ENOUGH = 1e-14
"""Wins are found when a sweep moves no win rate by more."""
ROUNDING = 1e-9
"""The part of all rounds that may be what adding them up in another order leaves."""


def steps_of(shared: Shared, prior_rounds: float) -> Floats:
    """The steps whose sums are F as it stands, by map and size; of all such, the most probable.

    With s for all rounds, d = F - s at each of a map's n sizes gives Σd/(1 + n) to the map and the rest to the sizes.
    What that costs is least where s = Σ over maps of Σd/(1 + n); rounds without a map tell s themselves.
    """
    steps = np.zeros(len(shared.wins))
    maps = range((len(steps) - 1) // kernel.TALLIES)
    known = {each: _intercepts(each, shared, prior_rounds) for each in maps}
    if _nameless(shared) > ROUNDING * shared.rounds[0]:
        steps[0] = kernel.intercept(-1, False, shared, prior_rounds)
    else:
        told = sum(sum(sizes.values()) / (1 + len(sizes)) for sizes in known.values())
        steps[0] = told / (1.0 + sum(len(sizes) / (1 + len(sizes)) for sizes in known.values()))
    for each, sizes in known.items():
        first = 1 + kernel.TALLIES * each
        steps[first] = sum(f - steps[0] for f in sizes.values()) / (1 + len(sizes))
        for place, f in sizes.items():
            steps[place] = f - steps[0] - steps[first]
    return steps


def _intercepts(number: int, shared: Shared, prior_rounds: float) -> dict[int, float]:
    """F of a map at the sizes it was played at, by place."""
    first = 1 + kernel.TALLIES * number
    return {
        first + 1 + large: kernel.intercept(number, bool(large), shared, prior_rounds)
        for large in (0, 1)
        if shared.rounds[first + 1 + large] > 0.0
    }


def _nameless(shared: Shared) -> float:
    """Rounds on no map."""
    return float(shared.rounds[0] - sum(shared.rounds[1 :: kernel.TALLIES]))


def wins_of(shared: Shared, steps: Floats, prior_rounds: float) -> Floats:
    """Wins of the plus side, of as many rounds as were played, that are read as the steps' sums.

    Where no wins from none to all say so, the nearest.  By Gauss-Seidel: each size's wins, given all others, are those
    that make its own rate right.  The equations' matrix is symmetric and positive definite but for the scale of its
    rows, so sweeps converge from anywhere, within bounds too.
    """
    rounds = [float(played) for played in shared.rounds]
    wins = [0.5 * played for played in rounds]
    nameless = max(0.0, _nameless(shared))
    inactive_reason = 0.5 * nameless
    for _ in range(SWEEPS):
        moved = 0.0
        for first in range(1, len(wins), kernel.TALLIES):
            for place, other in ((first + 1, first + 2), (first + 2, first + 1)):
                target = kernel.win_probability(steps[0] + steps[first] + steps[place])
                won = _won(target, place, first, other, wins, rounds, prior_rounds)
                moved = max(moved, abs(won - wins[place]) / (rounds[place] + prior_rounds))
                wins[0] += won - wins[place]
                wins[place] = won
                wins[first] = won + wins[other]
        everywhere = kernel.win_probability(steps[0]) * (rounds[0] + prior_rounds) - 0.5 * prior_rounds
        on_maps = sum(wins[1 :: kernel.TALLIES])
        before, inactive_reason = inactive_reason, min(nameless, max(0.0, everywhere - on_maps))
        wins[0] = on_maps + inactive_reason
        if max(moved, abs(inactive_reason - before) / (rounds[0] + prior_rounds)) <= ENOUGH:
            break
    return np.clip(wins, 0.0, rounds)


def _won(
    target: float, place: int, first: int, other: int, wins: list[float], rounds: list[float], prior_rounds: float
) -> float:
    """Of a map's rounds at one size, as many as make its smoothed rate the target; `kernel.intercept` turned round."""
    elsewhere = (wins[0] - wins[first] + 0.5 * prior_rounds) / (rounds[0] - rounds[first] + prior_rounds)
    towards = (wins[other] + prior_rounds * elsewhere) / (rounds[other] + prior_rounds)
    won = target * (rounds[place] + prior_rounds) - prior_rounds * towards
    return min(rounds[place], max(0.0, won))
