"""Finds the parameters with which a system predicts the burn-in of a history best, and what that is worth.

Hooke and Jeeves' pattern search (J. ACM 8, 1961) with a step of its own for every parameter, as in Rprop: longer after
a success, shorter after a failure on both sides. It needs no gradient: some parameters are whole numbers, and some
systems round their ratings. Predictions are corrected in every trial as they will be when they are used, so that
parameters make up for what no correction does, and for nothing else.

A weak prior keeps parameters at their start if the matches say nothing about them: each is log-normal around its start.
One that starts at 0 switches something off, and costs a nat when it is on (Akaike's price of a parameter).

A loss on matches that were searched says little about others. So the search walks forward: what it finds on the first
matches predicts the next ones, which it sees only then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from time import monotonic

import numpy as np

from equipoise.errors import RatingError
from equipoise.lab.backtest import BURN_IN, Correct, backtest, burn_in_of, warm_up
from equipoise.lab.models import Model, forecast
from equipoise.ratings.calibration_fit import apply, fit, live
from equipoise.ratings.history import Floats, History, head, scores
from equipoise.ratings.parameters import among, is_count
from equipoise.ratings.quality import Estimate, mean, surprises

TRIALS = 2000
PARTS = (0.4, 0.6, 0.8, 1.0)
"""Parts of the burn-in that are searched one after the other, up to the same parts of the trials and of the time."""
FITS = 5
"""How often a trial fits what a daemon fits every week."""
FIRST, LEAST, LONGEST = 0.7, 0.02, 2.0
"""Steps on the search's scale, where 1 is about a factor e."""
GROW, SHRINK = 1.5, 0.4
POWERS = range(-6, 4)
"""A parameter that is off is tried at these powers of ten."""
SPREAD = math.log(10)
"""The prior's standard deviation on the search's scale: about a factor of ten."""
PRICE = 1.0
"""Cost of switching on a parameter that starts at 0: nats, over all matches together."""
ROUNDING = 0.1
"""Nats, over all matches together, that fewer digits of a parameter may cost."""
GAIN = 1e-7
"""A smaller gain, in nats per match, counts as none."""
RESTART = 1e-5
"""The search starts over if it gained more than this since its last start, nats per match."""
SURE = 3.0
"""By two standard errors settings were taken that were worse later (docs/lab.md, Tuning)."""
NOT_OF_THE_MODEL = {"active", "confidence", "shadow_cap", "shadow_rounds", "stale_days", "sweeps", "tolerance"}
"""Parameters of what is computed and what is shown."""


