"""What players' own scores say of their skill, kept for a pool.

All of a player's scores are one Gaussian factor on their skill, so a lasting offset needs no coordinate of its own:
it is what keeps the factor's precision finite (`score_map`). `OwnScores` remembers the factor that the joint
Gaussian has absorbed, and after each round gives what has changed. So the Gaussian has what the present map says of
all rounds of a player, also of those before the map was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.ratings.joint.packing import packed, unpacked
from equipoise.ratings.joint.score_map import Before, Learnt, Result, ScoreMap
from equipoise.ratings.joint.scores import NUMBER, Played, Standards

if TYPE_CHECKING:
    from equipoise.ratings.history import Flags, Floats
    from equipoise.ratings.joint.formulas import Ints

LONGEST = 300.0
"""Rounds of a player after which old ones fade: skills change."""
MOST_ABSORBED = 0.95
"""Part of what is known of a skill that scores can be at most: where a variance was set by hand, it may seem more."""


@dataclass(slots=True)
class ModeScores:
    """One mode's standards and map, and by player the sums of their rates."""

    learnt: Learnt
    standards: Standards = field(default_factory=Standards)
    weight: Floats = field(default_factory=lambda: np.zeros(0))
    """By number of the player: the weight of their observations."""
    total: Floats = field(default_factory=lambda: np.zeros((0, NUMBER)))
    """The weighted sum of their rates, relative to the pool."""

    def lasting_rates(self, numbers: Ints) -> tuple[Floats, Floats]:
        """Estimates of the lasting rates of players, and their covariances."""
        return self.learnt.lasting_rates(self.weight[numbers], self.total[numbers])

    def take(self, numbers: Ints, played: Played, first: Flags) -> None:
        """Add what the participants did; `first` says who played on the first side."""
        known = played.known()
        if not len(known):  # a standard of nobody divides by nobody's time
            return
        numbers, first = numbers[known], first[known]
        lasting = self.lasting_rates(numbers)[0]
        rates, weight = self.standards.take(played.of(known), lasting)
        compared = np.zeros(len(known), np.bool_)
        for side in (first, ~first):
            # A side that dominates has more of everything: only differences within a side say who is good.
            if np.count_nonzero(side) > 1:
                rates[side] -= weight[side] @ (rates[side] - lasting[side]) / weight[side].sum()
                compared |= side
        self._add(numbers[compared], rates[compared], weight[compared])

    def _add(self, numbers: Ints, rates: Floats, weight: Floats) -> None:
        learnt, old, total = self.learnt, self.weight[numbers], self.total[numbers]
        met = old > 0
        away = rates[met] - total[met] / old[met, None]
        learnt.add_residuals(away / np.sqrt(1 / weight[met] + 1 / old[met])[:, None])
        learnt.add_lasting(old[met], total[met], -1.0)
        kept = np.minimum(1.0, LONGEST / (old + weight))
        new, total = (old + weight) * kept, (total + weight[:, None] * rates) * kept[:, None]
        learnt.add_lasting(new, total, 1.0)
        self.weight[numbers], self.total[numbers] = new, total

    def pack(self) -> dict[str, object]:
        """All of it, as values that JSON can hold."""
        return {
            "learnt": packed(self.learnt.sums()),
            "classes": list(self.standards.classes),
            "standards": packed(self.standards.sums),
            "played": [self.standards.played, self.standards.players],
            "weight": packed(self.weight),
            "total": packed(self.total),
        }

    @classmethod
    def unpack(cls, spread2: float, data: Mapping[str, Any]) -> ModeScores:
        """What was packed."""
        classes = {name: place for place, name in enumerate(data["classes"])}
        standards = Standards(classes, unpacked(data["standards"], len(classes), -1), *data["played"])
        learnt = Learnt.of_sums(spread2, unpacked(data["learnt"], -1))
        return cls(learnt, standards, unpacked(data["weight"], -1), unpacked(data["total"], -1, NUMBER))

    def forget(self, number: int) -> None:
        """Drop a player's rates."""
        if number < len(self.weight) and self.weight[number] > 0:
            self.learnt.add_lasting(self.weight[number : number + 1], self.total[number : number + 1], -1.0)
            self.weight[number], self.total[number] = 0.0, 0.0


