"""What a rating system's predictions are worth: one factor of the log-odds, and the advantages of sides and maps.

    log-odds' = temperature · log-odds + side(first team) - side(second team) ± map

`equipoise.ratings.calibrating` fits it to matches that were predicted before they were rated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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

    def said(self, predicted: float, sides: Sequence[str] = (), map: str = "") -> float:
        """The expected score of the first team that is said where a system predicts this one.

        >>> round(Calibration(temperature=0.5).said(0.8), 3)  # log-odds 1.386 → 0.693
        0.667
        >>> round(Calibration(maps={"veil": 0.2}).said(0.5, ("marines", "aliens"), "veil"), 3)
        0.45
        """
        if self == NONE:
            return predicted
        return _logistic(self.temperature * _log_odds(predicted) + self.worth(sides, map))

    def predicted(self, said: float, sides: Sequence[str] = (), map: str = "") -> float:
        """What a system predicts where this is said: `said` backwards.

        >>> round(Calibration(temperature=0.5, sides={"blu": 0.3}).predicted(0.6, ("red", "blu")), 3)
        0.804
        """
        if self == NONE:
            return said
        return _logistic((_log_odds(said) - self.worth(sides, map)) / self.temperature)

    def worth(self, sides: Sequence[str], map: str) -> float:
        """What sides and map are worth to the first team, in log-odds; 0 without the names of two sides."""
        if len(sides) != 2:
            return 0.0
        first, second = sides
        sign = (first < second) - (second < first)
        return self.sides.get(first, 0.0) - self.sides.get(second, 0.0) + sign * self.maps.get(map, 0.0)


NONE = Calibration()
"""What is predicted is said."""


def _log_odds(probability: float) -> float:
    inside = min(max(probability, CERTAIN), 1.0 - CERTAIN)
    return math.log(inside) - math.log1p(-inside)


def _logistic(odds: float) -> float:
    return 0.5 + 0.5 * math.tanh(odds / 2.0)
