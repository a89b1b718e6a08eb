"""Measures how well systems predict a history: each match before it is rated, without those of a burn-in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from equipoise.balancing import match_of
from equipoise.core.effects import RecordRound
from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.lab.models import FEW, Forecast, Model, forecast, refuse_unread
from equipoise.ratings import quality
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.calibration_fit import apply, fit_if_better, live, running
from equipoise.ratings.history import Flags, Floats, History, Numbers, Offsets, head, scores
from equipoise.ratings.parts.compiling import UNCOUNTED, compiled
from equipoise.ratings.parts.match_arrays import result
from equipoise.ratings.quality import Columns, Difference, Estimate, Group, Quality

BURN_IN = 0.2
STORED = "stored"
"""In place of a system: the predictions that a pool's rounds were stored with."""
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
    def pairs(self) -> Columns:
        """Predictions and scores, match by match."""
        return Columns(self.predicted, self.scores)


def burn_in_of(history: History, share: float) -> int:
    """How many matches are not measured. RatingError unless there are some of both kinds."""
    if not 0 < share < 1:
        raise RatingError(f"a burn-in of {share:g} is not between 0 and 1")
    count = round(len(history) * share)
    if not 0 < count < len(history):
        raise RatingError(f"a burn-in of {share:g} of {len(history)} matches leaves nothing before or after it")
    return count


def backtest(
    model: Model, history: History, *, burn_in: float = BURN_IN, correct: Correct | None = None, curves: bool = True
) -> Backtest:
    """Predict and rate a history match by match; a correction is fitted only to matches before those it corrects.

    Without `curves` the forecast has no ratings after each match.
    """
    count = burn_in_of(history, burn_in)
    if correct:
        refuse_unread(history, ("map", "side"))
    outcome = forecast(model, history, curves=curves)
    chances, correction, actual = outcome.predicted, None, scores(history)
    if correct == "burn-in":
        correction = fit_if_better(chances[:count], head(history, count), actual[:count], warm_up(count))
        chances = apply(correction, chances, history)
    elif correct == "running":
        chances, correction = running(chances, history, actual, count, warm_up(count))
    elif correct == "live":
        chances, correction = live(chances, history, actual)
    return _measured(model, count, correction, chances[count:], actual[count:], outcome)


def history_of(rounds: Iterable[tuple[RecordRound, float]]) -> tuple[History | None, list[float]]:
    """The rated rounds in their order, the first team being side A, and what was predicted for that; None without one.

    `skill_at_start` is left out, because its unit is that of the system in use when the round was played.
    """
    matches = [(match_of(replace(record, skill_at_start=None)), predicted) for record, predicted in rounds]
    rated = [(match, predicted) for match, predicted in matches if match is not None]
    return History.of(match for match, _ in rated) if rated else None, [predicted for _, predicted in rated]


def as_stored(predicted: Sequence[float], history: History, burn_in: float) -> Backtest:
    """The measures of predictions that were made before: those that a pool's rounds are stored with."""
    count, chances = burn_in_of(history, burn_in), np.array(predicted)
    return _measured(
        Model(STORED), count, None, chances[count:], scores(history)[count:], Forecast(None, chances, None)
    )


def warm_up(burn_in: int) -> int:
    """Number of matches at the start of a burn-in that are not used for fits."""
    return int(burn_in * WARM_UP)


def _measured(
    model: Model, count: int, correction: Calibration | None, predicted: Floats, actual: Floats, made: Forecast
) -> Backtest:
    pairs = Columns(predicted, actual)
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
    sizes = np.diff(history.teams[2 * done.burn_in :])
    members = history.members[-int(sizes.sum()) :]
    each_predicted, each_score = (_by_seat(values, sizes) for values in (done.predicted, done.scores))
    counts = np.bincount(members)
    often = np.flatnonzero(counts >= least)
    predicted, scored, squares = (
        np.bincount(members, values)[often] / counts[often]
        for values in (each_predicted, each_score, (each_score - each_predicted) ** 2)
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
        # Where all were drawn, as predicted, there is no error.
        for place in np.argsort((predicted - scored) / np.fmax(errors, 1e-12), kind="stable").tolist()
    ]


def divided(done: Backtest, history: History) -> tuple[Group, ...]:
    """Its predictions of the measured matches, by squad size, experience and last outcome of the players."""
    first = int(history.teams[2 * done.burn_in])

    def sums(inside: Flags) -> quality.Sums:
        size = len(done.scores)
        counts, predicted, scored = np.empty(size, np.int32), np.empty(size), np.empty(size, np.float32)  # halves
        for part in quality.pieces(size):
            teams = history.teams[2 * (done.burn_in + part.start) : 2 * (done.burn_in + part.stop) + 1]
            mask, sizes = inside[int(teams[0]) - first : int(teams[-1]) - first], np.diff(teams)
            match = np.repeat(np.repeat(np.arange(part.stop - part.start), 2), sizes)[mask]
            for column, values in ((predicted, done.predicted[part]), (scored, done.scores[part])):
                column[part] = np.bincount(match, _by_seat(values, sizes)[mask], len(values))
            counts[part] = np.bincount(match, minlength=part.stop - part.start)
        return counts, predicted, scored

    return quality.grouped(_places(history, first), sums)


def _places(history: History, first: int) -> list[quality.Places]:
    """The group of each participant from the `first` on, by division."""
    squad = np.broadcast_to(1, len(history.members)) if history.squad is None else history.squad_sizes
    counts, last_scores = np.zeros(len(history.players), np.int32), np.full(len(history.players), np.nan)
    places = [np.empty(len(history.members) - first, np.int8) for _ in quality.DIVISIONS]
    tell = tell_past if len(history.members) <= FEW else _compiled_past()
    # Millions of matches take less memory, and less time, some at a time.
    for part in quality.pieces(len(history)):
        teams, ranks = history.teams[2 * part.start : 2 * part.stop + 1], history.ranks[2 * part.start : 2 * part.stop]
        seats = slice(int(teams[0]), int(teams[-1]))
        before, last = np.empty(seats.stop - seats.start, np.int32), np.empty(seats.stop - seats.start)
        tell(teams - teams[0], history.members[seats], ranks, counts, last_scores, before, last)
        for column, numbers in zip(places, quality.places_of(squad[seats], before, last), strict=True):
            column[max(seats.start - first, 0) : max(seats.stop - first, 0)] = numbers[max(first - seats.start, 0) :]
    return places


def _by_seat(values: Floats, sizes: Offsets) -> Floats:
    """Values of first teams, for every participant: 1 minus it in the second team. `sizes` has shape (teams,)."""
    return np.repeat(np.column_stack((values, 1.0 - values)).ravel(), sizes)


def tell_past(
    teams: Offsets, members: Numbers, ranks: Numbers, counts: Numbers, scores: Floats, before: Numbers, last: Floats
) -> None:
    """Fill how many matches each participant had before, and the score of the last, NaN without one; shape (p,) both.

    `counts` and `scores` hold that of each player, and are counted on.
    """
    for team in range(len(ranks)):
        # The last bit turned: the other team of the pair.
        score = result(ranks[team], ranks[team ^ 1])
        for seat in range(teams[team], teams[team + 1]):
            player = members[seat]
            before[seat], last[seat] = counts[player], scores[player]
            counts[player] += 1
            scores[player] = score


@cache
def _compiled_past() -> Any:
    return compiled(tell_past, **UNCOUNTED)
