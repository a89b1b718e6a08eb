"""The charts of the laboratory: what each shows, and from which results."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from equipoise.lab.backtest import Backtest
from equipoise.lab.models import labels
from equipoise.lab.simulation.measures import Summary
from equipoise.lab.svg import LEFT, LETTER, RIGHT, WIDTH, Axis, Chart
from equipoise.lab.tables import DIVISIONS
from equipoise.ratings.history import History
from equipoise.ratings.quality import BINS, Group, Quality, surprises

FEW = 5
"""With fewer matches in a bin its mean and error mean nothing."""
LINES = 6
"""More lines in one chart would hide each other: only the first ones are drawn."""
PLAYERS = 10
"""How many players' ratings are drawn over time."""
CURVE = 240
"""Points of a rating curve."""
FRAME = 110
"""Height in pixels of a chart with a row per name, without the rows."""


def calibration(qualities: Sequence[tuple[str, Quality]]) -> Chart:
    """Actual against predicted scores; on the dashed line predictions are right."""
    chart = Chart(
        _titled("Calibration: predicted and actual scores", len(qualities)),
        Axis("predicted score of the first team", 0, 1, percent=True),
        Axis("actual score, mean and standard error", 0, 1, percent=True),
        height=480,
    )
    chart.ideal((0, 0), (1, 1))
    for series, (label, quality) in enumerate(qualities[:LINES]):
        bins = [entry for entry in quality.calibration if entry.rounds >= FEW]
        chart.line([entry.predicted for entry in bins], [entry.scored.value for entry in bins], series)
        for entry in bins:
            tooltip = (
                f"{label}: {entry.rounds} matches, {entry.predicted:.1%} predicted, {entry.scored.value:.1%} actual"
            )
            chart.dot(entry.predicted, entry.scored.value, series, entry.scored.error, tooltip)
        chart.legend(label, series)
    return chart


def _titled(title: str, count: int) -> str:
    """The title, with a note if only the first `LINES` lines are drawn."""
    return title if count <= LINES else f"{title} (the first {LINES} of {count})"


def predictions(quality: Quality, label: str) -> Chart:
    """Histogram of a system's predictions."""
    most = max(entry.rounds for entry in quality.calibration)
    chart = Chart(
        f"How often each score was predicted ({label})",
        Axis("predicted score of the first team", 0, 1, percent=True),
        Axis("matches", 0, most * 1.06, whole=True),
        height=240,
    )
    for entry in quality.calibration:
        chart.bar(entry.low, entry.low + 1 / BINS, entry.rounds, 0, f"{entry.rounds} matches from {entry.low:.0%}")
    return chart


class Unticked(Axis):
    """An axis whose values are positions in a list."""

    def ticks(self) -> list[float]:
        """An empty list, because positions have no values."""
        return []


def losses(backtests: Sequence[Backtest]) -> Chart:
    """Log loss of several systems in their order, the first on top."""
    losses = [done.quality.log_loss for done in backtests]
    spread = [(entry.value, entry.error or 0.0) for entry in losses]
    ends = [value + sign * error for value, error in spread for sign in (-1, 1)]
    x = Axis.around("log loss, nats per match, and its standard error: further left is better", ends)
    rows = zip(labels([done.model for done in backtests]), losses, strict=True)
    names = [f"{label} {loss.value:.4f}" for label, loss in rows]
    x = Axis(x.label, x.low, x.high + _room(names) * (x.high - x.low))
    y = Unticked("", 0.3, len(losses) + 0.7)
    chart = Chart("Log loss", x, y, height=FRAME + 26 * len(losses))
    for place, (name, (value, error)) in enumerate(zip(names, spread, strict=True)):
        height = float(len(losses) - place)
        chart.span(value - error, value, value + error, height, place, name)
        chart.label(value + error, height, name)
    return chart


