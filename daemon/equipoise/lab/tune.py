"""Finds a system's parameters by the log loss of its own predictions, on the burn-in alone.

Hooke and Jeeves' pattern search (J. ACM 8, 1961) with a step of its own for every parameter, as in Rprop: longer after
a success, shorter after a failure on both sides. It needs no gradient: parameters are whole numbers too, and ratings
are rounded. Every trial fits the correction (temperature, side, maps) anew, so that the parameters need not stand in
for it.

A weak prior holds what the matches say nothing about where it started: each parameter is log-normal around its start,
and one that starts at 0, which switches something off, costs a nat when it is on (Akaike's price of a parameter).
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
from equipoise.ratings.system import among

TRIALS = 2000
FIRST, LEAST, LONGEST = 0.7, 0.02, 2.0
"""Steps on the search's axes, where 1 is about a factor e."""
GROW, SHRINK = 1.5, 0.4
POWERS = range(-6, 4)
"""What is off is tried at these powers of ten."""
SPREAD = math.log(10)
"""The prior's standard deviation on the axes: about a factor of ten."""
PRICE = 1.0
"""Nats, of all matches together, that a parameter costs which is off at the start and on at the end."""
GAIN = 1e-7
"""Nats per match below which nothing was gained."""
WORTH = 1e-5
"""Nats per match for which the search starts over."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A parameter on the search's scale: x = value/unit turned by asinh, linear near 0 and logarithmic beyond."""

    name: str
    start: float
    low: float
    high: float
    whole: bool

    @property
    def unit(self) -> float:
        """Half the start; below all that is tried where the start is 0."""
        return abs(self.start) / 2 or 10.0 ** (POWERS[0] - 1)

    @property
    def origin(self) -> float:
        """The start on the search's scale."""
        return self.place(self.start)

    def place(self, value: float) -> float:
        """Where a value is on the search's scale."""
        return math.asinh(value / self.unit)

    def value(self, x: float) -> float | int:
        """The parameter at x, within its range."""
        value = min(max(self.unit * math.sinh(min(max(x, -50.0), 50.0)), self.low), self.high)
        return round(value) if self.whole else float(f"{value:.6g}")

    def price(self, x: float) -> float:
        """Nats: the prior's."""
        if self.start == 0:
            return PRICE if self.value(x) else 0.0
        return ((x - self.origin) / SPREAD) ** 2 / 2

    def switches(self) -> list[float]:
        """Places to try from 0."""
        values = [sign * 10.0**power for power in POWERS for sign in (1, -1)]
        return [self.place(value) for value in values if self.low <= value <= self.high]


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
    """False: the trials ran out before the steps were small, or it was interrupted."""
    interrupted: bool = False


Progress = Callable[[int, float], None]
"""Told after each trial: how many, and the loss of the best settings so far."""


def axes(model: Model) -> tuple[Axis, ...]:
    """Every parameter with a range; one that is None (derived from others) stays so unless it is set."""
    params = model.make().params
    found = []
    for parameter in fields(params):
        value = getattr(params, parameter.name)
        if "low" not in parameter.metadata or value is None:
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
    """Search all parameters, or `only` these; RatingError for one that has no range.

    A KeyboardInterrupt ends the search and leaves the best settings so far, once there are any.
    """
    known = {axis.name: axis for axis in axes(model)}
    for name in only:
        if name not in known:
            raise RatingError(f"{name}: not a number that {model.name} can be tuned by; {among(name, known)}")
    part = head(history, burn_in_of(history, burn_in))
    search = _Search(model, part, [known[name] for name in only or known], trials, progress)
    return search.run()


@dataclass(frozen=True, slots=True)
class _Point:
    cost: float
    """Nats per match: the loss with the prior."""
    loss: float
    places: list[float]
    """On the axes."""


