"""TrueSkill (Herbrich, Minka & Graepel, NIPS 2006): any number of teams, draws, partial play.

Its formulas and what its sources leave open are in docs/ratings/trueskill.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.ratings.parameters import ranged
from equipoise.ratings.parts.gaussian_formulas import GaussianConstants
from equipoise.ratings.parts.gaussian_system import LIMIT, GaussianParams, GaussianSystem, PriorParams


@dataclass(frozen=True)
class DynamicsParams(PriorParams):
    """Parameters of how skills change between matches."""

    tau: float = ranged(25.0 / 300.0, 0, LIMIT)
    """τ, deviation that the skill gains with every match."""


@dataclass(frozen=True)
class TrueSkillParams(GaussianParams, DynamicsParams):
    """Parameters of TrueSkill."""

    def constants(self) -> GaussianConstants:
        """The Gaussian kernel's parameters, with a drift at each match."""
        return super().constants()._replace(tau2=self.tau**2)


class TrueSkill(GaussianSystem[TrueSkillParams]):
    """TrueSkill: variances grow by τ² before every match, independently of time."""

    name = "trueskill"
    parameters = TrueSkillParams
