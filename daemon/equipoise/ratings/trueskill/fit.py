"""TrueSkill Through Time's fit: every skill at every match of a history, by all its matches; needs numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.history import Floats, History, Offsets
from equipoise.ratings.parameters import NEVER
from equipoise.ratings.replays import GAUSSIAN_RECORD, allocate_sides
from equipoise.ratings.system import Convergence
from equipoise.ratings.trueskill import fit_formulas as kernel
from equipoise.ratings.trueskill.formulas import GaussianConstants, GaussianSkill
from equipoise.ratings.trueskill.system import TrueSkillThroughTime

SLOWER = 10.0
"""Messages stop at the tolerance over this, because the remaining distance is larger than the last step."""

WHOLE = ("owner", "earlier", "later")
NODE = np.dtype([(name, np.int32 if name in WHOLE else np.float64) for name in kernel.Node.__slots__])


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One player's skill at each of their n matches; all of shape (n,)."""

    times: Floats
    """Seconds since the epoch, NaN where unknown."""
    means: Floats
    """Units of skill, as are `deviations`."""
    deviations: Floats


class Smoother:
    """The fit of a growing history: `append` matches, then `run`.  Matches that nothing new affects are not recomputed.

    `tolerance` is in units of skill: the estimate has converged when no further sweep would move a skill by more.
    """

    def __init__(self, constants: GaussianConstants, tolerance: float, kernels: kernel.Kernels | None = None) -> None:
        self.constants = constants
        # Half of σ₀ bounds how far a deviation moves: σ = 1/√precision, so dσ is -σ/2 of the relative change of
        # precision.
        self.sweeping = kernel.SmoothingConstants(
            constants.noise, constants.unit, math.sqrt(constants.variance) / 2.0, tolerance / SLOWER
        )
        self.kernels = kernels or _compiled()
        self.numbers: dict[PlayerId, int] = {}
        self.graph = kernel.Graph(
            matches=np.zeros(1, np.int64),
            teams=np.zeros(1, np.int64),
            ranks=np.empty(0, np.int32),
            nodes=_records(np.empty(0, NODE)),
            stale=np.empty(0, np.bool_),
        )
        self.appearances = kernel.Appearances(
            members=np.empty(0, np.int32),
            started_at=np.empty(0),
            records=_records(np.empty(0, GAUSSIAN_RECORD)),
            last=np.empty(0, np.int64),
        )

    def append(self, history: History) -> None:
        """Add matches that are later than all previous ones; they take effect in `run`."""
        graph, appearances = self.graph, self.appearances
        nodes = np.zeros(len(history.members), NODE)
        known_parts = history.fraction_played
        # Unknown counts as all of the match, as in `fraction_played_at`.
        nodes["fraction_played"] = 1.0 if known_parts is None else np.nan_to_num(known_parts, nan=1.0)
        numbers = np.array([self.numbers.setdefault(p, len(self.numbers)) for p in history.players], np.int32)
        new = len(self.numbers) - len(appearances.last)
        strangers = np.array([(self.constants.mean, self.constants.variance, 0, NEVER)] * new, GAUSSIAN_RECORD)
        self.graph = kernel.Graph(
            matches=_continued(graph.matches, history.matches),
            teams=_continued(graph.teams, history.teams),
            ranks=np.concatenate((graph.ranks, history.ranks)),
            nodes=_records(np.concatenate((graph.nodes, nodes))),
            stale=np.concatenate((graph.stale, np.ones(len(history), np.bool_))),
        )
        self.appearances = kernel.Appearances(
            members=np.concatenate((appearances.members, numbers[history.members])),
            started_at=np.concatenate((appearances.started_at, history.started_at)),
            records=_records(np.concatenate((appearances.records, strangers))),
            last=np.concatenate((appearances.last, np.full(new, kernel.NO_NODE))),
        )
        self.kernels.link(len(graph.stale), self.graph, self.appearances, self.constants)

    def run(self, most: int) -> Convergence:
        """Sweep until no message moves by the tolerance, `most` times at most.

        The first sweep is forward, and over a new history gives the ratings of match after match.
        """
        sides = allocate_sides(self.graph.matches)
        sweeps, change = self.kernels.sweeps(self.graph, sides, most, self._even(), self.sweeping)
        return Convergence(sweeps, change, not self.graph.stale.any())

    def log_evidence(self) -> float:
        """How well the fit explains the ranks, in nats: `fit_formulas.sum_evidence`."""
        return self.kernels.evidence(self.graph, allocate_sides(self.graph.matches), self.sweeping)

    def skills(self) -> dict[PlayerId, GaussianSkill]:
        """The skill of every participant after their last match; players who were only in lineups have none."""
        has_rounds = self.appearances.last != kernel.NO_NODE
        means, variances = _posterior(self.graph.nodes[self.appearances.last[has_rounds]])
        records, names = self.appearances.records[has_rounds], compress(self.numbers, has_rounds.tolist())
        columns = (means, variances, records["rounds"], records["last_played"])
        skills = zip(*(column.tolist() for column in columns), strict=True)
        return {player: GaussianSkill(*skill) for player, skill in zip(names, skills, strict=True)}

    def curve(self, player: PlayerId) -> Curve:
        """A player's skill at each of their matches, given all matches; `RatingError` for one without matches."""
        nodes = self.graph.nodes[np.flatnonzero(self.appearances.members == self.numbers.get(player, kernel.NO_NODE))]
        if not len(nodes):
            raise RatingError(f"{player}: plays in no match of this history")
        means, variances = _posterior(nodes)
        return Curve(self.appearances.started_at[nodes["owner"]], means, np.sqrt(variances))

    def _even(self) -> bool:
        """Whether in every match all teams have the same sum of fractions played."""
        # One more at the end for a last team without players; of an empty range `reduceat` returns the next element,
        # hence the line below.
        seconds = np.add.reduceat(np.append(self.graph.nodes["fraction_played"], 0.0), self.graph.teams[:-1])
        seconds[np.diff(self.graph.teams) == 0] = 0.0
        first = np.repeat(seconds[self.graph.matches[:-1]], np.diff(self.graph.matches))
        return bool(np.allclose(seconds, first, rtol=0.0, atol=1e-9))


@cache
def _compiled() -> kernel.Kernels:
    return kernel.build(compiled=True)


def _records(array: NDArray[np.void]) -> NDArray[np.void]:
    """A view with fields as attributes, as the kernel reads them."""
    return array.view(np.recarray)


def _continued(before: Offsets, more: Offsets) -> Offsets:
    return np.concatenate((before, before[-1] + more[1:]))


def _posterior(nodes: NDArray[np.void]) -> tuple[Floats, Floats]:
    """Means and variances of nodes, the product of all three messages."""
    precisions = nodes["forward"] + nodes["backward"] + nodes["likelihood"]
    shifts = nodes["forward_shift"] + nodes["backward_shift"] + nodes["likelihood_shift"]
    return shifts / precisions, 1.0 / precisions


def fit(system: TrueSkillThroughTime, history: History) -> Convergence:
    """Estimate every skill from all these matches, in this order; all players begin as newcomers.

    Each player ends with their skill after the last match; the previous one is dropped.  To continue a fit with later
    matches, keep a `Smoother`.
    """
    smoother = Smoother(system.constants, system.params.tolerance)
    smoother.append(history)
    convergence = smoother.run(system.params.sweeps)
    system.players |= smoother.skills()
    return convergence
