"""What is expected of an order of teams and what it says of them, against sums over a grid of performances."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from equipoise.ratings.gaussian import cdf
from equipoise.ratings.teams import MOST_SWEEPS, Teams, expect, learn, log_evidence, quality
from tests.ratings.trueskill_model import performances


def teams_of(*known: tuple[float, float], sizes: tuple[int, ...] = ()) -> Teams:
    """Teams of (mean, variance), of one player where no sizes are given."""
    teams = Teams.of(len(known))
    for team, (mean, variance) in enumerate(known):
        teams.mean[team], teams.variance[team] = mean, variance
        teams.size[team] = float(sizes[team] if sizes else 1)
    return teams


@pytest.mark.parametrize("unit", [0.0, 0.5, 1.5])
def test_the_chances_of_three_teams_are_the_volumes_where_each_is_clear_of_the_others(unit):
    known, sizes = ((0.0, 4.0), (1.0, 1.0), (-1.0, 9.0)), (1, 2, 3)
    teams = teams_of(*known, sizes=sizes)
    draw = expect(teams, 3, unit)
    rng = np.random.default_rng(1)
    drawn = np.array([mean + math.sqrt(variance) * rng.standard_normal(2_000_000) for mean, variance in known])
    for team in range(3):
        clear = [drawn[team] - drawn[o] > unit * math.sqrt(sizes[team] + sizes[o]) for o in range(3) if o != team]
        assert teams.wins[team] == pytest.approx(np.logical_and(*clear).mean(), abs=2e-3)
    assert sum(teams.wins) + draw == pytest.approx(1, abs=1e-12)
    assert (draw == 0) is (unit == 0)


def test_summed_up_a_team_that_cannot_count_leaves_the_chances_of_two():
    two, three = teams_of((1.0, 4.0), (0.0, 2.0)), teams_of((1.0, 4.0), (0.0, 2.0), (-900.0, 1.0))
    assert expect(three, 3, 0.7) == pytest.approx(expect(two, 2, 0.7), abs=1e-12)
    assert three.wins == pytest.approx([*two.wins, 0], abs=1e-12)
    assert two.wins[0] == pytest.approx(cdf((1 - 0.7 * math.sqrt(2)) / math.sqrt(6)), rel=1e-14)


@pytest.mark.parametrize("ranks", [(0, 1), (1, 0), (2, 2)])
def test_messages_between_two_teams_say_what_the_closed_form_says(ranks):
    """A third team, sure to be last, makes the factor graph of two."""
    two, three = teams_of((1.0, 4.0), (3.0, 2.0)), teams_of((1.0, 4.0), (3.0, 2.0), (-900.0, 1.0))
    assert learn(two, ranks, 0, 2, 0.7) == 1
    learn(three, (*ranks, 9), 0, 3, 0.7)
    assert three.slope == pytest.approx([*two.slope, 0], abs=1e-9)
    assert three.curvature == pytest.approx([*two.curvature, 0], abs=1e-9)


@pytest.mark.parametrize("ranks", [(0, 1, 2), (2, 0, 1), (0, 0, 1), (1, 0, 1), (0, 0, 0)])
def test_three_teams_come_near_what_a_sum_over_all_performances_says(ranks):
    """Expectation propagation is an approximation: here good to a thirtieth of a deviation."""
    known = ((0.5, 2.0), (0.0, 1.0), (-0.3, 1.5))
    teams, unit = teams_of(*known), 0.8
    learn(teams, ranks, 0, 3, unit)
    grid, density = performances(known)
    order = sorted(range(3), key=lambda team: ranks[team])
    for upper, lower in itertools.pairwise(order):
        difference, margin = grid[upper] - grid[lower], unit * math.sqrt(2)
        drawn = ranks[upper] == ranks[lower]
        density = density * (np.abs(difference) <= margin if drawn else difference > margin)
    for team, (mean, variance) in enumerate(known):
        exact = (grid[team] * density).sum() / density.sum()
        spread = math.sqrt(((grid[team] - exact) ** 2 * density).sum() / density.sum())
        assert mean + variance * teams.slope[team] == pytest.approx(exact, abs=math.sqrt(variance) / 30)
        after = variance + variance**2 * teams.curvature[team]
        assert math.sqrt(after) == pytest.approx(spread, abs=math.sqrt(variance) / 30)
    assert math.exp(log_evidence(teams, ranks, 0, 3, unit)) == pytest.approx(density.sum(), abs=0.01)


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
