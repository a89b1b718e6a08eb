"""Measures how well systems predict a history: each match before it is rated, without those of a burn-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from equipoise.errors import RatingError
from equipoise.lab.histories import head, scores
from equipoise.lab.models import Forecast, Model, forecast
from equipoise.lab.seats import seats
from equipoise.ratings import quality
from equipoise.ratings.calibrating import apply, fit, live, running
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.groups import Group, groups
from equipoise.ratings.history import Floats, History
from equipoise.ratings.quality import Difference, Estimate, Pair, Quality

BURN_IN = 0.2
WARM_UP = 0.25
"""Fraction of the burn-in that is not used for fits, because the system knows no player there."""


Correct = Literal["burn-in", "running", "live"]
"""Whether a correction is fitted once, to the burn-in; repeatedly, each time to the last matches before; or as a daemon
does, once a week and only where the matches before are predicted better by it."""


@dataclass(frozen=True, slots=True, eq=False)
class Backtest:
    """The measures of one system on one history."""

    model: Model
    burn_in: int
    """Matches that were predicted and rated, but not measured."""
    quality: Quality
    accuracy: Estimate | None
    """Fraction of decisive matches that the favourite won; an even prediction is half right. None: all were drawn."""
    correction: Calibration | None
    """The last correction that was fitted; None if none was requested."""
    predicted: Floats
    """Shape (measured,): the predictions that were measured, with the correction if there is one."""
    scores: Floats
    forecast: Forecast

    @property
    def pairs(self) -> list[Pair]:
        """Predictions and scores, match by match."""
        return list(zip(self.predicted.tolist(), self.scores.tolist(), strict=True))


def burn_in_of(history: History, share: float) -> int:
    """How many matches are not measured. RatingError unless there are some of both kinds."""
    if not 0 < share < 1:
        raise RatingError(f"a burn-in of {share:g} is not between 0 and 1")
    count = round(len(history) * share)
    if not 0 < count < len(history):
        raise RatingError(f"a burn-in of {share:g} of {len(history)} matches leaves nothing before or after it")
    return count


def backtest(model: Model, history: History, *, burn_in: float = BURN_IN, correct: Correct | None = None) -> Backtest:
    """Predict and rate a history match by match; a correction is fitted only to matches before those it corrects."""
    count, actual = burn_in_of(history, burn_in), scores(history)
    made = forecast(model, history)
    predicted, correction = made.predicted, None
    if correct == "burn-in":
        correction = fit(predicted[:count], head(history, count), actual[:count], warm_up(count))
        predicted = apply(correction, predicted, history)
    elif correct == "running":
        predicted, correction = running(predicted, history, actual, count, warm_up(count))
    elif correct == "live":
        predicted, correction = live(predicted, history, actual)
    return _measured(model, count, correction, predicted[count:], actual[count:], made)


def warm_up(burn_in: int) -> int:
    """Number of matches at the start of a burn-in that are not used for fits."""
    return int(burn_in * WARM_UP)


def _measured(
    model: Model, count: int, correction: Calibration | None, predicted: Floats, actual: Floats, made: Forecast
) -> Backtest:
    pairs = list(zip(predicted.tolist(), actual.tolist(), strict=True))
    found = quality.assess(pairs)
    assert found is not None, "some matches are left after the burn-in"
    return Backtest(model, count, found, quality.accuracy(pairs), correction, predicted, actual, made)


def difference(one: Backtest, other: Backtest) -> Difference:
    """The difference of their measures, match by match."""
    return quality.difference(one.pairs, other.pairs)


def divided(done: Backtest, history: History) -> tuple[Group, ...]:
    """Its predictions of the measured matches, by squad size, experience and last outcome of the players."""
    return groups(seats(history, done.predicted, done.scores, done.burn_in))
