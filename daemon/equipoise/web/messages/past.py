"""Stored rounds, and what they did to players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.model import Mode, PlayerId, RoundId, ServerId, Side
from equipoise.store.listings import EditOf, Played
from equipoise.web.messages import Ok, Paged


class OfRounds(Paged, frozen=True):
    """Rounds of one server, or of all; of one player, or of all."""

    server: str | None = None
    player: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """An id in any form, or a name that only one player has: their rated rounds."""
    pool: str | None = None
    """Of the player; may be left out where there is only one."""


class OfPlayer(Paged, frozen=True):
    """A pool by name, which may be left out where there is only one, and a server."""

    pool: str | None = None
    server: str | None = None


class RoundSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A round as it is listed."""

    round: RoundId
    server: ServerId
    pool: str
    map: str
    mode: Mode
    sides: tuple[str, str]
    """What the game calls sides A and B."""
    at: float
    """When it first came in, seconds since the epoch."""
    started_at: float
    seconds: float
    winner: Side | None
    """Null: a stalemate."""
    players_a: int
    players_b: int
    """On the sides when it went live; 0 where its participants were deleted for their age."""
    win_probability: float | None
    """Of side A, as players heard it: by the system that makes the teams, for rounds from before there was one by that
    of the ratings; null when it was not rated."""
    rating_probability: float | None
    """By the system of the ratings, which they changed by."""
    unrated: str | None
    """Why it was not rated."""


class Rounds(Ok, frozen=True):
    """Stored rounds, newest first."""

    rounds: tuple[RoundSeen, ...]
    before: int | None
    """What to ask for as `before` to go on; null at the end."""


class RoundFound(Ok, frozen=True):
    """A round, who was rated for it, and who else stood on a side when it went live."""

    round: RoundSeen
    captures: tuple[int, int]
    pruned: bool
    """Rows of its participants were deleted for their age."""
    lineup: tuple[tuple[PlayerId, ...], tuple[PlayerId, ...]]
    players: tuple[Played, ...]
    names: Mapping[PlayerId, str]
    """Last known names."""


class RoundPlayed(msgspec.Struct, frozen=True):
    """A rated round of a player."""

    round: RoundSeen
    played: Played


class History(Ok, frozen=True):
    """The rated rounds of a player, newest first."""

    pool: str
    player: PlayerId
    name: str | None
    rounds: tuple[RoundPlayed, ...]
    edits: tuple[EditOf, ...]
    """What changed the rating between these rounds; of no server."""
    before: int | None
    """What to ask for as `before` to go on; null at the end."""
