"""Parses the spans of a player from text such as `1:0-300|2:300-610.5:commander`.

Each span is `team:from-to` or `team:from-to:role`, in seconds since the match's start; the default role is `field`. All
spans of a file are parsed in one pass over one string, because a match can have hundreds.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from equipoise.lab.columns import CsvFile
from equipoise.ratings.history import Floats, Offsets, Spans

LONGEST = 10_000_000.0
"""Seconds: no match is longer, four months."""

COMMANDER = ":commander"
UNREADABLE = "which is not team:from-to or team:from-to:role (1 or 2, field or commander)"
_SECONDS = r"[0-9]+(?:\.[0-9]+)?"
_STRETCH = re.compile(rf"[12]:({_SECONDS})-({_SECONDS})(?::field|{COMMANDER})?")


def spans_of(file: CsvFile, name: str, order: slice | Offsets) -> Spans | None:
    """The spans of a column, its rows in the given order; None if no row has any. RatingError for a bad text."""
    column = file[name]
    counts = np.array([text.count("|") + 1 if text else 0 for text in column.texts], np.int64)
    if not counts.any():
        return None
    first, rows = _offsets(counts), column.numbers[order]
    stretches = "|".join(filter(None, column.texts)).split("|")
    if not all(map(_STRETCH.fullmatch, stretches)):
        file.parsed(name, _refuse)
    team, start, end = _figures(stretches)
    if not _in_order(start, end, first):
        file.parsed(name, _refuse)
    commander = np.fromiter((stretch.endswith(COMMANDER) for stretch in stretches), np.bool_, len(stretches))
    starts = _offsets(counts[rows])
    take = np.repeat(first[rows] - starts[:-1], counts[rows]) + np.arange(starts[-1])
    return Spans(starts, (team[take] - 1).astype(np.int32), start[take], end[take], commander[take])


def _figures(stretches: list[str]) -> tuple[Floats, Floats, Floats]:
    """Shape (spans,) each: team (1 or 2), start and end of well-formed spans."""
    text = ",".join(stretches).replace(":field", "").replace(COMMANDER, "").replace(":", ",").replace("-", ",")
    figures = np.fromstring(text, np.float64, sep=",")
    return figures[0::3], figures[1::3], figures[2::3]


def _in_order(start: Floats, end: Floats, first: Offsets) -> bool:
    """Whether the spans of each text are in order without overlap; `first` holds the index of each text's first span.

    A fast check: texts that fail it go through `_refuse`, which also accepts spans in another order.
    """
    begins = np.zeros(len(start) + 1, np.bool_)
    begins[first] = True
    after = begins[1:-1] | (start[1:] >= end[:-1])
    return bool(np.all(start <= end) and np.all(after) and end.max() <= LONGEST)


def _refuse(text: str) -> None:
    """ValueError that says what is wrong with a text, if anything is."""
    times = []
    for stretch in text.split("|") if text else ():
        match = _STRETCH.fullmatch(stretch)
        if not match:
            raise ValueError(f"has {stretch!r}, {UNREADABLE}")
        start, end = map(float, match.groups())
        if not start <= end <= LONGEST:
            raise ValueError(f"has {stretch!r}, which is not from a second to a later one up to {LONGEST:,.0f}")
        times.append((start, end, stretch))
    for (_, end, _), (start, _, stretch) in pairwise(sorted(times)):
        if start < end:
            raise ValueError(f"has {stretch!r}, which begins before another stretch ends")


def _offsets(counts: Offsets) -> Offsets:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
