"""Statistics of predictions: measures over (predicted score, actual score) pairs of side A or team 1.

A Brier score of 0.25 alone says little: coin flips reach it, and draws change what is reachable.  So log loss, the
calibration table and the fraction of even rounds are given with it.

`fit_scale` says by which scale past rounds would have been predicted best.  A system with a scale Θ predicts by the
logistic of a difference over Θ, so another scale multiplies all log-odds by one factor.  The factor of least log loss
has the maximum likelihood, and the loss is convex in it: halving an interval by its slope finds it.  The standard error
is the sandwich estimate (White 1982), which holds with draws too, where the likelihood is not that of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from equipoise.errors import RatingError

Pair: TypeAlias = tuple[float, float]
"""Predicted score, 0 to 1, and actual score: 1, 0.5 or 0."""

BINS = 10
EVEN = (0.45, 0.55)
"""Predictions of even rounds, of which no unevenness is known."""
MOST_UNEVEN = 0.05
"""Unevenness of even rounds, at most."""
CERTAIN = 1e-12
"""Predictions are clipped to this distance from 0 and 1, so that the log loss of a certain but wrong one is finite."""

SURE = 2.0
"""How many standard errors two scales must differ by to count as different; then `rounds_missing` is 0."""
FACTORS = (0.01, 100.0)
"""The least and the largest factor of log-odds that `best_factor` looks for."""
STEPS = 40
"""How often `best_factor` halves the interval `FACTORS`, on a logarithmic scale."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over rounds."""

    value: float
    """The estimate."""
    error: float | None
    """Standard error of the mean; None below two rounds."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The rounds predicted from `low` up to below `high` (the last bin: up to and with 1)."""

    low: float
    """Lower end of the bin: a win probability."""
    high: float
    """Upper end of the bin: a win probability."""
    rounds: int
    """How many rounds were predicted so."""
    predicted: float
    """Mean prediction."""
    scored: Estimate
    """Mean score; close to `predicted` if the predictions are right."""


@dataclass(frozen=True, slots=True)
class Quality:
    """How well the predictions of a set of rounds were, by several measures."""

    rounds: int
    """How many rounds were measured."""
    brier: Estimate
    """Mean squared error of the prediction (F6)."""
    log_loss: Estimate
    """In nats; ln 2 is a coin flip's."""
    even: Estimate
    """Fraction of even rounds: of an unevenness of at most 0.05, or where that is not known predicted within 45 to
    55 %."""
    calibration: tuple[Bin, ...]
    """Ten bins of equal width, without the empty ones."""
    calibration_error: float
    """Expected calibration error: |predicted - scored| averaged over the rounds of all bins."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One system's measures minus another's on the same rounds; below 0 the first predicts better."""

    log_loss: Estimate
    """Nats a round."""
    brier: Estimate
    """Squared error."""


def assess(pairs: Iterable[Pair], unevenness: Sequence[float | None] = ()) -> Quality | None:
    """Measure the predictions of these rounds; None if there are no rounds.

    `unevenness`: how uneven each was expected to be; None, or nothing at all, where the system knows no deviations.

    >>> measured = assess([(0.5, 1.0), (0.8, 1.0), (0.8, 0.0)])
    >>> measured.rounds, round(measured.brier.value, 3), round(measured.even.value, 3)
    (3, 0.31, 0.333)
    """
    rounds = [_checked(pair) for pair in pairs]
    if not rounds:
        return None
    bins = calibration(rounds)
    return Quality(
        rounds=len(rounds),
        brier=_mean_of(squared_error, rounds),
        log_loss=_mean_of(surprise, rounds),
        even=mean([_is_even(one, known) for one, known in zip_longest(rounds, unevenness)]),
        calibration=bins,
        calibration_error=sum(b.rounds * abs(b.predicted - b.scored.value) for b in bins) / len(rounds),
    )


def squared_error(predicted: float, score: float) -> float:
    """One round's part of the Brier score."""
    return (predicted - score) ** 2


def surprise(predicted: float, score: float) -> float:
    """One round's part of the log loss, in nats; a draw is half a win and half a loss."""
    predicted = _inside(predicted)
    return -score * math.log(predicted) - (1.0 - score) * math.log1p(-predicted)


def accuracy(rounds: Iterable[Pair]) -> Estimate | None:
    """Fraction of decisive rounds that the favourite won; an even prediction counts half.  None if all were drawn.

    >>> accuracy([(0.9, 1.0), (0.5, 0.0), (0.3, 1.0), (0.7, 0.5)]).value
    0.5
    """
    right = [_right(predicted, score) for predicted, score in rounds if score != 0.5]
    return mean(right) if right else None


def difference(ones: Sequence[Pair], others: Sequence[Pair]) -> Difference:
    """Compare two systems round by round, so that the luck of each round cancels; both in the same order."""
    both = list(zip(ones, others, strict=True))
    return Difference(
        log_loss=mean([surprise(*one) - surprise(*other) for one, other in both]),
        brier=mean([squared_error(*one) - squared_error(*other) for one, other in both]),
    )


