"""What a store shows people of the past: rounds, and what they did to players. Newest first, and in pages.

A page ends at a number, from which the next one goes on: `before` is the number of the last row that was read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from equipoise.core.model import Counts, Mode, PlayerId, RoundId, ServerId, Side, Span


@dataclass(frozen=True, slots=True)
class StoredRound:
    """A round as it was stored."""

    number: int
    """The place of the round among all rounds, in the order in which they were applied."""
    id: RoundId
    server: ServerId
    pool: str
    map: str
    mode: Mode
    at: float
    """When it first came in, seconds since the epoch."""
    started_at: float
    seconds: float
    winner: Side | None
    captures_a: int
    captures_b: int
    lineup_a: tuple[PlayerId, ...]
    """Who was on a side when it went live; empty when it is pruned."""
    lineup_b: tuple[PlayerId, ...]
    prediction: float | None
    """Win probability of side A as it was said: calibrated, by the system that made the teams, where it predicted the
    round, else by the one that rated it; None when it was not rated."""
    rating_prediction: float | None
    """By the system that rated it."""
    unrated: str | None
    """Why it was not rated."""
    pruned: bool
    """Rows of its participants were deleted for their age."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a rated round did to one participant."""

    id: PlayerId
    side: Side
    """The side that they played for."""
    seconds_a: float
    """Seconds on side A."""
    seconds_b: float
    """Seconds on side B."""
    quit: bool
    """They left before the end."""
    before: float
    """Their rating before the round."""
    after: float
    """Their rating after it."""
    prediction: float
    """Win probability of their side."""
    score: float
    """The score of their side: 1 for a win, 0.5 for a draw, 0 for a loss."""
    rounds: int
    """Rated rounds after this one."""
    visible: bool
    """The rating may be shown."""
    spans: tuple[Span, ...] = ()
    """When, on which side and in which role; empty where only the seconds are known."""
    counts: Counts | None = None
    """What they did; None where it is not known."""


@dataclass(frozen=True, slots=True)
class EditOf:
    """What an admin, a job or a replay made of one player's rating beside rounds."""

    number: int
    """Its place among rounds and edits."""
    at: float
    """Seconds since the epoch."""
    who: str
    """The token, player or job that made it."""
    action: str
    """`set`, `reset`, `undo`, `import`, `refit`, `void`, `spread`."""
    undone: bool
    """Whether the edit was taken back later."""
    before: float | None
    """The rating; None: they had none."""
    after: float
    """The rating after it."""


@dataclass(frozen=True, slots=True)
class Record:
    """A player's rated rounds by their result, those of rounds that were deleted for their age included."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    leaves: int = 0
    """Of these rounds, how many they left before the end."""


class Listings(Protocol):
    """Reads that people ask for. Each is one range of an index that ends at a limit, or a piece of one at a time."""

    async def rounds(
        self, server: ServerId | None, before: int | None, limit: int, rated_in: str | None = None
    ) -> Sequence[StoredRound]:
        """The newest rounds of a server, or of all; or the rated ones alone of a pool."""

    async def round(self, server: ServerId, id: RoundId) -> tuple[StoredRound, Sequence[Played]] | None:
        """A round and its participants in the order of its answer; None when it is not stored."""

    async def played(
        self, pool: str, player: PlayerId, server: ServerId | None, before: int | None, limit: int
    ) -> Sequence[tuple[StoredRound, Played]]:
        """The newest rated rounds of a player, on one server or on all."""

    async def records(self, pool: str, ids: Sequence[PlayerId]) -> Mapping[PlayerId, Record]:
        """The record of each of these players; those who were never rated have an empty one."""

    async def edits_of(self, pool: str, player: PlayerId, before: int | None, limit: int) -> Sequence[EditOf]:
        """The newest edits of a player."""

    async def named(self, pool: str, text: str, limit: int) -> Sequence[tuple[PlayerId, str]]:
        """Players whose last name contains the text, whatever its case and width; those with that very name first."""

    async def seen(self, pool: str, player: PlayerId) -> bool:
        """Whether the player has a rating or a name in this pool."""
