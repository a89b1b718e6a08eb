"""Finds a system's parameters by the log loss of its own predictions, on the burn-in alone.

Hooke and Jeeves' pattern search (J. ACM 8, 1961) with a step of its own for every parameter, as in Rprop: longer after
a success, shorter after a failure on both sides. It needs no gradient: parameters are whole numbers too, and ratings
are rounded. Every trial fits the correction (temperature, side, maps) anew, so that the parameters need not stand in
for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

from equipoise.errors import RatingError
from equipoise.lab.backtest import BURN_IN, burn_in_of, surprises, warm_up
from equipoise.lab.correction import Correction, fit
from equipoise.lab.histories import head, scores
from equipoise.lab.models import Model, forecast
from equipoise.ratings.history import Floats, History

TRIALS = 400
FIRST, LEAST, LONGEST = 0.7, 0.02, 2.0
"""Steps on the search's axes, where 1 is about a factor e."""
GROW, SHRINK = 1.5, 0.4
GAIN = 1e-7
"""Nats per match below which nothing was gained."""
WORTH = 1e-5
"""Nats per match for which the search starts over."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter on the search's scale: x = value/scale turned by asinh, linear near 0 and logarithmic beyond."""

    name: str
    start: float
    low: float
    high: float
    whole: bool

    @property
    def scale(self) -> float:
        """Half the start; of a start at 0 a thousandth of the range."""
        return abs(self.start) / 2 or (self.high - self.low) / 1000

    @property
    def origin(self) -> float:
        """The start on the search's scale."""
        return math.asinh(self.start / self.scale)

    def value(self, x: float) -> float | int:
        """The parameter at x, within its range."""
        value = min(max(self.scale * math.sinh(min(max(x, -50.0), 50.0)), self.low), self.high)
        return round(value) if self.whole else float(f"{value:.6g}")


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best settings found."""

    model: Model
    correction: Correction
    before: float
    """Log loss on the burn-in, behind its warm-up, with the settings it started from; temperature and sides fitted."""
    after: float
    trials: int
    finished: bool
    """False: the trials ran out before the steps were small."""


Progress = Callable[[int, float], None]
"""Told after each trial: how many, and the least loss so far."""


def axes(model: Model) -> tuple[Axis, ...]:
    """Every parameter with a range; one that is None (derived from others) stays so unless it is set."""
    params = model.make().params
    found = []
    for parameter in fields(params):
        value = getattr(params, parameter.name)
        if not parameter.metadata or value is None:
            continue
        low, high = parameter.metadata["low"], parameter.metadata["high"]
        found.append(Axis(parameter.name, float(value), low, high, type(parameter.default) is int))
    return tuple(found)


def tune(
    model: Model,
    history: History,
    *,
    burn_in: float = BURN_IN,
    trials: int = TRIALS,
    only: Sequence[str] = (),
    progress: Progress = lambda trials, loss: None,
) -> Tuned:
    """Search all parameters, or `only` these; RatingError for one that has no range."""
    known = {axis.name: axis for axis in axes(model)}
    for name in only:
        if name not in known:
            raise RatingError(f"{name}: not a number that {model.name} can be tuned by; there are {', '.join(known)}")
    part = head(history, burn_in_of(history, burn_in))
    search = _Search(model, part, [known[name] for name in only or known], trials, progress)
    return search.run()


class _Search:
    """One run; points are places on the axes."""

    def __init__(self, model: Model, history: History, axes: Sequence[Axis], trials: int, progress: Progress) -> None:
        self.model, self.axes = model, axes
        self.history = replace(history, map=None, maps=())
        self.mapped = history
        self.scores = scores(history)
        self.most, self.trials, self.progress = trials, 0, progress
        self.seen: dict[tuple[tuple[str, object], ...], float] = {}
        self.steps = [FIRST] * len(axes)
        self.idle: set[int] = set()
        self.best = [axis.origin for axis in axes]
        self.loss = self.started = math.inf

    def run(self) -> Tuned:
        """Explore around the best point, and go on in the direction that helped."""
        before = self.loss = self._measured(self._model(self.best))
        while self._goes_on():
            base = list(self.best)
            if self._explore():
                self._leap(base)
        model = self._model(self.best)
        correction, _ = self._fitted(model, self.mapped)
        return Tuned(model, correction, before, self.loss, self.trials, self.trials < self.most)

    def _goes_on(self) -> bool:
        """With small steps everywhere it starts over with large ones, unless the last start gained nothing."""
        if self.trials >= self.most:
            return False
        if any(abs(step) > LEAST for number, step in enumerate(self.steps) if number not in self.idle):
            return True
        gained, self.started = self.started - self.loss, self.loss
        self.steps = [FIRST] * len(self.axes)
        return gained > WORTH

    def _explore(self) -> bool:
        """Try each axis up and down; True if any trial was better."""
        gained = [self._try_axis(number) for number in range(len(self.axes)) if number not in self.idle]
        return any(gained)

    def _try_axis(self, number: int) -> bool:
        found = []
        for step in (self.steps[number], -self.steps[number]):
            point = list(self.best)
            point[number] += step
            found.append(self._loss(point))
            if self._take(point, found[-1]):
                self.steps[number] = math.copysign(min(abs(step) * GROW, LONGEST), step)
                return True
        if found == [self.loss, self.loss] and abs(self.steps[number]) >= FIRST:
            # What changes no prediction at all: a shadow period, a number of days.
            self.idle.add(number)
        self.steps[number] *= SHRINK
        return False

    def _leap(self, base: Sequence[float]) -> None:
        point = [2 * now - then for now, then in zip(self.best, base, strict=True)]
        self._take(point, self._loss(point))

    def _take(self, point: list[float], loss: float) -> bool:
        if not loss < self.loss - GAIN:
            return False
        self.best, self.loss = point, loss
        return True

    def _loss(self, point: Sequence[float]) -> float:
        """Infinite where the system refuses the settings, or the trials have run out."""
        model = self._model(point)
        key = tuple(sorted(model.settings.items()))
        if key not in self.seen:
            if self.trials >= self.most:
                return math.inf
            try:
                self.seen[key] = self._measured(model)
            except RatingError:
                self.seen[key] = math.inf
        return self.seen[key]

    def _measured(self, model: Model) -> float:
        self.trials += 1
        loss = self._fitted(model, self.history)[1]
        self.progress(self.trials, min(loss, self.loss))
        return loss

    def _model(self, point: Sequence[float]) -> Model:
        """Only what was given or has changed is set."""
        found = dict(self.model.settings)
        for axis, x in zip(self.axes, point, strict=True):
            value = axis.value(x)
            if value != axis.start or axis.name in found:
                found[axis.name] = value
        return Model(self.model.name, found)

    def _fitted(self, model: Model, history: History) -> tuple[Correction, float]:
        """The log loss is that of the correction's own matches, those after the warm-up."""
        predicted = forecast(model, history).predicted
        start = warm_up(len(history))
        correction = fit(predicted, history, self.scores, start)
        corrected = correction.apply(predicted, history)
        return correction, log_loss(corrected[start:], self.scores[start:])


def log_loss(predicted: Floats, scores: Floats) -> float:
    """Mean, in nats."""
    return float(surprises(predicted, scores).mean())
