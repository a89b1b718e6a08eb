"""A correction of any system's predictions: one scale of the log-odds, and the advantages of sides and maps.

    log-odds' = temperature · log-odds + side(first team) - side(second team) ± map

fitted by penalised maximum likelihood to matches that were predicted before they were rated. The penalties are
Gaussian priors: they keep an advantage near zero if few matches support it, and finite on a map that one side always
won. The loss is convex, so Newton's method finds its only minimum.

The design matrix has a row per match and a column per weight: log-odds, sides, maps.
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
"""How often a running correction is fitted."""
STEPS = 60
SMALL = 1e-10


@dataclass(frozen=True, slots=True)
class Correction:
    """The fitted weights: `temperature` is a factor, the others are log-odds."""

    temperature: float = 1.0
    sides: Mapping[str, float] | None = None
    """Advantage by the side's name; None: sides are alike."""
    maps: Mapping[str, float] | None = None
    """Advantage by the map's name, of the side that comes first in `History.sides`; None: no maps are known."""

    def apply(self, predicted: Floats, history: History) -> Floats:
        """Shape (m,): the corrected expected scores of first teams; an unknown side or map counts 0.

        >>> from equipoise.core.model import PlayerId
        >>> from equipoise.ratings.system import Match
        >>> history = History.of([Match(((PlayerId("ann"),), (PlayerId("bob"),)), ranks=(0, 1))])
        >>> Correction(temperature=0.5).apply(np.array([0.8]), history).round(3).tolist()  # log-odds 1.386 → 0.693
        [0.667]
        """
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
    """Fit to these matches from `start` on; `predicted` and `scores` have shape (m,)."""
    return _correction(_design(predicted, history)[start:], scores[start:], history)


def running(predicted: Floats, history: History, scores: Floats, count: int, start: int) -> tuple[Floats, Correction]:
    """Correct from match `count` on, each time fitted to the last matches before; and the last of these corrections.

    The window is as long as that of the first fit, from `start` to `count`, and moves `REFITS` times: new maps get an
    advantage, and changing advantages are followed. Matches before `count` stay as they are.
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
    """Shape (columns,): the weights. One whose column is all zero stays at its prior mean."""
    used = np.flatnonzero(design.any(axis=0))
    means, precisions = _priors(history)
    weights = means.copy()
    weights[used] = _maximum(design[:, used], scores, means[used], precisions[used])
    return weights


def _named(names: Sequence[str], weights: Floats) -> Mapping[str, float] | None:
    """Weights by name, without those that are 0."""
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
    """Means and precisions of the priors, shape (columns,) each."""
    sides, maps = len(history.sides), len(history.maps)
    spreads = [TEMPERATURE_SPREAD, *[SIDE_SPREAD] * sides, *[MAP_SPREAD] * maps]
    return np.array([1.0] + [0.0] * (sides + maps)), np.array(spreads) ** -2.0


def _maximum(design: Floats, scores: Floats, means: Floats, precisions: Floats) -> Floats:
    """The weights of the least loss, by Newton's method; a step that does not lower the loss is halved."""
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
