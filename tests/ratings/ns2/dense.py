"""An independent whole-history fit: every match a dense row of what it says, solved by plain Newton steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.core.model import PlayerId
from equipoise.ratings.history import Floats
from equipoise.ratings.ns2.system import NS2Params
from equipoise.ratings.system import Match
from tests.ratings.ns2.samples import Naive

Key = tuple[str, object]
"""`s`, `o` or `x` and a player; `F` and `all`, a map's name, or that and whether it is large."""


@dataclass(frozen=True, slots=True)
class Dense:
    """The most probable unknowns, and what follows from them."""

    values: dict[Key, float]
    squares: dict[Key, float]
    """Squared gradients of each, over all matches."""
    chances: Floats
    """Of each match's first team."""
    rounds: dict[PlayerId, int]


def most_probable(matches: Sequence[Match], params: NS2Params) -> Dense:
    """The most probable unknowns; time weights use the median length at each round."""
    naive, rows, weights, bots = Naive(params), list[dict[Key, float]](), list[float](), list[float]()
    for match in matches:
        row = naive.row(match)
        sizes: list[object] = ["all", match.map, (match.map, row.large)] if match.map else ["all"]
        rows.append({**row.coefficients, **{("F", key): row.race for key in sizes}})
        bots.append(row.bots)
        weights.append(match.weight if row.played else 0.0)
        naive.note(match, row)
    keys = sorted({key for row in rows for key in row} | {(name, p) for name, p in _everybody(matches)}, key=repr)
    x = np.array([[row.get(key, 0.0) for key in keys] for row in rows])
    score, weight = np.array([match.score(0) for match in matches]), np.array(weights)
    found = _maximum(x, np.array(bots), score, weight, keys, params)
    chances = _logistic(x @ found + np.array(bots))
    squares = ((weight * (score - chances))[:, None] * x) ** 2
    return Dense(
        dict(zip(keys, found, strict=True)), dict(zip(keys, squares.sum(axis=0), strict=True)), chances, naive.rounds
    )


def _everybody(matches: Sequence[Match]) -> set[tuple[str, PlayerId]]:
    return {(name, player) for match in matches for team in match.teams for player in team for name in "sox"}


def _maximum(x: Floats, bots: Floats, score: Floats, weight: Floats, keys: Sequence[Key], params: NS2Params) -> Floats:
    """Maximise by Newton steps on log s and log χ, shortened until each gains; the prior is of s and χ."""
    positive = np.array([name in "sx" for name, _ in keys])
    precision = np.array(
        [{"o": params.offset_deviation**-2, "F": params.prior_rounds / 4.0}.get(n, 0.0) for n, _ in keys]
    )
    chair = np.array([name == "x" for name, _ in keys])
    k = np.where(chair, params.commander_shape, params.shape)
    scale = np.where(chair, params.commander_scale, params.scale)

    def values(logs: Floats) -> Floats:
        return np.where(positive, np.exp(np.where(positive, logs, 0.0)), logs)

    def probability(logs: Floats) -> float:
        at = values(logs)
        log_odds = x @ at + bots
        likelihood = weight @ (score * log_odds - np.logaddexp(0.0, log_odds)) - 0.5 * precision @ at**2
        return float(likelihood + ((k - 1.0) * logs - at / scale)[positive].sum())

    logs = np.where(positive, math.log(params.newcomer), 0.0)
    for _ in range(200):
        at = values(logs)
        chance = _logistic(x @ at + bots)
        turn = np.where(positive, at, 1.0)
        slope = turn * (x.T @ (weight * (score - chance)) - precision * at)
        slope += np.where(positive, (k - 1.0) - at / scale, 0.0)
        curved = (x * turn).T @ ((weight * chance * (1.0 - chance))[:, None] * (x * turn))
        curved += np.diag(np.where(positive, at / scale, precision))
        step = np.linalg.solve(curved, slope)
        length = 1.0
        while probability(logs + length * step) < probability(logs) - 1e-9 and length > 1e-6:
            length *= 0.5
        logs = logs + length * step
        if np.abs(step).max() < 1e-13:
            break
    return values(logs)


def _logistic(log_odds: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-log_odds))
