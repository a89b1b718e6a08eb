"""What Glicko's kernel works on: players, matches and parameters, in fields that an array can have too."""

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

    Floats: TypeAlias = NDArray[np.float64]
    Records: TypeAlias = NDArray[np.void]


FROM_0, ABOVE_0 = (0.0, math.inf), (1e-300, math.inf)


@dataclass(slots=True)
class Player(Record):
    """What both systems know of a player: as he stands, as the period found him, and what it has said of him."""

    variance: float = bounded(*ABOVE_0, 0.0)
    """RD², points², by all that is known."""
    volatility: float = bounded(*FROM_0, 0.0)
    """σ of Glicko-2, in its unit per √period."""
    onset_rating: float = bounded(-LIMIT, LIMIT, 0.0)
    onset_variance: float = bounded(*ABOVE_0, 0.0)
    onset_volatility: float = bounded(*FROM_0, 0.0)
    information: float = bounded(*FROM_0, 0.0)
    """1/d², points⁻²: over the period, Σ q²·g²·E·(1 - E)."""
    surprise: float = 0.0
    """Per point: over the period, Σ q·g·(s - E)."""


class Constants(NamedTuple):
    """The parameters as the formulas read them."""

    initial: float
    variance: float
    """Points²: a newcomer's, and the most that absence makes of anybody's."""
    growth: float
    """c², points² per period; Glicko-2 has each player's own."""
    tau: float
    """0: Glicko, without volatility."""
    frequency: float
    """Periods per second."""
    pooled: bool
    """Matches of a period of the calendar count as played at once; else each is a period."""


class Rounds(NamedTuple):
    """A `History` of two-team matches as the replay reads it."""

    teams: NDArray[np.int64]
    members: NDArray[np.uint32]
    ranks: NDArray[np.int32]
    started_at: Floats
    lineup: NDArray[np.int64]
    lineup_members: NDArray[np.int32]
    skill_at_start: Floats
    weight: Floats
    """Shape (m,), or empty: 1."""
    fraction_played: Floats
    """Shape (p,), NaN counting as 1, or empty: 1."""


class Block(NamedTuple):
    """Some duels side by side: fields of shape (`BLOCK`,) but for the first."""

    latest: NDArray[np.int64]
    """Shape (players,): the first match of the block that he last played in; -1 before."""
    difference: Floats
    """Of the ratings: first as the period found them, later as they stand."""
    variance: Floats
    other_variance: Floats
    score: Floats
    information: Floats
    surprise: Floats
    other_information: Floats
    other_surprise: Floats
    wins: Floats
