"""NS2's whole-history fit: every skill and F at once, the most probable ones under their priors; needs numpy.

Each match is a logistic observation of a linear form of the unknowns: s, o and χ of every player, and the steps of F.
The priors are Gamma(k, θ) for s and χ, and normal for o and the steps.  The log posterior is concave in all of them at
once, and its (k - 1)·log s keeps s above 0.  So Newton's method converges from anywhere, as long as its steps stay
positive and always gain (`_damping`).  The Hessian is never formed: conjugate gradients solve each Newton step with
sweeps over the history to a precision that grows as the gradient falls, so that the last steps
converge quadratically.

The sweeps are plain functions, which numba compiles.  They multiply by a sparse matrix X without storing it.  A row of
X is a match: its log-odds are the row times the unknowns, which are s, o and χ of every player, and the steps of F.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.ratings.history import Flags, Floats, History, Offsets
from equipoise.ratings.ns2.arrays import Coefficients, EnvironmentArrays, NS2Arrays
from equipoise.ratings.ns2.environment import Environment, no_rounds, steps_of, wins_of
from equipoise.ratings.ns2.formulas import SETS_PER_MAP, weigh_matches
from equipoise.ratings.ns2.replay import (
    Kernel,
    allocate,
    environment_arrays,
    in_machine_code,
    index,
    records_of,
    write_back,
    write_environment_back,
)
from equipoise.ratings.parameters import NEVER
from equipoise.ratings.parts.compiling import UNCOUNTED, compiled
from equipoise.ratings.parts.match_arrays import MatchArrays
from equipoise.ratings.quality import logistic
from equipoise.ratings.system import Convergence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equipoise.ratings.ns2.system import NS2


class Design(NamedTuple):
    """The rows of m matches with p participants out of n players."""

    players: int
    """n: among the unknowns, o of a player is n after their s, and χ 2n after it; F's steps are from 3n on."""
    teams: NDArray[np.int64]
    """Shape (2m + 1,): where each team's participants begin."""
    members: NDArray[np.int32]
    average: Floats
    """Shape (p,), as are `side` and `commander`: coefficients as in `arrays.Workspace`."""
    side: Floats
    commander: Floats
    sign: Floats
    """Shape (m,): the coefficient of F, and the sign of `side`."""
    steps: NDArray[np.int64]
    """Shape (m, 3): indexes of the steps that add up to a match's F; negative for none."""


def row_times(match: int, x: Design, unknowns: Floats) -> float:
    """The product of one row of X and the unknowns."""
    total: float = 0.0
    f: float = 0.0
    for step in range(3):
        if x.steps[match, step] >= 0:
            f += unknowns[3 * x.players + x.steps[match, step]]
    for place in range(x.teams[2 * match], x.teams[2 * match + 2]):
        player = x.members[place]
        total += x.average[place] * unknowns[player]
        f += x.side[place] * unknowns[x.players + player]
        if x.commander[place] != 0.0:
            total += x.commander[place] * unknowns[2 * x.players + player]
    total += x.sign[match] * f
    return total


def add_row(match: int, x: Design, amount: float, power: int, out: Floats) -> None:
    """Add to `out` the amount times a row's coefficients, to the first or second power."""
    # To the second power signs vanish: the diagonal of XᵀWX.
    term = amount * x.sign[match] ** power
    for step in range(3):
        if x.steps[match, step] >= 0:
            out[3 * x.players + x.steps[match, step]] += term
    for place in range(x.teams[2 * match], x.teams[2 * match + 2]):
        player = x.members[place]
        out[player] += amount * x.average[place] ** power
        out[x.players + player] += term * x.side[place] ** power
        if x.commander[place] != 0.0:
            out[2 * x.players + player] += amount * x.commander[place] ** power


def multiply(x: Design, unknowns: Floats, rows: Floats) -> None:
    """X·unknowns into `rows`."""
    for match in range(len(rows)):
        rows[match] = row_times(match, x, unknowns)


def collect(x: Design, rows: Floats, power: int, out: Floats) -> None:
    """Xᵀ·rows onto `out`; with power 2, of the squared coefficients."""
    for match in range(len(rows)):
        add_row(match, x, rows[match], power, out)


