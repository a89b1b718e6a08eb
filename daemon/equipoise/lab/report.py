"""The laboratory's report: a single HTML page that needs no other file, as one would show it to a community."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import log

import numpy as np

from equipoise.lab import charts, tables
from equipoise.lab.backtest import Backtest, difference, divided, misjudged
from equipoise.lab.models import labels
from equipoise.lab.svg import Chart, picture
from equipoise.lab.tables import Table, estimate
from equipoise.ratings.history import History

LEAST = 30
"""Measured matches of a player below which being over- or underrated is luck."""
EACH = 5
"""Players listed of both kinds."""
TEN = "Ratings of the ten highest at the end, without those who played little."


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it: sentences, then charts, then tables."""

    title: str
    sentences: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()


def compared(results: Sequence[Backtest], history: History, source: str, correction: str) -> str:
    """The page of one or more systems on one history, the best of them in full."""
    results = sorted(results, key=lambda result: result.quality.log_loss.value)
    best, names = results[0], labels([result.model for result in results])
    label, has_settings = names[0], any(result.model.settings for result in results)
    sections = [
        Section(
            f"{label} predicts best" if len(results) > 1 else f"How well {label} predicts",
            _why(results, names),
            [charts.losses(results)] if len(results) > 1 else [],
            [tables.comparison(results)],
        ),
        _calibration(results, names),
        _surprised(best, history, label),
        *(
            []
            if best.forecast.after is None
            else [Section("The best ten", [TEN], [charts.ratings(best, history, label)])]
        ),
        Section(
            "Over time",
            ["Lower is better. Where all lines rise, the matches were hard to predict."],
            [charts.progress(results)],
        ),
        Section(
            "Settings",
            ["What a system has by default is not listed." if has_settings else "All systems have their defaults."],
            tables=([tables.settings([result.model for result in results])] if has_settings else [])
            + ([tables.corrected(best.correction, label)] if best.correction else []),
        ),
        Section("How this was measured", _how(correction)),
    ]
    return page(
        "Which rating system predicts best?" if len(results) > 1 else f"Backtest of {label}",
        _introduction(history, source, best),
        sections,
    )


def _introduction(history: History, source: str, best: Backtest) -> str:
    times = history.started_at[~np.isnan(history.started_at)]
    when = ""
    if len(times):
        first, last = (datetime.fromtimestamp(float(end), UTC).date() for end in (times.min(), times.max()))
        when = f", {first} to {last}"
    return (
        f"{source}: {len(history):,} matches of {len(history.players):,} players{when}. Each match was predicted "
        f"before it was rated. The first {best.burn_in:,} were rated only; {best.quality.rounds:,} are measured."
    )


def _why(results: Sequence[Backtest], names: Sequence[str]) -> list[str]:
    best, loss = results[0], results[0].quality.log_loss
    sentences = [f"{names[0]} has a log loss of {estimate(loss)} per match. A coin has {log(2):.4f}; less is better."]
    if best.accuracy is not None:
        sentences.append(
            f"Its favourites won {estimate(best.accuracy, percent=True)} of the matches that had a winner."
        )
    if len(results) > 1:
        gap = difference(results[1], best).log_loss
        luck = "more than luck" if gap.is_sure else "so little that it may be luck"
        sentences.append(f"It is ahead of the next, {names[1]}, by {estimate(gap)}, compared match by match: {luck}.")
    return sentences


def _calibration(results: Sequence[Backtest], names: Sequence[str]) -> Section:
    quality = results[0].quality
    most = max(quality.calibration, key=lambda entry: entry.rounds * (abs(entry.predicted - 0.5) > 0.05))
    sentences = [
        f"In {most.rounds:,} matches it gave the first side {100 * most.low:.0f} to {100 * most.high:.0f} %, on "
        f"average {100 * most.predicted:.1f} %. That side scored {estimate(most.scored, percent=True)}.",
        f"Its chances are off by {100 * quality.calibration_error:.1f} % on average, luck included.",
    ]
    drawn = [
        charts.calibration([(name, result.quality) for name, result in zip(names, results, strict=True)]),
        charts.predictions(quality, names[0]),
    ]
    return Section("Can its chances be believed?", sentences, drawn, [tables.bins(quality, names[0])])


def _surprised(best: Backtest, history: History, label: str) -> Section:
    groups, players = divided(best, history), misjudged(best, history, LEAST)
    sure = sum(abs(entry.difference.value) > 2 * (entry.difference.error or 0.0) for entry in players)
    sentences = ["Who scores more than predicted is underrated, who scores less is overrated."]
    if players:
        sentences.append(
            f"Of {len(players):,} players with {LEAST} measured matches or more, {sure:,} "
            f"{'is' if sure == 1 else 'are'} off by more than two standard errors; by luck alone about "
            f"{len(players) / 22:.1f}. The furthest are listed."
        )
    furthest = players if len(players) <= 2 * EACH else [*players[:EACH], *players[-EACH:]]
    return Section(
        "Over- and underrated",
        sentences,
        [charts.divisions(groups, label)] if groups else [],
        ([tables.surprising(furthest)] if furthest else []) + ([tables.divisions(groups, label)] if groups else []),
    )


def _how(correction: str) -> list[str]:
    return [
        "Log loss is the mean surprise by the results, in nats: a sure prediction that comes true costs 0, a wrong one "
        "much. The Brier score is the mean squared error, ECE the mean distance of predicted and actual scores.",
        "± is one standard error. Differences between systems are taken match by match, so they are known better than "
        "either value.",
        correction or "Predictions are those of the systems themselves, without a correction.",
    ]


def page(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """The text of the HTML file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("equipoise.lab", "")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # A number and its unit stay on one line.
    environment.filters["joined"] = lambda text: text.replace(" %", "\xa0%").replace("± ", "±\xa0")
    template = environment.get_template("report.html")
    return template.render(title=title, introduction=introduction, sections=sections, picture=picture)
