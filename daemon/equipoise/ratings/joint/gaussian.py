"""The dense Gaussian of `joint`: it grows, and takes in many observations at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.ratings.joint.formulas import FLOOR, FREE, HEAD, HEAD_COUNT, NEWCOMERS, Dense

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats
    from equipoise.ratings.joint.formulas import Ints

SMALLEST = 64
"""Rows of a new Gaussian."""
BLOCK = 64
"""Rows that take in a block of observations at once: what they change by stays in the cache."""


def new_dense(mean: float, variance: float, newcomers: float) -> Dense:
    """A Gaussian with the head count, and the worth of newcomers with mean 0 and this variance."""
    dense = _blank(SMALLEST)
    dense.kind[:2], dense.counts[FREE], dense.counts[HEAD] = HEAD, 2, 2
    dense.mean[HEAD_COUNT], dense.cov[HEAD_COUNT, HEAD_COUNT] = mean, variance
    dense.cov[NEWCOMERS, NEWCOMERS] = newcomers
    return dense


def grown(dense: Dense, more: int) -> Dense:
    """The Gaussian with room for this many more rows: itself if it has it, else a larger one."""
    used, have = int(dense.counts[FREE]), len(dense.mean)
    # Rows that were freed since are used first, so this is at times more room than is needed.
    if used + more <= have:
        return dense
    # By an eighth: a matrix of twice the rows would take four times the memory, most of it for nothing.
    larger = _blank(max(have + have // 8, used + more))
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
        counts=np.zeros(4, np.int64),
        work=np.zeros(rows),
    )


def absorb(
    dense: Dense, rows: Ints, precision: Floats, shift: Floats, factor: float = 0.0, *, correlated: bool
) -> None:
    """Multiply the density by exp(-p·s²/2 + h·s) of each row's coordinate s: what was observed of each by itself.

    A precision p may be negative as long as all that was absorbed of the coordinate is not. `factor`: that of a result
    which has moved the means and not yet the covariance (`formulas.take_in`): the whole matrix is gone through once.
    """
    used = dense.counts[FREE]
    mean, cov, shrunk = dense.mean[:used], dense.cov[:used, :used], factor * dense.work[:used]
    reach, before = cov[rows] - np.outer(shrunk[rows], shrunk), np.diagonal(cov).copy()
    scaled = np.eye(len(rows)) + precision[:, None] * reach[:, rows]
    mean += np.linalg.solve(scaled, shift - precision * mean[rows]) @ reach
    inner = np.linalg.solve(scaled, np.diag(precision))
    gains, axes = np.linalg.eigh(0.5 * (inner + inner.T))
    moved = np.vstack((shrunk, np.sqrt(np.abs(gains))[:, None] * (axes.T @ reach)))
    signed = np.append(1.0, np.sign(gains))[:, None] * moved
    if correlated:
        # What a product of matrices gives is symmetric but for the last bits, on some processors.
        for first in range(0, used, BLOCK):
            block, last = slice(first, first + BLOCK), first + BLOCK
            cov[block, :last] -= signed[:, block].T @ moved[:, :last]
            corner = cov[block, block]
            corner[...] = 0.5 * (corner + corner.T)
            cov[:first, block] = cov[block, :first].T
        left = np.diagonal(cov)
    else:
        left = before - np.einsum("ij,ij->j", signed, moved)
    np.fill_diagonal(cov, np.maximum(left, FLOOR * (before > 0.0)))
