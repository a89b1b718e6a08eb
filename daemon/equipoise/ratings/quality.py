"""Statistics of predictions, as arrays: measures over (predicted score, actual score) pairs of side A or team 1.

A Brier score of 0.25 alone says little: coin flips reach it, and draws change what is reachable.  So log loss, the
calibration table and the fraction of even rounds are given with it.

`groups` asks whether predictions are right of each kind of player.  A system may be right on average and wrong about
squads that play better than the sum of their people, newcomers who are better than their first rating, winners who
stay.  By such differences Minka, Cleven & Zaykov (2018) found what TrueSkill 2 should model.

`fit_scale` says by which scale past rounds would have been predicted best.  A system with a scale Θ predicts by the
logistic of a difference over Θ, so another scale multiplies all log-odds by one factor.  The factor of least log loss
has the maximum likelihood, and the loss is convex in it: halving an interval by its slope finds it.  The standard error
is the sandwich estimate (White 1982), which holds with draws too, where the likelihood is not that of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import RatingError
from equipoise.ratings.calibration import CERTAIN

Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.signedinteger[Any]]
Flags: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.int8]
Sums: TypeAlias = tuple[Whole, Floats, NDArray[np.floating[Any]]]
"""Of each round the number of some players, and the sums of their predictions and of their scores."""
Pair: TypeAlias = tuple[float, float]
"""Predicted score, 0 to 1, and actual score: 1, 0.5 or 0."""
Pairs: TypeAlias = "Sequence[Pair] | Floats | Columns"
"""Shape (m, 2): a pair for each round."""
PIECE = 1 << 16
"""Rounds of which a long history's numbers are computed at a time: temporary arrays would be most of its memory."""

BINS = 10
EVEN = (0.45, 0.55)
"""Predictions of even rounds, of which no unevenness is known."""
MOST_UNEVEN = 0.05
"""Unevenness of even rounds, at most."""

SURE = 2.0
"""How many standard errors two scales must differ by to count as different; then `rounds_missing` is 0."""
FACTORS = (0.01, 100.0)
"""The least and the largest factor of log-odds that `best_factor` looks for."""
STEPS = 40
"""How often `best_factor` halves the interval `FACTORS`, on a logarithmic scale."""

By = Literal["squad", "experience", "last"]

LARGEST = 6
"""Squads of so many players or more are one group."""
STAGES = (10, 50, 200)
"""Numbers of rounds at which a player passes into the next group of experience."""
OUTCOMES = ("lost", "drew", "won")
"""Names of outcomes, by twice the score."""
DIVISIONS: Mapping[By, Sequence[str]] = {
    "squad": ("alone", *map(str, range(2, LARGEST)), f"{LARGEST} or more"),
    "experience": (*(f"{low} to {high - 1}" for low, high in pairwise((0, *STAGES))), f"{STAGES[-1]} or more"),
    "last": ("first round", *OUTCOMES),
}
"""The names of the groups of each division."""


