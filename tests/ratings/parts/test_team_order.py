"""Predictions of the order of teams, and updates from it, against sums over a grid of performances."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from equipoise.ratings.parts.team_order import (
    MOST_SWEEPS,
    Teams,
    combine_messages,
    expect,
    learn,
    log_evidence,
    quality,
    sweep,
)
from equipoise.ratings.parts.truncated_gaussian import cdf
from tests.ratings.trueskill.brute_force import phi


def teams_of(*known: tuple[float, float], sizes: tuple[int, ...] = ()) -> Teams:
    """Teams of (mean, variance), of one player where no sizes are given."""
    teams = Teams.of(len(known))
    for team, (mean, variance) in enumerate(known):
        teams.mean[team], teams.variance[team] = mean, variance
        teams.size[team] = float(sizes[team] if sizes else 1)
    return teams


def chances(known: list[tuple[float, float]], sizes: list[float], unit: float) -> list[float]:
    """The chance of each team to beat all others: trapezoids, close together where a factor is steep."""
    found = []
    for team, (mean, variance) in enumerate(known):
        deviation, points = math.sqrt(variance), np.linspace(-9.0, 9.0, 8001)
        others = [other for other in range(len(known)) if other != team]
        edges = [known[other][0] + unit * math.sqrt(sizes[team] + sizes[other]) for other in others]
        if deviation == 0.0:
            above = [clear(np.array([mean]), edge, known[other][1]) for edge, other in zip(edges, others, strict=True)]
            found.append(float(math.prod(each[0] for each in above)))
            continue
        near = [
            edge + max(math.sqrt(known[other][1]), 1e-12) * points for edge, other in zip(edges, others, strict=True)
        ]
        x = np.unique(np.concatenate([mean + deviation * points, *near]))
        x = x[np.abs(x - mean) <= 9.0 * deviation]
        density = np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * math.sqrt(2.0 * math.pi))
        for edge, other in zip(edges, others, strict=True):
            density = density * clear(x, edge, known[other][1])
        found.append(float(np.trapezoid(density, x)))
    return found


def clear(x: np.ndarray, edge: float, variance: float) -> np.ndarray:
    """The chance of each performance to beat a team by the margin."""
    return phi((x - edge) / math.sqrt(variance)) if variance > 0.0 else (x > edge).astype(float)


KNOWN = [
    [(25.0, 87.0), (24.0, 87.0), (0.0, 0.0)],
    [(0.5, 87.0), (0.0, 0.0), (0.0, 0.0)],
    [(25.0, 5.0), (24.0, 1000.0), (26.0, 2.0)],
    [(25.0, 69.4), (25.3, 0.01), (25.1, 0.01)],
    [(25.0, 1e4), (20.0, 1e-6), (30.0, 1e-2), (25.0, 1.0)],
    [(0.0, 1.0), (3.0, 1e-8), (-1.0, 1e8)],
    [(900.0, 1.0), (0.0, 1e-4), (1.0, 1e4), (899.0, 1e-4)],
]


@pytest.mark.parametrize(
    ("known", "unit"),  # two that are known to be equal are never clear of each other
    [(known, unit) for known in KNOWN for unit in (0.0, 0.1, 2.0) if unit or known.count((0.0, 0.0)) < 2],
)
def test_the_chances_are_exact_however_unlike_the_variances_are(known, unit):
    sizes = [1.0 + number for number in range(len(known))]
    teams = teams_of(*known)
    teams.size[:] = sizes
    draw = expect(teams, len(known), unit)
    exact = chances(known, sizes, unit)
    assert teams.wins == pytest.approx(exact, abs=1e-6)
    assert draw == pytest.approx(1.0 - sum(exact), abs=1e-6)
    assert unit or draw == 0


def test_summed_up_a_team_that_cannot_count_leaves_the_chances_of_two():
    two, three = teams_of((1.0, 4.0), (0.0, 2.0)), teams_of((1.0, 4.0), (0.0, 2.0), (-900.0, 1.0))
    assert expect(three, 3, 0.7) == pytest.approx(expect(two, 2, 0.7), abs=1e-12)
    assert three.wins == pytest.approx([*two.wins, 0], abs=1e-12)
    assert two.wins[0] == pytest.approx(cdf((1 - 0.7 * math.sqrt(2)) / math.sqrt(6)), rel=1e-14)


@pytest.mark.parametrize("ranks", [(0, 1), (1, 0), (2, 2)])
def test_messages_between_two_teams_equal_the_closed_form(ranks):
    """A third team, sure to be last, makes the factor graph of two."""
    two, three = teams_of((1.0, 4.0), (3.0, 2.0)), teams_of((1.0, 4.0), (3.0, 2.0), (-900.0, 1.0))
    assert learn(two, ranks, 0, 2, 0.7) == 1
    learn(three, (*ranks, 9), 0, 3, 0.7)
    assert three.slope == pytest.approx([*two.slope, 0], abs=1e-9)
    assert three.curvature == pytest.approx([*two.curvature, 0], abs=1e-9)


def test_slope_and_curvature_of_two_teams_are_the_derivatives_of_the_log_evidence():
    def value(mean: float) -> float:
        return log_evidence(teams_of((mean, 4.0), (3.0, 2.0)), (0, 1), 0, 2, 0.7)

    teams = teams_of((1.0, 4.0), (3.0, 2.0))
    learn(teams, (0, 1), 0, 2, 0.7)
    step = 1e-3
    assert teams.slope[0] == pytest.approx((value(1 + step) - value(1 - step)) / (2 * step), rel=1e-6)
    assert teams.curvature[0] == pytest.approx((value(1 + step) - 2 * value(1) + value(1 - step)) / step**2, rel=1e-4)


def test_every_order_converges_however_surprising():
    rng = random.Random(5)
    for _ in range(200):
        count = rng.randrange(3, 13)
        teams = teams_of(*((rng.gauss(0, 10 ** rng.uniform(0, 4)), 10 ** rng.uniform(-1, 3)) for _ in range(count)))
        sweeps = learn(teams, tuple(rng.randrange(count) for _ in range(count)), 0, count, rng.choice((0.0, 0.1, 2.0)))
        assert sweeps < MOST_SWEEPS
        for slope, curvature, variance in zip(teams.slope, teams.curvature, teams.variance, strict=True):
            assert math.isfinite(slope)
            assert -1 - 1e-9 <= curvature * variance <= 1e-12


@pytest.mark.parametrize("ranks", [(0, 1, 2, 3, 4, 5), (0, 0, 1, 1, 2, 2)])
def test_learning_ends_when_further_sweeps_change_nothing(ranks):
    """Between equals it takes the most sweeps."""
    teams = teams_of(*[(0.0, 4.0)] * 6)
    learn(teams, ranks, 0, 6, 0.3)
    found = [*teams.slope, *teams.curvature]
    for _ in range(1000):
        sweep(teams, ranks, 0, 6, 0.3)
    for place in range(6):
        combine_messages(teams, place)
    assert found == pytest.approx([*teams.slope, *teams.curvature], rel=0, abs=1e-11)


@pytest.mark.parametrize("known", [1e-4, 1e-8])
def test_a_draw_without_a_margin_makes_a_team_as_known_as_the_one_it_draws_with(known):
    """Draws without a margin make three Gaussians one: their precisions add up."""
    teams = teams_of((1.0, 4.0), (0.0, known), (-2.0, 9.0))
    learn(teams, (0, 0, 0), 0, 3, 0.0)
    precision = 1 / 4 + 1 / known + 1 / 9
    for mean, variance, slope, curvature in zip(teams.mean, teams.variance, teams.slope, teams.curvature, strict=True):
        assert mean + variance * slope == pytest.approx((1 / 4 - 2 / 9) / precision, abs=1e-9)
        assert variance + variance**2 * curvature == pytest.approx(1 / precision, rel=1e-4, abs=1e-12)


def test_teams_that_are_perfectly_known_teach_nothing():
    teams = teams_of((0.0, 0.0), (0.0, 0.0))
    assert expect(teams, 2, 0.0) == 0
    assert teams.wins == [0.5, 0.5]
    learn(teams, (0, 1), 0, 2, 0.0)
    assert teams.slope == teams.curvature == [0, 0]


def test_quality_is_the_ratio_of_determinants_of_its_source():
    """With A the differences of neighbours: √(|A B Aᵀ| / |A S Aᵀ|) · exp(-½ mᵀAᵀ(A S Aᵀ)⁻¹A m)."""
    known, noise = ((3.0, 9.0), (1.0, 4.0), (2.0, 6.0), (0.0, 5.0)), [2.0, 1.0, 3.0, 0.5]
    mean, variance = np.array(known).T
    a = np.eye(4)[:-1] - np.eye(4)[1:]
    inner = a @ np.diag(variance) @ a.T
    ratio = np.linalg.det(a @ np.diag(noise) @ a.T) / np.linalg.det(inner)
    expected = math.sqrt(ratio) * math.exp(-0.5 * (a @ mean) @ np.linalg.inv(inner) @ (a @ mean))
    assert quality(teams_of(*known), noise) == pytest.approx(expected, rel=1e-12)
