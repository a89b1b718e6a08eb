"""Finds the parameters with which a system predicts the burn-in of a history best, by log loss.

Hooke and Jeeves' pattern search (J. ACM 8, 1961) with a step of its own for every parameter, as in Rprop: longer after
a success, shorter after a failure on both sides. It needs no gradient: some parameters are whole numbers, and some
systems round their ratings. Every trial fits the correction (temperature and sides) anew, so that parameters are not
chosen to make up for it.

A weak prior keeps parameters at their start if the matches say nothing about them: each is log-normal around its start.
One that starts at 0 switches something off, and costs a nat when it is on (Akaike's price of a parameter).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

from equipoise.errors import RatingError
from equipoise.lab.backtest import BURN_IN, burn_in_of, warm_up
from equipoise.lab.models import Model, forecast
from equipoise.ratings.calibration import Calibration
from equipoise.ratings.calibration_fit import apply, fit
from equipoise.ratings.history import Floats, History, head, scores
from equipoise.ratings.parameters import among, is_count
from equipoise.ratings.quality import surprises

TRIALS = 2000
FIRST, LEAST, LONGEST = 0.7, 0.02, 2.0
"""Steps on the search's scale, where 1 is about a factor e."""
GROW, SHRINK = 1.5, 0.4
POWERS = range(-6, 4)
"""A parameter that is off is tried at these powers of ten."""
SPREAD = math.log(10)
"""The prior's standard deviation on the search's scale: about a factor of ten."""
PRICE = 1.0
"""Cost of switching on a parameter that starts at 0: nats, over all matches together."""
GAIN = 1e-7
"""A smaller gain, in nats per match, counts as none."""
RESTART = 1e-5
"""The search starts over if it gained more than this since its last start, nats per match."""


@dataclass(frozen=True, slots=True)
class SearchAxis:
    """A parameter on the search's scale, x = asinh(value / unit): linear near 0 and logarithmic beyond.

    >>> axis = SearchAxis("k", start=20.0, low=0.0, high=1000.0, whole=False)
    >>> axis.value(axis.origin), axis.value(axis.origin + 1), axis.value(-50)
    (20.0, 57.1399, 0.0)
    """

    name: str
    start: float
    low: float
    high: float
    whole: bool

    @property
    def unit(self) -> float:
        """Half the start; where the start is 0, a tenth of the smallest value that is tried."""
        return abs(self.start) / 2 or 10.0 ** (POWERS[0] - 1)

    @property
    def origin(self) -> float:
        """The start on the search's scale."""
        return self.place(self.start)

    def place(self, value: float) -> float:
        """A value on the search's scale."""
        return math.asinh(value / self.unit)

    def value(self, x: float) -> float | int:
        """The parameter at `x`, clipped to its range and rounded to six digits."""
        # Pattern moves go far out, and sinh overflows at 710.
        value = min(max(self.unit * math.sinh(min(max(x, -50.0), 50.0)), self.low), self.high)
        return round(value) if self.whole else float(f"{value:.6g}")

    def price(self, x: float) -> float:
        """Minus the logarithm of the prior, nats."""
        if self.start == 0:
            return PRICE if self.value(x) else 0.0
        return ((x - self.origin) / SPREAD) ** 2 / 2

    def switches(self) -> list[float]:
        """The places to try for a parameter that is 0."""
        values = [sign * 10.0**power for power in POWERS for sign in (1, -1)]
        return [self.place(value) for value in values if self.low <= value <= self.high]


@dataclass(frozen=True, slots=True)
class Tuned:
    """The best settings that a search found, and what they gain on the burn-in."""

    model: Model
    correction: Calibration
    before: float
    """Log loss with the settings at the start, temperature and sides fitted; on the burn-in after its warm-up."""
    after: float
    trials: int
    finished: bool
    """False: the trials ran out before the steps were small, or it was interrupted."""
    interrupted: bool = False


Progress = Callable[[int, float], None]
"""Called after each trial with the number of trials and the least log loss so far."""


def axes(model: Model) -> tuple[SearchAxis, ...]:
    """The parameters that have a range; one that is None, derived from others, is left out."""
    params = model.make().params
    points = []
    for parameter in fields(params):
        value = getattr(params, parameter.name)
        if "low" not in parameter.metadata or value is None:
            continue
        low, high = parameter.metadata["low"], parameter.metadata["high"]
        points.append(SearchAxis(parameter.name, float(value), low, high, is_count(parameter)))
    return tuple(points)


def tune(
    model: Model,
    history: History,
    *,
    burn_in: float = BURN_IN,
    trials: int = TRIALS,
    only: Sequence[str] = (),
    progress: Progress = lambda trials, loss: None,
) -> Tuned:
    """Search all parameters, or `only` some of them; RatingError for one that has no range.

    KeyboardInterrupt ends the search; the best settings so far are returned, once there are any.
    """
    axis_by_name = {axis.name: axis for axis in axes(model)}
    for name in only:
        if name not in axis_by_name:
            raise RatingError(f"{name}: not a number that {model.name} can be tuned by; {among(name, axis_by_name)}")
    part = head(history, burn_in_of(history, burn_in))
    search = _Search(model, part, [axis_by_name[name] for name in only or axis_by_name], trials, progress)
    return search.run()


@dataclass(frozen=True, slots=True)
class _Point:
    cost: float
    """Nats per match: the loss with the prior."""
    loss: float
    places: list[float]
    """One coordinate per axis."""


