"""TrueSkill Through Time (Dangauthier, Herbrich, Minka & Graepel, NIPS 2007): skill that changes with time.

A live system runs the forward pass of the model, match after match, which knows a player from the past alone.
`equipoise.ratings.fit` estimates every skill by a whole history (`smoothing`).  Its formulas and what its sources leave
open are in docs/ratings/trueskill_through_time.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.ratings.parameters import ranged
from equipoise.ratings.parts.gaussian_formulas import GaussianConstants
from equipoise.ratings.parts.gaussian_system import LIMIT, GaussianParams, GaussianSystem, PriorParams
from equipoise.ratings.validation import DAY


@dataclass(frozen=True)
class DriftParams(PriorParams):
    """Parameters of how skills change with time."""

    gamma: float = ranged(25.0 / 300.0, 0, LIMIT)
    """γ, deviation that the skill gains in one `period_days`."""
    period_days: float = ranged(1.0, 1e-6, 100_000)
    """Days; where a time is unknown, one such period is taken to have passed."""


@dataclass(frozen=True)
class ThroughTimeParams(GaussianParams, DriftParams):
    """Parameters of TrueSkill Through Time, in units of skill."""

    tolerance: float = ranged(1e-6, 1e-12, 1.0)
    """Units of skill: a fit has converged when no skill at any match moves by more."""
    sweeps: int = ranged(10_000, 1, 10_000_000)
    """Maximum number of sweeps of a fit."""

    def constants(self) -> GaussianConstants:
        """The Gaussian kernel's parameters, with a drift that grows with the time between matches."""
        gamma2 = self.gamma**2
        return super().constants()._replace(gamma2=gamma2 / (self.period_days * DAY), unknown=gamma2)


class TrueSkillThroughTime(GaussianSystem[ThroughTimeParams]):
    """TrueSkill Through Time: variances grow with the time between a player's matches."""

    name = "trueskill_through_time"
    parameters = ThroughTimeParams
