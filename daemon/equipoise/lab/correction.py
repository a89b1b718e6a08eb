"""What any system's predictions lack: one scale of the log-odds, and what side and map are worth.

    log-odds' = temperature · log-odds + side(first team) - side(second team) ± map

fitted by penalised maximum likelihood on matches that were predicted before they were rated. The penalties are
Gaussian priors: they keep what few matches say near nothing, and a map that one side always won finite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from equipoise.lab.histories import orientation
from equipoise.ratings.history import Floats, History
from equipoise.ratings.quality import CERTAIN

SIDE_SPREAD = 1.0
MAP_SPREAD = 0.3
"""Standard deviations of the priors, in log-odds; 0.3 is 57 % against 43 %."""
TEMPERATURE_SPREAD = 1.0
REFITS = 40
"""Times that a running correction is fitted."""
STEPS = 60
SMALL = 1e-10


@dataclass(frozen=True, slots=True)
class Correction:
    """Units are log-odds; `temperature` is a factor."""

    temperature: float = 1.0
    sides: Mapping[str, float] | None = None
    """Of each side's name; None: sides are alike."""
    maps: Mapping[str, float] | None = None
    """In favour of the side that is named first; None: no maps are known."""

    def apply(self, predicted: Floats, history: History) -> Floats:
        """The corrected scores expected of first teams; a side or map that is not known counts nothing."""
        design = _design(predicted, history)
        weights = np.array(
            [
                self.temperature,
                *((self.sides or {}).get(name, 0.0) for name in history.sides),
                *((self.maps or {}).get(name, 0.0) for name in history.maps),
            ]
        )
        return _logistic(design @ weights)


def fit(predicted: Floats, history: History, scores: Floats, start: int = 0) -> Correction:
    """By these matches, those before `start` left out."""
    return _correction(_design(predicted, history)[start:], scores[start:], history)


def running(predicted: Floats, history: History, scores: Floats, count: int, start: int) -> tuple[Floats, Correction]:
    """Corrected from match `count` on, each time by the last matches before, and the last correction.

    The window is as long as that of the first fit, from `start` to `count`, and moves `REFITS` times: so a map that is
    new gets its worth, and a side's follows the times. Matches before `count` stay as they are.
    """
    design, corrected = _design(predicted, history), predicted.copy()
    ends = np.unique(np.linspace(count, len(scores), REFITS + 1).astype(int)).tolist()
    for now, end in pairwise(ends):
        window = slice(now - (count - start), now)
        weights = _fitted(design[window], scores[window], history)
        corrected[now:end] = _logistic(design[now:end] @ weights)
    return corrected, _correction(design[window], scores[window], history)


def _correction(design: Floats, scores: Floats, history: History) -> Correction:
    weights = _fitted(design, scores, history)
    sides, maps = np.split(weights[1:], [len(history.sides)])
    return Correction(float(weights[0]), _named(history.sides, sides), _named(history.maps, maps))


def _fitted(design: Floats, scores: Floats, history: History) -> Floats:
    """The weights of all columns; one that these matches say nothing about stays at its prior mean."""
    told = np.flatnonzero(design.any(axis=0))
    means, precisions = _priors(history)
    weights = means.copy()
    weights[told] = _maximum(design[:, told], scores, means[told], precisions[told])
    return weights


def _named(names: Sequence[str], weights: Floats) -> Mapping[str, float] | None:
    """What these matches say nothing about is left out."""
    return {name: weight for name, weight in zip(names, weights.tolist(), strict=True) if weight} or None


def _design(predicted: Floats, history: History) -> Floats:
    """Shape (m, 1 + sides + maps)."""
    rows = np.arange(len(history))
    inside = np.clip(predicted, CERTAIN, 1 - CERTAIN)
    sides, maps = np.zeros((len(rows), len(history.sides))), np.zeros((len(rows), len(history.maps)))
    if history.side is not None:
        for team, sign in ((0, 1.0), (1, -1.0)):
            side = history.side[team::2]
            sides[rows[side >= 0], side[side >= 0]] += sign
    if history.map is not None:
        known = history.map >= 0
        maps[rows[known], history.map[known]] = orientation(history)[known]
    return np.column_stack((np.log(inside) - np.log1p(-inside), sides, maps))


def _priors(history: History) -> tuple[Floats, Floats]:
    """Means and precisions."""
    sides, maps = len(history.sides), len(history.maps)
    spreads = [TEMPERATURE_SPREAD, *[SIDE_SPREAD] * sides, *[MAP_SPREAD] * maps]
    return np.array([1.0] + [0.0] * (sides + maps)), np.array(spreads) ** -2.0


def _maximum(design: Floats, scores: Floats, means: Floats, precisions: Floats) -> Floats:
    """Newton's method; the loss is convex, and a step that does not lower it is halved."""
    weights, step = means.copy(), 1.0
    loss = _loss(design, scores, weights, means, precisions)
    for _ in range(STEPS):
        chances = _logistic(design @ weights)
        slope = design.T @ (chances - scores) + precisions * (weights - means)
        curve = (design.T * (chances * (1 - chances))) @ design + np.diag(precisions)
        direction = np.linalg.solve(curve, slope)
        step = min(1.0, 2 * step)
        while (tried := _loss(design, scores, weights - step * direction, means, precisions)) > loss and step > SMALL:
            step /= 2
        gained, loss, weights = loss - tried, tried, weights - step * direction
        if gained < SMALL * abs(loss):
            break
    return weights


def _loss(design: Floats, scores: Floats, weights: Floats, means: Floats, precisions: Floats) -> float:
    odds = design @ weights
    return float(np.sum(np.logaddexp(0, odds) - scores * odds) + precisions @ (weights - means) ** 2 / 2)


def _logistic(odds: Floats) -> Floats:
    return 0.5 + 0.5 * np.tanh(odds / 2)