class Columns(NamedTuple):
    """Pairs as two arrays of shape (m,), which need not be copied into one."""

    predicted: Floats
    scores: Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over rounds."""

    value: float
    """The estimate."""
    error: float | None
    """Standard error of the mean; None below two rounds."""

    @property
    def is_sure(self) -> bool:
        """Whether it is above 0 by two standard errors."""
        return self.error is not None and self.value > SURE * self.error


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


def assess(pairs: Pairs, unevenness: Sequence[float | None] = ()) -> Quality | None:
    """Measure the predictions of these rounds; None if there are no rounds.

    `unevenness`: how uneven each was expected to be; None, or nothing at all, where the system knows no deviations.

    >>> measured = assess([(0.5, 1.0), (0.8, 1.0), (0.8, 0.0)])
    >>> measured.rounds, round(measured.brier.value, 3), round(measured.even.value, 3)
    (3, 0.31, 0.333)
    """
    chances, scores = _columns(pairs)
    if not len(chances):
        return None
    bins = _calibration(chances, scores)
    even = (chances >= EVEN[0]) & (chances <= EVEN[1])
    if unevenness:
        known = np.array(unevenness, np.float64)
        even = np.where(np.isnan(known), even, known <= MOST_UNEVEN)
    return Quality(
        rounds=len(chances),
        brier=mean((chances - scores) ** 2),
        log_loss=mean(surprises(chances, scores)),
        even=mean(even),
        calibration=bins,
        calibration_error=sum(b.rounds * abs(b.predicted - b.scored.value) for b in bins) / len(chances),
    )


def surprises(predicted: Floats, scores: Floats) -> Floats:
    """Log loss of each round, shape (m,), in nats; a draw is half a win and half a loss."""
    losses = np.empty(len(predicted))
    for part in pieces(len(predicted)):
        inside, score = np.clip(predicted[part], CERTAIN, 1.0 - CERTAIN), scores[part]
        losses[part] = -score * np.log(inside) - (1.0 - score) * np.log1p(-inside)
    return losses


def pieces(count: int) -> Iterator[slice]:
    """The numbers below `count` in slices of at most `PIECE`."""
    return (slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE))


def accuracy(pairs: Pairs) -> Estimate | None:
    """Fraction of decisive rounds that the favourite won; an even prediction counts half.  None if all were drawn.

    >>> accuracy([(0.9, 1.0), (0.5, 0.0), (0.3, 1.0), (0.7, 0.5)]).value
    0.5
    """
    chances, scores = _columns(pairs)
    # Draws have no winner that a favourite could be.
    right = np.where(chances == 0.5, 0.5, (chances > 0.5) == (scores > 0.5))[scores != 0.5]
    return mean(right) if len(right) else None


def difference(ones: Pairs, others: Pairs) -> Difference:
    """Compare two systems round by round, so that the luck of each round cancels; both in the same order."""
    (chances_a, scores), (chances_b, same) = _columns(ones), _columns(others)
    return Difference(
        log_loss=mean(surprises(chances_a, scores) - surprises(chances_b, same)),
        brier=mean((chances_a - scores) ** 2 - (chances_b - same) ** 2),
    )


def mean(values: Sequence[float] | NDArray[np.floating | np.bool_]) -> Estimate:
    """The mean of one value or more, and its standard error from their sample deviation.

    >>> mean([1.0, 0.0, 0.0, 1.0])
    Estimate(value=0.5, error=0.28867513459481287)
    """
    array = np.asarray(values, np.float64)
    error = float(array.std(ddof=1)) / math.sqrt(len(array)) if len(array) > 1 else None
    return Estimate(float(array.mean()), error)


def _columns(pairs: Pairs) -> tuple[Floats, Floats]:
    """Predictions and scores; raises `RatingError` for one that is not from 0 to 1."""
    columns = pairs if isinstance(pairs, Columns) else np.asarray(pairs, np.float64).reshape(-1, 2).T
    for name, values in zip(("prediction", "score"), columns, strict=True):
        wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
        if len(wrong):
            raise RatingError(f"{name} {float(values[wrong[0]])!r} is not from 0 to 1")
    return columns[0], columns[1]


def _calibration(predicted: Floats, scores: Floats) -> tuple[Bin, ...]:
    """Mean prediction and mean score in ten bins of equal width; empty bins are left out."""
    # A prediction of 1 belongs to the last bin.
    numbers = np.minimum((predicted * BINS).astype(np.int8), BINS - 1)
    bins = ((number, numbers == number) for number in np.unique(numbers).tolist())
    return tuple(
        Bin(
            low=number / BINS,
            high=(number + 1) / BINS,
            rounds=int(inside.sum()),
            predicted=float(predicted[inside].mean()),
            scored=mean(scores[inside]),
        )
        for number, inside in bins
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


def fit_scale(pairs: Pairs, scale: float) -> ScaleFit | None:
    """The best scale, for predictions that were made with `scale`.

    None where no scale fits: favourites won no more often than others, or always.

    >>> favourite = 1 / (1 + math.exp(-0.5))  # 500 points ahead at a scale of 1000; they won three rounds of four
    >>> round(fit_scale([(favourite, 1.0)] * 300 + [(favourite, 0.0)] * 100, 1000.0).scale)
    455
    """
    forecasts, scores = _columns(pairs)
    odds = log_odds(forecasts)
    factor = best_factor(odds, scores)
    if factor is None:
        return None
    chances = logistic(factor * odds)
    # The sandwich: the loss' curvature is the bread, the variance of its slope the meat; where the model holds, both
    # are the same.
    bread = float((odds**2 * chances * (1.0 - chances)).sum())
    meat = float(((odds * (chances - scores)) ** 2).sum())
    return ScaleFit(
        scale=scale / factor,
        error=scale / factor**2 * math.sqrt(meat) / bread,  # by the delta method
        log_loss_before=float(surprises(forecasts, scores).mean()),
        log_loss=float(surprises(chances, scores).mean()),
    )


def rounds_missing(fit: ScaleFit, scale: float, rounds: int) -> int:
    """About how many more rounds are needed to show that `scale` differs from `fit.scale`; 0 if these rounds suffice.

    They differ if the two scales are `SURE` standard errors apart, and so is their quotient from 1: where the error is
    large, one of these holds and the other does not.  The error falls with the root of the number of rounds.

    >>> rounds_missing(ScaleFit(5214.0, 2985.0, 0.0, 0.0), 2400.0, 500) > 0  # less than one error apart
    True
    """
    # Distance of the two scales, and of their quotient from 1, in standard errors: dividing by the larger takes the
    # lesser of both.
    apart = abs(fit.scale - scale) / max(scale, fit.scale) / (fit.error / fit.scale)
    return max(0, math.ceil(rounds * min((SURE / max(apart, 1e-9)) ** 2, 1e9)) - rounds)


def best_factor(odds: Floats, scores: Floats) -> float | None:
    """The factor on all log-odds that minimises the log loss; None unless it is within `FACTORS`."""

    def slope(factor: float) -> float:
        return float(odds @ (logistic(factor * odds) - scores))

    # The loss is convex, so its slope rises: without a change of sign the least is beyond one of the ends.
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


def logistic(odds: Floats) -> Floats:
    """`core.model.logistic` of each number."""
    return 0.5 + 0.5 * np.tanh(odds / 2)


def log_odds(predicted: Floats) -> Floats:
    """Log-odds of each prediction, which is cut to at least `CERTAIN` from 0 and 1."""
    inside = np.clip(predicted, CERTAIN, 1.0 - CERTAIN)
    odds: Floats = np.log(inside) - np.log1p(-inside)
    return odds


class Seats(NamedTuple):
    """Players' parts in rounds, one after the other; all arrays have shape (seats,)."""

    round: Whole
    """Number of the round, from 0: the same for all its players."""
    predicted: Floats
    """Score predicted for the player's side."""
    score: Floats
    squad: Whole
    """Players of their squad on their side; 1: they came alone."""
    rounds: Whole
    """Rounds that they had been rated for before."""
    last: Floats
    """Score of their round before; NaN: unknown, or this is their first."""

    @classmethod
    def of(cls, rows: Iterable[tuple[int, float, float, int, int, float | None]]) -> Seats:
        """The seats of these rows, each with the fields in this order; None for a score that is not known."""
        places, chances, score, squad, rounds, last = np.array(list(rows), np.float64).reshape(-1, len(cls._fields)).T
        return cls(places.astype(np.int64), chances, score, squad.astype(np.int64), rounds.astype(np.int64), last)


