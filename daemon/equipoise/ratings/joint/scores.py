"""Players' scores in a match as rates that compare: per minute, relative to those who played the same classes.

A rate is standardised by mean and deviation of its classes among all players of the pool so far, in the match's mode.
The statistics are sums over the matches in their order, so a replay gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.core.model import Counts, PlayerId
from equipoise.ratings.system import Match

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats, History

FEATURES = ("kills", "deaths", "assists", "points")
NUMBER = len(FEATURES)
_UNKNOWN = (float("nan"),) * NUMBER
USUAL = 60.0
"""Seconds that a match takes whose length is not known."""
SHORTEST = 10.0
"""Seconds: who played less says nothing."""
FARTHEST = 4.0
"""Standard deviations at which a rate is cut: one freak round, or farming, does not count for more."""
FEW = 10.0
"""Observations of a class that weigh as much as those of all classes together."""
MEMORY = 5000.0
"""Observations of a class after which old ones fade."""
UNNAMED = ""
"""The class of players whose classes are not known."""


@dataclass(frozen=True, slots=True)
class Played:
    """The scores of a match's n participants."""

    mode: str
    seconds: Floats
    """Shape (n,): how long each played."""
    totals: Floats
    """Shape (n, 4): the counts, NaN where unknown."""
    classes: tuple[str, ...]
    class_seconds: Floats
    """Shape (n, classes)."""

    def known(self) -> NDArray[np.int64]:
        """The places of those whose counts are known and who played long enough."""
        return np.flatnonzero(np.isfinite(self.totals).all(axis=1) & (self.seconds >= SHORTEST))

    def of(self, places: NDArray[np.int64]) -> Played:
        """The same of the participants at these places alone."""
        return Played(self.mode, self.seconds[places], self.totals[places], self.classes, self.class_seconds[places])


@dataclass(slots=True)
class Standards:
    """Running sums of the rates in one mode, by class."""

    classes: dict[str, int] = field(default_factory=lambda: {UNNAMED: 0})
    """The row of each class in the sums."""
    sums: Floats = field(default_factory=lambda: np.zeros((1, 1 + 2 * NUMBER)))
    """By class: the number of observations, the sums of their rates and of the squares of these."""
    played: float = 0.0
    """Weighted sum of the seconds played;  `players`: of the players."""
    players: float = 0.0

    def take(self, played: Played, lasting: Floats) -> tuple[Floats, Floats, Floats]:
        """Add a match's players to the sums, without what their `lasting` rates, shape (n, 4), account for.

        Else a class that good players choose would have a higher mean, and they would gain nothing by being good.

        Returns the shares of each class in their time, shape (n, classes); their standardised rates, shape (n, 4); and
        how much each observation weighs, shape (n,): 1 for who played as long as usual, less for who played less.
        """
        # Per minute; `known` has left out those who hardly played.
        rates = played.totals * (60.0 / played.seconds)[:, None]
        shares = self._shares(played)
        mean, variance = self._moments()
        usual = rates - lasting * np.sqrt(shares @ variance)
        # Squared, because who changed class has rates of no class.
        parts = shares * shares
        self.sums += parts.T @ np.column_stack((np.ones(len(rates)), usual, usual * usual))
        self.played += float(played.seconds.sum())
        self.players += len(rates)
        self._fade()
        mean, variance = self._moments()
        away = (rates - shares @ mean) / np.sqrt(shares @ variance)
        # Relative to the mean time of all so far: what is usual differs between modes by minutes.
        weight = np.minimum(1.0, played.seconds * (self.players / self.played))
        return shares, np.clip(away, -FARTHEST, FARTHEST), weight

    def _shares(self, played: Played) -> Floats:
        """Shape (n, classes): the part of their time that each player spent as each class."""
        for name in played.classes:
            self.classes.setdefault(name, len(self.classes))
        more = len(self.classes) - len(self.sums)
        if more:
            self.sums = np.pad(self.sums, ((0, more), (0, 0)))
        shares = np.zeros((len(played.seconds), len(self.classes)))
        whole = played.class_seconds.sum(axis=1)
        named = whole > 0
        # Row 0 is `UNNAMED`, the class of those whose classes are not known.
        shares[~named, 0] = 1.0
        columns = [self.classes[name] for name in played.classes]
        shares[np.ix_(named, columns)] = played.class_seconds[named] / whole[named, None]
        return shares

    def _fade(self) -> None:
        # Numbers and sums by the same factor: the mean stays, and newer observations weigh more.
        self.sums *= np.minimum(1.0, MEMORY / np.maximum(self.sums[:, :1], 1.0))
        if self.players > MEMORY:
            self.played *= MEMORY / self.players
            self.players = MEMORY

    def _moments(self) -> tuple[Floats, Floats]:
        """Shape (classes, 4) each: mean and variance of the rates; a class seen rarely is taken to be like all."""
        of_all = self.sums.sum(axis=0)
        shrunk = self.sums + FEW * of_all / max(of_all[0], 1.0)
        shrunk /= np.maximum(shrunk[:, :1], 1.0)
        mean, square = shrunk[:, 1 : 1 + NUMBER], shrunk[:, 1 + NUMBER :]
        # A count that hardly varies, because the game has none of it, must not divide by zero.
        return mean, np.maximum(square - mean * mean, 1e-6 + 1e-6 * mean * mean)


def played_in(match: Match, players: Sequence[PlayerId]) -> Played | None:
    """Return the scores of these players in a match; None if none is known."""
    if not match.counts:
        return None
    counts = [match.counts.get(player) for player in players]
    classes = tuple(dict.fromkeys(name for count in counts if count for name in count.classes))
    whole = USUAL if match.seconds is None else match.seconds
    return Played(
        mode=match.mode,
        seconds=np.array([whole * match.fraction_played.get(player, 1.0) for player in players]),
        totals=np.array([_UNKNOWN if count is None else _totals(count) for count in counts]).reshape(-1, NUMBER),
        classes=classes,
        class_seconds=np.array(
            [[count.classes.get(name, 0.0) if count else 0.0 for name in classes] for count in counts]
        ),
    )


def played_of(history: History, match: int) -> Played | None:
    """Return the scores in a history's match; None if none is known."""
    first, last = history.teams[history.matches[match]], history.teams[history.matches[match + 1]]
    columns = (history.kills, history.deaths, history.assists, history.player_points)
    rows = [np.full(last - first, np.nan) if column is None else column[first:last] for column in columns]
    totals = np.column_stack(rows)
    if np.isnan(totals).all():
        return None
    whole = np.nan if history.seconds is None else history.seconds[match]
    fraction = np.ones(last - first) if history.fraction_played is None else history.fraction_played[first:last]
    mode = history.mode[match] if history.mode is not None else -1
    by_class = history.class_seconds
    return Played(
        mode="" if mode < 0 else history.modes[mode],
        seconds=(USUAL if np.isnan(whole) else whole) * np.nan_to_num(fraction, nan=1.0),
        totals=totals,
        classes=history.classes,
        class_seconds=np.zeros((last - first, 0)) if by_class is None else by_class[first:last],
    )


def _totals(counts: Counts) -> tuple[float, ...]:
    return counts.kills, counts.deaths, counts.assists, counts.points