@dataclass(frozen=True, slots=True)
class SearchAxis:
    """A parameter on the search's scale, x = asinh(value / unit): linear near 0 and logarithmic beyond.

    >>> axis = SearchAxis("k", start=20.0, low=0.0, high=1000.0, whole=False)
    >>> axis.value(axis.origin), axis.value(axis.origin + 1), axis.value(-50)
    (20.0, 57.1, 0.0)
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
        """The parameter at `x`, rounded to three digits and clipped to its range."""
        if x == self.origin:
            return round(self.start) if self.whole else self.start
        # Pattern moves go far out, and sinh overflows at 710.
        value = float(f"{self.unit * math.sinh(min(max(x, -50.0), 50.0)):.3g}")
        value = min(max(value, self.low), self.high)
        return round(value) if self.whole else value

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
    """The best settings that a search found, and what they are worth."""

    start: Model
    model: Model
    gain: Estimate | None
    """How much less the log loss is than by the start, nats per match, on matches that the search had not seen; None:
    it was ended before there were any."""
    unseen: int
    """Matches that `gain` is of."""
    before: float
    """Log loss with the settings at the start, on the part of the burn-in that was searched, after its warm-up."""
    after: float
    trials: int
    finished: bool
    """False: trials or time ran out before the steps were small, or it was interrupted."""
    interrupted: bool = False

    @property
    def is_better(self) -> bool:
        """Whether to take the settings: they predict better what they had not seen, by so many standard errors."""
        return self.gain is not None and self.gain.value > SURE * (self.gain.error or math.inf)


Progress = Callable[[int, float], None]
"""Called after each trial with the number of trials and the least log loss so far."""


def axes(model: Model) -> tuple[SearchAxis, ...]:
    """The parameters that have a range; one that is None, derived from others, is left out."""
    params = model.make().params
    points = []
    for parameter in fields(params):
        value = getattr(params, parameter.name)
        if "low" not in parameter.metadata or value is None or parameter.name in NOT_OF_THE_MODEL:
            continue
        low, high = parameter.metadata["low"], parameter.metadata["high"]
        points.append(SearchAxis(parameter.name, float(value), low, high, is_count(parameter)))
    return tuple(points)


def tune(
    model: Model,
    history: History,
    *,
    burn_in: float = BURN_IN,
    correct: Correct | None = "live",
    trials: int = TRIALS,
    seconds: float = math.inf,
    only: Sequence[str] = (),
    progress: Progress = lambda trials, loss: None,
) -> Tuned:
    """Search all parameters, or `only` some of them; RatingError for one that cannot be.

    KeyboardInterrupt ends the search; the best settings so far are returned, once there are any.
    """
    axis_by_name = {axis.name: axis for axis in axes(model)}
    for name in only:
        if name not in axis_by_name:
            raise RatingError(f"{name}: not a number that {model.name} can be tuned by; {among(name, axis_by_name)}")
    chosen = [axis for name, axis in axis_by_name.items() if name in (only or axis_by_name)]
    part = head(history, burn_in_of(history, burn_in))
    ends = [round(share * len(part)) for share in PARTS]
    if not ends[0]:
        raise RatingError(f"a burn-in of {len(part)} matches is too short to tune on a part of it")
    budget, searches, gains, interrupt = _Budget(trials, seconds), list[_Search](), list[Floats](), False
    begin = [axis.origin for axis in chosen]
    try:
        for number, seen in enumerate(ends):
            budget.share = PARTS[number]
            searches.append(search := _Search(model, head(part, seen), chosen, begin, correct, budget, progress))
            search.run(twice=seen == len(part))
            begin = search.best.places
            if seen < len(part):
                gains.append(_gains(model, search.model, head(part, ends[number + 1]), seen, correct))
    except KeyboardInterrupt:
        if not searches or searches[0].best.cost == math.inf:
            raise
        interrupt = True
    best = next(search for search in reversed(searches) if search.best.cost < math.inf)
    losses = np.concatenate([np.empty(0), *gains])
    return Tuned(
        model,
        best.model,
        mean(losses) if len(losses) else None,
        len(losses),
        best.before,
        best.best.loss,
        budget.spent,
        not (budget.over or interrupt),
        interrupt,
    )


def _gains(start: Model, model: Model, history: History, seen: int, correct: Correct | None) -> Floats:
    """How much less the second model's loss is, match by match, after those that were seen."""
    share = seen / len(history)
    before, after = (backtest(candidate, history, burn_in=share, correct=correct) for candidate in (start, model))
    return surprises(before.predicted, before.scores) - surprises(after.predicted, after.scores)


