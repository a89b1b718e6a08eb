"""The laboratory's report: a single HTML page that needs no other file, as one would show it to a community."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
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
    label = names[0]
    sections = [
        Section(
            f"{label} predicts best" if len(results) > 1 else f"How well {label} predicts",
            _why(results, names),
            [charts.losses(results)] if len(results) > 1 else [],
            [tables.comparison(results)],
        ),
        _calibration(results, names),
        _surprised(best, history, label),
        *([] if best.forecast.after is None else [_leading(best, history, label)]),
        Section(
            "Over time",
            ["Lower is better. Where all lines rise, the matches were hard to predict."],
            [charts.progress(results)],
        ),
        Section(
            "Settings",
            ["What a system has by default is not listed."],
            tables=[tables.settings([result.model for result in results])]
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
    known = history.started_at[~np.isnan(history.started_at)]
    when = ""
    if len(known):
        first, last = (datetime.fromtimestamp(float(end), UTC).date() for end in (known.min(), known.max()))
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
        told = "more than luck" if gap.is_sure else "so little that it may be luck"
        sentences.append(f"It is ahead of the next, {names[1]}, by {estimate(gap)}, compared match by match: {told}.")
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
    listed = players if len(players) <= 2 * EACH else [*players[:EACH], *players[-EACH:]]
    return Section(
        "Over- and underrated",
        sentences,
        [charts.divisions(groups, label)] if groups else [],
        ([tables.surprising(listed)] if listed else []) + ([tables.divisions(groups, label)] if groups else []),
    )


def _leading(best: Backtest, history: History, label: str) -> Section:
    sentence = "Ratings of the ten highest at the end, without those who played little."
    return Section("The best ten", [sentence], [charts.ratings(best, history, label)])


def _how(correction: str) -> list[str]:
    return [
        "Log loss is the mean surprise by the results, in nats: a sure prediction that comes true costs 0, a wrong one "
        "much. The Brier score is the mean squared error, ECE the mean distance of predicted and actual scores.",
        "± is one standard error. Differences between systems are taken match by match, so they are known better than "
        "either value.",
        correction or "Predictions are those of the systems themselves, without a correction.",
    ]


STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --paper: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #30363d; --paper: #0d1117; } }
body {
  margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 68rem;
  color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif;
}
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p { color: var(--soft); }
.wide { overflow-x: auto; }
table { margin-top: 1rem; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.93rem; }
th, td { padding: 0.3rem 0.7rem 0.3rem 0; border-bottom: 1px solid var(--line); }
th, td { text-align: right; white-space: nowrap; }
.text { text-align: left; }
td.text + td.text { min-width: 6.5rem; white-space: normal; overflow-wrap: anywhere; }
p { max-width: 46rem; }
.wide:focus-visible { outline: 2px solid var(--soft); }
svg { width: 100%; min-width: 34rem; max-width: 45rem; height: auto; display: block; margin-top: 1.5rem; }
caption { text-align: left; white-space: nowrap; font-weight: 600; padding-bottom: 0.3rem; }
@page { margin: 1.5cm; }
@media print {
  :root { color-scheme: light; --ink: #000000; --soft: #444444; --line: #bbbbbb; --paper: #ffffff; }
  body { max-width: none; padding: 0; font-size: 11pt; }
  .wide { overflow: visible; }
  h2, h2 ~ p:not(.note) { break-after: avoid; }
  svg, tr, caption { break-inside: avoid; }
  svg { min-width: 0; max-width: 16cm; }
  table { font-size: 9pt; }
  th, td { white-space: normal; padding-right: 0.4rem; }
}
"""


def page(title: str, introduction: str, sections: Sequence[Section]) -> str:
    """The text of the HTML file."""
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    return "\n".join(
        (
            "<!DOCTYPE html>",
            f'<html lang="en"><head>{meta}<title>{escape(title)}</title>',
            f"<style>{STYLE}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            f"<p>{escape(introduction)}</p>",
            *(_section(section) for section in sections),
            "</main></body></html>\n",
        )
    )


def _section(section: Section) -> str:
    parts = [f"<section><h2>{escape(section.title)}</h2>"]
    parts += [f"<p>{_text(sentence)}</p>" for sentence in section.sentences]
    parts += [_wide(chart.title, picture([chart])) for chart in section.charts]
    parts += [_table(table) for table in section.tables]
    return "\n".join((*parts, "</section>"))


def _text(sentence: str) -> str:
    """Return a sentence in which a number and its unit stay on one line."""
    return escape(sentence).replace(" %", "\N{NO-BREAK SPACE}%").replace("± ", "±\N{NO-BREAK SPACE}")


def _wide(name: str, content: str) -> str:
    """Return content that may be wider than the page in a box that is moved sideways, also by keys."""
    return f'<div class="wide" role="region" aria-label="{escape(name)}" tabindex="0">{content}</div>'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col"{_kind(table, place)}>{escape(cell)}</th>' for place, cell in enumerate(table.head))
    rows = "\n".join(_row(table, row) for row in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>"
    body = f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    return _wide(table.title, body) + (f'\n<p class="note">{_text(table.note)}</p>' if table.note else "")


def _row(table: Table, row: Sequence[str]) -> str:
    cells = (f"<td{_kind(table, place)}>{escape(cell)}</td>" for place, cell in enumerate(row))
    return f"<tr>{''.join(cells)}</tr>"


def _kind(table: Table, place: int) -> str:
    return ' class="text"' if place < table.texts else ""