def divisions(groups: Sequence[Group], label: str) -> Chart:
    """How much more than predicted the sides of each group of players scored."""
    estimates = [entry for entry in groups if entry.difference.error is not None]
    spread = [(entry.difference.value, entry.difference.error or 0.0) for entry in estimates]
    ends = [value + sign * 2 * error for value, error in spread for sign in (-1, 1)]
    x = Axis.around("scored minus predicted, and twice its standard error", [*ends, 0.0], percent=True)
    names = [f"{DIVISIONS[entry.by]}: {entry.name}" for entry in estimates]
    x = Axis(x.label, x.low, x.high + _room(names) * (x.high - x.low), percent=True)
    y = Unticked("", 0.3, len(estimates) + 0.7)
    chart = Chart(f"Calibration by group of players ({label})", x, y, height=FRAME + 26 * len(estimates))
    chart.ideal((0.0, y.low), (0.0, y.high))
    series = {by: number for number, by in enumerate(DIVISIONS)}
    for place, (entry, name, (value, error)) in enumerate(zip(estimates, names, spread, strict=True)):
        height = float(len(estimates) - place)
        tooltip = f"{name}: {entry.players} players, {entry.predicted:.1%} predicted, {entry.scored:.1%} scored"
        chart.span(value - 2 * error, value, value + 2 * error, height, series[entry.by], tooltip)
        chart.label(max(*ends, 0.0), height, name)  # all in one column: the line at 0 crosses none
    return chart


def _room(names: Sequence[str]) -> float:
    """How much longer, as a fraction, the axis must be to write these names to the right of the points."""
    inside = WIDTH - LEFT - RIGHT
    width = LETTER * max(map(len, names))
    # An axis longer by the fraction f has f/(1 + f) of its pixels beyond the old end; that is to be the names' width.
    return width / (inside - width)


def progress(backtests: Sequence[Backtest], windows: int = 40) -> Chart:
    """Mean log loss in successive windows of the measured matches."""
    everybody, backtests = labels([done.model for done in backtests]), backtests[:LINES]
    count = min(windows, len(backtests[0].predicted))
    curves = [
        [float(part.mean()) for part in np.array_split(surprises(done.predicted, done.scores), count)]
        for done in backtests
    ]
    start = backtests[0].burn_in
    size = len(backtests[0].predicted)
    xs = [start + (number + 0.5) * size / count for number in range(count)]
    values = [value for curve in curves for value in curve]
    chart = Chart(
        _titled("Log loss over the history", len(everybody)),
        Axis("match", start, start + size, whole=True),
        Axis.around("mean log loss, nats", values),
    )
    for series, (label, curve) in enumerate(zip(everybody, curves, strict=False)):
        chart.line(xs, curve, series)
        chart.legend(label, series)
    return chart


def ratings(done: Backtest, history: History, label: str) -> Chart:
    """Ratings over time of the players who end highest, of those with half the median of matches or more."""
    after = done.forecast.after
    assert after is not None, "charts are of backtests with curves"
    match = np.repeat(np.arange(len(history)), np.diff(history.teams)[0::2] + np.diff(history.teams)[1::2])
    counts = np.bincount(history.members, minlength=len(history.players))
    last = np.zeros(len(history.players))
    # Of a player's many values numpy keeps the last one that is assigned.
    last[history.members] = after
    active = counts >= np.median(counts[counts > 0]) / 2
    best = np.argsort(np.where(active, last, -np.inf), kind="stable")[::-1][: min(PLAYERS, int(active.sum()))]
    curves = [(history.players[n], match[history.members == n], after[history.members == n]) for n in best]
    chart = Chart(
        f"Ratings of the highest at the end ({label})",
        Axis("match", 0, len(history), whole=True),
        Axis.around("rating", [float(value) for _, _, ys in curves for value in ys]),
    )
    for series, (player, xs, ys) in enumerate(curves):
        some = np.unique(np.linspace(0, len(xs) - 1, CURVE).astype(int))
        chart.line(xs[some].tolist(), ys[some].tolist(), series)
        chart.legend(player, series)
    return chart


