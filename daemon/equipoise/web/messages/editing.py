"""Changes of ratings by admins."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from equipoise.core.model import PlayerId, RoundId, ServerId
from equipoise.store.sequence import Undone
from equipoise.web.messages import Ask, Ok
from equipoise.web.messages.players import PlayerFound, PlayerSeen

Points = Annotated[float, Meta(ge=-1e9, le=1e9)]


class RatingSet(Ask, frozen=True):
    """The rating that an admin gives a player, in points."""

    rating: Points
    new: bool = False
    """The player may be one who was never seen here."""


class PlayerEdited(PlayerFound, frozen=True, kw_only=True):
    """A player after an edit, and before it."""

    before: PlayerSeen


class Undo(Ask, frozen=True):
    """Take back a player's last edit."""

    dry_run: bool = False
    """Say what would change, and change nothing."""


class RoundVoid(Ask, frozen=True):
    """Take a round out of the ratings."""

    reason: Annotated[str, Meta(max_length=200)] = ""
    undo: bool = False
    """Put it back instead."""
    dry_run: bool = False
    """Say what would change, and change nothing."""


class RatingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A player whose rating or rounds a replay changes."""

    id: PlayerId
    name: str | None
    before: float
    after: float
    rounds_before: int
    rounds_after: int


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What was replayed, and what it changes, or would change."""

    dry_run: bool
    rounds: int
    """Rounds that were rated anew."""
    edits: int
    """Edits that were applied anew."""
    lost_edits: int
    """Ratings that admins changed since then, before edits were stored: they cannot be kept."""
    refitted: bool
    """The ratings are those of a later refit: the next one takes the change into account."""
    changes: tuple[RatingChange, ...]
    """The largest change first."""


class EditUndone(Ok, frozen=True, kw_only=True):
    """The edit that was taken back, and what that changes."""

    pool: str
    again: bool
    """It had been taken back, and was applied again."""
    edit: Undone
    replay: Replay


class RoundVoided(Ok, frozen=True, kw_only=True):
    """A round that was taken out of the ratings or put back, and what that changes."""

    pool: str
    server: ServerId
    round: RoundId
    void: bool
    replay: Replay