def curve(x: Design, weights: Floats, direction: Floats, out: Floats) -> None:
    """Xᵀ·weights·X·direction onto `out`."""
    for match in range(len(weights)):
        add_row(match, x, weights[match] * row_times(match, x, direction), 1, out)


TOLERANCE = 1e-8
"""A fit has converged when no component of the gradient is larger: skills are right to about as many log-odds."""

ITERATIONS = 100
SOLVER_STEPS = 1000
INSIDE = 0.95
"""A step moves a skill at most this fraction of the way to 0."""
LEAST = 0.01
"""Log-odds: the lowest skill of a warm start."""
NOISE = 1e-12
"""Relative rounding error of a sum over all matches; smaller losses of posterior are ignored."""


def fit(system: NS2, history: History) -> Convergence:
    """Fit all players in the history, F and the median length, as if no other match had ever been played.

    Starts from the present skills.  Players outside the history keep theirs.  If it does not converge, nothing changes.
    `Convergence.gradient` is the largest component of the log posterior's gradient.
    """
    matches, facts = index(system, history)
    environment = _without_rounds(system)
    posterior = Posterior.of(system, matches, facts, environment, len(history.players))
    unknowns, convergence = maximum(posterior, _start(system, history, len(posterior.precision)))
    if convergence.converged:
        _settle_players(system, history, posterior, unknowns)
        steps = unknowns[3 * len(history.players) :].tolist()
        environment.wins[:] = wins_of(environment, steps, system.constants.prior_rounds)
        write_environment_back(system.environment, environment)
    return convergence


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """The log posterior of the unknowns, which are in the order of `Design`, in log-odds."""

    x: Design
    score: Floats
    """Shape (m,): G, each match's score."""
    weight: Floats
    """Shape (m,): weight of each match; 0 if no participant has any time in it."""
    took_part: Flags
    """Shape (p,): whether a participant has any time."""
    shape: Floats
    """k of the Gamma priors, shape (2 · players,): of s, then of χ; as is `scale`, θ."""
    scale: Floats
    bots: Floats
    """Shape (m,): log-odds of each match's first team by its bots, whose skill is known."""
    precision: Floats
    """Shape (unknowns,): precision of the normal prior about 0; 0 for unknowns with a Gamma prior."""

    @classmethod
    def of(
        cls, system: NS2, matches: MatchArrays, facts: NS2Arrays, environment: EnvironmentArrays, players: int
    ) -> Posterior:
        """Set up the posterior of these matches; also counts them in `environment`."""
        coefficients = Coefficients(*(np.empty(len(matches.members)) for _ in Coefficients._fields))
        sizes, bots = np.empty(len(matches.started_at)), np.empty(len(matches.started_at))
        work = allocate(matches, facts)
        in_machine_code(weigh_matches)(matches, facts, work, environment, coefficients, sizes, bots, system.constants)
        # `formulas.is_large` for all matches.
        large = sizes >= system.constants.large_above + 0.5
        average, side, commander, time = (np.asarray(column) for column in coefficients)
        x = Design(
            players=players,
            teams=np.asarray(matches.teams),
            members=np.asarray(matches.members, np.int32),
            average=average,
            side=side,
            commander=commander,
            sign=np.asarray(facts.sign),
            steps=_steps(facts, large.astype(np.int64)),
        )
        behind = np.asarray(matches.ranks)[::2] - np.asarray(matches.ranks)[1::2]
        params = system.params
        offsets = np.full(players, params.offset_deviation**-2)
        # The information of `prior_rounds` rounds at even odds, each 1/4 per log-odds squared, as in smoothing.
        steps = np.full(len(environment.wins), params.prior_rounds / 4.0)
        return cls(
            x=x,
            score=0.5 - 0.5 * np.sign(behind),
            weight=np.where(sizes > 0.0, matches.weight if len(matches.weight) else 1.0, 0.0),
            took_part=time > 0.0,
            shape=np.repeat([params.shape, params.commander_shape], players),
            scale=np.repeat([params.scale, params.commander_scale], players),
            bots=bots * system.constants.newcomer,
            precision=np.concatenate((np.zeros(players), offsets, np.zeros(players), steps)),
        )

    @property
    def gamma(self) -> Flags:
        """Shape (unknowns,): True for s and χ, whose prior is Gamma."""
        gamma: Flags = self.precision == 0.0
        return gamma

    def log_odds(self, unknowns: Floats) -> Floats:
        """Shape (m,): predicted log-odds of each match's first team."""
        return self.moved(unknowns) + self.bots

    def moved(self, step: Floats) -> Floats:
        """Shape (m,): by how much a step of the unknowns moves the log-odds."""
        rows = np.empty(len(self.score))
        _compiled(multiply)(self.x, step, rows)
        return rows

    def value(self, unknowns: Floats, log_odds: Floats) -> float:
        """The log posterior, up to a constant."""
        skills = unknowns[self.gamma]
        # G·log p + (1 - G)·log(1 - p) = G·x - log(1 + eˣ), which overflows nowhere.
        likelihood = self.weight @ (self.score * log_odds - np.logaddexp(0.0, log_odds))
        prior = ((self.shape - 1.0) * np.log(skills) - skills / self.scale).sum()
        return float(likelihood + prior - 0.5 * self.precision @ unknowns**2)

    def error(self, log_odds: Floats) -> Floats:
        """Shape (m,): weight · (G - p)."""
        return self.weight * (self.score - logistic(log_odds))

    def gradient(self, unknowns: Floats, log_odds: Floats) -> Floats:
        """Shape (unknowns,): gradient of `value`."""
        out = -self.precision * unknowns
        out[self.gamma] = (self.shape - 1.0) / unknowns[self.gamma] - 1.0 / self.scale
        _compiled(collect)(self.x, self.error(log_odds), 1, out)
        return out

    def newton_step(self, unknowns: Floats, log_odds: Floats, gradient: Floats) -> Floats:
        """Approximately -H⁻¹·gradient, more precisely as the gradient falls (`conjugate_gradients`)."""
        chance = logistic(log_odds)
        weights = self.weight * chance * (1.0 - chance)
        prior = self.precision.copy()
        # The curvature of -(k - 1)·log s, which keeps every diagonal entry above 0.
        prior[self.gamma] = (self.shape - 1.0) / unknowns[self.gamma] ** 2
        diagonal = prior.copy()
        _compiled(collect)(self.x, weights, 2, diagonal)

        def curvature(direction: Floats) -> Floats:
            out = prior * direction
            _compiled(curve)(self.x, weights, direction, out)
            return out

        return conjugate_gradients(curvature, gradient, diagonal)