@dataclass(slots=True)
class OwnScores:
    """The own scores of a pool's players, by their numbers."""

    spread: float
    precision: Floats = field(default_factory=lambda: np.zeros(0))
    """Of the factor that the Gaussian has absorbed of each player."""
    shift: Floats = field(default_factory=lambda: np.zeros(0))
    modes: dict[str, ModeScores] = field(default_factory=dict)

    def drift(self, numbers: Ints, kept: Floats) -> None:
        """The skills of players have drifted; `kept`, shape (n,), is the part of their variances that is from before.

        What was absorbed of their scores counts for less since, as all that is known of them does.
        """
        if self.modes:
            self._have(int(numbers.max()) + 1)
            self.precision[numbers] *= kept
            self.shift[numbers] *= kept

    def rate(self, numbers: Ints, played: Played, before: Before, result: Result) -> tuple[Floats, Floats]:
        """Learn from a match; returns what the players' factors have gained in precision and shift, each shape (n,).

        `before` is what was known of the players after their drift and before the result.
        """
        if played.mode not in self.modes:
            self.modes[played.mode] = ModeScores(Learnt(self.spread**2))
            self.make_room(len(self.precision))
        self._have(int(numbers.max()) + 1)
        mode, old = self.modes[played.mode], self.precision[numbers]
        precision = np.minimum(old, MOST_ABSORBED / np.diagonal(before.cov))
        shift = self.shift[numbers] * np.divide(precision, old, out=np.zeros(len(old)), where=old > 0)
        lasting, explained = mode.lasting_rates(numbers)
        if lasting.any():
            mode.learnt.learn(before, (precision, shift), (lasting, explained), result)
        mode.take(numbers, played, before.row > 0)
        mode.learnt.refit()
        self.precision[numbers], self.shift[numbers] = self._factors(numbers)
        return self.precision[numbers] - precision, self.shift[numbers] - shift

    def _factors(self, numbers: Ints) -> tuple[Floats, Floats]:
        """The factors of players' scores by the present maps.

        Each player's is that of the mode that says most of them. The offset may be the same in all modes, so the sum
        would count it for noise that averages out.
        """
        precision, shift = np.zeros(len(numbers)), np.zeros(len(numbers))
        for name in sorted(self.modes):
            mode = self.modes[name]
            if mode.learnt.used:
                found, towards = mode.learnt.factors(*mode.lasting_rates(numbers))
                more = found > precision
                precision[more], shift[more] = found[more], towards[more]
        return precision, shift

    def forget(self, number: int) -> None:
        """Drop a player: their number may become somebody else's."""
        if number < len(self.precision):
            self.precision[number] = self.shift[number] = 0.0
        for mode in self.modes.values():
            mode.forget(number)

    def pack(self) -> dict[str, object]:
        """All of it, as values that JSON can hold."""
        modes = {name: mode.pack() for name, mode in self.modes.items()}
        return {"precision": packed(self.precision), "shift": packed(self.shift), "modes": modes}

    @classmethod
    def unpack(cls, spread: float, data: Mapping[str, Any]) -> OwnScores:
        """What was packed."""
        modes = {name: ModeScores.unpack(spread**2, each) for name, each in data["modes"].items()}
        return cls(spread, unpacked(data["precision"], -1), unpacked(data["shift"], -1), modes)

    def maps(self) -> tuple[ScoreMap, ...]:
        """The maps of all modes, in the order of their names."""
        return tuple(self.modes[mode].learnt.shown(mode) for mode in sorted(self.modes))

    def _have(self, players: int) -> None:
        if players > len(self.precision):
            self.make_room(max(64, 2 * players))

    def make_room(self, players: int) -> None:
        """Have arrays of this length."""
        self.precision, self.shift = _longer(self.precision, players), _longer(self.shift, players)
        for mode in self.modes.values():
            mode.weight, mode.total = _longer(mode.weight, players), _longer(mode.total, players)


def _longer(array: Floats, length: int) -> Floats:
    longer = np.zeros((length, *array.shape[1:]))
    longer[: len(array)] = array
    return longer
