"""Calibration of a rating system's predictions: one factor of the log-odds, and the advantages of sides and maps.

    log-odds' = temperature · log-odds + side(first team) - side(second team) ± map

`equipoise.ratings.calibration_fit` fits it to matches that were predicted before they were rated. It is no state of the
system: nothing that is rated depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from equipoise.core.model import PlayerId, logistic
from equipoise.ratings.system import Match, System, WinProbabilities

CERTAIN = 1e-12
"""Predictions nearer to 0 or 1 are cut to this: their log-odds would be infinite."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The fitted weights: `temperature` is a factor, above 0, the others are log-odds."""

    temperature: float = 1.0
    sides: Mapping[str, float] = field(default_factory=dict)
    """Advantage by the side's name; a side that is not named has none."""
    maps: Mapping[str, float] = field(default_factory=dict)
    """Advantage by the map's name, of the side whose name comes first in the alphabet."""

    def said(self, predicted: float, sides: Sequence[str] = (), map_name: str = "") -> float:
        """The expected score of the first team that is said where a system predicts this one.

        >>> round(Calibration(temperature=0.5).said(0.8), 3)  # log-odds 1.386 → 0.693
        0.667
        >>> round(Calibration(maps={"veil": 0.2}).said(0.5, ("marines", "aliens"), "veil"), 3)
        0.45
        """
        # Not only quicker: the way through the log-odds would change the last bits of a prediction that nothing
        # changes.
        if self == NONE:
            return predicted
        return logistic(self.temperature * _log_odds(predicted) + self.worth(sides, map_name))

    def predicted(self, said: float, sides: Sequence[str] = (), map_name: str = "") -> float:
        """Return the system's prediction where this is said: the inverse of `said`.

        >>> round(Calibration(temperature=0.5, sides={"blu": 0.3}).predicted(0.6, ("red", "blu")), 3)
        0.804
        """
        if self == NONE:
            return said
        return logistic((_log_odds(said) - self.worth(sides, map_name)) / self.temperature)

    def worth(self, sides: Sequence[str], map_name: str) -> float:
        """Return the advantage of the first team by sides and map, in log-odds; 0 without the names of two sides."""
        if len(sides) != 2:
            return 0.0
        first, second = sides
        # A map's advantage belongs to the side that comes first in the alphabet, whichever team plays it; 0 for two of
        # a name.
        sign = (first < second) - (second < first)
        return self.sides.get(first, 0.0) - self.sides.get(second, 0.0) + sign * self.maps.get(map_name, 0.0)


NONE = Calibration()
"""The calibration that changes no prediction."""


class Calibrated:
    """A system of two teams that is asked about chances: its answers are calibrated, all else is its own."""

    def __init__(self, system: System[Any], calibration: Calibration) -> None:
        self._system, self._calibration = system, calibration

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def __contains__(self, player: PlayerId) -> bool:
        return player in self._system

    def predict(self, match: Match) -> WinProbabilities:
        """Return the calibrated prediction of the match; a draw counts as half a win."""
        first = self._calibration.said(self._system.predict(match).expected(0), match.sides, match.map)
        # The fit knows scores alone, so a chance of a draw has no calibration of its own.
        return WinProbabilities((first, 1.0 - first))

    def gap(self, probability: float, size: int) -> float:
        """See `System.gap`."""
        return self._system.gap(probability / self._calibration.temperature, size)

    def difference_at(self, probability: float, match: Match) -> float:
        """See `System.difference_at`."""
        return self._system.difference_at(self._calibration.predicted(probability, match.sides, match.map), match)

    def variance(self, match: Match) -> float | None:
        """See `System.variance`."""
        variance = self._system.variance(match)
        # Log-odds are stretched by the temperature, their variance by its square.
        return None if variance is None else self._calibration.temperature**2 * variance


def calibrated(system: System[Any], calibration: Calibration) -> System[Any]:
    """The system as what it says is calibrated; itself where that changes nothing.

    >>> from equipoise.core.model import PlayerId
    >>> from equipoise.ratings import create
    >>> match = Match(((PlayerId("ann"),), (PlayerId("bob"),)), sides=("red", "blu"))
    >>> round(calibrated(create("elo"), Calibration(sides={"red": 0.2})).predict(match).expected(0), 3)
    0.55
    """
    return system if calibration == NONE else cast(System[Any], Calibrated(system, calibration))


def _log_odds(probability: float) -> float:
    inside = min(max(probability, CERTAIN), 1.0 - CERTAIN)
    return math.log(inside) - math.log1p(-inside)
