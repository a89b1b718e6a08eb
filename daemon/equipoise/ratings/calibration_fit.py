"""Calibrations fitted to matches that were predicted before they were rated, as arrays.

By penalised maximum likelihood. The penalties are Gaussian priors: they keep an advantage near zero if few matches
support it, and finite on a map that one side always won. The loss is convex, so Newton's method finds its only minimum.

The design matrix has a row per match and a column per weight: log-odds, sides, maps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from equipoise.ratings.calibration import NONE, Calibration
from equipoise.ratings.history import UNKNOWN, Floats, History, head
from equipoise.ratings.quality import Estimate, log_odds, logistic, mean, surprises

SIDE_SPREAD = 1.0
MAP_SPREAD = 0.3
"""Standard deviations of the priors, in log-odds; 0.3 is 57 % against 43 %."""
TEMPERATURE_SPREAD = 1.0
REFITS = 40
"""How often a running calibration is fitted."""
STEPS = 60
SMALL = 1e-10

LEAST = 300
"""Matches below which a pool fits none: of the last 90 hardly anything could be told."""
MOST = 5_000
"""The last ones, to which a pool fits."""
SEEN = 0.7
"""Part of them that the fit sees; the rest judges it."""
OFTEN = 7 * 86_400.0
"""Seconds between two fits of a pool."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A calibration, and what it is worth on matches that it was not fitted to."""

    calibration: Calibration
    """Fitted to all of the matches; `NONE` where predictions by themselves are better than what is said at present."""
    matches: int
    gain: Estimate
    """How much less the log loss of the last ones is than without any, nats per match, fitted to those before."""
    gain_on_present: Estimate
    """The same against the present one."""

    @property
    def is_better(self) -> bool:
        """Whether it is better than the present one and, unless it is none, than none: by two standard errors each."""
        return self.gain_on_present.is_sure and (self.calibration == NONE or self.gain.is_sure)


def apply(calibration: Calibration, predicted: Floats, history: History) -> Floats:
    """Shape (m,): what is said for these predictions; as `Calibration.said`, match by match.

    >>> from equipoise.core.model import PlayerId
    >>> from equipoise.ratings.system import Match
    >>> history = History.of([Match(((PlayerId("ann"),), (PlayerId("bob"),)), ranks=(0, 1))])
    >>> apply(Calibration(temperature=0.5), np.array([0.8]), history).round(3).tolist()  # log-odds 1.386 → 0.693
    [0.667]
    """
    return logistic(_design(predicted, history) @ _weights(calibration, history))


def propose(predicted: Floats, history: History, scores: Floats, present: Calibration = NONE) -> Proposal | None:
    """The calibration that a pool's last matches say; None where they are too few, or it would turn predictions round.

    It is `NONE` where the fit is no better and the present one, on the last matches, is surely worse than none: what
    was true of a pool need not stay true. `predicted` is what the system says by itself, shape (m,).
    """
    return _proposal(_design(predicted, history), scores, history, present)[0]


def live(predicted: Floats, history: History, scores: Floats, fits: int = 0) -> tuple[Floats, Calibration]:
    """Return the predictions that a daemon would have said, shape (m,), and its last calibration.

    It fits once a week, to the matches before, and takes what is better. Without times a week is `LEAST` matches. With
    `fits` it does so about that often, after equally many matches: nearly the same, and much faster.
    """
    design, chances, present = _design(predicted, history), predicted.copy(), NONE
    times, near = history.started_at, None
    if fits:
        at = np.arange(len(scores)) * (fits * OFTEN / len(scores))
    elif np.isnan(times).all():
        at = np.arange(len(scores)) * (OFTEN / LEAST)
    else:
        # A match of unknown time is as old as the one before it.
        at = np.maximum.accumulate(np.nan_to_num(times))
    weeks = np.floor((at - at[0]) / OFTEN).astype(int)
    for now, end in pairwise([*(np.flatnonzero(np.diff(weeks)) + 1).tolist(), len(scores)]):
        proposal, near = _proposal(design[:now], scores[:now], history, present, near)
        if proposal is not None and proposal.is_better:
            present = proposal.calibration
        if present != NONE:
            chances[now:end] = logistic(design[now:end] @ _weights(present, history))
    return chances, present