class _Budget:
    """The trials and the time that all searches of a tuning have together."""

    def __init__(self, trials: int, seconds: float) -> None:
        self.trials, self.seconds, self.begun = trials, seconds, monotonic()
        self.spent = 0
        self.share = 1.0
        """The part of both that may be spent by now."""

    @property
    def over(self) -> bool:
        """Whether that is spent."""
        return self.spent >= self.trials * self.share or monotonic() - self.begun >= self.seconds * self.share


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
        self,
        model: Model,
        history: History,
        axes: Sequence[SearchAxis],
        begin: list[float],
        correct: Correct | None,
        budget: _Budget,
        progress: Progress,
    ) -> None:
        self._start, self.axes, self.correct = model, axes, correct
        # Trials fit temperature and sides alone. Advantages of maps take time in each, and belong to no parameter.
        self.history = replace(history, map=None, maps=())
        self.scores = scores(history)
        self.warm_up = warm_up(len(history))
        self.budget, self.progress = budget, progress
        self.seen: dict[tuple[tuple[str, object], ...], float] = {}
        self.order = range(len(axes))
        self.steps = [0.0] * len(axes)
        self.idle: set[int] = set()
        self.untried: set[int] = set()
        """Axes that have not been switched on or off since the search started over."""
        self.before = math.inf
        self.here = self.best = _Point(math.inf, math.inf, begin)
        """The best point of this descent, and of all."""
        self.started = math.inf
        """Cost when the search last started over."""

    @property
    def model(self) -> Model:
        """The best one so far."""
        return self._model(self.best.places)

    def run(self, *, twice: bool) -> None:
        """Descend from the place to begin at; `twice`: and from the start with the parameters in reverse order.

        The result depends on what is switched on first.
        """
        # RatingError if the system refuses the history. It is measured even if the budget is spent.
        self.before = self.seen[_key(self._start)] = self._measured(self._start)
        self._descend(self.best.places)
        if twice:
            self.order = self.order[::-1]
            self._descend([axis.origin for axis in self.axes])
        self._shorten()

    def _shorten(self) -> None:
        """Give each parameter its start, or the fewest digits, where that costs next to nothing."""
        self.here = self.best
        for number, axis in enumerate(self.axes):
            value = axis.value(self.here.places[number])
            digits = [axis.place(float(f"{value:.{count}g}")) for count in (1, 2)]
            for place, price in ((axis.origin, PRICE), *((place, ROUNDING) for place in digits)):
                point = self._point(self._at(number, place))
                if point.cost <= self.here.cost + price / (len(self.scores) - self.warm_up):
                    self.here = self.best = point
                    break

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
        if self.budget.over:
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

    def _take(self, places: list[float]) -> bool:
        """Make it the best point if it costs less; True if it does."""
        point = self._point(places)
        if not point.cost < self.here.cost - GAIN:
            return False
        self.here = point
        self.best = min(self.best, self.here, key=lambda one: one.cost)
        self.progress(self.budget.spent, self.best.loss)
        return True

    def _point(self, places: list[float]) -> _Point:
        loss = self._loss(places)
        price = sum(axis.price(x) for axis, x in zip(self.axes, places, strict=True))
        # The prior's nats are for all matches together, the loss is for one.
        return _Point(loss + price / (len(self.scores) - self.warm_up), loss, places)

    def _loss(self, places: Sequence[float]) -> float:
        """Log loss; infinite where the system refuses the settings, or when trials or time have run out."""
        model = self._model(places)
        key = _key(model)
        if key not in self.seen:
            if self.budget.over:
                return math.inf
            try:
                self.seen[key] = self._measured(model)
            except RatingError:
                self.seen[key] = math.inf
        return self.seen[key]

    def _measured(self, model: Model) -> float:
        """The loss after the warm-up."""
        self.budget.spent += 1
        chances = forecast(model, self.history, often=True).predicted
        if self.correct == "live":
            chances, _ = live(chances, self.history, self.scores, FITS)
        elif self.correct:
            chances = apply(fit(chances, self.history, self.scores, self.warm_up), chances, self.history)
        self.progress(self.budget.spent, self.best.loss)
        return float(surprises(chances[self.warm_up :], self.scores[self.warm_up :]).mean())

    def _model(self, point: Sequence[float]) -> Model:
        """The model at a point; parameters that were not given and are at their start stay unset."""
        settings = dict(self._start.settings)
        for axis, x in zip(self.axes, point, strict=True):
            value = axis.value(x)
            if value != axis.start or axis.name in settings:
                settings[axis.name] = value
        return Model(self._start.name, settings)


def _key(model: Model) -> tuple[tuple[str, object], ...]:
    """Return the rounded settings, not the point: many points are the same model."""
    return tuple(sorted(model.settings.items()))