@dataclass(frozen=True, slots=True)
class Group:
    """Predictions and scores of the players of one group, each of whom counts once in each of their rounds."""

    by: By
    """The division: `squad`, `experience` or `last`."""
    name: str
    """The name of the group in its division."""
    rounds: int
    """In which somebody of the group played."""
    players: int
    """Players of the group, summed over these rounds."""
    predicted: float
    """Mean score predicted for their sides."""
    scored: float
    """Mean score of their sides."""
    difference: Estimate
    """Scored minus predicted; above 0 they are better than the system knows. Players of one round share its luck, so
    the standard error counts rounds, not players."""


def groups(seats: Seats) -> tuple[Group, ...]:
    """Compare predictions and scores group by group; a division of which all are in one group is left out.

    >>> pair = [(1, 0.6, 1.0, 2, 30, 0.0)] * 2 + [(1, 0.4, 0.0, 1, 0, None)]
    >>> [(one.by, one.name, one.players, round(one.difference.value, 2)) for one in groups(Seats.of(pair))]
    [('squad', 'alone', 1, -0.4), ('squad', '2', 2, 0.4), ('experience', '0 to 9', 1, -0.4), \
('experience', '10 to 49', 2, 0.4), ('last', 'first round', 1, -0.4), ('last', 'lost', 2, 0.4)]
    """
    rounds = int(seats.round.max(initial=-1)) + 1

    def sums(inside: Flags) -> Sums:
        numbers = seats.round[inside]
        parts = seats.predicted[inside], seats.score[inside]
        predicted, scored = (np.bincount(numbers, part, rounds).astype(np.float64, copy=False) for part in parts)
        return np.bincount(numbers, minlength=rounds), predicted, scored

    return grouped(places_of(seats.squad, seats.rounds, seats.last), sums)