def _proposal(
    design: Floats, scores: Floats, history: History, present: Calibration, near: Floats | None = None
) -> tuple[Proposal | None, Floats | None]:
    """Return the proposal and the weights of all matches, which the next fit finds its own `near`."""
    design, scores = design[-MOST:], scores[-MOST:]
    if len(scores) < LEAST:
        return None, None
    seen = round(SEEN * len(scores))
    bare, now = (
        surprises(logistic(design[seen:] @ _weights(calibration, history)), scores[seen:])
        for calibration in (NONE, present)
    )
    trial = _fitted(design[:seen], scores[:seen], history, near)
    whole = _fitted(design, scores, history, trial)
    proposal = None
    # A negative temperature or one near 0 would say the opposite of the system or nothing: such a fit is no proposal.
    if min(trial[0], whole[0]) > SMALL:
        surprise = surprises(logistic(design[seen:] @ trial), scores[seen:])
        gains = [mean(baseline - surprise) for baseline in (bare, now)]
        proposal = Proposal(_named(whole, history), len(scores), *gains)
    if proposal is None or not proposal.is_better:
        none = Proposal(NONE, len(scores), Estimate(0.0, 0.0), mean(now - bare))
        # Taking a calibration back is a proposal like others: the present one must be surely worse than none.
        return (none if none.is_better else proposal), whole
    return proposal, whole


def fit(predicted: Floats, history: History, scores: Floats, start: int = 0) -> Calibration:
    """Fit to these matches from `start` on; `predicted` and `scores` have shape (m,)."""
    return _named(_fitted(_design(predicted, history)[start:], scores[start:], history), history)


def fit_if_better(predicted: Floats, history: History, scores: Floats, start: int = 0) -> Calibration:
    """The same, or `NONE` if a fit to the first of these matches predicts the others no better than none does."""
    seen = start + round(SEEN * (len(scores) - start))
    trial = fit(predicted[:seen], head(history, seen), scores[:seen], start)
    chances = apply(trial, predicted, history)[seen:]
    better = surprises(chances, scores[seen:]).sum() < surprises(predicted[seen:], scores[seen:]).sum()
    return fit(predicted, history, scores, start) if better else NONE


def running(predicted: Floats, history: History, scores: Floats, count: int, start: int) -> tuple[Floats, Calibration]:
    """Correct from match `count` on, each time fitted to the last matches before; and the last of these corrections.

    The window is as long as that of the first fit, from `start` to `count`, and moves `REFITS` times: new maps get an
    advantage, and changing advantages are followed. Matches before `count` stay as they are.
    """
    design, chances = _design(predicted, history), predicted.copy()
    ends = np.unique(np.linspace(count, len(scores), REFITS + 1).astype(int)).tolist()
    for now, end in pairwise(ends):
        # Of fixed length: with a growing window a map that changed would keep its old advantage for long.
        window = slice(now - (count - start), now)
        weights = _fitted(design[window], scores[window], history)
        chances[now:end] = logistic(design[now:end] @ weights)
    return chances, _named(weights, history)


def _weights(calibration: Calibration, history: History) -> Floats:
    """Shape (columns,): the weights of a calibration; 0 for a side or a map that it does not know."""
    sides = [calibration.sides.get(name, 0.0) for name in history.sides]
    maps = [calibration.maps.get(name, 0.0) for name in history.maps]
    return np.array([calibration.temperature, *sides, *maps])


def _named(weights: Floats, history: History) -> Calibration:
    """The calibration of these weights, without those that are 0."""
    sides, maps = np.split(weights[1:], [len(history.sides)])
    return Calibration(float(weights[0]), _not_zero(history.sides, sides), _not_zero(history.maps, maps))


