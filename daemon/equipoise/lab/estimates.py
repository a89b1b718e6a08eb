"""TrueSkill 2's parameters estimated from a history, with counts where these help to predict results.

The likelihood is that of counts and results together, and there are many more counts.  So the most likely parameters
may explain kills well and predict winners badly.  What is proposed is estimated from the first part of the history, and
chosen by the results of the rest, each predicted before it was rated: a coin and the present parameters have to be
worse there by two standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from equipoise import ratings
from equipoise.ratings.history import Floats, History, head, scores
from equipoise.ratings.quality import mean, surprises
from equipoise.ratings.trueskill2.estimate import estimate, guess
from equipoise.ratings.trueskill2.params import WEIGHTS, TrueSkill2Params
from equipoise.ratings.trueskill2.system import TrueSkill2

SEEN = 0.7
"""Part of a history that estimates are made from."""
COIN = math.log(2.0)
"""Nats: what a prediction of ½ loses, whatever happens."""
COUNTS = ("kill", "death")
"""How the names of parameters of counts begin."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """Parameters that were estimated."""

    params: TrueSkill2Params
    names: tuple[str, ...]
    """Those that the history says something about; the others are as they were."""
    losses: Floats
    """Log loss of the results that the estimate has not seen, in nats."""

    @property
    def log_loss(self) -> float:
        """The mean of `losses`, by which estimates are compared."""
        return float(self.losses.mean())

    @property
    def counted(self) -> bool:
        """Whether counts are read."""
        return any(getattr(self.params, name) for name in WEIGHTS if name in self.names)

    def values(self) -> Mapping[str, object]:
        """The estimates by name, and those of modes."""
        values = {name: getattr(self.params, name) for name in self.names}
        return values | ({"modes": self.params.modes} if self.params.modes else {})


def estimates(
    params: TrueSkill2Params, history: History, sweeps: int, advance: Callable[[], None] = lambda: None
) -> tuple[Estimated, ...]:
    """The estimates from the history's first part, and from all but its counts if it holds any; the best first.

    `advance` is called after each sweep, for a progress bar.
    """
    estimates = [_estimated(params, history, sweeps, advance)]
    if estimates[0].counted:
        bare = replace(history, kills=None, deaths=None)
        alone = _estimated(_without_counts(params), bare, sweeps, advance)
        # Weights that were on are a part of what is proposed: without their names they would stay on.
        switched_off = tuple(name for name in WEIGHTS if getattr(params, name))
        estimates.append(replace(alone, names=alone.names + switched_off))
    return tuple(sorted(estimates, key=lambda each: each.log_loss))


def climbs(params: TrueSkill2Params, history: History) -> int:
    """How many estimates `estimates` makes."""
    return 1 + any(name.startswith(COUNTS) for name in guess(params, history)[1])


def unseen(history: History) -> int:
    """How many matches estimates do not see."""
    return len(history) - round(SEEN * len(history))


def losses(params: TrueSkill2Params, history: History) -> Floats:
    """Log loss of the results that estimates have not seen, each predicted before it was rated, in nats."""
    replay = ratings.replay(TrueSkill2(params), history)
    chances = replay.wins[0::2] + replay.draws / 2
    return surprises(chances, scores(history))[-unseen(history) :]


def is_better(estimated: Estimated, present: Floats) -> bool:
    """Whether results that it has not seen are predicted better than by the present parameters and by a coin."""
    return all(mean(worse - estimated.losses).is_sure for worse in (present, COIN))


def _without_counts(params: TrueSkill2Params) -> TrueSkill2Params:
    modes = {
        mode: {name: 0.0 if name in WEIGHTS else value for name, value in own.items()}
        for mode, own in params.modes.items()
    }
    return replace(params, modes=modes, **dict.fromkeys(WEIGHTS, 0.0))  # type: ignore[arg-type]


def _estimated(params: TrueSkill2Params, history: History, sweeps: int, advance: Callable[[], None]) -> Estimated:
    start, names = guess(params, history)
    seen = head(history, len(history) - unseen(history))
    result = estimate(TrueSkill2(start), seen, names, sweeps, advance=advance)
    return Estimated(result, names, losses(result, history))
