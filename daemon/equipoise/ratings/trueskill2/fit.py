"""TrueSkill 2's fit of a whole history: sweeps until no skill moves; needs numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from equipoise.ratings.history import Floats, History
from equipoise.ratings.parts.compiling import UNCOUNTED, compiled
from equipoise.ratings.system import Convergence
from equipoise.ratings.trueskill2.factor_graph import FactorGraph
from equipoise.ratings.trueskill2.fit_formulas import Messages, Sweep, sweep_history
from equipoise.ratings.trueskill2.replay import IndexedHistory, allocate, index
from equipoise.ratings.trueskill2.system import Player, Skill

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.system import TrueSkill2

TOLERANCE = 1e-6
"""A fit has converged when no skill moves by more than this in a sweep, β."""

MOST_SWEEPS = 2000


@dataclass(slots=True, eq=False)
class Sweeps:
    """A history with its messages, and the two kinds of sweeps over it."""

    indexed: IndexedHistory
    own: Messages
    base: Messages
    skill: Floats
    """Shape (p,): mean skill at each participation given all messages, β."""
    graph: FactorGraph
    run: Sweep

    def forward(self, table: Floats) -> float:
        """Sweep forward only, with these parameters; returns the largest movement of a skill, β."""
        return self._sweep(table, np.zeros_like(table), back=False)

    def back_and_forth(self, table: Floats, gradients: Floats) -> float:
        """One sweep each way; adds to `gradients`, and returns the largest movement of a skill, β."""
        return self._sweep(table, gradients, back=True)

    def _sweep(self, table: Floats, gradients: Floats, *, back: bool) -> float:
        return self.run(
            self.indexed.matches,
            self.indexed.facts,
            self.own,
            self.base,
            self.skill,
            self.graph,
            table,
            gradients,
            back,
        )


def fit(system: TrueSkill2, history: History, run: Sweep | None = None) -> Convergence:
    """Sweep forward and backward over all matches until no skill moves (section 3 of the paper, "batch").

    All players in the history start anew, at their seeds.  Staying to the end is an observation here.
    `run` is `sweep_history`, by default compiled.  `Convergence.gradient` is how far the last sweep moved a skill, β.
    """
    sweeps = prepared(system, history, run)
    table = np.array(system.table)
    done, change = 0, np.inf
    while change > TOLERANCE and done < MOST_SWEEPS:
        change = sweeps.back_and_forth(table, np.zeros_like(table))
        done += 1
    sweeps.forward(table)  # Leaves each chain's message after its last match, for `_write_back`.
    _write_back(system, history, sweeps)
    return Convergence(done, float(change), bool(change <= TOLERANCE))


def prepared(system: TrueSkill2, history: History, run: Sweep | None = None) -> Sweeps:
    """Set up the sweeps of a history, without messages; all players start at their seeds."""
    columns = index(system, history)
    graph, _ = allocate(history)
    people = [system.held(player) for player in history.players]
    # Own parts start from a player's seeds; the base has none, and starts from its prior.
    own = _no_messages(len(history.members), [people[person] for person, _ in columns.chains])
    base = _no_messages(len(history.members), [system.newcomer()] * len(people))
    return Sweeps(columns, own, base, np.zeros(len(history.members)), graph, run or _compiled())


@cache
def _compiled() -> Sweep:
    return compiled(sweep_history, **UNCOUNTED)


def _no_messages(participations: int, players: Sequence[Player]) -> Messages:
    """Empty messages for chains that start at these players' seeds."""
    mean = [np.nan if player.start_mean is None else player.start_mean for player in players]
    variance = [np.nan if player.start_variance is None else player.start_variance for player in players]
    seeds = {"start_mean": np.array(mean, np.float64), "start_variance": np.array(variance, np.float64)}
    whole = ("before", "seen")
    by_chain = Messages._fields[Messages._fields.index("start_mean") :]
    lengths = dict.fromkeys(Messages._fields, participations) | dict.fromkeys(by_chain, len(players))
    arrays = {name: np.zeros(length, np.int64 if name in whole else np.float64) for name, length in lengths.items()}
    return Messages(**(arrays | seeds))  # type: ignore[arg-type]


def _write_back(system: TrueSkill2, history: History, sweeps: Sweeps) -> None:
    """Store each player's skills after their last match; players who were only in a lineup stay unchanged."""
    own, base, chains = sweeps.own, sweeps.base, sweeps.indexed.chains
    for person in np.flatnonzero(base.seen).tolist():
        player, before = history.players[person], system.held(history.players[person])
        system.players[player] = Player(
            base_mean=float(base.forward_mean[person]),
            base_variance=float(base.forward_variance[person]),
            base_last=float(base.last[person]),
            rounds=int(base.seen[person]),
            start_mean=before.start_mean,
            start_variance=before.start_variance,
        )
    for chain in np.flatnonzero(own.seen).tolist():
        person, mode = chains[chain]
        mean, variance = float(own.forward_mean[chain]), float(own.forward_variance[chain])
        skill = Skill(mean, variance, int(own.seen[chain]), float(own.last[chain]))
        system.players[history.players[person]].modes[mode] = skill
