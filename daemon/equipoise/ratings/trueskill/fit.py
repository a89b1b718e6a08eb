"""The whole-history fit of TrueSkill Through Time; needs numpy."""

from __future__ import annotations

from equipoise.ratings.history import History
from equipoise.ratings.system import Convergence
from equipoise.ratings.trueskill.smoothing import Smoother
from equipoise.ratings.trueskill.through_time import TrueSkillThroughTime


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
