"""Leaderboards: players of a history by rating, without those in their shadow period."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.core.model import PlayerId, PlayerSummary, interval
from equipoise.errors import RatingError
from equipoise.ratings.history import History
from equipoise.ratings.system import System


@dataclass(frozen=True, slots=True)
class RankedPlayer:
    """One line of a leaderboard."""

    place: int
    """1 is the highest rating."""
    summary: PlayerSummary
    uncertainty: float
    """`System.uncertainty`, in the system's own unit."""
    interval: tuple[float, float] | None
    """The 80 % interval of the skill; None where the system does not know its deviation."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All players with a place, the highest rating first."""

    places: tuple[RankedPlayer, ...]
    hidden: int
    """Players in their shadow period, who have no place."""
    shadow_rounds: int
    """Length of the shadow period in rounds; 0 if no player is in it."""

    def top(self, most: int) -> Leaderboard:
        """A leaderboard with only the first `most` places."""
        return replace(self, places=self.places[:most])


def leaderboard(system: System[Any], history: History, *, hidden: bool = False) -> Leaderboard:
    """Rank all participants of a history; with `hidden`, including those in their shadow period.

    Raises `RatingError` for a rating that is not finite.
    """
    took_part = np.unique(history.members).tolist()
    estimates = [
        (system.summary(player), system.uncertainty(player)) for player in map(history.players.__getitem__, took_part)
    ]
    for summary, uncertainty in estimates:
        # A sum is finite only if both are.
        if not math.isfinite(summary.rating + uncertainty):
            raise RatingError(
                f"{system.name} rates {summary.id} {summary.rating:g} ± {uncertainty:g}: its parameters go too far"
            )
    entries = [entry for entry in estimates if entry[0].visible or hidden]
    entries.sort(key=lambda entry: (-entry[0].rating, entry[0].id))
    places = (RankedPlayer(place, *entry, _interval(system, entry[0].id)) for place, entry in enumerate(entries, 1))
    # The minimum, because some systems do not count every round towards the shadow period.
    lasts = min((summary.rounds + summary.missing for summary, _ in estimates if not summary.visible), default=0)
    return Leaderboard(tuple(places), len(estimates) - len(entries), lasts)


def _interval(system: System[Any], player: PlayerId) -> tuple[float, float] | None:
    deviation = system.deviation(player)
    return None if deviation is None else interval(system.skill(player), deviation)
