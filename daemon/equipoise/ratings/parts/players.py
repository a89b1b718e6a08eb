"""Systems that hold a record of each player: all but TeamSkill, whose learners do."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, Protocol, TypeVar

from equipoise.core.model import PlayerId, PlayerSummary, is_bot
from equipoise.errors import RatingError
from equipoise.ratings.system import Match, System
from equipoise.ratings.validation import DAY, known_time


class ShownParams(Protocol):
    """When a rating is shown, and for how long."""

    @property
    def shadow_rounds(self) -> int:
        """Rounds before a rating is shown."""

    @property
    def stale_days(self) -> float:
        """Days without a rated round before a player is flagged."""


P = TypeVar("P", bound=ShownParams)
R = TypeVar("R")


class PlayerTable(System[P], Generic[P, R]):
    """Players are made by what is told of them, never by being looked at."""

    def __init__(self, params: P) -> None:
        self.params = params
        self.players: dict[PlayerId, R] = {}

    @abstractmethod
    def newcomer(self) -> R:
        """What a player is on first sight."""

    def held(self, player: PlayerId) -> R:
        """A player as he stands; a stranger is a newcomer, and not held from now on."""
        return self.players.get(player) or self.newcomer()

    def forget(self, player: PlayerId) -> None:
        """Hold him no longer."""
        self.players.pop(player, None)

    def __contains__(self, player: PlayerId) -> bool:
        return player in self.players

    @property
    def stale_after(self) -> float:
        """`stale_days` in seconds."""
        return self.params.stale_days * DAY

    def shown(self, player: PlayerId, rating: float, rounds: int, last_played: float) -> PlayerSummary:
        """Visible after the shadow period."""
        missing = max(0, self.params.shadow_rounds - rounds)
        return PlayerSummary(player, rating, rounds, missing == 0, known_time(last_played), missing)


def refuse_bots(match: Match) -> None:
    """A bot may stand at the doors; a `RatingError` names one among the participants."""
    for player in (player for side in match.teams for player in side):
        if is_bot(player):
            raise RatingError(f"{player}: bots are not rated: they may only stand in a lineup")
