"""TrueSkill 2's fit of a whole history, and the estimation of its parameters; needs numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from equipoise.ratings.history import Floats, History
from equipoise.ratings.system import Convergence
from equipoise.ratings.trueskill2 import fit_formulas as kernel
from equipoise.ratings.trueskill2.factor_graph import Scene
from equipoise.ratings.trueskill2.players import Player, Skill
from equipoise.ratings.trueskill2.replay import Cast, cast_of, room_for

if TYPE_CHECKING:
    from equipoise.ratings.trueskill2.system import TrueSkill2

STILL = 1e-6
"""A fit has converged when no skill moves by more than this in a sweep, β."""

MOST_SWEEPS = 2000


@dataclass(slots=True, eq=False)
class Sweeps:
    """A history with its messages, ready to be swept."""

    cast: Cast
    own: kernel.Trail
    base: kernel.Trail
    skill: Floats
    """Shape (p,): mean skill at each participation, by all messages."""
    scene: Scene
    run: kernel.Sweep

    def forward(self, table: Floats) -> float:
        """From the first match to the last; how far the farthest skill moved, β."""
        return self._sweep(table, np.zeros_like(table), back=False)

    def back_and_forth(self, table: Floats, gradient: Floats) -> float:
        """One sweep each way; adds to `gradient`, and returns how far the farthest skill moved."""
        return self._sweep(table, gradient, back=True)

    def _sweep(self, table: Floats, gradient: Floats, *, back: bool) -> float:
        return self.run(self.cast.rounds, self.own, self.base, self.skill, self.scene, table, gradient, back)


def fit(system: TrueSkill2, history: History, run: kernel.Sweep | None = None) -> Convergence:
    """Sweep until no skill moves; by default with the compiled kernel."""
    sweeps = prepared(system, history, run)
    table = np.array(system.table)
    done, moved = 0, np.inf
    while moved > STILL and done < MOST_SWEEPS:
        moved = sweeps.back_and_forth(table, np.zeros_like(table))
        done += 1
    sweeps.forward(table)  # everybody's last skill stands at its end
    _write_back(system, history, sweeps)
    return Convergence(done, float(moved), bool(moved <= STILL))


def prepared(system: TrueSkill2, history: History, run: kernel.Sweep | None = None) -> Sweeps:
    """A history in which everybody begins anew, at what he was seeded with."""
    cast = cast_of(system, history)
    scene, _ = room_for(history)
    people = [system.held(player) for player in history.players]
    own = _trail(len(history.members), [people[person] for person, _ in cast.chains])
    base = _trail(len(history.members), [system.newcomer()] * len(people))
    return Sweeps(cast, own, base, np.zeros(len(history.members)), scene, run or _compiled())


@cache
def _compiled() -> kernel.Sweep:
    return kernel.build(compiled=True)


def _trail(places: int, begun: Sequence[Player]) -> kernel.Trail:
    start = [np.nan if one.start_mean is None else one.start_mean for one in begun]
    spread = [np.nan if one.start_variance is None else one.start_variance for one in begun]
    seeds = {"start_mean": np.array(start, np.float64), "start_variance": np.array(spread, np.float64)}
    whole = ("before", "seen")
    lengths = dict.fromkeys(kernel.Trail._fields, places)
    carried = ("ahead_mean", "ahead_variance", "back_precision", "back_shift", "seen", "last")
    lengths |= dict.fromkeys(carried, len(begun))
    rooms = {name: np.zeros(size, np.int64 if name in whole else np.float64) for name, size in lengths.items()}
    return kernel.Trail(**(rooms | seeds))  # type: ignore[arg-type]


def _write_back(system: TrueSkill2, history: History, sweeps: Sweeps) -> None:
    """Everybody as he goes on after his last match; who only stood at the doors stays as he was."""
    own, base, chains = sweeps.own, sweeps.base, sweeps.cast.chains
    for person in np.flatnonzero(base.seen).tolist():
        player, mean, variance = history.players[person], base.ahead_mean[person], base.ahead_variance[person]
        before = system.held(player)
        begun = Player(float(mean), float(variance), float(base.last[person]), int(base.seen[person]))
        begun.start_mean, begun.start_variance = before.start_mean, before.start_variance
        system.players[player] = begun
    for chain in np.flatnonzero(own.seen).tolist():
        person, mode = chains[chain]
        mean, variance = float(own.ahead_mean[chain]), float(own.ahead_variance[chain])
        skill = Skill(mean, variance, int(own.seen[chain]), float(own.last[chain]))
        system.players[history.players[person]].modes[mode] = skill