def simulation(summaries: Sequence[tuple[str, Summary]]) -> list[Chart]:
    """How well true skill is found, how even rounds are and how good predictions are, over the rounds."""
    curves = [_found(summaries), _balance(summaries), _brier(summaries), _overconfidence(summaries)]
    return [*curves, *_calibrated(summaries)]


def _over_rounds(title: str, y: Axis, summaries: Sequence[tuple[str, Summary]], x: str = "round") -> Chart:
    rounds = max(summary.rounds for _, summary in summaries)
    across = Axis(x, 0, rounds, whole=True)
    return Chart(_titled(title, len(summaries)), across, y, height=340, empty="too few rounds")


def _found(summaries: Sequence[tuple[str, Summary]]) -> Chart:
    values = [point.found for _, summary in summaries for point in summary.points]
    y = Axis.around("Spearman's ρ with true skill", [*values, 0, 1])
    chart = _over_rounds("How well ratings order players", y, summaries)
    for series, (label, summary) in enumerate(summaries[:LINES]):
        chart.line([point.round for point in summary.points], [point.found for point in summary.points], series)
        chart.legend(label, series)
    return chart


def _balance(summaries: Sequence[tuple[str, Summary]]) -> Chart:
    values = [
        entry for _, summary in summaries for point in summary.points for entry in (point.favourite, point.random)
    ]
    y = Axis.around("favourite's win probability", [*values, 0.5], percent=True)
    chart = _over_rounds("Balance: the favourite's true win probability", y, summaries)
    for series, (label, summary) in enumerate(summaries[:LINES]):
        chart.line([point.round for point in summary.points], [point.favourite for point in summary.points], series)
        chart.legend(label, series)
    _, first = summaries[0]
    chart.line([point.round for point in first.points], [point.random for point in first.points], 7)
    chart.legend("random teams of the same people", 7)
    return chart


def _brier(summaries: Sequence[tuple[str, Summary]]) -> Chart:
    values = [point.brier for _, summary in summaries for point in summary.points]
    y = Axis.around("Brier score", [*values, 0.25])
    chart = _over_rounds("Brier score of the predictions (0.25 is a coin)", y, summaries)
    chart.ideal((0, 0.25), (chart.x.high, 0.25))
    for series, (label, summary) in enumerate(summaries[:LINES]):
        chart.line([point.round for point in summary.points], [point.brier for point in summary.points], series)
        chart.legend(label, series)
    return chart


def _overconfidence(summaries: Sequence[tuple[str, Summary]]) -> Chart:
    """Overconfidence over time, and the band in which it may be luck: two standard errors, the mean over all points."""
    curves = [
        [(point.round, point.overconfidence) for point in summary.points if point.overconfidence is not None]
        for _, summary in summaries
    ]
    excesses = [excess for curve in curves for _, excess in curve]
    errors = [entry.error for entry in excesses if entry.error is not None]
    luck = 2 * fmean(errors) if errors else 0.0
    y = Axis.around("predicted minus actual score", [-luck, luck, *(entry.value for entry in excesses)], percent=True)
    x = "round; within the outer dashed lines (two standard errors) it may be luck"
    chart = _over_rounds("Overconfidence: above 0, favourites win less often than predicted", y, summaries, x)
    for level in {-luck, 0.0, luck}:
        chart.ideal((0, level), (chart.x.high, level))
    for series, ((label, _), curve) in enumerate(zip(summaries[:LINES], curves, strict=False)):
        chart.line([place for place, _ in curve], [excess.value for _, excess in curve], series)
        chart.legend(label, series)
    return chart


def _calibrated(summaries: Sequence[tuple[str, Summary]]) -> list[Chart]:
    qualities = [(label, summary.quality) for label, summary in summaries if summary.quality is not None]
    return [calibration(qualities)] if qualities else []
