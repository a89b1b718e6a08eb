"""Sides improved by swaps of two players, many starts at once; needs numpy.

Sides are rows of numbers, one per unit: 1 on A, -1 on B. Every start is a row, so that one step of all of them is a few
operations on arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.solver import Budget
from equipoise.solver.bitsets import Spent

Numbers = NDArray[np.floating[Any]]
Rows = NDArray[np.floating[Any]]

SWAP_WORK = 1 << 6
"""Work of judging one swap of one start, in bits."""
LEAST_GAIN = 1e-9
"""Part of its scale, and of a unit, by which a form must fall: less is rounding."""


@dataclass(frozen=True)
class Form:
    """What is counted of sides x: xᵀMx − 2 v·x + constant."""

    matrix: Numbers
    linear: Numbers
    constant: float

    def of(self, rows: Rows) -> Numbers:
        """The value of every row."""
        return np.asarray((rows @ self.matrix * rows).sum(1) - 2 * rows @ self.linear + self.constant)

    def flips(self, rows: Rows) -> Numbers:
        """By how much the value of every row changes when one unit alone crosses."""
        return np.asarray(4 * (np.diagonal(self.matrix) - rows * (rows @ self.matrix - self.linear)))

    def swaps(
        self, rows: Rows, into: Numbers, closed: Numbers | float = 0.0, barrier: Numbers | float = 0.0
    ) -> Numbers:
        """By how much it changes when a unit of A and one of B change places; infinite for the pairs that cannot."""
        flips = self.flips(rows) + closed
        changes = np.add(np.where(rows < 0, flips, np.inf)[:, None, :], barrier - 8 * self.matrix, out=into)
        changes += np.where(rows > 0, flips, np.inf)[:, :, None]
        return changes

    @property
    def grain(self) -> float:
        """A change that is no more than this is rounding."""
        return LEAST_GAIN * (float(np.abs(self.matrix).sum()) + abs(self.constant) + 1.0)


@dataclass(frozen=True)
class Leaving:
    """How many players leave a side: at least so many, and of those who stand there as many stay."""

    stand: Numbers
    """Of each unit, the players who stand there now."""
    side: int
    least: int

    def of(self, rows: Rows) -> Numbers:
        """How many leave, for every row."""
        return np.asarray((self.side * rows < 0) @ self.stand)

    @property
    def most(self) -> float:
        """How many may leave."""
        return float(self.stand.sum()) - self.least

    def close(self, changes: Numbers, rows: Rows) -> None:
        """Forbid the swaps after which too few leave, or too many; `changes` is what `Form.swaps` gives."""
        left, more = self.of(rows), self.side * (self.stand[:, None] - self.stand)
        for at_end, wrong in ((left <= self.least, more < 0), (left >= self.most, more > 0)):
            ended = np.flatnonzero(at_end)
            changes[ended] = np.where(wrong, np.inf, changes[ended])


@dataclass(frozen=True)
class Descent:
    """Best-improvement swaps: first `toll` falls, then `cost`, which never rises above the limit of its row.

    `barrier` is infinite for pairs of units that cannot change places, `closed` for units that stay where they are.
    `capped` may not rise above `cap`.
    """

    cost: Form
    barrier: Numbers
    closed: Numbers
    budget: Budget
    toll: Form | None = None
    capped: Form | None = None
    cap: float = np.inf
    leaving: Sequence[Leaving] = ()
    """Of the rows that it is given all must be `left`."""

    def run(self, starts: Rows, *, limit: float = np.inf, until: float = -np.inf) -> Rows:
        """Every start after its swaps: a row is done when none helps, or when its cost is at most `until`.

        When the budget is used up, all are.
        """
        rows = starts.copy()
        cost, active = self.cost.of(rows), np.arange(len(rows))
        least, room = -self.cost.grain, self._room(rows)
        with suppress(Spent):
            while len(active := active[cost[active] > until]):
                self.budget.spend(len(active) * self.barrier.size * SWAP_WORK)
                chosen, change, gain = self._best(rows[active], limit - cost[active], room[: len(active)])
                helps = gain < least
                active, chosen = active[helps], chosen[helps]
                cost[active] += change[helps]
                rows[active, chosen // rows.shape[1]] = -1
                rows[active, chosen % rows.shape[1]] = 1
        return rows

    def swaps(self, rows: Rows, into: Numbers | None = None) -> Numbers:
        """By how much the cost changes with every swap that is allowed; infinite for the others."""
        room = self._room(rows) if into is None else into
        changes = self.cost.swaps(rows, room, self.closed, self.barrier)
        if self.capped is not None:
            left = self.cap - self.capped.of(rows) + 0.5
            changes[self.capped.swaps(rows, self._room(rows)) > left[:, None, None]] = np.inf
        for count in self.leaving:
            count.close(changes, rows)
        return changes

    def left(self, rows: Rows) -> Rows:
        """The rows in which as many leave each side as have to."""
        for count in self.leaving:
            left = count.of(rows)
            rows = rows[(left >= count.least) & (left <= count.most)]
        return rows

    def _best(self, rows: Rows, slack: Numbers, into: Numbers) -> tuple[NDArray[Any], Numbers, Numbers]:
        """Of every row the best swap, by what it changes the cost, and by what it is better."""
        rank = changes = self.swaps(rows, into)
        if self.toll is not None:
            tolled = changes + self.toll.swaps(rows, self._room(rows)) * self._heavy
            rank = np.where(changes > slack[:, None, None], np.inf, tolled)
        chosen = rank.reshape(len(rows), -1).argmin(1)
        place = np.arange(len(rows)), chosen
        return chosen, changes.reshape(len(rows), -1)[place], rank.reshape(len(rows), -1)[place]

    def _room(self, rows: Rows) -> Numbers:
        return np.empty((len(rows), *self.barrier.shape))

    @property
    def _heavy(self) -> float:
        """More than any change of the cost."""
        return 8 * float(np.abs(self.cost.matrix).sum() + np.abs(self.cost.linear).sum()) + 1.0
