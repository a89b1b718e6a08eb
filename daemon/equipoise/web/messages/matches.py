"""Matches that may be played."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.model import MOST_PLAYERS, Mode, PlayerId
from equipoise.web.messages import Ask, Ok

Named = Annotated[str, Meta(min_length=1, max_length=128)]
"""A player: an id in any form, or a last name that only one player has."""
Side = Annotated[tuple[Named, ...], Meta(min_length=1, max_length=MOST_PLAYERS)]


class MatchAsked(Ask, frozen=True):
    """Two sides of players, by id or name."""

    a: Side
    b: Side
    mode: Mode | None = None
    """The kind of map; by default what the pool's game plays, without anything that is special to a kind of map."""
    map: Annotated[str, Meta(max_length=128)] = ""
    """Its name, for rating systems that know maps."""


class InMatch(msgspec.Struct, frozen=True):
    """A player of a side."""

    id: PlayerId
    name: str | None


class MatchFound(Ok, frozen=True):
    """How even two sides are known to be."""

    pool: str
    a: tuple[InMatch, ...]
    b: tuple[InMatch, ...]
    win_probability: float
    """Of side A."""
    low: float | None
    """The lower end of the 80 % interval of the true one; null where the rating system knows no uncertainty."""
    high: float | None
    """Its upper end."""
    unevenness: float
    """How far the true win probability is expected to be from a half, 0 to 0.5."""
    evenness: float
    """1 - 2 · `unevenness`: 1 for sides that are known to be even, 0 for a match that is decided."""
    quality: Annotated[float, Meta(extra_json_schema={"deprecated": True})]
    """Deprecated: `evenness` by its old name. It goes with the next release."""
    trueskill_quality: float | None
    """TrueSkill's match quality, 0 to 1: 1 only for equal sides of players whose skills are known. Null where
    the system that makes the teams is no TrueSkill."""
