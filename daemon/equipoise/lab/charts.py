"""The charts of the laboratory: what each shows, and from which results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

import numpy as np

from equipoise.lab.backtest import Backtest
from equipoise.lab.models import labels
from equipoise.lab.simulation.measures import Point, Summary
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


def qualities(backtests: Sequence[Backtest]) -> list[Chart]:
    """The calibration of several systems, and their log loss over the history."""
    names = labels([done.model for done in backtests])
    return [calibration([(n, done.quality) for n, done in zip(names, backtests, strict=True)]), progress(backtests)]


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


def losses(backtests: Sequence[Backtest]) -> Chart:
    """Log loss of several systems in their order, the first on top."""
    rows = []
    for place, (label, done) in enumerate(zip(labels([done.model for done in backtests]), backtests, strict=True)):
        loss = done.quality.log_loss
        name = f"{label} {loss.value:.4f}"
        rows.append((name, loss.value, loss.error or 0.0, place, name))
    return _rows("Log loss", "log loss, nats per match, and its standard error: further left is better", rows)


def divisions(groups: Sequence[Group], label: str) -> Chart:
    """How much more than predicted the sides of each group of players scored."""
    rows, series = [], {by: number for number, by in enumerate(DIVISIONS)}
    for entry in groups:
        if entry.difference.error is not None:
            name = f"{DIVISIONS[entry.by]}: {entry.name}"
            tooltip = f"{name}: {entry.players} players, {entry.predicted:.1%} predicted, {entry.scored:.1%} scored"
            rows.append((name, entry.difference.value, 2 * entry.difference.error, series[entry.by], tooltip))
    title = f"Calibration by group of players ({label})"
    return _rows(title, "scored minus predicted, and twice its standard error", rows, zero=True)


def _rows(title: str, label: str, rows: Sequence[tuple[str, float, float, int, str]], *, zero: bool = False) -> Chart:
    """A row for each name: value, error, series and tooltip; the first on top.

    With `zero` values are percent, and a line is drawn there: then all names stand in one column, which it does not
    cross.
    """
    ends = [value + sign * error for _, value, error, _, _ in rows for sign in (-1, 1)] + [0.0] * zero
    x = Axis.around(label, ends, percent=zero)
    x = Axis(label, x.low, x.high + _room([name for name, *_ in rows]) * (x.high - x.low), percent=zero)
    y = Axis("", 0.3, len(rows) + 0.7, ticked=False)
    chart = Chart(title, x, y, height=FRAME + 26 * len(rows))
    if zero:
        chart.ideal((0.0, y.low), (0.0, y.high))
    for height, (name, value, error, series, tooltip) in zip(range(len(rows), 0, -1), rows, strict=True):
        chart.span(value - error, value, value + error, height, series, tooltip)
        chart.label(max(ends) if zero else value + error, height, name)
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
    order = "How well ratings order players", "Spearman's ρ with true skill"
    charts = [_over_rounds(*order, summaries, lambda point: point.found, (0, 1)), _balance(summaries)]
    brier = _over_rounds(
        "Brier score of the predictions (0.25 is a coin)", "Brier score", summaries, lambda point: point.brier, (0.25,)
    )
    brier.ideal((0, 0.25), (brier.x.high, 0.25))
    qualities = [(label, summary.quality) for label, summary in summaries if summary.quality is not None]
    return [*charts, brier, _overconfidence(summaries), *([calibration(qualities)] if qualities else [])]


def _over_rounds(
    title: str,
    label: str,
    summaries: Sequence[tuple[str, Summary]],
    read: Callable[[Point], float | None],
    within: Iterable[float],
    *,
    percent: bool = False,
    x: str = "round",
) -> Chart:
    """A line for each pool through what `read` says of its points; `within` is on the axis, too."""
    curves = [
        [(point.round, value) for point in summary.points if (value := read(point)) is not None]
        for _, summary in summaries
    ]
    y = Axis.around(label, [*(value for curve in curves for _, value in curve), *within], percent=percent)
    rounds = Axis(x, 0, max(summary.rounds for _, summary in summaries), whole=True)
    chart = Chart(_titled(title, len(summaries)), rounds, y, height=340, empty="too few rounds")
    for series, ((name, _), curve) in enumerate(zip(summaries[:LINES], curves, strict=False)):
        chart.line([place for place, _ in curve], [value for _, value in curve], series)
        chart.legend(name, series)
    return chart


def _balance(summaries: Sequence[tuple[str, Summary]]) -> Chart:
    random = [point.random for _, summary in summaries for point in summary.points]
    title, label = "Balance: the favourite's true win probability", "favourite's win probability"
    chart = _over_rounds(title, label, summaries, lambda point: point.favourite, [*random, 0.5], percent=True)
    _, first = summaries[0]
    chart.line([point.round for point in first.points], [point.random for point in first.points], 7)
    chart.legend("random teams of the same people", 7)
    return chart


def _overconfidence(summaries: Sequence[tuple[str, Summary]]) -> Chart:
    """Overconfidence over time, and the band in which it may be luck: two standard errors, the mean over all points."""
    excesses = [point.overconfidence for _, summary in summaries for point in summary.points]
    errors = [excess.error for excess in excesses if excess is not None and excess.error is not None]
    luck = 2 * fmean(errors) if errors else 0.0
    chart = _over_rounds(
        "Overconfidence: above 0, favourites win less often than predicted",
        "predicted minus actual score",
        summaries,
        lambda point: None if point.overconfidence is None else point.overconfidence.value,
        (-luck, luck),
        percent=True,
        x="round; within the outer dashed lines (two standard errors) it may be luck",
    )
    for level in {-luck, 0.0, luck}:
        chart.ideal((0, level), (chart.x.high, level))
    return chart
