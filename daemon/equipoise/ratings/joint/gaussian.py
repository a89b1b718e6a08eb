"""The dense Gaussian of `joint`: grows, and takes in blocks of linear observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equipoise.ratings.joint.formulas import FLOOR, FREE, HEAD, Dense

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats
    from equipoise.ratings.joint.formulas import Ints

SMALLEST = 64
"""Rows of a new Gaussian."""


def new_dense(mean: float, variance: float) -> Dense:
    """A Gaussian with the head count alone, in row 0."""
    dense = _blank(SMALLEST)
    dense.kind[0], dense.counts[FREE], dense.counts[HEAD] = HEAD, 1, 1
    dense.mean[0], dense.cov[0, 0] = mean, variance
    return dense


def grown(dense: Dense, more: int) -> Dense:
    """The Gaussian with room for this many more rows: itself if it has it, else a larger one."""
    used, have = int(dense.counts[FREE]), len(dense.mean)
    # Rows that were freed since are used first, so this is at times more room than is needed.
    if used + more <= have:
        return dense
    larger = _blank(max(2 * have, used + more))
    larger.mean[:used] = dense.mean[:used]
    larger.cov[:used, :used] = dense.cov[:used, :used]
    larger.kind[:used], larger.owner[:used] = dense.kind[:used], dense.owner[:used]
    larger.counts[:] = dense.counts
    return larger


def _blank(rows: int) -> Dense:
    return Dense(
        mean=np.zeros(rows),
        cov=np.zeros((rows, rows)),
        kind=np.zeros(rows, np.int64),
        owner=np.full(rows, -1, np.int64),
        counts=np.zeros(5, np.int64),
        work=np.zeros(rows),
    )


@dataclass(slots=True)
class Gaussian:
    """Observes linear combinations of coordinates, many at once."""

    dense: Dense
    correlated: bool

    def observe(self, rows: Ints, weights: Floats, values: Floats, noise: Floats) -> float:
        """Take in values = weights · (coordinates at `rows`) + noise; returns their log likelihood before.

        Shapes: rows (c,), each once; weights (k, c); values (k,); noise (k, k), its covariance, positive definite.
        Uncorrelated, the coordinates are updated as if jointly, and lose their correlations after it.
        """
        used = self.dense.counts[FREE]
        mean, cov = self.dense.mean[:used], self.dense.cov[:used, :used]
        with_values = weights @ cov[rows]
        lower = np.linalg.cholesky(with_values[:, rows] @ weights.T + noise)
        whitened = np.linalg.solve(lower, np.column_stack((with_values, values - weights @ mean[rows])))
        reach, surprise = np.ascontiguousarray(whitened[:, :-1]), whitened[:, -1]
        mean += surprise @ reach
        diagonal = np.diagonal(cov).copy()
        if self.correlated:
            cov -= reach.T @ reach
        else:
            np.fill_diagonal(cov, diagonal - np.einsum("ij,ij->j", reach, reach))
        np.fill_diagonal(cov, np.maximum(np.diagonal(cov), np.minimum(diagonal, FLOOR)))
        return float(
            -0.5 * surprise @ surprise - np.log(np.diagonal(lower)).sum() - 0.5 * len(values) * np.log(2.0 * np.pi)
        )
