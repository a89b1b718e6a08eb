"""The spread of skill that a pool's own rounds say; needs numpy and numba. The daemon fits it every night.

Its likelihood is the product of the likelihoods of all results, each given those before it: the skills are integrated
out.  It is found on a grid, then by golden section, on the logarithm of the spread, where it is close to a parabola;
the standard error comes from the parabola's curvature.  Where teams were made by own scores these are read too: results
of sides that are even by what scores say show less skill than there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from equipoise.ratings.history import History
from equipoise.ratings.joint.params import JointParams
from equipoise.ratings.joint.replay import answered
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.quality import SURE

GRID = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56)
"""Log-odds: the spreads that are tried first. Below the first, differences of skill hardly move a prediction."""
LEAST = 100
"""Rounds below which no fit is worth its while."""
SECTIONS = 7
"""How often the golden section shortens its bracket, from a factor of 4 to one of 1.05."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
STEP = 0.1
"""The first step for the curvature, in the logarithm of the spread."""
FARTHER = 0.15
"""Of the logarithm: a spread that is as close to the present one makes hardly any other teams."""
OFTEN = 7 * 86_400.0
"""Seconds between two that a pool learns: ratings that people see should not jump every day."""
WIDEST = 0.5
"""The largest step for it, and the standard error of the logarithm above which the spread counts as unknown."""


@dataclass(frozen=True, slots=True)
class SpreadFit:
    """The spread under which a pool's results are most likely."""

    spread: float
    """Log-odds, as `error`."""
    error: float
    """Standard error of `spread`: its fraction of that is the one of the logarithm, in which the likelihood is close to
    symmetric."""
    missing: int
    """About how many more rounds until it is known and can be told from that of the parameters; 0: these suffice."""


def is_due(spread: float, present: float, missing: int, since: float) -> bool:
    """Whether a pool learns a spread that was fitted, `since` seconds after it learnt the present one.

    The rounds exclude the present one (`missing` is 0), by enough for teams to be others.
    """
    return not missing and abs(math.log(spread / present)) > FARTHER and since >= OFTEN


def log_likelihood(params: JointParams, history: History) -> float:
    """The logarithm of the likelihood of all results, each given those before it, and the scores before it."""
    return float(answered(Joint(params), history).evidence.sum())


def fit_spread(params: JointParams, history: History) -> SpreadFit | None:
    """The most likely spread, all else as in `params`; None where no spread is: no differences of skill show."""
    peaks: dict[float, float] = {}

    def likelihood(at: float) -> float:
        if at not in peaks:
            peaks[at] = log_likelihood(replace(params, spread=math.exp(at)), history)
        return peaks[at]

    grid = [math.log(spread) for spread in GRID]
    best = max(range(len(grid)), key=lambda place: likelihood(grid[place]))
    if best in (0, len(grid) - 1):
        return None
    # At an end of the grid, above, the likelihood still rises outwards: no differences of skill show, or nothing else
    # does.
    at, error = _peak(likelihood, _section(likelihood, grid[best - 1], grid[best + 1]))
    # In standard errors of the logarithm, as the likelihood is close to symmetric there.
    apart = abs(at - math.log(params.spread)) / error
    return SpreadFit(
        spread=math.exp(at),
        error=math.exp(at) * error,
        missing=_missing(apart, error, len(history)),
    )


def _section(likelihood: Callable[[float], float], low: float, high: float) -> float:
    """Return about the place of a function's maximum, of which it has one between these ends."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    for _ in range(SECTIONS):
        if likelihood(left) >= likelihood(right):
            high, right = right, left
            left = high - GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
    return left if likelihood(left) >= likelihood(right) else right


def _peak(likelihood: Callable[[float], float], at: float) -> tuple[float, float]:
    """The maximum of a parabola through three points around `at`, and the standard error by its curvature.

    The second parabola is as wide as the standard error of the first: over less the likelihood may still be noise, over
    more it is no parabola.
    """
    step = STEP
    for _ in range(2):
        below, middle, above = (likelihood(at + side * step) for side in (-1.0, 0.0, 1.0))
        curvature = max(2.0 * middle - below - above, 1e-9) / step**2
        error = 1.0 / math.sqrt(curvature)
        # Kept within the three points: beyond them the parabola is not known.
        vertex = at + min(max((above - below) / (2.0 * step * curvature), -step), step)
        step = min(max(error, STEP / 4.0), WIDEST)
    return vertex, error


def _missing(apart: float, error: float, rounds: int) -> int:
    """The standard error falls with the root of the number of rounds."""
    short = max(SURE / max(apart, 1e-9), error / WIDEST, 1.0)
    return math.ceil(rounds * min(short**2, 1e9)) - rounds