def _not_zero(names: Sequence[str], weights: Floats) -> Mapping[str, float]:
    return {name: weight for name, weight in zip(names, weights.tolist(), strict=True) if weight}


def _fitted(design: Floats, scores: Floats, history: History, near: Floats | None = None) -> Floats:
    """Shape (columns,): the weights, searched from `near`. One whose column is all zero stays at its prior mean."""
    # In a window few of a history's maps occur; a column of zeros says nothing, and would only make the matrix larger.
    columns = np.flatnonzero(design.any(axis=0))
    means, precisions = _priors(history)
    weights = means.copy()
    begin = (means if near is None else near)[columns]
    weights[columns] = _maximum(design[:, columns], scores, means[columns], precisions[columns], begin)
    return weights


def _design(predicted: Floats, history: History) -> Floats:
    """Shape (m, 1 + sides + maps)."""
    rows = np.arange(len(history))
    sides, maps = np.zeros((len(rows), len(history.sides))), np.zeros((len(rows), len(history.maps)))
    if history.side is not None:
        for team, sign in ((0, 1.0), (1, -1.0)):
            side = history.side[team::2]
            # Two sides of the same name cancel.
            sides[rows[side >= 0], side[side >= 0]] += sign
    if history.map is not None:
        with_map = history.map >= 0
        maps[rows[with_map], history.map[with_map]] = orientation(history)[with_map]
    return np.column_stack((log_odds(predicted), sides, maps))


def orientation(history: History) -> Floats:
    """Shape (m,): 1 where the first team has the side that comes first in the alphabet, -1 where the second has it.

    0 where the sides are the same or unknown.
    """
    if history.side is None:
        return np.zeros(len(history))
    # Sorting the sorting gives each name's place in the alphabet. The shift by one lets UNKNOWN, -1, index the first
    # entry.
    order = np.array([UNKNOWN, *np.argsort(np.argsort(history.sides))])[history.side + 1]
    both = (history.side[0::2] >= 0) & (history.side[1::2] >= 0)
    signs: Floats = np.sign(order[1::2] - order[0::2]) * both
    return signs.astype(float)


def _priors(history: History) -> tuple[Floats, Floats]:
    """Means and precisions of the priors, shape (columns,) each."""
    sides, maps = len(history.sides), len(history.maps)
    spreads = [TEMPERATURE_SPREAD, *[SIDE_SPREAD] * sides, *[MAP_SPREAD] * maps]
    return np.array([1.0] + [0.0] * (sides + maps)), np.array(spreads) ** -2.0


def _maximum(design: Floats, scores: Floats, means: Floats, precisions: Floats, weights: Floats) -> Floats:
    """The weights of the least loss, by Newton's method; a step that does not lower the loss is halved."""
    step = 1.0
    loss = _loss(design, scores, weights, means, precisions)
    for _ in range(STEPS):
        chances = logistic(design @ weights)
        slope = design.T @ (chances - scores) + precisions * (weights - means)
        curve = (design.T * (chances * (1 - chances))) @ design + np.diag(precisions)
        direction = np.linalg.solve(curve, slope)
        # Tried from twice the last one: Newton's whole step again as soon as it helps.
        step = min(1.0, 2 * step)
        while (trial := _loss(design, scores, weights - step * direction, means, precisions)) > loss and step > SMALL:
            step /= 2
        gain, loss, weights = loss - trial, trial, weights - step * direction
        # Also where halving has come to an end: then the gain is 0 or below.
        if gain < SMALL * abs(loss):
            break
    return weights


def _loss(design: Floats, scores: Floats, weights: Floats, means: Floats, precisions: Floats) -> float:
    odds = design @ weights
    return float(np.sum(np.logaddexp(0, odds) - scores * odds) + precisions @ (weights - means) ** 2 / 2)
