"""A match rated with what its players did by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.ratings.joint import formulas as kernel
from equipoise.ratings.joint.formulas import NEWCOMERS, NOWHERE, Answers, Constants, Fixtures, State, Terms
from equipoise.ratings.joint.gaussian import absorb
from equipoise.ratings.joint.outcome import expected
from equipoise.ratings.joint.own import OwnScores
from equipoise.ratings.joint.score_map import Before, Result
from equipoise.ratings.joint.scores import Played

if TYPE_CHECKING:
    from equipoise.ratings.history import Floats
    from equipoise.ratings.joint.formulas import Ints


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
    answers.wins[match] = expected(*kernel.foresee(match, fixtures, fixtures.lineup, terms, state, constants))
    earlier = _variances(numbers, state)
    count = kernel.enter_match(match, fixtures, terms, state, constants)
    rows, row = terms.rows[count - len(numbers) : count].copy(), terms.x[count - len(numbers) : count].copy()
    kept = earlier / np.diagonal(state.dense.cov)[rows]
    own.drift(numbers, kept)
    score, weight = float(fixtures.score[match]), float(fixtures.weight[match])
    if played is None:
        answers.evidence[match] = kernel.learn(count, score, weight, terms, state.dense, constants)
        return
    mean, variance = kernel.project(count, terms, state.dense)
    before = _before(mean, variance, rows, row, state)
    factor, answers.evidence[match] = kernel.take_in(
        count, mean, variance, score, weight, terms, state.dense, constants
    )
    gained = own.rate(numbers, played, before, Result(score, weight, constants.draw_weight))
    if any(each.any() for each in gained):
        absorb(state.dense, rows, *gained, factor, correlated=constants.correlated)
    else:
        kernel.narrow(count, factor, terms, state.dense, constants)


def _variances(numbers: Ints, state: State) -> Floats:
    """The variances of players' skills, dense or parked."""
    rows, worth = state.players.row[numbers], state.dense.cov[NEWCOMERS, NEWCOMERS]
    parked = state.players.variance[numbers] + state.people.newcomer[numbers] ** 2 * worth
    return np.where(rows == NOWHERE, parked, np.diagonal(state.dense.cov)[rows])


def _before(mean: float, variance: float, rows: Ints, row: Floats, state: State) -> Before:
    own_mean, own_cov = state.dense.mean[rows], state.dense.cov[np.ix_(rows, rows)]
    return Before(
        mean=own_mean,
        cov=own_cov,
        row=row,
        rest=mean - float(row @ own_mean),
        rest_variance=max(0.0, variance - float(row @ own_cov @ row)),
    )