def places_of(squad: Whole, rounds: Whole, last: Floats) -> tuple[Places, ...]:
    """The number of each seat's group, by squad, experience and last outcome; arguments as in `Seats`."""
    outcomes = 1 + (2.0 * np.nan_to_num(last)).astype(np.int64)
    # Unknown after rounds that are not there any more.
    lasts = np.where(np.isnan(last), np.where(rounds > 0, NOWHERE, 0), outcomes)
    stages = np.searchsorted(STAGES, rounds, side="right")
    return tuple(numbers.astype(np.int8) for numbers in (np.minimum(squad, LARGEST) - 1, stages, lasts))


def grouped(places: Sequence[Places], sums: Callable[[Flags], Sums]) -> tuple[Group, ...]:
    """The groups of all divisions; `sums` adds up those seats, shape (seats,), that are flagged."""
    return tuple(
        group
        for (by, names), numbers in zip(DIVISIONS.items(), places, strict=True)
        for group in _division(by, names, numbers, sums)
    )


NOWHERE = -1
"""The group of a seat that is in none."""


def _division(by: By, names: Sequence[str], places: Places, sums: Callable[[Flags], Sums]) -> list[Group]:
    """The groups that have somebody, from the group of each seat; none if that is one."""
    insides = [number for number in range(len(names)) if (places == number).any()]
    if len(insides) < 2:
        return []
    return [_group(by, names[number], *sums(places == number)) for number in insides]


def _group(by: By, name: str, counts: Whole, predicted: Floats, scored: NDArray[np.floating[Any]]) -> Group:
    """From each round's number of players and sums of predictions and scores."""
    rounds, players = int(np.count_nonzero(counts)), int(counts.sum())
    guess, score = float(predicted.sum()) / players, float(scored.sum(dtype=np.float64)) / players
    gap, error = score - guess, None
    if rounds > 1:
        # The variance of a ratio of two sums over rounds: of each round's surplus beyond its players' part of the mean,
        # which takes the place of the predictions.
        surplus = predicted
        for part in pieces(len(counts)):
            surplus[part] = (scored[part] - predicted[part] - counts[part] * gap) ** 2
        error = math.sqrt(float(surplus.sum()) * rounds / (rounds - 1)) / players
    return Group(by, name, rounds, players, guess, score, Estimate(gap, error))
