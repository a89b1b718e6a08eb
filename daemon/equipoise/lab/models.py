"""Rating systems as an operator writes them, `elo:k=20,scale=400`, and what they make of a history."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from equipoise import ratings
from equipoise.core.model import PlayerId, PlayerSummary, interval
from equipoise.errors import RatingError
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.history import Floats, History, Replayed, refuse_others, stretch, unpacked
from equipoise.ratings.parameters import DAY
from equipoise.ratings.system import Convergence, Match, System

LABEL = 28
"""Longest name, in letters, that a table or a chart shows as written."""

NOBODY = PlayerId("")
FEW = 20_000
"""Places of players in matches that are rated without compiling: in a fraction of a second, TeamSkill in two."""


@dataclass(frozen=True, slots=True)
class League:
    """Rules of a published league beside those of its rating system: first ratings, and a pull between seasons."""

    start: Mapping[PlayerId, Mapping[str, float]] = field(default_factory=dict)
    """The facts that `System.seed` takes, by player."""
    pull: float = 0.0
    """The part of the way to `toward` that every skill goes between two seasons."""
    toward: float | None = None
    """None: a newcomer's skill."""
    pause: float = 60.0
    """Days without a match between two seasons."""

    def seasons(self, history: History) -> list[History]:
        """The matches of each season; all together where nothing happens between two.

        RatingError if seasons matter and no match has a time. A match without one is in the season of the one before.
        """
        if not self.pull:
            return [history]
        places = np.flatnonzero(~np.isnan(history.started_at))
        if not len(places):
            raise RatingError("seasons are told by times, and no match has one")
        edges = places[1:][np.diff(history.started_at[places]) > DAY * self.pause]
        return [stretch(history, first, last) for first, last in pairwise([0, *edges.tolist(), len(history)])]

    def pull_back(self, system: System[Any], players: Iterable[PlayerId]) -> None:
        """Pull the players that the system holds."""
        toward = system.skill(NOBODY) if self.toward is None else self.toward
        for player in players:
            if player in system:
                way = self.pull * (toward - system.skill(player))
                system.seed(player, rating=system.summary(player).rating + way)


@dataclass(frozen=True, slots=True)
class Model:
    """The name and settings of a rating system, which is created afresh for each run.

    >>> model = Model.of("elo:k=20,scale=400")
    >>> dict(model.settings)
    {'k': 20, 'scale': 400}
    >>> str(model)
    'elo:k=20,scale=400'
    """

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    label: str = ""
    """How tables and charts name it; empty: as it is written."""
    league: League = field(default_factory=League)

    @classmethod
    def of(cls, text: str) -> Model:
        """Read `name`, `name:key=value,key=value` or `label=name:…`; RatingError if no such system can be made."""
        start, _, rest = text.partition(":")
        label, _, name = start.rpartition("=")
        try:
            model = cls(name, settings(part for part in rest.split(",") if part), label)
        except RatingError as error:
            raise RatingError(f"{name}: {error}") from None
        model.make()
        return model

    def make(self) -> System[Any]:
        """The system, without players; RatingError says what is wrong with its name or its settings."""
        # The error names the systems there are, and needs no name in front.
        if self.name not in SYSTEMS:
            return create(self.name)
        try:
            return create(self.name, **self.settings)
        except RatingError as error:
            raise RatingError(f"{self.name}: {error}") from None

    def __str__(self) -> str:
        """The text that `of` reads."""
        settings = ",".join(f"{key}={_written(value)}" for key, value in self.settings.items())
        return f"{self.name}:{settings}" if settings else self.name

    def options(self) -> str:
        """The options of a command line that mean this model."""
        return " ".join((f"--model {self.name}", *(f"--set {k}={_written(v)}" for k, v in self.settings.items())))


def labels(models: Sequence[Model]) -> list[str]:
    """Names for tables and charts: the label, or as written if that is short, else the system's; numbered if equal."""
    names = [model.label or (text if len(text := str(model)) <= LABEL else model.name) for model in models]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """A whole history, each match predicted before it was rated."""

    system: System[Any] | None
    """Its state after the last match; None where a daemon made the forecast."""
    predicted: Floats
    """Shape (m,): the score expected of each match's first team."""
    after: Floats | None
    """Shape (p,): the ratings after each match; None: they were not asked for."""


