"""Glicko-2: Glicko with a volatility for each player, by which their deviation grows.

Formulas, sources and decisions: docs/ratings/glicko.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from equipoise.ratings.glicko.formulas import MOST_VOLATILE
from equipoise.ratings.glicko.system import GlickoFamily, PeriodParams
from equipoise.ratings.parameters import ranged
from equipoise.ratings.parts.players import Bounds

VOLATILE = (1e-100, MOST_VOLATILE)
"""Range of a volatility, whose square must have a finite logarithm."""


@dataclass(frozen=True, slots=True)
class Glicko2Params(PeriodParams):
    """Parameters of Glicko-2 (Glickman, "Example of the Glicko-2 system")."""

    tau: float = ranged(0.5, 0.01, 10)
    """τ: how fast volatilities change; 0.3 to 1.2 are reasonable."""
    volatility: float = ranged(0.06, 1e-6, MOST_VOLATILE)
    """σ: a new player's volatility, in units of 173.7178 points per √period."""


class Glicko2(GlickoFamily[Glicko2Params]):
    """Glicko-2: a player's deviation grows by their own volatility."""

    name = "glicko2"
    parameters = Glicko2Params
    seeds: ClassVar[Iterable[str]] = (*GlickoFamily.seeds, "volatility")
    bounds: ClassVar[Mapping[str, Bounds]] = {"volatility": VOLATILE, "onset_volatility": VOLATILE}

    def __init__(self, params: Glicko2Params) -> None:
        super().__init__(params, growth=0.0, tau=params.tau, volatility=params.volatility)
