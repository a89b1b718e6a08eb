"""TrueSkill Through Time (Dangauthier, Herbrich, Minka & Graepel, NIPS 2007): a past that later matches correct.

Live it is the forward pass of its model, match after match; `fit` settles a whole history, `append` continues it.
Its formulas and what its sources leave open are in docs/ratings/trueskill_through_time.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise.ratings.parts.gaussian_formulas import Constants
from equipoise.ratings.parts.gaussian_system import LIMIT, GaussianSystem
from equipoise.ratings.system import Params, ranged
from equipoise.ratings.trueskill.system import draw_unit
from equipoise.ratings.validation import DAY

if TYPE_CHECKING:
    from equipoise.ratings.trueskill.smoothing import Timeline


@dataclass(frozen=True, slots=True)
class ThroughTimeParams(Params):
    """Parameters of TrueSkill Through Time, in units of skill."""

    mu: float = ranged(25.0, -LIMIT, LIMIT)
    """μ₀, mean of a new player's skill."""
    sigma: float = ranged(25.0 / 3.0, 0.001, LIMIT)
    """σ₀, its deviation."""
    beta: float = ranged(25.0 / 6.0, 0.001, LIMIT)
    """β, deviation of one performance about the skill."""
    gamma: float = ranged(25.0 / 300.0, 0, LIMIT)
    """γ, deviation that the skill gains in one `period_days`."""
    period_days: float = ranged(1.0, 1e-6, 100_000)
    """Days; where a time is unknown, one such period is taken to have passed."""
    draw_probability: float = ranged(0.1, 0, 0.99)
    """Share of matches between equals that are drawn; sets the margin ε."""
    confidence: float = ranged(3.0, 0, 100)
    """k, deviations: the shown rating is μ - k·σ."""
    shadow_rounds: int = ranged(0, 0, 100_000)
    """Rounds before a rating is shown; none, since μ - k·σ starts low by itself."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated round before a player is flagged."""
    tolerance: float = ranged(1e-6, 1e-12, 1.0)
    """Units of skill: a fit has converged when no skill at any match moves by more."""
    sweeps: int = ranged(10_000, 1, 10_000_000)
    """At most, of a fit."""

    def constants(self) -> Constants:
        """The parameters as the formulas read them."""
        return Constants(
            mean=float(self.mu),
            variance=self.sigma**2,
            noise=self.beta**2,
            unit=draw_unit(self.draw_probability, self.beta),
            confidence=float(self.confidence),
            tau2=0.0,
            gamma2=self.gamma**2 / (self.period_days * DAY),
            unknown=self.gamma**2,
        )


class TrueSkillThroughTime(GaussianSystem[ThroughTimeParams]):
    """Beliefs widen with the time between matches; a player's first one finds him as a newcomer."""

    name = "trueskill_through_time"
    parameters = ThroughTimeParams
    timeline: Timeline | None = None
    """Of the last `fit`."""
