"""Who has asked for a vote, and the vote that runs: what `core.votes` changes and `State` holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from equipoise.core.model import OrderId, PlayerId, Roster

VOICE_SECONDS = 300.0
"""How long a player's wish for a vote counts."""


@dataclass(frozen=True, slots=True)
class Voices:
    """The players who have asked for a vote, until one has a result; times are the session's `now`."""

    asked_at: Mapping[PlayerId, float] = field(default_factory=dict)
    order: OrderId | None = None
    """The vote that runs; None while none does."""
    opened_at: float = 0.0
    """When it was ordered."""

    def with_voice(self, player: PlayerId, now: float) -> Voices:
        """One more voice, or the same again; those that are too old are dropped.

        >>> ann, bob = PlayerId("ann"), PlayerId("bob")
        >>> list(Voices().with_voice(ann, 0.0).with_voice(bob, 300.0).asked_at)
        ['bob']
        """
        return replace(self, asked_at={**self.lasting(now), player: now})

    def lasting(self, now: float) -> Mapping[PlayerId, float]:
        """The voices that are not too old."""
        return {one: at for one, at in self.asked_at.items() if now - at < VOICE_SECONDS}

    def of(self, roster: Roster) -> Voices:
        """The voices of players who are still here."""
        return replace(self, asked_at={one: at for one, at in self.asked_at.items() if roster.get(one) is not None})
