"""Sides to start a search from: the present ones made whole, and others at random; needs numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from hashlib import shake_128

import numpy as np

from equipoise.balancing.descent import Numbers, Rows


class Draw:
    """Random numbers that are a function of a question. numpy's own would take 2 MB of the daemon's memory."""

    def __init__(self, question: bytes) -> None:
        self._question = shake_128(question)

    def random(self, shape: tuple[int, ...]) -> Numbers:
        """Uniform numbers from 0 to 1, others each time."""
        self._question.update(b"next")
        drawn = np.frombuffer(self._question.digest(8 * math.prod(shape)), np.uint64) >> np.uint64(11)
        return np.asarray(drawn.reshape(shape) * 2.0**-53)


def distinct(rows: Rows) -> Rows:
    """The rows, each once."""
    return np.array(list({row.tobytes(): row for row in rows}.values())).reshape(-1, rows.shape[1])


@dataclass(frozen=True)
class Placing:
    """Places units on two sides, of which A takes players of this number.

    The random numbers are a function of the question: it is answered in the same way when it comes again.
    """

    weights: Numbers
    on_a: int
    fixed: Numbers
    """The side of the units that have no choice; 0 for the others."""
    present_side: Numbers
    """Above 0 for units that are on A, below for B."""
    question: bytes

    @cached_property
    def draw(self) -> Draw:
        """The source of the random numbers."""
        return Draw(self.question)

    @property
    def mirrors(self) -> bool:
        """The sides may be exchanged: they are equally large, and no unit is fixed."""
        return 2 * self.on_a == self.weights.sum() and not self.fixed.any()

    def random(self, count: int) -> Rows:
        """So many sides drawn at random; fixed units stand where they must."""
        return self._placed(self._order(count))

    def present(self, count: int) -> Rows:
        """The present sides, with as few moves as the sizes need; who is on neither is placed at random."""
        return distinct(self._placed(np.sign(self.present_side) + self._order(count)))

    def _order(self, count: int) -> Numbers:
        return np.asarray(self.draw.random((count, len(self.weights))) - 0.5)

    def kicked(self, row: Rows, count: int) -> Rows:
        """Sides that differ from the given ones by some swaps of single players."""
        rows, single = np.repeat(row[None], count, axis=0), (self.fixed == 0) & (self.weights == 1)
        swaps = max(2, len(row) // 10)
        sides = [np.flatnonzero(single & (row == side)) for side in (1, -1)]
        if min(map(len, sides)) >= swaps:
            for side, units in zip((1, -1), sides, strict=True):
                chosen = units[self.draw.random((count, len(units))).argsort(1)[:, :swaps]]
                np.put_along_axis(rows, chosen, -side, 1)
        return rows

    def _placed(self, order: Numbers) -> Rows:
        """Units that are higher in a row's order go to A; those of several players first, while there is room.

        Rows in which the single ones cannot fill the sides are left out.
        """
        rows = np.tile(self.fixed, (len(order), 1))
        left = self.on_a - (rows > 0) @ self.weights
        left_b = self.weights.sum() - self.on_a - (rows < 0) @ self.weights
        heavy = np.flatnonzero((self.fixed == 0) & (self.weights > 1))
        for unit in heavy[np.argsort(-self.weights[heavy], kind="stable")]:
            weight = self.weights[unit]
            on_a = ((order[:, unit] > 0) & (left >= weight)) | (left_b < weight)
            rows[:, unit] = np.where(on_a, 1.0, -1.0)
            left, left_b = left - weight * on_a, left_b - weight * ~on_a
        singles = np.flatnonzero((self.fixed == 0) & (self.weights == 1))
        rank = (-order[:, singles]).argsort(1).argsort(1)
        rows[:, singles] = np.where(rank < left[:, None], 1.0, -1.0)
        return np.asarray(rows[(left >= 0) & (left_b >= 0)])
