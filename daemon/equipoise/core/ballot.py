"""What the players chose in a secret team choice: what `core.choice` changes and `State` holds, never `Memory`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from equipoise.core.model import PlayerId, Roster, Side


class Stage(Enum):
    """How far a secret team choice is."""

    OPEN = "open"
    """Players choose; what they chose is secret."""
    CLOSED = "closed"
    """The shuffle is due, and the choices are its wishes."""
    APPLIED = "applied"
    """The teams were made. Until the round goes live, other shuffles keep to what was chosen."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """One secret team choice."""

    ends_at: float
    """When it closes at the latest, on the session's clock."""
    stage: Stage = Stage.OPEN
    chosen: Mapping[PlayerId, Side | None] = field(default_factory=dict)
    """None: either side."""

    def with_choice(self, player: PlayerId, side: Side | None) -> Ballot:
        """The latest choice of a player counts."""
        return replace(self, chosen={**self.chosen, player: side})

    def of(self, roster: Roster) -> Ballot:
        """The choices of players who are still here."""
        return replace(self, chosen={one: side for one, side in self.chosen.items() if roster.get(one) is not None})

    def wished(self) -> dict[PlayerId, Side]:
        """The players who chose a side."""
        return {player: side for player, side in self.chosen.items() if side is not None}
