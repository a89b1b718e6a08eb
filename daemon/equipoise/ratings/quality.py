"""How good a pool's predictions are: measures over (predicted score, actual score) pairs, side A's or team 1's.

A Brier score of 0.25 alone says little: coin flips reach it, and draws change what is reachable.  So log loss, the
calibration table and the share of even rounds stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from equipoise.errors import RatingError

Pair: TypeAlias = tuple[float, float]
"""What was predicted, 0 to 1, and the score: 1, 0.5 or 0."""

BINS = 10
EVEN = (0.45, 0.55)
CERTAIN = 1e-12
"""Log loss takes no prediction as surer than this, so that one upset of a certainty stays finite."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over rounds."""

    value: float
    error: float | None
    """Its standard error; None below two rounds."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The rounds predicted from `low` up to below `high` (the last bin: up to and with 1)."""

    low: float
    high: float
    rounds: int
    predicted: float
    """Mean prediction."""
    scored: Estimate
    """Mean score: equal to `predicted` if the predictions are right."""


@dataclass(frozen=True, slots=True)
class Quality:
    """The measures of a pool."""

    rounds: int
    brier: Estimate
    """Mean squared error of the prediction (F6)."""
    log_loss: Estimate
    """In nats; ln 2 is a coin flip's."""
    even: Estimate
    """Share of rounds predicted within 45 to 55 %, both included."""
    calibration: tuple[Bin, ...]
    """Ten bins of equal width, without the empty ones."""
    calibration_error: float
    """Expected calibration error: |predicted - scored| averaged over the rounds of all bins."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One system's measures less another's on the same rounds; below 0 the first predicts better."""

    log_loss: Estimate
    brier: Estimate


def assess(pairs: Iterable[Pair]) -> Quality | None:
    """The measures over these rounds; None where there are none."""
    rounds = [_checked(pair) for pair in pairs]
    if not rounds:
        return None
    bins = calibration(rounds)
    return Quality(
        rounds=len(rounds),
        brier=_mean_of(squared_error, rounds),
        log_loss=_mean_of(surprise, rounds),
        even=_mean_of(lambda predicted, _: float(EVEN[0] <= predicted <= EVEN[1]), rounds),
        calibration=bins,
        calibration_error=sum(b.rounds * abs(b.predicted - b.scored.value) for b in bins) / len(rounds),
    )


def squared_error(predicted: float, score: float) -> float:
    """One round's part of the Brier score."""
    return (predicted - score) ** 2


def surprise(predicted: float, score: float) -> float:
    """One round's part of the log loss, in nats; a draw is half a win and half a loss."""
    predicted = min(max(predicted, CERTAIN), 1.0 - CERTAIN)
    return -score * math.log(predicted) - (1.0 - score) * math.log1p(-predicted)


def accuracy(rounds: Iterable[Pair]) -> Estimate | None:
    """Share of the decisive rounds that the favourite won, an even prediction being half right; None: all drawn."""
    right = [_right(predicted, score) for predicted, score in rounds if score != 0.5]
    return mean(right) if right else None


def difference(ones: Sequence[Pair], others: Sequence[Pair]) -> Difference:
    """Round by round, so that what is hard for both cancels."""
    both = list(zip(ones, others, strict=True))
    return Difference(
        log_loss=mean([surprise(*one) - surprise(*other) for one, other in both]),
        brier=mean([squared_error(*one) - squared_error(*other) for one, other in both]),
    )


def calibration(rounds: Iterable[Pair]) -> tuple[Bin, ...]:
    """Predictions against scores, bin by bin."""
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


def mean(values: Sequence[float]) -> Estimate:
    """The mean of one value or more, and its standard error from their sample deviation."""
    centre = math.fsum(values) / len(values)
    if len(values) < 2:
        return Estimate(centre, None)
    variance = math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
    return Estimate(centre, math.sqrt(variance / len(values)))


def _mean_of(measure: Callable[[float, float], float], rounds: Sequence[Pair]) -> Estimate:
    return mean([measure(predicted, score) for predicted, score in rounds])


def _right(predicted: float, score: float) -> float:
    return 0.5 if predicted == 0.5 else float((predicted > 0.5) == (score > 0.5))


def _checked(pair: Pair) -> Pair:
    for name, value in zip(("prediction", "score"), pair, strict=True):
        if not 0.0 <= value <= 1.0:
            raise RatingError(f"{name} {value!r} is not from 0 to 1")
    return pair
