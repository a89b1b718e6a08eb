"""`joint` gives the numbers of its equations, and nearly those of the exact posterior."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings.joint.outcome import expected, exponents, posterior
from equipoise.ratings.joint.system import Joint
from equipoise.ratings.system import Match, ranks_of
from tests.ratings.joint.reference import Reference
from tests.ratings.joint.samples import joint_matches
from tests.ratings.samples import people

PARAMS: dict[str, Any] = {
    "spread": 0.6,
    "drift": 0.05,
    "drift_days": 0.1,
    "side_spread": 0.4,
    "map_spread": 0.3,
    "draw_weight": 0.7,
}


def joint(**params: object) -> Joint:
    return Joint.create(**params)


def centred(system: Joint, players: list[PlayerId]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance in log-odds."""
    mean = (np.array([system.skill(player) for player in players]) - system.params.initial) / system.params.scale
    return mean, np.array(system.covariance(players)) / system.params.scale**2


@pytest.mark.parametrize("correlations", [True, False])
def test_predictions_means_and_covariances_are_those_of_the_equations(correlations: bool) -> None:
    """Without correlations: those of the same filter with independent variances."""
    system = joint(correlations=correlations, **PARAMS)
    reference = Reference(system.params)
    for match in joint_matches(seed=1, count=120):
        assert system.predict(match).wins[0] == pytest.approx(reference.predict(match), abs=1e-9)
        assert system.rate(match).prediction.wins[0] == pytest.approx(reference.predict(match), abs=1e-9)
        reference.rate(match)
    players = [PlayerId(name) for name in reference.names if name in system]
    mean, _ = centred(system, players)
    own_mean, own_cov = reference.skills(list(players))
    dense = system.active.state.dense.cov[
        np.ix_(*[[system.active.state.players.row[system.active.number(p)] for p in players]] * 2)
    ]
    np.testing.assert_allclose(mean, own_mean, atol=1e-9)
    np.testing.assert_allclose(dense, own_cov, atol=1e-9)
    assert np.any(dense - np.diag(np.diag(dense))) == correlations


