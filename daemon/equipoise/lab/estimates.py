"""TrueSkill 2's parameters estimated from a history, with counts where these help to predict results.

The likelihood is that of counts and results together, and there are many more counts.  So the most likely parameters
may explain kills well and predict winners badly.  What is proposed is chosen by the results alone, each predicted
before it was rated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from equipoise import ratings
from equipoise.lab.backtest import BURN_IN, surprises
from equipoise.lab.histories import scores
from equipoise.ratings.history import History
from equipoise.ratings.trueskill2.estimate import estimate
from equipoise.ratings.trueskill2.guess import guess
from equipoise.ratings.trueskill2.params import TrueSkill2Params
from equipoise.ratings.trueskill2.system import TrueSkill2

COUNTS = ("kill", "death")
"""How the names of parameters of counts begin."""
WEIGHTS = tuple(f"{kind}_{whose}" for kind in COUNTS for whose in ("own", "opponent"))
"""All 0: counts are ignored."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """Parameters that were estimated."""

    params: TrueSkill2Params
    names: tuple[str, ...]
    """Those that the history says something about; the others are as they were."""
    log_loss: float
    """Of the results after the burn-in, in nats."""

    @property
    def counted(self) -> bool:
        """Whether counts are read."""
        return any(getattr(self.params, name) for name in WEIGHTS if name in self.names)

    def values(self) -> Mapping[str, object]:
        """The estimates by name, and those of modes."""
        found = {name: getattr(self.params, name) for name in self.names}
        return found | ({"modes": self.params.modes} if self.params.modes else {})


def estimates(
    params: TrueSkill2Params, history: History, sweeps: int, advance: Callable[[], None] = lambda: None
) -> tuple[Estimated, ...]:
    """The estimates from all that the history holds, and from all but its counts if it holds any; the best first.

    `advance` is called after each sweep, for a progress bar.
    """
    found = [_estimated(params, history, sweeps, advance)]
    if found[0].counted:
        bare = replace(history, kills=None, deaths=None)
        alone = _estimated(_without_counts(params), bare, sweeps, advance)
        switched_off = tuple(name for name in WEIGHTS if getattr(params, name))
        found.append(replace(alone, names=alone.names + switched_off))
    return tuple(sorted(found, key=lambda each: each.log_loss))


def climbs(params: TrueSkill2Params, history: History) -> int:
    """How many estimates `estimates` makes."""
    return 1 + any(name.startswith(COUNTS) for name in guess(params, history)[1])


def log_loss(params: TrueSkill2Params, history: History) -> float:
    """Of the results after the burn-in, each predicted before it was rated, in nats."""
    replayed, first = ratings.replay(TrueSkill2(params), history), round(BURN_IN * len(history))
    predicted = replayed.wins[0::2] + replayed.draws / 2
    return float(surprises(predicted, scores(history))[first:].mean())


def _without_counts(params: TrueSkill2Params) -> TrueSkill2Params:
    modes = {
        mode: {name: 0.0 if name in WEIGHTS else value for name, value in own.items()}
        for mode, own in params.modes.items()
    }
    return replace(params, modes=modes, **dict.fromkeys(WEIGHTS, 0.0))  # type: ignore[arg-type]


def _estimated(params: TrueSkill2Params, history: History, sweeps: int, advance: Callable[[], None]) -> Estimated:
    start, names = guess(params, history)
    found = estimate(TrueSkill2(start), history, names, sweeps, advance=advance)
    return Estimated(found, names, log_loss(found, history))
