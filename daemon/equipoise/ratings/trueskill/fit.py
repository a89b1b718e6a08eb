"""The whole-history fit of TrueSkill Through Time; needs numpy."""

from __future__ import annotations

from equipoise.ratings.history import History
from equipoise.ratings.system import Convergence
from equipoise.ratings.trueskill.smoothing import Timeline
from equipoise.ratings.trueskill.through_time import TrueSkillThroughTime


def fit(system: TrueSkillThroughTime, history: History) -> Convergence:
    """Every skill by all these matches, in this order, from newcomers on; what was held of their players goes."""
    system.timeline = None
    return append(system, history)


def append(system: TrueSkillThroughTime, history: History) -> Convergence:
    """Continue the last `fit` by later matches; of its past only what they reach is settled again."""
    if system.timeline is None:
        system.timeline = Timeline(system.constants, system.params.tolerance)
    system.timeline.append(history)
    convergence = system.timeline.settle(system.params.sweeps)
    system.players |= system.timeline.beliefs()
    return convergence