def dense_posterior(
    x: np.ndarray, scores: np.ndarray, variances: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted samples of the exact posterior: importance sampling from a wide Student t at the mode."""
    rng, weight = np.random.default_rng(seed), 0.5
    a = np.where(scores == 0.5, weight, scores)
    b = np.where(scores == 0.5, weight, 1.0 - scores)

    def log_density(s: np.ndarray) -> np.ndarray:
        d = s @ x.T
        return -np.logaddexp(0, -d) @ a - np.logaddexp(0, d) @ b - 0.5 * (s**2 / variances).sum(axis=-1)

    mode = np.zeros(len(variances))
    for _ in range(50):
        won = 1 / (1 + np.exp(-x @ mode))
        slope = x.T @ (a * (1 - won) - b * won) - mode / variances
        precision = x.T @ (x * ((a + b) * won * (1 - won))[:, None]) + np.diag(1 / variances)
        mode = mode + np.linalg.solve(precision, slope)
    freedom, count = 20.0, 40_000
    root = np.linalg.cholesky(np.linalg.inv(precision))
    normal = rng.standard_normal((count, len(mode)))
    wide = np.sqrt(freedom / rng.chisquare(freedom, count))[:, None]
    samples = mode + (normal * wide) @ root.T
    proposal = -0.5 * (freedom + len(mode)) * np.log1p((normal**2).sum(axis=1) * wide[:, 0] ** 2 / freedom)
    log_weights = log_density(samples) - proposal
    weights = np.exp(log_weights - log_weights.max())
    return samples, weights / weights.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "count", "means", "deviations"), [(0.25, 60, 0.02, 0.02), (0.25, 300, 0.08, 0.06), (0.6, 60, 0.1, 0.12)]
)
def test_a_small_pool_is_known_nearly_as_the_exact_posterior_knows_it(
    spread: float, count: int, means: float, deviations: float
) -> None:
    """Sampling errors are less than a third of what is allowed: the rest is the price of a Gaussian after each round.

    In standard deviations; of each skill, and of the difference between the sides of each round.
    """
    rng, players = np.random.default_rng(3), people(6)
    truth = rng.normal(0, spread, 6)
    system = joint(spread=spread, drift=0.0, drift_days=0.0, head_count_spread=0.0)
    rows, scores = [], []
    for _ in range(count):
        order = rng.permutation(6)
        x = np.zeros(6)
        x[order[:3]], x[order[3:]] = 1.0, -1.0
        score = 0.5 if rng.random() < 0.1 else float(rng.random() < 1 / (1 + np.exp(-truth @ x)))
        teams = tuple(tuple(players[number] for number in side) for side in (order[:3], order[3:]))
        system.rate(Match(teams, ranks_of(score)))
        rows.append(x)
        scores.append(score)
    samples, weights = dense_posterior(np.array(rows), np.array(scores), np.full(6, spread**2), seed=4)
    mean, cov = centred(system, players)
    for combination in (*np.eye(6), *np.unique(rows, axis=0)):
        drawn = samples @ combination
        exact = weights @ drawn
        deviation = np.sqrt(weights @ (drawn - exact) ** 2)
        error = np.sqrt((weights**2) @ (drawn - exact) ** 2)
        assert error < means / 3 * deviation
        assert abs(combination @ mean - exact) < means * deviation
        assert abs(np.sqrt(combination @ cov @ combination) / deviation - 1) < deviations


@pytest.mark.parametrize("variance", [1e-6, 0.04, 1.5, 40.0])
@pytest.mark.parametrize("mean", [-30.0, 0.0, 0.7, 5.0])
@pytest.mark.parametrize(("score", "weight"), [(1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (1.0, 300.0), (0.5, 0.01)])
def test_moments_are_those_of_a_fine_sum(mean: float, variance: float, score: float, weight: float) -> None:
    """A sum over 20,000 points within 80 deviations."""
    a, b = exponents(score, weight, 0.5)
    away = np.linspace(-80, 80, 20_001) * variance**0.5
    d = mean + away
    log_density = -0.5 * away**2 / variance - a * np.logaddexp(0, -d) - b * np.logaddexp(0, d)
    density = np.exp(log_density - log_density.max())
    total = density.sum()
    shift = density @ away / total
    after, left = mean + shift, density @ (away - shift) ** 2 / total
    evidence = np.log(total * 160 / 20_000 / np.sqrt(2 * np.pi)) + log_density.max()
    found = posterior(mean, variance, a, b)
    near = 2e-6 if weight > 100 else 1e-8
    assert found[0] == pytest.approx(after, abs=near * max(1.0, variance**0.5))
    assert found[1] == pytest.approx(left, rel=near)
    assert found[2] == pytest.approx(evidence, abs=near, rel=near)
    if (score, weight) == (1.0, 1.0):
        assert expected(mean, variance) == pytest.approx(math.exp(evidence), rel=1e-8)


@pytest.mark.parametrize("active", [6, 512])
def test_a_prediction_is_that_of_the_skills_and_covariances_that_teams_are_made_by(active: int) -> None:
    """Of newcomers, strangers, players who gave way, and bots."""
    system = joint(active=active, spread=0.6, drift=0.0, drift_days=0.0, head_count_spread=0.0)
    for match in joint_matches(seed=4, count=40):
        system.rate(replace(match, sides=(), started_at=None))
    players = [*people(20), PlayerId("bot:1"), PlayerId("bot:2")]
    rng = np.random.default_rng(6)
    for _ in range(20):
        chosen = [players[number] for number in rng.permutation(22)[:12]]
        x = np.repeat([1.0, -1.0], 6)
        mean, cov = centred(system, chosen)
        found = system.outlook(Match((tuple(chosen[:6]), tuple(chosen[6:]))))
        assert found == pytest.approx((x @ mean, x @ cov @ x), abs=1e-12)


def test_the_head_count_is_learnt_and_moves_the_target_of_a_split() -> None:
    system, players = joint(), people(40)
    rng = np.random.default_rng(5)
    uneven = Match((tuple(players[:13]), tuple(players[13:25])))
    assert system.difference_at(0.5, uneven) == pytest.approx(1000 - 2400 * 5 * math.log(13 / 12))
    for _ in range(400):
        chosen = [players[number] for number in rng.permutation(40)[:25]]
        system.rate(Match((tuple(chosen[:13]), tuple(chosen[13:])), ranks_of(float(rng.random() < 0.5))))
    assert abs(system.difference_at(0.5, uneven) - 1000) < 2400 * 2.5 * math.log(13 / 12)


def test_the_difference_that_gives_a_chance_is_one_of_the_sums_of_skills() -> None:
    """Of players who are known, at uneven sides with a bot; as a split reads them."""
    system, players = joint(head_count_spread=0.0), [*people(4), PlayerId("bot:1")]
    for number, player in enumerate(players[:4]):
        system.seed(player, rating=700.0 + 300 * number, deviation=0.0)
    match = Match((tuple(players[:2]), tuple(players[2:])))
    sums = [sum(map(system.skill, team)) for team in match.teams]
    assert system.difference_at(system.predict(match).wins[0], match) == pytest.approx(sums[0] - sums[1], abs=0.5)


def test_a_side_is_worth_what_it_won_on_the_map_whichever_team_is_named_first() -> None:
    system, (ann, bob) = joint(), people(2)
    for number in range(60):
        teams, sides = (((ann,), (bob,)), ("red", "blu")) if number % 2 else (((bob,), (ann,)), ("blu", "red"))
        blu = sides.index("blu")
        system.rate(Match(teams, ranks_of(1.0 - blu), sides=sides, map="dustbowl"))
    new = people(4)[2:]
    red_first = Match(((new[0],), (new[1],)), sides=("red", "blu"), map="dustbowl")
    blu_first = Match(((new[0],), (new[1],)), sides=("blu", "red"), map="dustbowl")
    elsewhere = Match(((new[0],), (new[1],)), sides=("blu", "red"), map="goldrush")
    assert system.predict(red_first).wins[0] == pytest.approx(1 - system.predict(blu_first).wins[0])
    assert system.predict(blu_first).wins[0] > system.predict(elsewhere).wins[0] > 0.5
    assert system.predict(Match(((new[0],), (new[1],)))).wins[0] == pytest.approx(0.5)
    assert system.difference_at(0.5, red_first) > 0 > system.difference_at(0.5, blu_first)
