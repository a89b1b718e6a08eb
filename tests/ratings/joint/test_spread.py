"""The spread of skill by the marginal likelihood: against brute force, and recovered from pools with a known one."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings.history import History
from equipoise.ratings.joint.params import JointParams
from equipoise.ratings.joint.spread import GRID, fit_spread, log_likelihood
from equipoise.ratings.system import Match, ranks_of

STILL = JointParams(drift=0.0, drift_days=0.0, head_count_spread=0.0)
"""Skills do not move, and nothing else is unknown."""


def drawn(seed: int, spread: float, *, people: int, side: int, rounds: int) -> History:
    """Rounds of random teams, whose winners are drawn by skills of this spread."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(0.0, spread, people)
    matches = []
    for _ in range(rounds):
        chosen = rng.permutation(people)[: 2 * side]
        a, b = chosen[:side], chosen[side:]
        won = rng.random() < 1 / (1 + math.exp(skill[b].sum() - skill[a].sum()))
        teams = tuple(tuple(PlayerId(f"p{number}") for number in team) for team in (a, b))
        matches.append(Match(teams, ranks_of(float(won))))
    return History.of(matches)


def integrated(history: History, spread: float, draw_weight: float) -> float:
    """The logarithm of the likelihood of all results, integrated over all skills at once."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    people = len(history.players)
    skills = np.array(list(itertools.product(spread * nodes, repeat=people)))
    weight = np.prod(np.array(list(itertools.product(weights / weights.sum(), repeat=people))), axis=1)
    for match in range(len(history)):
        x = np.zeros(people)
        for team, sign in ((2 * match, 1.0), (2 * match + 1, -1.0)):
            x[history.members[history.teams[team] : history.teams[team + 1]]] = sign
        won = 1 / (1 + np.exp(-skills @ x))
        first, second = history.ranks[2 * match : 2 * match + 2]
        weight *= (won * (1 - won)) ** draw_weight if first == second else won if first < second else 1 - won
    return float(np.log(weight.sum()))


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "near"), [(0.1, 1e-4), (0.25, 1e-3), (0.5, 2e-2)])
def test_the_likelihood_is_that_of_all_results_integrated_over_the_skills(spread: float, near: float) -> None:
    ann, bob, cid, dan = (PlayerId(name) for name in ("ann", "bob", "cid", "dan"))
    teams = (((ann, bob), (cid, dan)), ((ann, cid), (bob, dan)), ((ann,), (dan,)), ((bob, dan), (cid, ann)))
    history = History.of([Match(two, ranks_of(score)) for two in teams for score in (1.0, 0.0, 1.0, 0.5)])
    assert log_likelihood(replace(STILL, spread=spread), history) == pytest.approx(
        integrated(history, spread, STILL.draw_weight), abs=near
    )


@pytest.mark.slow
def test_no_other_spread_is_more_likely_than_the_fitted_one() -> None:
    history = drawn(3, 0.5, people=20, side=4, rounds=500)
    fit = fit_spread(STILL, history)
    assert fit is not None
    best = log_likelihood(replace(STILL, spread=fit.spread), history)
    for other in (*GRID, 0.95 * fit.spread, 1.05 * fit.spread):
        assert log_likelihood(replace(STILL, spread=other), history) < best
    two = (math.log(fit.spread) + side * fit.error / fit.spread for side in (-1.0, 1.0))
    for end in two:  # a parabola falls by half a nat in one standard error
        lost = best - log_likelihood(replace(STILL, spread=math.exp(end)), history)
        assert lost == pytest.approx(0.5, abs=0.2)


@pytest.mark.world
def test_the_spread_of_simulated_pools_is_found_within_its_standard_errors() -> None:
    off = []
    for seed in range(12):
        fit = fit_spread(STILL, drawn(seed, 0.4, people=30, side=5, rounds=800))
        assert fit is not None
        off.append(math.log(fit.spread / 0.4) / (fit.error / fit.spread))
    assert abs(float(np.mean(off))) < 3 / math.sqrt(12)
    assert 0.7 < float(np.std(off)) < 1.4
    assert float(np.mean(np.abs(off) < 2)) > 0.85


def test_rounds_that_are_decided_by_luck_have_no_spread() -> None:
    ann, bob, cid, dan = (PlayerId(name) for name in ("ann", "bob", "cid", "dan"))
    even = [Match(((ann, bob), (cid, dan)), ranks_of(float(number % 2))) for number in range(100)]
    assert fit_spread(STILL, History.of(even)) is None


@pytest.mark.slow
def test_few_rounds_leave_the_spread_unknown_and_many_do_not() -> None:
    few = fit_spread(STILL, drawn(5, 0.5, people=20, side=4, rounds=40))
    many = fit_spread(STILL, drawn(5, 0.5, people=20, side=4, rounds=1500))
    assert many is not None
    assert many.missing == 0
    assert few is None or few.missing > 0


@pytest.mark.slow
def test_a_spread_that_is_configured_right_is_not_told_from_the_fitted_one() -> None:
    history = drawn(7, 0.25, people=30, side=5, rounds=600)
    fit = fit_spread(STILL, history)
    assert fit is not None
    at = replace(
        STILL, spread=fit.spread * math.exp(fit.error / fit.spread)
    )  # one standard error away, two are asked for
    again = fit_spread(at, history)
    assert again is not None
    assert again.spread == pytest.approx(fit.spread)
    assert again.missing == pytest.approx(3 * 600, rel=0.05)
