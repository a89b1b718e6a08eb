"""Systems that keep a few numbers of each player: what Elo and Glicko have in common but their arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from equipoise.core.model import PlayerId, PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.parts.players import PlayerTable, bounded, refuse_bots
from equipoise.ratings.parts.two_teams import LIMIT
from equipoise.ratings.system import ANYWHERE, Match, Params, SkillContext, ranged
from equipoise.ratings.validation import FARTHEST, MOST, NEVER, count_of, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Record:
    """What every such system knows of a player."""

    rating: float = bounded(-LIMIT, LIMIT)
    rounds: int = bounded(0, MOST, 0)
    last_played: float = bounded(-FARTHEST, FARTHEST, NEVER)
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class PointsParams(Params):
    """When a rating is shown."""

    shadow_rounds: int = ranged(20, 0, 100_000)
    """Rounds before a rating is shown; 20 is what an Elo rating takes to settle (LMU slides, "ELO")."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated match before a player is flagged."""


P = TypeVar("P", bound=PointsParams)
R = TypeVar("R", bound=Record)


class PointsSystem(PlayerTable[P, R]):
    """Two teams.  Skill is the rating in points; the fields of a record are the state of a player."""

    facts: ClassVar[Mapping[str, tuple[float, float]]] = {
        "rating": (-LIMIT, LIMIT),
        "rounds": (0, LIMIT),
        "last_played": (-FARTHEST, FARTHEST),
    }
    """What can be seeded, from where to where."""

    def skill(self, player: PlayerId, context: SkillContext = ANYWHERE) -> float:
        """The rating in points; a stranger and a bot have a newcomer's."""
        return self.held(player).rating

    def summary(self, player: PlayerId) -> PlayerSummary:
        """Visible after the shadow period."""
        held = self.held(player)
        return self.shown(player, held.rating, held.rounds, held.last_played)

    def seed(self, player: PlayerId, **skill: float) -> None:
        """See `facts`; `last_played` in seconds since the epoch."""
        for fact in skill:
            if fact not in self.facts:
                raise RatingError(f"{player}: {self.name} has no {fact} to seed, only {', '.join(self.facts)}")
        held = self.held(player)
        self.players[player] = self.seeded(held, {fact: self._fact(player, fact, skill[fact]) for fact in skill})

    def seeded(self, held: R, facts: Mapping[str, float]) -> R:
        """A record with these facts, checked already, set."""
        return replace(held, **facts)  # type: ignore[arg-type]  # rounds are whole already

    def _fact(self, player: PlayerId, name: str, value: float) -> float:
        fact: float = restored(player, name, value, getattr(self.newcomer(), name, 0.0), *self.facts[name])
        return fact

    def refuse_unreadable(self, match: Match) -> None:
        """Two teams, over, and nobody on them is a bot; a lineup may have bots."""
        if len(match.teams) != 2:
            raise RatingError(f"{self.name} rates two teams, not {len(match.teams)}")
        match.score(0)
        refuse_bots(match)


def mean(values: Sequence[float], empty: float) -> float:
    """From the first to the last, as the kernels add; of none, what is given for it."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values) if values else empty


def restored(
    player: PlayerId, name: str, value: object, like: object, low: float = -math.inf, high: float = math.inf
) -> Any:
    """A number from low to high, and a count if another one, that it shall be like, is."""
    number = number_of(player, name, value, low, high)
    return count_of(player, name, value) if isinstance(like, int) else number