def maximum(posterior: Posterior, start: Floats) -> tuple[Floats, Convergence]:
    """Maximise the posterior by damped Newton steps; `Convergence.gradient` is the gradient's largest component."""
    unknowns = start
    for iteration in range(ITERATIONS + 1):
        log_odds = posterior.log_odds(unknowns)
        gradient = posterior.gradient(unknowns, log_odds)
        largest = float(np.abs(gradient).max(initial=0.0))
        # The gradient is judged before a step, so a start that is the solution takes none.
        if largest <= TOLERANCE or iteration == ITERATIONS:
            break
        step = posterior.newton_step(unknowns, log_odds, gradient)
        unknowns = unknowns + _damping(posterior, unknowns, log_odds, gradient, step) * step
    return unknowns, Convergence(iteration, largest, largest <= TOLERANCE)


def conjugate_gradients(curvature: Callable[[Floats], Floats], gradient: Floats, diagonal: Floats) -> Floats:
    """Solve curvature(d) = gradient for d, preconditioned by the diagonal.

    The residual that is left is a part of the gradient that falls with the gradient itself: then Newton's method
    converges quadratically, and early steps are cheap.
    """
    solution, residual = np.zeros_like(gradient), gradient.copy()
    preconditioned_residual = residual / diagonal
    direction, size = preconditioned_residual.copy(), float(residual @ preconditioned_residual)
    # `size` is a squared norm, so the part of the residual is squared, too.
    enough = size * min(0.1, math.sqrt(size)) ** 2
    for _ in range(SOLVER_STEPS):
        if size <= enough:
            break
        product = curvature(direction)
        length = size / float(direction @ product)
        solution += length * direction
        residual -= length * product
        preconditioned_residual = residual / diagonal
        size, before = float(residual @ preconditioned_residual), size
        direction = preconditioned_residual + size / before * direction
    return solution