def forecast(model: Model, history: History, *, often: bool = False, curves: bool = True) -> Forecast:
    """Predict each match, then rate it, in order. RatingError when a prediction is not a probability.

    A short history is rated as the daemon does, match by match, which gives the same numbers, unless this is done so
    `often` that compiling is worth its time.
    """
    refuse_others(history)
    system = model.make()
    refuse_unread(history, SYSTEMS[model.name].reads)
    for player, facts in model.league.start.items():
        system.seed(player, **facts)
    fast, replays = often or len(history.members) > FEW, list[Replayed]()
    for season in model.league.seasons(history):
        if replays:
            model.league.pull_back(system, history.players)
        matches = None if fast else unpacked(season)
        replay = ratings.replay(system, season) if matches is None else _one_by_one(system, matches)
        replays.append(replay if curves else replace(replay, after=np.empty(0)))
    parts = ([getattr(each, name) for each in replays] for name in ("wins", "draws", "after"))
    replay = replays[0] if len(replays) == 1 else Replayed(*map(np.concatenate, parts))
    chances = replay.draws / 2
    chances += replay.wins[0::2]
    # Rounding may leave a sum of probabilities just beyond 1. Negated, so that NaN is wrong as well.
    wrong = np.flatnonzero(~((chances >= -1e-9) & (chances <= 1 + 1e-9)))
    if len(wrong):
        match = int(wrong[0])
        reason = f"{model}: match {match + 1} of the history is predicted with {chances[match]}"
        raise RatingError(reason, match=match)
    return Forecast(system, np.clip(chances, 0.0, 1.0, out=chances), replay.after if curves else None)


def _one_by_one(system: System[Any], matches: Iterable[Match]) -> Replayed:
    results = []
    for number, match in enumerate(matches):
        try:
            results.append(system.rate(match))
        except RatingError as error:
            raise RatingError(str(error), match=number) from None
    wins = [win for result in results for win in result.prediction.wins]
    after = [change.after for result in results for change in result.changes]
    return Replayed(*map(np.array, (wins, [result.prediction.draw for result in results], after)))


def fit(model: Model, history: History) -> tuple[System[Any], Convergence]:
    """Fit all ratings to the whole history at once. RatingError for a system that cannot; it names those that can."""
    system = model.make()
    if SYSTEMS[model.name].fit is None:
        can = ", ".join(name for name, place in SYSTEMS.items() if place.fit)
        raise RatingError(f"{model.name} has no whole-history fit; these have one: {can}")
    refuse_unread(history, SYSTEMS[model.name].reads)
    return system, ratings.fit(system, history)


def refuse_unread(history: History, fields: Iterable[str]) -> None:
    """RatingError if one of these fields, which are going to be read, has faults in its file."""
    if faults := [history.unread[name] for name in fields if name in history.unread]:
        raise RatingError("\n".join(faults))


def settings(pairs: Iterable[str]) -> dict[str, object]:
    """Read `key=value` pairs; a value is a whole number, a number, true, false, or else a word.

    >>> settings(["k=20", "rounding=none", "scale=2.5"])
    {'k': 20, 'rounding': 'none', 'scale': 2.5}
    """
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
        # "inf" and "nan" are words here: no parameter takes such a number.
        if math.isfinite(number):
            return number
    return text


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class RankedPlayer:
    """One line of a leaderboard."""

    place: int
    """1 is the highest rating."""
    summary: PlayerSummary
    uncertainty: float
    """`System.uncertainty`, in the system's own unit."""
    interval: tuple[float, float] | None
    """The 80 % interval of the skill; None where the system does not know its deviation."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All players with a place, the highest rating first."""

    places: tuple[RankedPlayer, ...]
    hidden: int
    """Players in their shadow period, who have no place."""
    shadow_rounds: int
    """Length of the shadow period in rounds; 0 if no player is in it."""


def leaderboard(system: System[Any], history: History, *, hidden: bool = False) -> Leaderboard:
    """Rank all participants of a history; with `hidden`, including those in their shadow period.

    Raises `RatingError` for a rating that is not finite.
    """
    took_part = np.unique(history.members).tolist()
    estimates = [
        (system.summary(player), system.uncertainty(player)) for player in map(history.players.__getitem__, took_part)
    ]
    for summary, uncertainty in estimates:
        # A sum is finite only if both are.
        if not math.isfinite(summary.rating + uncertainty):
            raise RatingError(
                f"{system.name} rates {summary.id} {summary.rating:g} ± {uncertainty:g}: its parameters go too far"
            )
    entries = [entry for entry in estimates if entry[0].visible or hidden]
    entries.sort(key=lambda entry: (-entry[0].rating, entry[0].id))
    places = (RankedPlayer(place, *entry, _interval(system, entry[0].id)) for place, entry in enumerate(entries, 1))
    # The minimum, because some systems do not count every round towards the shadow period.
    lasts = min((summary.rounds + summary.missing for summary, _ in estimates if not summary.visible), default=0)
    return Leaderboard(tuple(places), len(estimates) - len(entries), lasts)


def _interval(system: System[Any], player: PlayerId) -> tuple[float, float] | None:
    deviation = system.deviation(player)
    return None if deviation is None else interval(system.skill(player), deviation)
