"""What Glicko's kernel works on besides matches: players and parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from equipoise.ratings.parts.players import bounded
from equipoise.ratings.parts.points import Record
from equipoise.ratings.parts.two_teams import LIMIT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = "list[float] | NDArray[np.float64]"
    Records: TypeAlias = "list[GlickoPlayer] | NDArray[np.void]"

FROM_0, ABOVE_0 = (0.0, math.inf), (1e-300, math.inf)


@dataclass(slots=True)
class GlickoPlayer(Record):
    """A player's present rating, that at the onset of their last period, and the sums over its matches."""

    variance: float = bounded(*ABOVE_0, 0.0)
    """RD², points², after the last match."""
    volatility: float = bounded(*FROM_0, 0.0)
    """σ of Glicko-2, in its unit per √period."""
    onset_rating: float = bounded(-LIMIT, LIMIT, 0.0)
    onset_variance: float = bounded(*ABOVE_0, 0.0)
    onset_volatility: float = bounded(*FROM_0, 0.0)
    information: float = bounded(*FROM_0, 0.0)
    """1/d², points⁻²: over the period, Σ q²·g²·E·(1 - E)."""
    surprise: float = 0.0
    """Per point: over the period, Σ q·g·(s - E)."""


class GlickoConstants(NamedTuple):
    """Glicko's and Glicko-2's parameters, in points and rating periods."""

    initial: float
    variance: float
    """Points²: a newcomer's variance, and the largest that absence leads to."""
    growth: float
    """c², points² per period; Glicko-2 has each player's own."""
    tau: float
    """0: Glicko, without volatility."""
    frequency: float
    """Periods per second."""
    pooled: bool
    """Matches of a period of the calendar count as played at once; else each is a period."""


class Block(NamedTuple):
    """Consecutive duels that are computed together; all arrays but the first have shape (`BLOCK`,)."""

    latest: NDArray[np.int64]
    """Shape (players,): first match of the last block that the player was in; -1 if none."""
    difference: Floats
    """Difference of the ratings: at the onset of the period at first, later before the match."""
    variance: Floats
    other_variance: Floats
    score: Floats
    information: Floats
    surprise: Floats
    other_information: Floats
    other_surprise: Floats
    wins: Floats