def _damping(posterior: Posterior, unknowns: Floats, log_odds: Floats, gradient: Floats, step: Floats) -> float:
    """Fraction of the step to take: 1, or less if a skill would come too near 0 or the gain would be too small."""
    # Only skills that fall can come to 0.
    descent = posterior.gamma & (step < 0.0)
    length = min(1.0, INSIDE * float((-unknowns[descent] / step[descent]).min(initial=np.inf)))
    slope, trial = 1e-4 * float(gradient @ step), posterior.moved(step)
    value = posterior.value(unknowns, log_odds)
    # At the solution a step gains less than the sum's rounding error; without the slack it would be halved for ever.
    least = value - NOISE * abs(value)
    while posterior.value(unknowns + length * step, log_odds + length * trial) < least + length * slope:
        length *= 0.5
    return length


def _steps(facts: NS2Arrays, large: Offsets) -> Offsets:
    """Shape (m, 3): indexes of the steps of F: of all rounds, of the map, of the map at its size; negative for none."""
    maps = np.asarray(facts.maps, np.int64)
    first = 1 + SETS_PER_MAP * maps
    steps = np.stack((np.zeros_like(maps), first, first + 1 + large), axis=1)
    steps[maps < 0, 1:] = -1
    # Sides that are alike have no advantage of either.
    steps[np.asarray(facts.sign) == 0.0] = -1
    return steps


def _start(system: NS2, history: History, unknowns: int) -> Floats:
    """The unknowns that correspond to the system's present players and win counts."""
    records, players = records_of(system, history), len(history.players)
    start = np.zeros(unknowns)
    # Online steps may have brought a skill below 0, where the prior's logarithm has no value.
    start[:players] = np.maximum(records["skill"], LEAST)
    start[players : 2 * players] = records["offset"]
    start[2 * players : 3 * players] = np.maximum(records["commander"], LEAST)
    start[3 * players :] = steps_of(system.environment.arrays, system.constants.prior_rounds)
    return start


def _settle_players(system: NS2, history: History, posterior: Posterior, unknowns: Floats) -> None:
    """Store the fitted skills; squared gradients, rounds and times are as if all matches had been rated with them."""
    records, players = records_of(system, history), len(history.players)
    squares = np.zeros_like(unknowns)
    _compiled(collect)(posterior.x, posterior.error(posterior.log_odds(unknowns)) ** 2, 2, squares)
    records["skill"], records["squares"] = unknowns[:players], squares[:players]
    records["offset"] = unknowns[players : 2 * players]
    commanders = slice(2 * players, 3 * players)
    records["commander"], records["commander_squares"] = unknowns[commanders], squares[commanders]
    members = history.members[posterior.took_part]
    records["fitted"], records["commander_fitted"] = records["squares"], records["commander_squares"]
    records["rounds"] = np.bincount(members, minlength=players)
    records["last_played"] = NEVER
    starts = np.repeat(history.started_at, np.diff(history.teams[::2]))
    # Unbuffered, as a player occurs many times; `fmax` passes over unknown times, which are NaN.
    np.fmax.at(records["last_played"], members, starts[posterior.took_part])
    write_back(system, history, records, records["rounds"] > 0)


def _without_rounds(system: NS2) -> EnvironmentArrays:
    """An environment without rounds, with counts for all maps of the system's environment."""
    fresh = environment_arrays(Environment(no_rounds(system.params.median_rounds)))
    places = len(system.environment.arrays.wins)
    return fresh._replace(wins=np.zeros(places), rounds=np.zeros(places))


@cache
def _compiled(sweep: Kernel) -> Kernel:
    return compiled(sweep, inline="all", **UNCOUNTED)
