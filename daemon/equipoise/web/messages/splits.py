"""Splits for other programs."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from equipoise.core.model import MOST_PLAYERS
from equipoise.web.messages import Ask, Ok
from equipoise.wire.scalars import Fraction, Player

Place = Literal["a", "b", "bench", "play"]
Points = Annotated[float, Meta(ge=-1e9, le=1e9)]
Label = str | int
"""A player in a split: the id, or the index where only ratings were sent."""
Labels = Annotated[tuple[Label, ...], Meta(max_length=MOST_PLAYERS)]


class Sides(Ask, frozen=True):
    """The sides as they are now."""

    a: Labels = ()
    b: Labels = ()


class SplitsAsked(Ask, frozen=True):
    """A pool of players, by id or by rating, and what a split must respect."""

    pool: str | None = None
    ids: Annotated[tuple[Player, ...], Meta(max_length=MOST_PLAYERS)] = ()
    ratings: Annotated[tuple[Points, ...], Meta(max_length=MOST_PLAYERS)] = ()
    size: Annotated[int, Meta(ge=1, le=MOST_PLAYERS // 2)] | None = None
    """Only this team size."""
    keep_together: Annotated[tuple[Labels, ...], Meta(max_length=MOST_PLAYERS)] = ()
    pinned: Annotated[dict[str, Place], Meta(max_length=MOST_PLAYERS)] = msgspec.field(default_factory=dict)
    bench_cost: Annotated[dict[str, Annotated[int, Meta(ge=0, le=1_000_000)]], Meta(max_length=MOST_PLAYERS)] = (
        msgspec.field(default_factory=dict)
    )
    """The cheapest bench within the tolerance is taken."""
    current: Sides | None = None
    """Of the splits within the tolerance that have the cheapest bench, the one that moves the fewest players wins."""
    tolerance: Fraction = 0.0
    """Win probability that a split may be off the best."""


class SplitGap(msgspec.Struct, frozen=True):
    """The most by which the best split can be better, as far as it is known."""

    points: float
    """Of the difference, whatever its sign."""
    bench_cost: int
    moves: int
    """Of the players who change side."""


class SplitFound(msgspec.Struct, frozen=True):
    """The best split of one size, or the best that was found in time."""

    k: int
    a: tuple[Label, ...]
    b: tuple[Label, ...]
    bench: tuple[Label, ...]
    difference: float
    """Sum of A minus sum of B, rating points."""
    win_probability: float
    """Of side A."""
    low: float | None
    """The true win probability is above it with 90 %; null where the pool knows no deviations, or ratings were sent."""
    high: float | None
    """The true win probability is below it with 90 %."""
    unevenness: float
    """How far the true win probability is expected to be from a half; without an interval, the predicted one."""
    evenness: float
    """1 - 2 · unevenness: 1 is known to be even, 0 is decided."""
    quality: Annotated[float, Meta(extra_json_schema={"deprecated": True})]
    """Deprecated: `evenness` by its old name. It goes with the next release."""
    trueskill_quality: float | None
    """TrueSkill's match quality, 0 to 1: 1 only for equal sides of players whose skills are known. Null where
    the system that makes the teams is no TrueSkill, and where ratings were sent."""
    optimal: bool
    """False: the time was over before it was proven that none is better, or the pool's system is correlated."""
    gap: SplitGap


class SplitsFound(Ok, frozen=True):
    """One split per team size, largest last."""

    splits: tuple[SplitFound, ...]
    """One for every team size from 2."""
