"""Measures how well systems predict a history: each match before it is rated, without those of a burn-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.lab.models import Forecast, Model, forecast, refuse_unread
from equipoise.ratings import quality
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.calibration_fit import apply, fit_if_better, live, running
from equipoise.ratings.history import Floats, History, Offsets, head, scores
from equipoise.ratings.quality import Difference, Estimate, Group, Quality, Seats

BURN_IN = 0.2
WARM_UP = 0.25
"""Fraction of the burn-in that is not used for fits, because the system knows no player there."""


Correct = Literal["burn-in", "running", "live"]
"""Whether a correction is fitted once, to the burn-in, if what was fitted to most of it predicts the rest better than
none; repeatedly, each time to the last matches before; or as a daemon does, once a week and only where the
matches before are predicted better by it."""


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
    uncorrected: Estimate
    """Log loss of the system's own predictions of the same matches."""
    scores: Floats
    forecast: Forecast

    @property
    def pairs(self) -> Floats:
        """Shape (measured, 2): predictions and scores, match by match."""
        return np.column_stack((self.predicted, self.scores))


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
    if correct:
        refuse_unread(history, ("map", "side"))
    outcome = forecast(model, history)
    chances, correction = outcome.predicted, None
    if correct == "burn-in":
        correction = fit_if_better(chances[:count], head(history, count), actual[:count], warm_up(count))
        chances = apply(correction, chances, history)
    elif correct == "running":
        chances, correction = running(chances, history, actual, count, warm_up(count))
    elif correct == "live":
        chances, correction = live(chances, history, actual)
    return _measured(model, count, correction, chances[count:], actual[count:], outcome)


def warm_up(burn_in: int) -> int:
    """Number of matches at the start of a burn-in that are not used for fits."""
    return int(burn_in * WARM_UP)


def _measured(
    model: Model, count: int, correction: Calibration | None, predicted: Floats, actual: Floats, made: Forecast
) -> Backtest:
    pairs = np.column_stack((predicted, actual))
    qualities = quality.assess(pairs)
    assert qualities is not None, "some matches are left after the burn-in"
    raw = quality.mean(quality.surprises(made.predicted[count:], actual))
    return Backtest(model, count, qualities, quality.accuracy(pairs), correction, predicted, raw, actual, made)


def difference(one: Backtest, other: Backtest) -> Difference:
    """The difference of their measures, match by match."""
    return quality.difference(one.pairs, other.pairs)


@dataclass(frozen=True, slots=True)
class Surprise:
    """Predictions and scores of one player's sides."""

    player: PlayerId
    matches: int
    predicted: float
    scored: float
    difference: Estimate
    """Scored minus predicted; above 0 the player is better than the system knew."""


def misjudged(done: Backtest, history: History, least: int) -> list[Surprise]:
    """The players of so many measured matches at least, the most underrated first, by errors of the difference."""
    seats = _seats(done, history)
    members = history.members[-len(seats.round) :]
    counts = np.bincount(members)
    often = np.flatnonzero(counts >= least)
    gaps = seats.score - seats.predicted
    predicted, scored, squares = (
        np.bincount(members, each)[often] / counts[often] for each in (seats.predicted, seats.score, gaps**2)
    )
    errors = np.sqrt(squares / counts[often])
    return [
        Surprise(
            history.players[often[place]],
            int(counts[often[place]]),
            float(predicted[place]),
            float(scored[place]),
            Estimate(float(scored[place] - predicted[place]), float(errors[place])),
        )
        for place in np.argsort((predicted - scored) / errors, kind="stable").tolist()
    ]


def divided(done: Backtest, history: History) -> tuple[Group, ...]:
    """Its predictions of the measured matches, by squad size, experience and last outcome of the players."""
    return quality.groups(_seats(done, history))


def _seats(done: Backtest, history: History) -> Seats:
    """The players of all measured matches; experience and last outcomes are counted from the start of the history."""
    start = int(history.teams[history.matches[done.burn_in]])
    # Teams come in pairs: an even number is the first team of its match.
    team = np.repeat(np.arange(len(history.ranks)), np.diff(history.teams))[start:]
    match, second = team // 2 - done.burn_in, team % 2 == 1
    chances, score = done.predicted[match], done.scores[match]
    before, last = _past(history)
    return Seats(
        round=match,
        predicted=np.where(second, 1.0 - chances, chances),
        score=np.where(second, 1.0 - score, score),
        squad=history.squad_sizes[start:],
        rounds=before[start:],
        last=last[start:],
    )


def _past(history: History) -> tuple[Offsets, Floats]:
    """Shape (p,) each: how many matches the participant had before, and the score of the last; NaN without one."""
    team = np.repeat(np.arange(len(history.ranks)), np.diff(history.teams))
    # The last bit turned: the other team of the pair.
    own, opposite = history.ranks[team], history.ranks[team ^ 1]
    past_score = (1.0 + np.sign(opposite - own)) / 2
    # Stable, so that each player's matches stay in the order of time.
    # numpy sorts numbers of 16 bits several times as fast as longer ones.
    narrow = history.members.astype(np.uint16) if len(history.players) <= 1 << 16 else history.members
    order = np.argsort(narrow, kind="stable")
    sorted_members = history.members[order]
    starts = np.flatnonzero(np.diff(sorted_members, prepend=-1))
    counts = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    # The row above is the same player's match before, but for their first.
    previous = np.where(counts > 0, np.roll(past_score[order], 1), np.nan)
    before, last = np.empty(len(order), np.int64), np.empty(len(order))
    before[order], last[order] = counts, previous
    return before, last
