"""How the standardised rates of a player tell their skill: a linear map per mode, learnt from results.

A player's rates around their own lasting ones, and these around the mean of all, give two covariances, `within` and
`between`. They need no result. From n rounds the lasting rates b are estimated (the estimate is b̂, with covariance
`explained`), and skill given them is

    s | b̂ ~ N(weights · b̂, spread² - weights · explained · weights)

which is one Gaussian factor on s: precision 1/(spread² - e) - 1/spread², shift weights · b̂ / (spread² - e). However
many the rounds, e stays below spread² · `MOST_EXPLAINED`: what remains is the player's lasting offset.

Only the weights are learnt from results. Each result is first predicted from what wins alone say of its players (the
joint Gaussian without the factors of their scores), and from that and their scores before the round. The difference
of the two log likelihoods is summed: the map is used while the sum says that scores predict rounds that it was not
fitted on. The weights are a Gaussian, around a guess before any result, updated by the same moment matching as skills.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.ratings.joint import outcome
from equipoise.ratings.joint.scores import FEATURES, NUMBER

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats

MOST_EXPLAINED = 0.7
"""Part of the variance of skill that scores can tell at most: there is always an offset, which results hardly tell.

What scores leave is a difference of two numbers. Where these are nearly alike it is smaller than the error of either,
and teams are called even that are not (docs/findings.md 13).
"""
DOUBTED, REFUSED = 1.0, 2.5
"""Standard deviations that scores say less than wins do, from which they lose weight, and where none is left."""
GUESS = np.array([1.0, -1.0, 1.0, 1.0])
"""In what proportion rates count before any result: a start for the search, which has to predict results as any map."""
GUESSED = 0.7
"""Part of the variance of skill that they tell then."""
EXPECTED = 0.3
"""Part of it that the weights are uncertain by then."""
SIDES_AT_FIRST = 10.0
"""Sides, before any was seen, of whose mean residual half is taken to be the side's own."""
EARNED = 0.1
"""Nats by which scores must have predicted better than wins alone before they are used."""
LOST = -0.5
"""Nats below which they are not used any more."""


@dataclass(frozen=True, slots=True)
class ScoreWeight:
    """The weight of one rate, in log-odds of skill per standard deviation of the rate of a player known for long."""

    feature: str
    weight: float
    deviation: float


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """The weights of own scores in one mode, as people are shown them."""

    mode: str
    rounds: int
    """Rounds that it was learnt from."""
    used: bool
    gain: float
    """Nats by which scores predicted better than wins alone, each round before it was fitted."""
    weights: tuple[ScoreWeight, ...]
    noise: float
    """Standard deviation of one round's own score around skill and offset, log-odds; infinite: it says nothing."""
    offset: float
    """Standard deviation of the players' lasting offsets, log-odds; infinite: scores say nothing."""
    correlation: float
    """Of one round's own score with skill."""


@dataclass(frozen=True, slots=True)
class Before:
    """Moments of a match's players before its result, and of D beside them."""

    mean: Floats
    """Shape (n,)."""
    cov: Floats
    """Shape (n, n)."""
    row: Floats
    """Shape (n,): the part of the match that each played, + on the first side, - on the second."""
    rest: float = 0.0
    """Mean of D beyond the players' skills, and its variance."""
    rest_variance: float = 0.0

    def without(self, precision: Floats, shift: Floats) -> tuple[Floats, Floats]:
        """Mean and covariance of the players without factors of this precision and shift: what wins alone say."""
        n = len(self.row)
        # (Σ⁻¹ − P)⁻¹ = (I − ΣP)⁻¹Σ, and the mean is that times Σ⁻¹m − h.
        right = np.column_stack((self.mean - self.cov @ shift, self.cov))
        rest = np.linalg.solve(np.eye(n) - self.cov * precision, right).astype(np.float64, copy=False)
        return rest[:, 0], rest[:, 1:]


class Result(NamedTuple):
    """How a match ended, for the first side, and how much it counts."""

    score: float
    weight: float = 1.0
    draw_weight: float = 0.5


