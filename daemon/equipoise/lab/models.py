"""A system's name and settings as an operator writes them: `elo:k=20,scale=400`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise import ratings
from equipoise.errors import RatingError
from equipoise.lab.histories import scores
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.history import Floats, History, Replayed
from equipoise.ratings.system import Convergence, System

LABEL = 28
"""Letters of a short name."""


@dataclass(frozen=True, slots=True)
class Model:
    """A rating system to be made anew for each run."""

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Model:
        """From `name` or `name:key=value,key=value`; RatingError where it is neither, or no system can be made."""
        name, _, rest = text.partition(":")
        try:
            model = cls(name, settings(part for part in rest.split(",") if part))
        except RatingError as error:
            raise RatingError(f"{name}: {error}") from None
        model.make()
        return model

    def make(self) -> System[Any]:
        """A system without players; RatingError names it, and what is wrong with its name or its settings."""
        if self.name not in SYSTEMS:
            return create(self.name)
        try:
            return create(self.name, **self.settings)
        except RatingError as error:
            raise RatingError(f"{self.name}: {error}") from None

    def __str__(self) -> str:
        """What `of` reads."""
        listed = ",".join(f"{key}={_written(value)}" for key, value in self.settings.items())
        return f"{self.name}:{listed}" if listed else self.name

    def options(self) -> str:
        """As options of a command line."""
        return " ".join((f"--model {self.name}", *(f"--set {k}={_written(v)}" for k, v in self.settings.items())))


def labels(models: Sequence[Model]) -> list[str]:
    """What to call each in tables and charts: as written if that is short, else by its system; numbered where alike."""
    names = [text if len(text := str(model)) <= LABEL else model.name for model in models]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """A whole history, each match predicted before it was rated."""

    system: System[Any]
    """As it ended."""
    predicted: Floats
    """Shape (m,): the score expected of each match's first team."""
    replayed: Replayed


def forecast(model: Model, history: History) -> Forecast:
    """Predict, then rate, in order; RatingError when a prediction is no probability."""
    scores(history)  # refuses any but two teams
    system = model.make()
    replayed = ratings.replay(system, history)
    predicted = replayed.wins[0::2] + replayed.draws / 2
    wrong = np.flatnonzero(~((predicted >= -1e-9) & (predicted <= 1 + 1e-9)))
    if len(wrong):
        match = int(wrong[0])
        reason = f"{model}: match {match + 1} of the history is predicted with {predicted[match]}"
        raise RatingError(reason, match=match)
    return Forecast(system, np.clip(predicted, 0.0, 1.0), replayed)


def fit(model: Model, history: History) -> tuple[System[Any], Convergence]:
    """Everybody by the whole history at once; RatingError names the systems that can do that."""
    system = model.make()
    if SYSTEMS[model.name].fit is None:
        can = ", ".join(name for name, place in SYSTEMS.items() if place.fit)
        raise RatingError(f"{model.name} has no whole-history fit; these have one: {can}")
    return system, ratings.fit(system, history)


def settings(pairs: Iterable[str]) -> dict[str, object]:
    """From `key=value` each: whole numbers, numbers, true, false, else words."""
    read: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise RatingError(f"{pair!r} is not key=value")
        read[key] = _value(value)
    return read


def _value(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return text


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
