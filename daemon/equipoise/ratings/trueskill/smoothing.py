"""A history as TrueSkill Through Time holds it: every skill at every match, settled by all of them; needs numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.history import Floats, History, Offsets
from equipoise.ratings.parts.gaussian_formulas import Constants, GaussianSkill
from equipoise.ratings.parts.gaussian_replay import DTYPE, fractions_played, room_for, times_of
from equipoise.ratings.system import Convergence
from equipoise.ratings.trueskill import smoothing_formulas as kernel
from equipoise.ratings.validation import NEVER

SLOWER = 10.0
"""What is left to go is more than the last step, where every step is a part of the one before."""

WHOLE = ("owner", "earlier", "later")
NODE = np.dtype([(name, np.int32 if name in WHOLE else np.float64) for name in kernel.Node.__slots__])


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One player's skill, match by match."""

    times: Floats
    """Seconds since the epoch, NaN where unknown."""
    means: Floats
    deviations: Floats


class Timeline:
    """Matches in order; `append` them, then `settle`.  What was settled before stays where nothing new reaches.

    Settled is what no further sweep would move by the tolerance, in units of skill.
    """

    def __init__(self, constants: Constants, tolerance: float, kernels: kernel.Kernels | None = None) -> None:
        self.constants = constants
        tolerance /= SLOWER
        self.sweeping = kernel.Constants(
            constants.noise, constants.unit, math.sqrt(constants.variance) / 2.0, tolerance
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
        self.cast = kernel.Cast(
            members=np.empty(0, np.int32),
            started_at=np.empty(0),
            records=_records(np.empty(0, DTYPE)),
            last=np.empty(0, np.int64),
        )

    def __len__(self) -> int:
        return len(self.graph.stale)

    def append(self, history: History) -> None:
        """Add matches that come after all before; they wait for `settle`."""
        begin, graph, cast = len(self), self.graph, self.cast
        nodes = np.zeros(len(history.members), NODE)
        nodes["fraction_played"] = fractions_played(history)
        numbers = np.array([self.numbers.setdefault(p, len(self.numbers)) for p in history.players], np.int32)
        self.graph = kernel.Graph(
            matches=_continued(graph.matches, history.matches),
            teams=_continued(graph.teams, history.teams),
            ranks=np.concatenate((graph.ranks, history.ranks)),
            nodes=_records(np.concatenate((graph.nodes, nodes))),
            stale=np.concatenate((graph.stale, np.ones(len(history), np.bool_))),
        )
        new = len(self.numbers) - len(cast.last)
        strangers = np.array([(self.constants.mean, self.constants.variance, 0, NEVER)] * new, DTYPE)
        self.cast = kernel.Cast(
            members=np.concatenate((cast.members, numbers[history.members])),
            started_at=np.concatenate((cast.started_at, times_of(history))),
            records=_records(np.concatenate((cast.records, strangers))),
            last=np.concatenate((cast.last, np.full(new, kernel.NOBODY))),
        )
        self.kernels.link(begin, self.graph, self.cast, self.constants)

    def settle(self, most: int) -> Convergence:
        """Sweep, the first time forward, until no message moves by the tolerance, or `most` times.

        One sweep over a new timeline gives what rating match after match gives.
        """
        sweeps, moved = self.kernels.settle(self.graph, room_for(self.graph.matches), most, self._even(), self.sweeping)
        return Convergence(sweeps, moved, not self.graph.stale.any())

    def log_evidence(self) -> float:
        """Sum over matches of the log probability of their ranks, each by all the others, in nats."""
        return self.kernels.evidence(self.graph, room_for(self.graph.matches), self.sweeping)

    def _even(self) -> bool:
        """Every team of a match played as much as the others, shares added up."""
        played = np.add.reduceat(np.append(self.graph.nodes["fraction_played"], 0.0), self.graph.teams[:-1])
        played[np.diff(self.graph.teams) == 0] = 0.0
        first = np.repeat(played[self.graph.matches[:-1]], np.diff(self.graph.matches))
        return bool(np.allclose(played, first, rtol=0.0, atol=1e-9))

    def beliefs(self) -> dict[PlayerId, GaussianSkill]:
        """Everybody as after his last match."""
        means, variances = _posterior(self.graph.nodes[self.cast.last])
        records = self.cast.records
        columns = (means, variances, records["rounds"], records["last_played"])
        return {
            player: GaussianSkill(*belief)
            for player, *belief in zip(self.numbers, *(column.tolist() for column in columns), strict=True)
        }

    def curve(self, player: PlayerId) -> Curve:
        """A player's skill by all matches, before and after; `RatingError` if he never played."""
        if player not in self.numbers:
            raise RatingError(f"{player}: plays in no match of this history")
        places = np.flatnonzero(self.cast.members == self.numbers[player])
        nodes = self.graph.nodes[places]
        means, variances = _posterior(nodes)
        times = self.cast.started_at[nodes["owner"]]
        return Curve(np.where(times == NEVER, np.nan, times), means, np.sqrt(variances))


@cache
def _compiled() -> kernel.Kernels:
    return kernel.build(compiled=True)


def _records(array: NDArray[np.void]) -> NDArray[np.void]:
    """With fields as attributes, as the kernel has them."""
    return array.view(np.recarray)


def _continued(before: Offsets, more: Offsets) -> Offsets:
    return np.concatenate((before, before[-1] + more[1:]))


def _posterior(nodes: NDArray[np.void]) -> tuple[Floats, Floats]:
    """Means and variances by all that is known."""
    precisions = nodes["forward"] + nodes["backward"] + nodes["likelihood"]
    shifts = nodes["forward_shift"] + nodes["backward_shift"] + nodes["likelihood_shift"]
    return shifts / precisions, 1.0 / precisions