def calibration(rounds: Iterable[Pair]) -> tuple[Bin, ...]:
    """Mean prediction and mean score in ten bins of equal width; empty bins are left out."""
    binned: dict[int, list[Pair]] = {}
    for predicted, score in rounds:
        binned.setdefault(min(int(predicted * BINS), BINS - 1), []).append((predicted, score))
    return tuple(
        Bin(
            low=number / BINS,
            high=(number + 1) / BINS,
            rounds=len(inside),
            predicted=math.fsum(predicted for predicted, _ in inside) / len(inside),
            scored=mean([score for _, score in inside]),
        )
        for number, inside in sorted(binned.items())
    )


@dataclass(frozen=True, slots=True)
class ScaleFit:
    """The scale under which past rounds would have been predicted best."""

    scale: float
    """In the unit of the scale that the predictions were made with, as is `error`."""
    error: float
    """Standard error of `scale`."""
    log_loss_before: float
    """Nats a round, with the scale of the predictions."""
    log_loss: float
    """Nats a round, with the fitted one."""


def fit_scale(pairs: Sequence[Pair], scale: float) -> ScaleFit | None:
    """The best scale, for predictions that were made with `scale`.

    None where no scale fits: favourites won no more often than others, or always.

    >>> favourite = 1 / (1 + math.exp(-0.5))  # 500 points ahead at a scale of 1000; they won three rounds of four
    >>> round(fit_scale([(favourite, 1.0)] * 300 + [(favourite, 0.0)] * 100, 1000.0).scale)
    455
    """
    odds = [(math.log(p) - math.log1p(-p), score) for p, score in ((_inside(p), score) for p, score in pairs)]
    factor = best_factor(odds)
    if factor is None:
        return None
    bread = math.fsum(x * x * _logistic(factor * x) * _logistic(-factor * x) for x, _ in odds)
    meat = math.fsum((x * (_logistic(factor * x) - score)) ** 2 for x, score in odds)
    return ScaleFit(
        scale=scale / factor,
        error=scale / factor**2 * math.sqrt(meat) / bread,  # by the delta method
        log_loss_before=_log_loss(odds, 1.0),
        log_loss=_log_loss(odds, factor),
    )


def rounds_missing(fit: ScaleFit, scale: float, rounds: int) -> int:
    """About how many more rounds are needed to show that `scale` differs from `fit.scale`; 0 if these rounds suffice.

    They differ if the two scales are `SURE` standard errors apart, and so is their quotient from 1: where the error is
    large, one of these holds and the other does not.  The error falls with the root of the number of rounds.

    >>> rounds_missing(ScaleFit(5214.0, 2985.0, 0.0, 0.0), 2400.0, 500) > 0  # less than one error apart
    True
    """
    apart = abs(fit.scale - scale) / max(scale, fit.scale) / (fit.error / fit.scale)
    return max(0, math.ceil(rounds * min((SURE / max(apart, 1e-9)) ** 2, 1e9)) - rounds)


def best_factor(odds: Sequence[tuple[float, float]]) -> float | None:
    """The factor on all log-odds that minimises the log loss; None unless it is within `FACTORS`."""

    def slope(factor: float) -> float:
        return math.fsum(x * (_logistic(factor * x) - score) for x, score in odds)

    if not slope(FACTORS[0]) < 0.0 < slope(FACTORS[1]):
        return None
    low, high = map(math.log, FACTORS)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if slope(math.exp(middle)) < 0.0:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def mean(values: Sequence[float]) -> Estimate:
    """The mean of one value or more, and its standard error from their sample deviation.

    >>> mean([1.0, 0.0, 0.0, 1.0])
    Estimate(value=0.5, error=0.28867513459481287)
    """
    centre = math.fsum(values) / len(values)
    if len(values) < 2:
        return Estimate(centre, None)
    variance = math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
    return Estimate(centre, math.sqrt(variance / len(values)))


def _mean_of(measure: Callable[[float, float], float], rounds: Sequence[Pair]) -> Estimate:
    return mean([measure(predicted, score) for predicted, score in rounds])


def _log_loss(odds: Sequence[tuple[float, float]], factor: float) -> float:
    return math.fsum(surprise(_logistic(factor * x), score) for x, score in odds) / len(odds)


def _logistic(odds: float) -> float:
    return 0.5 + 0.5 * math.tanh(odds / 2)


def _is_even(pair: Pair, unevenness: float | None) -> float:
    return float(EVEN[0] <= pair[0] <= EVEN[1] if unevenness is None else unevenness <= MOST_UNEVEN)


def _inside(probability: float) -> float:
    return min(max(probability, CERTAIN), 1.0 - CERTAIN)


def _right(predicted: float, score: float) -> float:
    return 0.5 if predicted == 0.5 else float((predicted > 0.5) == (score > 0.5))


def _checked(pair: Pair) -> Pair:
    for name, value in zip(("prediction", "score"), pair, strict=True):
        if not 0.0 <= value <= 1.0:
            raise RatingError(f"{name} {value!r} is not from 0 to 1")
    return pair
