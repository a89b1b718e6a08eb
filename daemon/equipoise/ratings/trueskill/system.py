"""TrueSkill (Herbrich, Minka & Graepel, NIPS 2006): any number of teams, draws, partial play.

Its formulas and what its sources leave open are in docs/ratings/trueskill.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.ratings.parts.gaussian_formulas import Constants
from equipoise.ratings.parts.gaussian_system import LIMIT, GaussianSystem
from equipoise.ratings.parts.truncated_gaussian import quantile
from equipoise.ratings.system import Params, ranged


@dataclass(frozen=True, slots=True)
class TrueSkillParams(Params):
    """Parameters of TrueSkill; defaults are those of its first implementation, in units of skill."""

    mu: float = ranged(25.0, -LIMIT, LIMIT)
    """μ₀, mean of a new player's skill."""
    sigma: float = ranged(25.0 / 3.0, 0.001, LIMIT)
    """σ₀, its deviation."""
    beta: float = ranged(25.0 / 6.0, 0.001, LIMIT)
    """β, deviation of one performance about the skill."""
    tau: float = ranged(25.0 / 300.0, 0, LIMIT)
    """τ, deviation that the skill gains with every match."""
    draw_probability: float = ranged(0.1, 0, 0.99)
    """Share of matches between equals that are drawn; sets the margin ε."""
    confidence: float = ranged(3.0, 0, 100)
    """k, deviations: the shown rating is μ - k·σ."""
    shadow_rounds: int = ranged(0, 0, 100_000)
    """Rounds before a rating is shown; none, since μ - k·σ starts low by itself."""
    stale_days: float = ranged(30.0, 0, 100_000)
    """Days without a rated round before a player is flagged."""

    def constants(self) -> Constants:
        """The parameters as the formulas read them."""
        return Constants(
            mean=float(self.mu),
            variance=self.sigma**2,
            noise=self.beta**2,
            unit=draw_unit(self.draw_probability, self.beta),
            confidence=float(self.confidence),
            tau2=self.tau**2,
            gamma2=0.0,
            unknown=0.0,
        )


def draw_unit(draw_probability: float, beta: float) -> float:
    """The draw margin of one player: ε = Φ⁻¹((p + 1)/2)·√n·β for n players (Herbrich et al. 2006, section 4)."""
    return beta * quantile((draw_probability + 1.0) / 2.0) if draw_probability else 0.0


class TrueSkill(GaussianSystem[TrueSkillParams]):
    """Beliefs widen by τ² with every match, and not with time."""

    name = "trueskill"
    parameters = TrueSkillParams