@dataclass(slots=True)
class Learnt:
    """The map of one mode, and what it was learnt from."""

    spread2: float
    residual: Floats = field(default_factory=lambda: np.zeros((NUMBER, NUMBER)))
    """Sum of squares of rates around what the player's past says; `residuals`: their number."""
    residuals: float = 0.0
    shared: Floats = field(default_factory=lambda: np.full(NUMBER, 2.0 * SIDES_AT_FIRST))
    """Sum over sides of the squares of what their players' rates have in common, in units of the noise in it;
    `sides`: their number."""
    sides: float = SIDES_AT_FIRST
    precision: Floats = field(default_factory=lambda: np.zeros((NUMBER, NUMBER)))
    """What results say of the weights: precision, and shift = precision · weights."""
    shift: Floats = field(default_factory=lambda: np.zeros(NUMBER))
    gain: float = 0.0
    rounds: int = 0
    used: bool = False
    within: Floats = field(default_factory=lambda: np.eye(NUMBER))
    between: Floats = field(default_factory=lambda: np.zeros((NUMBER, NUMBER)))
    weights: Floats = field(default_factory=lambda: np.zeros(NUMBER))
    cov: Floats = field(default_factory=lambda: np.zeros((NUMBER, NUMBER)))
    """Covariance of the weights."""

    def sums(self) -> Floats:
        """All that it is a function of."""
        scalars = np.array([self.residuals, self.sides, self.gain, self.rounds, self.used], np.float64)
        matrices = (self.residual.ravel(), self.precision.ravel(), self.between.ravel())
        return np.concatenate((scalars, *matrices, self.shared, self.shift))

    @classmethod
    def of_sums(cls, spread2: float, sums: Floats) -> Learnt:
        """The map with the sums that `sums` returned; what is derived from them is found again."""
        residuals, sides, gain, rounds, count = sums[:5].tolist()
        residual, precision, between = sums[5 : -2 * NUMBER].reshape(3, NUMBER, NUMBER).copy()
        common, shift = sums[-2 * NUMBER :].reshape(2, NUMBER).copy()
        learnt = cls(spread2, residual=residual, residuals=residuals, shared=common, sides=sides)
        learnt.precision, learnt.between, learnt.shift, learnt.gain = precision, between, shift, gain
        learnt.rounds, learnt.used = int(rounds), bool(count)
        learnt.refit()
        return learnt

    def refit(self, observed: tuple[Floats, Floats] | None = None) -> None:
        """Find the weights again; with the weight and sum of each player's observations also `between`."""
        # Before anything is known, half a dozen rounds' worth of independent noise.
        self.within = (self.residual + 100.0 * np.eye(NUMBER)) / (self.residuals + 100.0)
        if observed is not None:
            self._fit_between(*observed)
        # The prior of the weights is so wide that what they explain is uncertain by `EXPECTED` of the variance of
        # skill.
        ridge = np.trace(self.between) / (EXPECTED * self.spread2)
        if ridge <= 0:
            self.weights, self.cov = np.zeros(NUMBER), np.zeros((NUMBER, NUMBER))
            return
        self.cov = np.linalg.inv(self.precision + ridge * np.eye(NUMBER))
        # Scaled so that the guess explains `GUESSED` of it; the floor is for rates that hardly differ.
        guess = GUESS * sqrt(GUESSED * self.spread2 / max(float(GUESS @ self.between @ GUESS), 1e-300))
        self.weights = self.cov @ (self.shift + ridge * guess)
        share = float(self.weights @ self.between @ self.weights)
        if share > MOST_EXPLAINED * self.spread2:
            self.weights = self.weights * sqrt(MOST_EXPLAINED * self.spread2 / share)

    def _fit_between(self, weight: Floats, total: Floats) -> None:
        seen = weight > 0
        if seen.any():
            roots = total[seen] / np.sqrt(weight[seen])[:, None]
            excess = roots.T @ roots - np.count_nonzero(seen) * self.within
            # Moments: the squares of players' means have both covariances in them. Less the noise it may be indefinite
            # by chance; a covariance has no negative eigenvalue.
            values, vectors = np.linalg.eigh(excess / weight[seen].sum())
            self.between = (vectors * np.maximum(values, 0.0)) @ vectors.T

    def lasting_rates(self, weight: Floats, total: Floats) -> tuple[Floats, Floats]:
        """b̂, shape (n, 4), and `explained`, shape (n, 4, 4), by the weight and sum of each player's observations."""
        sums = weight[:, None, None] * self.between + self.within
        gain = np.linalg.solve(sums, np.broadcast_to(self.between, sums.shape))
        return np.einsum("nji,nj->ni", gain, total), weight[:, None, None] * (self.between @ gain)

    def factors(self, lasting: Floats, explained: Floats) -> tuple[Floats, Floats]:
        """Precision and shift of the factors on skill, each shape (n,)."""
        left = self._left(explained)
        return 1.0 / left - 1.0 / self.spread2, (lasting @ self.weights) / left

    def believed(self, lasting: Floats, explained: Floats, wins: tuple[Floats, Floats]) -> Floats:
        """Shape (n,): the part that scores weigh beside `wins`, means and covariance of what results alone say.

        1, and less where they say much less of a player: who hides what they can do has better mates.
        """
        by_scores = 1.0 - self._left(explained) / self.spread2
        by_wins = np.clip(1.0 - np.diagonal(wins[1]) / self.spread2, 0.0, 1.0)
        # Of the difference of two estimates whose errors are independent but for the prior.
        apart = np.sqrt(self.spread2 * (by_scores + by_wins - 2.0 * by_scores * by_wins))
        less = np.divide(wins[0] - lasting @ self.weights, apart, out=np.zeros(len(apart)), where=apart > 0)
        doubt = np.clip((less - DOUBTED) / (REFUSED - DOUBTED), 0.0, 1.0)
        return np.asarray((1.0 - doubt**2) ** 2)

    def _left(self, explained: Floats) -> Floats:
        """Shape (n,): the variance of skill that scores leave."""
        variance: Floats = self.spread2 - np.einsum("i,nij,j->n", self.weights, explained, self.weights)
        return variance

    def add_residuals(self, away: Floats) -> None:
        """Add rates relative to what their players' past says, shape (n, 4), scaled to one round's noise."""
        self.residual += away.T @ away
        self.residuals += len(away)

    def part_of_side(self, shared: Floats, weight: Floats, explained: Floats) -> Floats:
        """The part of a side's mean residual that is the side's own, shape (4,), and no chance of its players.

        A side that dominates has more of everything; how much more is learnt from how much sides differ.
        """
        unsure = np.diagonal(self.within) + np.diagonal(self.between - explained, axis1=1, axis2=2)
        chance = (weight * weight) @ unsure / weight.sum() ** 2
        self.shared += shared * shared / chance
        self.sides += 1.0
        # Mean residuals vary by 1, in units of their chance, where sides have nothing of their own.
        own = np.maximum(0.0, self.shared / self.sides - 1.0)
        return np.asarray(own / (own + 1.0))

    def learn(self, before: Before, wins: tuple[Floats, Floats], told: tuple[Floats, Floats], result: Result) -> None:
        """Learn from a result, with what `wins` alone say of the players, and their b̂ and `explained` before it."""
        n = len(before.row)
        alone, alone_cov = wins
        along = alone_cov @ before.row
        variance = float(before.row @ along)
        # Also for NaN; nobody played a part on either side, so the result is not about these players.
        if not variance > 1e-12:
            return
        a, b = outcome.exponents(*result)
        null = outcome.posterior(before.rest + float(before.row @ alone), variance + before.rest_variance, a, b)[2]
        habits, share = told
        left = self._left(share)
        factor = 1.0 / left - 1.0 / self.spread2
        both = np.linalg.solve(np.eye(n) + factor[:, None] * alone_cov, before.row)  # (I + diag(p) C)⁻¹ x
        product = alone_cov @ both  # A x, A the covariance with scores
        direction = (product / left) @ habits
        offset = before.rest + float(both @ alone)
        self._update(direction, offset, float(before.row @ product) + before.rest_variance, (a, b), null)

    def _update(
        self, direction: Floats, fixed: float, variance: float, exponents: tuple[float, float], null: float
    ) -> None:
        along = self.cov @ direction
        mine = float(direction @ along)
        mean, whole = fixed + float(direction @ self.weights), variance + mine
        after, left, likelihood = outcome.posterior(mean, whole, *exponents)
        self.gain += float(likelihood - null)
        self.rounds += 1
        # Two thresholds, so that a map at the edge does not go in and out of use every round.
        self.used = self.gain > (LOST if self.used else EARNED)
        slope = (after - mean) / whole
        fall = (whole - left) / whole**2
        # The result as a Gaussian factor on the weights' own part of D: precision and shift that give the new moments.
        curve = fall / (1.0 - fall * mine)
        step = float(direction @ self.weights) + mine * slope
        self.precision += curve * np.outer(direction, direction)
        self.shift += direction * (curve * step + slope)

    def shown(self, mode: str) -> ScoreMap:
        """The map as people are shown it."""
        variance = float(self.weights @ self.between @ self.weights)
        share = self.lasting_rates(np.ones(1), np.zeros((1, NUMBER)))[1][0]
        first = float(self.weights @ share @ self.weights)
        deviations = np.sqrt(np.diag(self.cov))
        return ScoreMap(
            mode=mode,
            rounds=self.rounds,
            used=self.used,
            gain=self.gain,
            weights=tuple(
                ScoreWeight(name, float(weight), float(deviation))
                for name, weight, deviation in zip(FEATURES, self.weights, deviations, strict=True)
            ),
            noise=self.spread2 * sqrt(1 / first - 1 / variance) if first > 0 else inf,
            offset=sqrt(self.spread2 * (self.spread2 / variance - 1)) if variance > 0 else inf,
            correlation=sqrt(first / self.spread2),
        )
