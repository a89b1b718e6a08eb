"""The whole-history fit of TrueSkill Through Time; needs numpy."""

from __future__ import annotations

from equipoise.ratings.history import History
from equipoise.ratings.system import Convergence
from equipoise.ratings.trueskill.smoothing import Smoother
from equipoise.ratings.trueskill.through_time import TrueSkillThroughTime


def fit(system: TrueSkillThroughTime, history: History) -> Convergence:
    """Estimate every skill by all these matches, in this order, from newcomers on.

    Players of the history are left as after their last match; what the system knew of them before is dropped.  To
    continue a fit by later matches, keep a `Smoother`.
    """
    smoother = Smoother(system.constants, system.params.tolerance)
    smoother.append(history)
    convergence = smoother.run(system.params.sweeps)
    system.players |= smoother.skills()
    return convergence
