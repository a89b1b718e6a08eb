"""TrueSkill (Herbrich, Minka & Graepel, NIPS 2006): any number of teams, draws, partial play.

TrueSkill Through Time (Dangauthier, Herbrich, Minka & Graepel, NIPS 2007) has skills that change with time.  A live
system runs the forward pass of the model, match after match, which knows a player from the past alone; `fit` estimates
every skill by a whole history.

Formulas, and what the sources leave open: docs/ratings/trueskill.md, docs/ratings/trueskill_through_time.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.ratings.parameters import ranged
from equipoise.ratings.parts.gaussian_formulas import GaussianConstants
from equipoise.ratings.parts.gaussian_system import LIMIT, GaussianParams, GaussianSystem, PriorParams
from equipoise.ratings.validation import DAY


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
