"""Leaderboards of whole histories."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.core.model import PlayerSummary
from equipoise.errors import RatingError
from equipoise.ratings.history import History
from equipoise.ratings.system import System


@dataclass(frozen=True, slots=True)
class SkillAtStart:
    """One player's place."""

    place: int
    summary: PlayerSummary
    uncertainty: float
    """In the system's own unit."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Everybody with a place, the highest rating first."""

    places: tuple[SkillAtStart, ...]
    hidden: int
    """Players in their shadow period, who have none."""
    shadow_rounds: int
    """How long that is; 0 where nobody is in it."""

    def top(self, most: int) -> Leaderboard:
        """The first so many places."""
        return replace(self, places=self.places[:most])


def standings(system: System[Any], history: History, *, hidden: bool = False) -> Leaderboard:
    """Of all who took part; `hidden`: those in their shadow period too.  RatingError for a rating that is no number."""
    took_part = np.unique(history.members).tolist()
    found = [
        (system.summary(player), system.uncertainty(player)) for player in map(history.players.__getitem__, took_part)
    ]
    for summary, uncertainty in found:
        if not math.isfinite(summary.rating + uncertainty):
            raise RatingError(
                f"{system.name} rates {summary.id} {summary.rating:g} ± {uncertainty:g}: its parameters go too far"
            )
    shown = [one for one in found if one[0].visible or hidden]
    shown.sort(key=lambda one: (-one[0].rating, one[0].id))
    places = (SkillAtStart(place, *one) for place, one in enumerate(shown, 1))
    # A system may not count every round towards the end of the shadow period.
    lasts = min((summary.rounds + summary.missing for summary, _ in found if not summary.visible), default=0)
    return Leaderboard(tuple(places), len(found) - len(shown), lasts)
