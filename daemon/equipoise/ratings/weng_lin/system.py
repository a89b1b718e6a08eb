"""Weng-Lin: Plackett-Luce, Bradley-Terry and Thurstone-Mosteller, with full or partial pairing.

Formulas, and what the sources leave open: docs/ratings/weng_lin.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.ratings.parameters import one_of, ranged
from equipoise.ratings.parts.match_arrays import Lineup, MatchArrays
from equipoise.ratings.parts.team_order import Teams
from equipoise.ratings.parts.truncated_gaussian import pdf
from equipoise.ratings.system import Match
from equipoise.ratings.trueskill.formulas import GaussianAnswers, GaussianConstants, GaussianSkill
from equipoise.ratings.trueskill.system import DynamicsParams, GaussianSystem, SkillParams
from equipoise.ratings.weng_lin import formulas as kernel
from equipoise.ratings.weng_lin.formulas import THURSTONE_MOSTELLER, WengLinConstants

MODELS = ("plackett_luce", "bradley_terry", "thurstone_mosteller")


@dataclass(frozen=True)
class WengLinParams(SkillParams, DynamicsParams):
    """Parameters of Weng-Lin; defaults as in openskill."""

    model: str = one_of(*MODELS)
    neighbours: int = ranged(0, 0, 1000)
    """Partial pairing: a team is paired with this many above and below it in the ranking; 0 with all. Not of
    `plackett_luce`, which has no pairs."""
    epsilon: float = ranged(0.1, 0, 1e6)
    """ε, units of skill: teams of `thurstone_mosteller` draw within it."""
    limit_sigma: bool = False
    """Whether a match never makes a deviation larger than it was, in spite of τ."""

    def constants(self) -> GaussianConstants:
        """The parameters of players, whose performances have no noise of their own."""
        return super().constants()._replace(noise=0.0, unit=self.epsilon, tau2=self.tau**2)

    def rules(self) -> WengLinConstants:
        """All parameters as the formulas read them."""
        model = MODELS.index(self.model)
        # openskill doubles c here.
        scale = 4.0 if self.neighbours and model == THURSTONE_MOSTELLER else 1.0
        return WengLinConstants(self.constants(), self.beta**2, model, self.neighbours, scale, self.limit_sigma)


class WengLin(GaussianSystem[WengLinParams]):
    """Skill is the mean, uncertainty the deviation σ; the shown rating is the mean less k deviations."""

    name = "weng_lin"
    parameters = WengLinParams

    def __init__(self, params: WengLinParams) -> None:
        super().__init__(params)
        self.rules = params.rules()

    def predict_lineup(self, at: float, lineup: Lineup, records: list[GaussianSkill], sides: Teams) -> float:
        """Fill `sides.wins` for one match at time `at`; returns the probability of a draw."""
        return kernel.predict_match(0, len(sides.mean), at, lineup, records, sides, self.rules)

    def rate_arrays(
        self, arrays: MatchArrays, whole: bool, records: list[GaussianSkill], sides: Teams, answers: GaussianAnswers
    ) -> None:
        """Predict and rate the one match in `arrays`, with the kernel of the replay."""
        kernel.replay(arrays, whole, records, sides, answers, self.rules)

    def trueskill_quality(self, match: Match) -> None:
        """None: it is TrueSkill's."""

    def gap(self, probability: float, size: int) -> float:
        """Linear, by the slope at an even match of teams of known skill, where c² = 2β², however large they are."""
        c = math.sqrt(2.0 * self.rules.scale * self.rules.noise)
        thurstone = self.rules.model == THURSTONE_MOSTELLER
        return probability * c / (pdf(self.params.epsilon / c) if thurstone else 0.25)
