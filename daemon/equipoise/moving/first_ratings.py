"""First ratings of players: from a table, or as quantiles of an order that another program made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist
from typing import TypeVar

from equipoise.core.model import PlayerId
from equipoise.errors import FileError
from equipoise.moving.csv_tables import Row, rows
from equipoise.wire.scalars import FORMS, written_id

MOST_SPREADS = 3.0
"""The most that a quantile can be from the middle, in spreads: beyond it, who made the most kills says nothing."""
FINEST = 20.0
"""Ratings with a smaller spread are not rounded to whole numbers."""

_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class FirstRating:
    """A player's rating by a file."""

    player: PlayerId
    rating: float
    rounds: int | None = None
    """None: the file does not say."""
    line: int | None = None


def read_table(data: bytes) -> list[FirstRating]:
    """Return the rows of a table `id,rating[,rounds]`, with ids in any form; FileError names the line that is wrong."""
    ratings: dict[PlayerId, FirstRating] = {}
    for row in rows(data, ("id", "rating"), ("rounds",)):
        rating = _first(row)
        if (before := ratings.get(rating.player)) is not None:
            raise FileError(f"{rating.player} is on line {before.line} too", line=row.line)
        ratings[rating.player] = rating
    if not ratings:
        raise FileError("there is no row below the header", line=1)
    return list(ratings.values())


def quantiles(order: Mapping[K, float], middle: float, spread: float) -> dict[K, float]:
    """Return a rating for each: their place in the order, on a normal distribution; equal ones get the same.

    >>> quantiles({"a": 900, "b": 1000, "c": 1000, "d": 5000}, 1000, 200)
    {'a': 770.0, 'b': 1000.0, 'c': 1000.0, 'd': 1230.0}
    """
    normal, count = NormalDist(), len(order)
    digits = 0 if spread >= FINEST else 4
    ratings: dict[K, float] = {}
    for _, group in groupby(sorted(order, key=order.__getitem__), key=order.__getitem__):
        equals = list(group)
        # The middle of the places that equal ones share: never 0 or `count`, whose quantiles are infinite.
        place = len(ratings) + len(equals) / 2
        deviation = max(-MOST_SPREADS, min(MOST_SPREADS, normal.inv_cdf(place / count)))
        ratings |= dict.fromkeys(equals, round(middle + spread * deviation, digits))
    return ratings


def bins(ratings: Sequence[float], most: int = 12) -> list[tuple[float, float, int]]:
    """Return a histogram: lower and upper bound of each bin, and how many ratings are in it."""
    low, high = min(ratings), max(ratings)
    # All ratings alike: one bin has them.
    width = (high - low) / most or 1.0
    counts = [0] * most
    for rating in ratings:
        counts[min(most - 1, int((rating - low) / width))] += 1
    return [(low + place * width, low + (place + 1) * width, count) for place, count in enumerate(counts)]


def _first(row: Row) -> FirstRating:
    text, rounds = row.cells["id"], row.cells.get("rounds", "")
    try:
        player = written_id(text)
    except ValueError as error:
        raise FileError(str(error), line=row.line) from None
    if player is None:
        raise FileError(f"{text!r:.60} is no id: write {FORMS}", line=row.line)
    if rounds and not re.fullmatch("[0-9]{1,9}", rounds):
        raise FileError(f"rounds: {rounds!r:.60} is not a whole number from 0 up", line=row.line)
    return FirstRating(player, _rating(row), int(rounds) if rounds else None, row.line)


def _rating(row: Row) -> float:
    text = row.cells["rating"]
    if not _NUMBER.fullmatch(text) or ("," in text and not row.comma):
        raise FileError(f"rating: {text!r:.60} is not a number", line=row.line)
    return float(text.replace(",", "."))
