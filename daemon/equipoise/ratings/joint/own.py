"""Evidence of players' own scores on their skill, kept for a pool.

All of a player's scores are one Gaussian factor on their skill, so a lasting offset needs no coordinate of its own:
it is what keeps the factor's precision finite (`score_map`). `OwnScores` remembers the factor that the joint
Gaussian has absorbed, and after each round gives what has changed. So the Gaussian has what the present map says of
all rounds of a player, also of those before the map was used.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.ratings.joint.score_map import Before, Learnt, Result, ScoreMap
from equipoise.ratings.joint.scores import FEW, NUMBER, Played, Standards

if TYPE_CHECKING:
    from equipoise.ratings.history import Flags, Floats
    from equipoise.ratings.joint.formulas import Ints

LONGEST = 500.0
"""Rounds of a player after which old ones fade: skills change."""
MOST_ALIKE = 1e6
"""Noise of one round against lasting differences between players, at most."""
ANEW = 32
"""What belongs to classes, and what to players, is found again when a mode has a 32nd more rounds: at first in each."""
MOST_ABSORBED = 0.95
"""Part of what is known of a skill that scores can be at most: where a variance was set by hand, it may seem more."""


@dataclass(slots=True)
class ModeScores:
    """One mode's standards and map, and the sums of players' rates by class."""

    learnt: Learnt
    standards: Standards = field(default_factory=Standards)
    weight: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    """By number of the player and by class: the weight of their observations."""
    total: Floats = field(default_factory=lambda: np.zeros((0, NUMBER)))
    """By number: the weighted sum of their standardised rates."""
    class_total: Floats = field(default_factory=lambda: np.zeros((1, NUMBER)))
    """By class: the same sum of all players, as far as they were of the class."""
    class_rates: Floats = field(default_factory=lambda: np.zeros((1, NUMBER)))
    """By class: what its rates are beyond the standard when the players are taken for what they are."""
    rounds: int = 0
    parted: int = 0
    """The round after which classes and players were parted last."""

    def observed(self, numbers: Ints | slice) -> tuple[Floats, Floats]:
        """The weight and sum of the observations of players, relative to their classes."""
        weight = self.weight[numbers]
        return weight.sum(axis=1), self.total[numbers] - weight @ self.class_rates

    def lasting_rates(self, numbers: Ints) -> tuple[Floats, Floats]:
        """Estimates of the lasting rates of players, and their covariances."""
        return self.learnt.lasting_rates(*self.observed(numbers))

    def take(self, numbers: Ints, played: Played, first: Flags, told: tuple[Floats, Floats]) -> None:
        """Add what the participants did; `first` says who played on the first side, `told` are their lasting rates."""
        rows = played.known()
        if not len(rows):  # a standard of nobody divides by nobody's time
            return
        numbers, first = numbers[rows], first[rows]
        habits, share = (column[rows] for column in told)
        shares, rates, weight = self.standards.take(played.of(rows), habits)
        self._have_classes(shares.shape[1])
        usual = shares @ self.class_rates
        has_peers = np.zeros(len(rows), np.bool_)
        for side in (first, ~first):
            # A side of one has nobody to be compared with: what is the side's and what the player's cannot be told.
            if np.count_nonzero(side) > 1:
                common = weight[side] @ (rates - usual - habits)[side] / weight[side].sum()
                # What the whole side did better is partly the round's, not the players'.
                rates[side] -= self.learnt.part_of_side(common, weight[side], share[side]) * common
                has_peers |= side
        self._add(numbers[has_peers], shares[has_peers], rates[has_peers], weight[has_peers])

    def _add(self, numbers: Ints, shares: Floats, rates: Floats, weight: Floats) -> None:
        old, total = self.observed(numbers)
        # A player's first observation has no past to be away from.
        met = old > 0
        away = (rates - shares @ self.class_rates)[met] - total[met] / old[met, None]
        self.learnt.add_residuals(away / np.sqrt(1 / weight[met] + 1 / old[met])[:, None])
        parts = weight[:, None] * shares
        self.weight[numbers] += parts
        self.total[numbers] += weight[:, None] * rates
        self.class_total += parts.T @ rates
        # Their observations weigh `LONGEST` at most: what is beyond fades.
        excess = 1.0 - np.minimum(1.0, LONGEST / (old + weight))
        if excess.any():
            self._fade(numbers, excess)

    def _fade(self, numbers: Ints, part: Floats) -> None:
        """Take this part of players' observations away.

        What each did in each class is not kept: it is taken to be what class and player together account for.
        """
        old, total = self.observed(numbers)
        own = np.divide(total, old[:, None], out=np.zeros_like(total), where=old[:, None] > 0)
        gone = part[:, None] * self.weight[numbers]
        self.class_total -= gone.sum(axis=0)[:, None] * self.class_rates + gone.T @ own
        self.weight[numbers] -= gone
        self.total[numbers] *= (1.0 - part)[:, None]

    def refit(self) -> None:
        """Find the map again, and what belongs to the classes and what to the players.

        The latter takes all players, and one round more of many hardly changes it.
        """
        self.rounds += 1
        anew = (self.rounds - self.parted) * ANEW >= self.rounds
        if anew:
            self.parted = self.rounds
            self._part_classes()
        self.learnt.refit(self.observed(slice(None)) if anew else None)

    def _part_classes(self) -> None:
        """Rates of classes, with players' lasting rates as random effects (Henderson's mixed model equations, 1950).

        The mean of a class alone is also its players' skill: who play it would gain nothing by being good.
        """
        seen = self.weight.any(axis=1)
        weight, total = self.weight[seen], self.total[seen]
        if not len(weight):
            return
        within, between = np.trace(self.learnt.within), np.trace(self.learnt.between)
        # The players are eliminated from the equations: each is shrunk by within/between observations, and what is left
        # is one equation per class.
        shrunk = weight.T / (weight.sum(axis=1) + within / max(between, within / MOST_ALIKE))
        by_class = self.class_total
        # `FEW` observations at the mean of all: a class that was seen rarely is taken to be like the others.
        left = np.diag(weight.sum(axis=0) + FEW) - shrunk @ weight
        right = by_class - shrunk @ total + FEW * by_class.sum(axis=0) / weight.sum()
        self.class_rates = np.linalg.solve(left, right)

    def _have_classes(self, classes: int) -> None:
        more = classes - self.weight.shape[1]
        if more:
            self.weight = np.pad(self.weight, ((0, 0), (0, more)))
            self.class_total = np.pad(self.class_total, ((0, more), (0, 0)))
            self.class_rates = np.pad(self.class_rates, ((0, more), (0, 0)))

    def pack(self) -> dict[str, object]:
        """All of it but the players' `arrays`, as values that JSON can hold."""
        return {
            "learnt": packed(self.learnt.sums()),
            "classes": list(self.standards.classes),
            "standards": packed(self.standards.sums),
            "played": [self.standards.played, self.standards.players],
            "class_total": packed(self.class_total),
            "class_rates": packed(self.class_rates),
            "rounds": [self.rounds, self.parted],
        }

    @classmethod
    def unpack(cls, spread2: float, data: Mapping[str, Any], players: int) -> ModeScores:
        """A mode from what `pack` gave, with room for so many players; `spread2` is the variance of skill."""
        classes = {name: place for place, name in enumerate(data["classes"])}
        class_rates = unpacked(data["class_rates"], -1, NUMBER)
        return cls(
            Learnt.of_sums(spread2, unpacked(data["learnt"], -1)),
            Standards(classes, unpacked(data["standards"], len(classes), -1), *data["played"]),
            np.zeros((players, len(class_rates))),
            np.zeros((players, NUMBER)),
            unpacked(data["class_total"], -1, NUMBER),
            class_rates,
            *data["rounds"],
        )

    def forget(self, number: int) -> None:
        """Drop a player's rates."""
        if number < len(self.weight):
            self._fade(np.array([number]), np.ones(1))


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
        # 1/variance is all that is known of a skill: a factor of as much or more would leave the others an improper
        # Gaussian.
        precision = np.minimum(old, MOST_ABSORBED / np.diagonal(before.cov))
        # Both by the same part, so that the factor keeps its mean.
        shift = self.shift[numbers] * np.divide(precision, old, out=np.zeros(len(old)), where=old > 0)
        rates, wins = mode.lasting_rates(numbers), before.without(precision, shift)
        # Without any lasting rate scores say what wins say, and the comparison would add 0.
        if rates[0].any():
            mode.learnt.learn(before, wins, rates, result)
        mode.take(numbers, played, before.row > 0, rates)
        mode.refit()
        self.precision[numbers], self.shift[numbers] = self._factors(numbers, wins)
        return self.precision[numbers] - precision, self.shift[numbers] - shift

    def _factors(self, numbers: Ints, wins: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """The factors of players' scores by the present maps, as far as they are believed beside what `wins` say.

        Each player's is that of the mode that says most of them. The offset may be the same in all modes, so the sum
        would count it for noise that averages out.
        """
        precision, shift = np.zeros(len(numbers)), np.zeros(len(numbers))
        # By name, so that a tie goes the same way in a replay, which may meet the modes in another order.
        for name in sorted(self.modes):
            mode = self.modes[name]
            if mode.learnt.used:
                rates = mode.lasting_rates(numbers)
                factors, towards = mode.learnt.factors(*rates)
                more = factors > precision
                part = mode.learnt.believed(*rates, wins)[more]
                precision[more], shift[more] = part * factors[more], part * towards[more]
        return precision, shift

    def forget(self, number: int) -> None:
        """Drop a player: their number may become somebody else's."""
        if number < len(self.precision):
            self.precision[number] = self.shift[number] = 0.0
        for mode in self.modes.values():
            mode.forget(number)

    def pack(self) -> dict[str, object]:
        """All of it but the players' `arrays`, as values that JSON can hold."""
        return {name: mode.pack() for name, mode in self.modes.items()}

    @classmethod
    def unpack(cls, spread: float, data: Mapping[str, Any], players: int) -> OwnScores:
        """The scores of all modes from what `pack` gave, with room for so many players."""
        modes = {name: ModeScores.unpack(spread**2, packed_mode, players) for name, packed_mode in data.items()}
        return cls(spread, np.zeros(players), np.zeros(players), modes)

    def arrays(self, players: int) -> list[Floats]:
        """Return the arrays of so many players, by number: views, in a fixed order."""
        self._have(players)
        modes = self.modes.values()
        whole = [self.precision, self.shift, *(column for mode in modes for column in (mode.weight, mode.total))]
        return [column[:players] for column in whole]

    def maps(self) -> tuple[ScoreMap, ...]:
        """The maps of all modes, in the order of their names."""
        return tuple(self.modes[mode].learnt.shown(mode) for mode in sorted(self.modes))

    def _have(self, players: int) -> None:
        if players > len(self.precision):
            self.make_room(max(64, 2 * players))

    def make_room(self, players: int) -> None:
        """Have arrays of this length, by numbers of players; new ones hold zeros."""
        self.precision, self.shift = _longer(self.precision, players), _longer(self.shift, players)
        for mode in self.modes.values():
            mode.weight, mode.total = _longer(mode.weight, players), _longer(mode.total, players)


def _longer(array: Floats, length: int) -> Floats:
    longer = np.zeros((length, *array.shape[1:]))
    longer[: len(array)] = array
    return longer


def packed(array: Floats) -> str:
    """The array's values; its shape is not kept.

    >>> unpacked(packed(np.array([0.1, 2.0])), 2).tolist()
    [0.1, 2.0]
    """
    return b64encode(array.astype("<f8").tobytes()).decode()


def unpacked(text: object, *shape: int) -> Floats:
    """An array of this shape that `packed` wrote; one length may be -1."""
    return np.frombuffer(b64decode(str(text)), "<f8").astype(np.float64).reshape(shape)
