"""Players."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.model import PlayerId, Skills
from equipoise.web.messages import Ask, Limited, Ok


class InPool(Ask, frozen=True):
    """A pool by name; it may be left out where there is only one."""

    pool: str | None = None


class Interval(msgspec.Struct, frozen=True):
    """Where a number that is only estimated lies with a probability of 80 %."""

    low: float
    """The lower end."""
    high: float
    """The upper end."""


class RecordSeen(msgspec.Struct, frozen=True):
    """A player's rated rounds by their result, those that were deleted for their age included."""

    wins: int
    draws: int
    losses: int
    leaves: int
    """Of these rounds, how many they left before the end."""


class PlayerSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A player as admins see them."""

    id: PlayerId
    name: str | None
    rating: float
    rounds: int
    """Rated rounds so far."""
    visible: bool
    stale: bool
    last_played: float | None
    """Seconds since the epoch."""
    skill: float
    """The number that splits balance."""
    skill_by: str | None
    """The system that makes the teams, which `skill`, `deviation` and `interval` are of; null where that is the one of
    `rating`."""
    deviation: float | None
    """The standard deviation of `skill`; null where the rating system knows none."""
    interval: Interval | None
    """The 80 % interval of `skill`; null where the rating system knows none."""
    record: RecordSeen | None
    """Null while the store does not answer."""
    skills: Skills | None
    """By side and as a commander; null where the rating system has one skill for a player."""


class PlayerFound(Ok, frozen=True):
    """A player and the pool that the rating is of."""

    pool: str
    player: PlayerSeen


class Sought(Limited, frozen=True, kw_only=True):
    """Part of an id or of a name."""

    text: Annotated[str, Meta(min_length=1, max_length=128)]
    """A part of an id or of a name."""


class PlayersFound(Ok, frozen=True):
    """Highest rating first; shadow ratings and stale players too."""

    pool: str
    players: tuple[PlayerSeen, ...]
    """Those whose id or name has the text."""


class Top(Ok, frozen=True):
    """The leaderboard, without shadow ratings and stale players."""

    pool: str
    players: tuple[PlayerSeen, ...]
    """The best first."""
    shadow_rounds: int
    """Rated rounds until a rating is shown."""
    shadow: int
    """Players who have not played as many."""
    stale: int
    """Players who played too long ago."""
