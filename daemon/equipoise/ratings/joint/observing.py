"""A match rated with what its players did by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.ratings.joint import formulas as kernel
from equipoise.ratings.joint.formulas import (
    FLOOR,
    FREE,
    NEWCOMERS,
    NOWHERE,
    Answers,
    Constants,
    Dense,
    Fixtures,
    State,
    Terms,
)
from equipoise.ratings.joint.own import OwnScores
from equipoise.ratings.joint.score_map import Before, Result
from equipoise.ratings.joint.scores import Played

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats
    from equipoise.ratings.joint.formulas import Ints

BLOCK = 48
"""Rows that take in a block of observations at once: what they change by stays in the cache."""


def rate_observed(
    own: OwnScores,
    played: Played | None,
    match: int,
    fixtures: Fixtures,
    terms: Terms,
    answers: Answers,
    state: State,
    constants: Constants,
) -> None:
    """`formulas.rate_match`, and then what the participants did; None: it is not known."""
    sides = fixtures.played
    numbers = np.array(sides.members[sides.starts[match] : sides.starts[match + 1]], np.int64)
    # Before `enter_match` widens them: the quotient is the part of each variance that is from before.
    earlier = _variances(numbers, state)
    count = kernel.enter_match(match, fixtures, terms, state, constants)
    rows, row = terms.rows[count - len(numbers) : count].copy(), terms.x[count - len(numbers) : count].copy()
    kept = earlier / np.diagonal(state.dense.cov)[rows]
    own.drift(numbers, kept)
    score, weight = float(fixtures.score[match]), float(fixtures.weight[match])
    if played is None:
        answers.evidence[match] = kernel.learn(count, score, weight, terms, state.dense, constants)
        return
    # Done apart, where `formulas.learn` does all at once: the moments before the result are needed too, and the matrix
    # is narrowed once for the result and the scores together.
    mean, variance = kernel.project(count, terms, state.dense)
    before = _before(mean, variance, rows, row, state)
    factor, answers.evidence[match] = kernel.take_in(
        count, mean, variance, score, weight, terms, state.dense, constants
    )
    gains = own.rate(numbers, played, before, Result(score, weight, constants.draw_weight))
    if any(column.any() for column in gains):
        absorb(state.dense, rows, *gains, factor, correlated=constants.correlated)
    else:
        kernel.narrow(count, factor, terms, state.dense, constants)


def _variances(numbers: Ints, state: State) -> Floats:
    """The variances of players' skills, dense or parked."""
    rows, worth = state.players.row[numbers], state.dense.cov[NEWCOMERS, NEWCOMERS]
    apart = state.players.variance[numbers] + state.people.newcomer[numbers] ** 2 * worth
    return np.where(rows == NOWHERE, apart, np.diagonal(state.dense.cov)[rows])


def _before(mean: float, variance: float, rows: Ints, row: Floats, state: State) -> Before:
    own_mean, own_cov = state.dense.mean[rows], state.dense.cov[np.ix_(rows, rows)]
    return Before(
        mean=own_mean,
        cov=own_cov,
        row=row,
        rest=mean - float(row @ own_mean),
        rest_variance=max(0.0, variance - float(row @ own_cov @ row)),
    )


def absorb(
    dense: Dense, rows: Ints, precision: Floats, shift: Floats, factor: float = 0.0, *, correlated: bool
) -> None:
    """Multiply the density by exp(-p·s²/2 + h·s) of each row's coordinate s: what was observed of each by itself.

    A precision p may be negative as long as all that was absorbed of the coordinate is not. `factor`: that of a result
    which has moved the means and not yet the covariance (`formulas.take_in`): the whole matrix is gone through once.
    """
    size = dense.counts[FREE]
    mean, cov, shrunk = dense.mean[:size], dense.cov[:size, :size], factor * dense.work[:size]
    # The covariance of the observed rows with all others, as it will be after the result.
    reach, before = cov[rows] - np.outer(shrunk[rows], shrunk), np.diagonal(cov).copy()
    system = np.eye(len(rows)) + precision[:, None] * reach[:, rows]
    mean += np.linalg.solve(system, shift - precision * mean[rows]) @ reach
    # Woodbury: Σ' = Σ − CᵀGC with G = (I + PΣᵣᵣ)⁻¹P, which is symmetric but for rounding.
    inner = np.linalg.solve(system, np.diag(precision))
    # By eigenvectors, because G may be indefinite: a factor that got weaker has a negative precision.
    gains, axes = np.linalg.eigh(0.5 * (inner + inner.T))
    # The result and all observations as rows whose outer squares, with their signs, are taken from the matrix.
    factors = np.empty((len(rows) + 1, size))
    factors[0] = shrunk
    np.matmul(axes.T, reach, out=factors[1:])
    factors[1:] *= np.sqrt(np.abs(gains))[:, None]
    updates = np.append(1.0, np.sign(gains))[:, None] * factors
    if correlated:
        room = np.empty(BLOCK * size)  # one for all blocks: each of its own would be cleared memory
        for first in range(0, size, BLOCK):
            last = min(size, first + BLOCK)
            block, product = slice(first, last), room[: (last - first) * last].reshape(last - first, last)
            lower = cov[block, :last]
            np.matmul(updates[:, block].T, factors[:, :last], out=product)
            np.subtract(lower, product, out=product)
            # What a product of matrices gives is symmetric but for the last bits, on some processors.
            corner = product[:, first:]
            corner[...] = 0.5 * (corner + corner.T)
            lower[...] = product
            cov[:first, block] = product[:, :first].T
        left = np.diagonal(cov)
    else:
        left = before - np.einsum("ij,ij->j", updates, factors)
    # Rows that are free stay 0.
    np.fill_diagonal(cov, np.maximum(left, FLOOR * (before > 0.0)))