class _Search:
    """One run."""

    def __init__(self, model: Model, history: History, axes: Sequence[Axis], trials: int, progress: Progress) -> None:
        self.model, self.axes = model, axes
        self.history = replace(history, map=None, maps=())
        self.mapped = history
        self.scores = scores(history)
        self.start = warm_up(len(history))
        self.most, self.trials, self.progress = trials, 0, progress
        self.seen: dict[tuple[tuple[str, object], ...], float] = {}
        self.order = range(len(axes))
        self.steps = [0.0] * len(axes)
        self.idle: set[int] = set()
        self.untried: set[int] = set()
        """Axes that have not been switched since the search started over."""
        self.here = self.best = _Point(math.inf, math.inf, [axis.origin for axis in axes])
        """The best point of this descent, and of all."""
        self.started = math.inf
        """Cost when the search last started over."""

    def run(self) -> Tuned:
        """Descend twice, through the parameters forward and backward: what is switched on first decides much."""
        origin, forward = self.best.places, self.order
        before = self._fitted(self._model(origin), self.history)[1]  # may refuse the history
        interrupted = False
        try:
            for self.order in (forward, forward[::-1]):
                self._descend(origin)
        except KeyboardInterrupt:
            if self.best.cost == math.inf:
                raise
            interrupted = True
        model = self._model(self.best.places)
        correction, _ = self._fitted(model, self.mapped)
        finished = self.trials < self.most and not interrupted
        return Tuned(model, correction, before, self.best.loss, self.trials, finished, interrupted)

    def _descend(self, origin: list[float]) -> None:
        """Explore around the best point, and go on in the direction that helped."""
        self.here, self.started = _Point(math.inf, math.inf, origin), math.inf
        self.steps, self.idle = [0.0] * len(self.axes), set()
        self._take(origin)
        while self._goes_on():
            base = self.here.places
            if self._explore():
                self._take([2 * now - then for now, then in zip(self.here.places, base, strict=True)])

    def _goes_on(self) -> bool:
        """With small steps everywhere it starts over with large ones, unless the last start gained nothing."""
        if self.trials >= self.most:
            return False
        if any(abs(step) > LEAST for number, step in enumerate(self.steps) if number not in self.idle):
            return True
        gained, self.started = self.started - self.here.cost, self.here.cost
        if not gained > WORTH:
            return False
        self._start_over()
        return True

    def _start_over(self) -> None:
        """What had no effect may have one now, unless nothing could switch it on."""
        self.idle = {number for number in self.idle if self.axes[number].start == 0}
        self.steps = [FIRST] * len(self.axes)
        self.untried = {number for number, axis in enumerate(self.axes) if axis.start == 0}

    def _switch(self, number: int) -> bool:
        """A step says nothing of what is off: all sizes are tried. What is on is tried without."""
        axis, place = self.axes[number], self.here.places[number]
        off = not axis.value(place)
        points = [self._at(number, other) for other in (axis.switches() if off else [0.0])]
        if off and all(self._same(point) for point in points):
            self.idle.add(number)
        gained = [self._take(point) for point in points]
        if not axis.value(self.here.places[number]):
            self.steps[number] = 0.0
        return any(gained)

    def _explore(self) -> bool:
        """Try each axis up and down; True if any trial was better."""
        gained = [self._try_axis(number) for number in self.order if number not in self.idle]
        return any(gained)

    def _try_axis(self, number: int) -> bool:
        if number in self.untried:
            self.untried.remove(number)
            return self._switch(number)
        place, step = self.here.places[number], self.steps[number]
        ahead, behind = self._at(number, place + step), self._at(number, place - step)
        for point, taken in ((ahead, step), (behind, -step)):
            if self._take(point):
                self.steps[number] = math.copysign(min(abs(step) * GROW, LONGEST), taken)
                return True
        if abs(step) >= FIRST and self._same(ahead) and self._same(behind):
            # What changes no prediction at all: a shadow period, a number of days.
            self.idle.add(number)
        self.steps[number] *= SHRINK
        return False

    def _at(self, number: int, place: float) -> list[float]:
        """The best point of this descent, but for one axis."""
        point = list(self.here.places)
        point[number] = place
        return point

    def _same(self, point: Sequence[float]) -> bool:
        return abs(self._loss(point) - self.here.loss) < GAIN / 100

    def _take(self, point: list[float]) -> bool:
        """It becomes the best one if it is better."""
        loss = self._loss(point)
        price = sum(axis.price(x) for axis, x in zip(self.axes, point, strict=True))
        cost = loss + price / (len(self.scores) - self.start)
        if not cost < self.here.cost - GAIN:
            return False
        self.here = _Point(cost, loss, point)
        self.best = min(self.best, self.here, key=lambda one: one.cost)
        self.progress(self.trials, self.best.loss)
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
        self.progress(self.trials, self.best.loss)
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
        correction = fit(predicted, history, self.scores, self.start)
        corrected = correction.apply(predicted, history)
        return correction, log_loss(corrected[self.start :], self.scores[self.start :])


def log_loss(predicted: Floats, scores: Floats) -> float:
    """Mean, in nats."""
    return float(surprises(predicted, scores).mean())
