"""Ratings as the store keeps them: of players, of a pool, and what a round did to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from equipoise.core.model import PlayerId, RoundId, Side


@dataclass(frozen=True, slots=True)
class PlayerRow:
    """A player as stored: what a rating system needs to go on from."""

    id: PlayerId
    version: int
    """Grows with every write; a copy in memory with another version is out of date."""
    rating: float
    rounds: int
    visible: bool
    last_played: float | None
    """Seconds since the epoch, when their last rated round went live."""
    state: Mapping[str, object]
    """The rating system's own small state, plain data."""
    history: tuple[tuple[float, float, float], ...]
    """(rating after, prediction, score) of their last rated rounds, oldest first, as many as were asked for."""
    name: str | None = None
    """What they called themselves last; only `top` and `search` fill it in."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a round did to one participant."""

    id: PlayerId
    side: Side
    before: float
    after: float
    prediction: float
    """Win probability of their side."""
    score: float
    """1, 0.5 or 0."""
    rounds: int
    """Rated rounds after this one."""
    visible: bool
    state: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RatedRound:
    """A round's answer: the first one, however often it is sent."""

    round: RoundId
    prediction: float | None
    """Win probability of side A; None when the round was not rated."""
    changes: tuple[Change, ...]
    again: bool = False
    """The round was stored before: this is its first answer."""
    shared: Mapping[str, object] = field(default_factory=dict)
    """Parts of the system's shared state that the round changed, by key; not in the answer."""
    unrated: str | None = None
    """Why it was not rated, by the rules or by the rating system."""
    number: int = field(default=0, compare=False)
    """Its place in the store's sequence; 0 where it was stored before. Not in the answer."""
    said: float | None = field(default=None, compare=False)
    """The win probability of side A that was said, if this system made the teams and is calibrated; None: the
    prediction. Not in the answer."""
    unevenness: float | None = field(default=None, compare=False)
    """How far the chance of side A truly was from a half, as expected before it; None: the system knows no deviations.
    Not in the answer."""


@dataclass(frozen=True, slots=True)
class HeldVersions:
    """The versions that memory holds of what a round needs; 0 where it holds nothing."""

    players: Mapping[PlayerId, int]
    """All players whose ratings the round needs."""
    shared: int = 0


@dataclass(frozen=True, slots=True)
class SharedParts:
    """The shared state of a pool's rating system, as stored: what it keeps apart from players, as a map's win rate."""

    version: int
    """Grows with every round that changes one of the parts."""
    parts: Mapping[str, object]
    """By key."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The rating system and the parameters that made a pool's stored ratings."""

    system: str
    params: Mapping[str, object]
    """All of the system's parameters: what JSON can say."""


Purpose = Literal["system", "balance"]
"""What a pool has a system for: it makes the ratings that are shown, or the teams."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a sequential system holds after an event of the pool's sequence."""

    purpose: Purpose
    number: int
    """Of that event; 0: before the first."""
    fingerprint: Fingerprint
    """Of the system and parameters that made it."""
    data: bytes
    base: bool = False
    """Rounds before it may be deleted: it is where every replay begins."""