class _Search:
    """The state of one search: the best point of the present descent, and of all descents."""

    def __init__(
        self, model: Model, history: History, axes: Sequence[SearchAxis], trials: int, progress: Progress
    ) -> None:
        self.model, self.axes = model, axes
        # Trials fit temperature and sides alone. Advantages of maps take time in each, and belong to no parameter; the
        # correction that is handed out has them.
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
        """Axes that have not been switched on or off since the search started over."""
        self.here = self.best = _Point(math.inf, math.inf, [axis.origin for axis in axes])
        """The best point of this descent, and of all."""
        self.started = math.inf
        """Cost when the search last started over."""

    def run(self) -> Tuned:
        """Descend twice, with the parameters in both orders: the result depends on what is switched on first."""
        origin, forward = self.best.places, self.order
        before = self._fitted(self._model(origin), self.history)[1]  # RatingError if the system refuses the history
        interrupt = False
        try:
            for self.order in (forward, forward[::-1]):
                self._descend(origin)
        except KeyboardInterrupt:
            if self.best.cost == math.inf:
                raise
            interrupt = True
        model = self._model(self.best.places)
        correction, _ = self._fitted(model, self.mapped)
        spent = self.trials < self.most and not interrupt
        return Tuned(model, correction, before, self.best.loss, self.trials, spent, interrupt)

    def _descend(self, origin: list[float]) -> None:
        """Explore around the best point, then try the same step again (the pattern move)."""
        # With all steps at 0 `_goes_on` starts over at once: the infinite cost counts as a gain.
        self.here, self.started = _Point(math.inf, math.inf, origin), math.inf
        self.steps, self.idle = [0.0] * len(self.axes), set()
        self._take(origin)
        while self._goes_on():
            base = self.here.places
            if self._explore():
                self._take([2 * now - then for now, then in zip(self.here.places, base, strict=True)])

    def _goes_on(self) -> bool:
        """True while any step is large; when all are small, start over if the descent since the last start gained."""
        if self.trials >= self.most:
            return False
        if any(abs(step) > LEAST for number, step in enumerate(self.steps) if number not in self.idle):
            return True
        gain, self.started = self.started - self.here.cost, self.here.cost
        if not gain > RESTART:
            return False
        self._start_over()
        return True

    def _start_over(self) -> None:
        """Large steps everywhere; parameters without effect may have one now, unless nothing could switch them on."""
        self.idle = {number for number in self.idle if self.axes[number].start == 0}
        self.steps = [FIRST] * len(self.axes)
        self.untried = {number for number, axis in enumerate(self.axes) if axis.start == 0}

    def _switch(self, number: int) -> bool:
        """Try a parameter that is off at all sizes, because a small step may do nothing; try one that is on at 0."""
        axis, place = self.axes[number], self.here.places[number]
        off = not axis.value(place)
        points = [self._at(number, value) for value in (axis.switches() if off else [0.0])]
        if off and all(self._same(point) for point in points):
            self.idle.add(number)
        # All of them, not only until one is better: the best size is wanted.
        gains = [self._take(point) for point in points]
        if not axis.value(self.here.places[number]):
            self.steps[number] = 0.0
        return any(gains)

    def _explore(self) -> bool:
        """Try each axis up and down; True if any trial was better."""
        gains = [self._try_axis(number) for number in self.order if number not in self.idle]
        return any(gains)

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
            # The parameter changes no prediction, as a shadow period or a number of days.
            self.idle.add(number)
        self.steps[number] *= SHRINK
        return False

    def _at(self, number: int, place: float) -> list[float]:
        """The best point of this descent with another place on one axis."""
        point = list(self.here.places)
        point[number] = place
        return point

    def _same(self, point: Sequence[float]) -> bool:
        return abs(self._loss(point) - self.here.loss) < GAIN / 100

    def _take(self, point: list[float]) -> bool:
        """Make it the best point if it costs less; True if it does."""
        loss = self._loss(point)
        price = sum(axis.price(x) for axis, x in zip(self.axes, point, strict=True))
        # The prior's nats are for all matches together, the loss is for one.
        cost = loss + price / (len(self.scores) - self.start)
        if not cost < self.here.cost - GAIN:
            return False
        self.here = _Point(cost, loss, point)
        self.best = min(self.best, self.here, key=lambda one: one.cost)
        self.progress(self.trials, self.best.loss)
        return True

    def _loss(self, point: Sequence[float]) -> float:
        """Log loss; infinite where the system refuses the settings, or when the trials have run out."""
        model = self._model(point)
        # By the rounded settings, not by the point: many points are the same model.
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
        """The model at a point; parameters that were not given and are at their start stay unset."""
        settings = dict(self.model.settings)
        for axis, x in zip(self.axes, point, strict=True):
            value = axis.value(x)
            if value != axis.start or axis.name in settings:
                settings[axis.name] = value
        return Model(self.model.name, settings)

    def _fitted(self, model: Model, history: History) -> tuple[Calibration, float]:
        """The correction, and the log loss on the matches it is fitted to, those after the warm-up."""
        chances = forecast(model, history, often=True).predicted
        correction = fit(chances, history, self.scores, self.start)
        corrections = apply(correction, chances, history)
        return correction, log_loss(corrections[self.start :], self.scores[self.start :])


def log_loss(predicted: Floats, scores: Floats) -> float:
    """Mean log loss, nats; both of shape (m,)."""
    return float(surprises(predicted, scores).mean())
