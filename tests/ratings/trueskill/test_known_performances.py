"""Teams without players perform 0, for certain: what others learn by them, and that no rating is lost."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from equipoise import ratings
from equipoise.core.model import PlayerId
from equipoise.ratings import create
from equipoise.ratings.parts.team_order import MOST_SWEEPS, Teams, learn, log_evidence
from equipoise.ratings.system import Match
from equipoise.ratings.trueskill2.system import TrueSkill2
from tests.ratings.trueskill.brute_force import empty_teams, orders, performances

SYSTEMS = {
    "trueskill": (3, 4),
    "trueskill without draws": (3, 4),
    "trueskill_through_time": (3,),
    "trueskill2": (3, 4),
    "trueskill2 without a margin": (3, 4),
    "teamskill_k": (3,),
    "teamskill_allk_ev": (3,),
    "teamskill_allk_ls": (3,),
}
"""Numbers of teams by system; with four some links of the chain have neighbours on both sides."""

PARAMS = {"trueskill without draws": {"draw_probability": 0.0}, "trueskill2 without a margin": {"margin": 0.0}}


PLAYED, AWAY = ((0.5, 2.0), (0.0, 1.0), (-0.3, 1.5)), (0.0, 0.0)
"""Means and variances of performances: of three teams, and of one without players."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_order_of_teams_with_and_without_players_leaves_numbers(name):
    for count in SYSTEMS[name]:
        system, history = create(name.split()[0], **PARAMS.get(name, {})), empty_teams(count)
        for match in history:
            rated = system.rate(match)
            found = [*rated.prediction.wins, *(change.after for change in rated.changes)]
            assert np.isfinite(found).all(), match
            for player in match.fraction_played:
                assert system.skill(player) == system.skill(PlayerId("stranger")), match
        if isinstance(system, TrueSkill2):
            assert system.stuck == 0


def test_a_fit_of_all_those_orders_is_rating_them():
    """No player plays twice: there is no later match to correct an earlier one."""
    online, fitted = (create("trueskill_through_time") for _ in range(2))
    history = empty_teams(3)
    rated = [online.rate(match) for match in history]
    assert ratings.fit(fitted, history).converged
    for change in (change for each in rated for change in each.changes):
        assert fitted.skill(change.player) == pytest.approx(online.skill(change.player), abs=1e-6)
        assert fitted.uncertainty(change.player) == pytest.approx(online.uncertainty(change.player), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"quit_related": 0.5, "quit_margin": -0.5, "kill_own": 0.3}])
def test_a_fit_of_trueskill_2_by_all_those_orders_leaves_numbers(params):
    system, history = create("trueskill2", **params), empty_teams(3)
    assert ratings.fit(system, history).converged
    for player in (player for match in history for side in match.teams for player in side):
        assert math.isfinite(system.skill(player))
        assert system.uncertainty(player) > 0


@pytest.mark.slow
def test_three_teams_learn_what_a_sum_over_performances_says_also_beside_teams_that_are_known():
    """Expectation propagation is an approximation: here good to a thirtieth of a deviation, or a twenty-fifth.

    Where no performances have that order, teams learn nothing from teams that are known.
    """
    unit = 0.8
    for away in itertools.product((False, True), repeat=3):
        known = [AWAY if none else own for none, own in zip(away, PLAYED, strict=True)]
        grid, uniform = performances(known)
        for ranks in orders(3):
            teams = Teams.of(3)
            teams.mean[:], teams.variance[:] = ([each[part] for each in known] for part in range(2))
            teams.size[:] = [0.0 if none else 1.0 for none in away]
            learn(teams, ranks, 0, 3, unit)
            density = observed = uniform
            for upper, lower in itertools.pairwise(sorted(range(3), key=lambda team, ranks=ranks: ranks[team])):
                difference, margin = grid[upper] - grid[lower], unit * math.sqrt(teams.size[upper] + teams.size[lower])
                ordered = np.abs(difference) <= margin if ranks[upper] == ranks[lower] else difference > margin
                density = density * ordered
                observed = observed * (ordered | (away[upper] and away[lower]))
            evidence = log_evidence(teams, ranks, 0, 3, unit)
            assert (evidence > -math.inf) is bool(density.sum() > 0), (ranks, away)
            if not any(away):
                assert math.exp(evidence) == pytest.approx(density.sum(), abs=0.01), ranks
            for team, (mean, variance) in enumerate(known):
                exact = (grid[team] * observed).sum() / observed.sum() if observed.sum() > 0 else mean
                near = max(math.sqrt(variance), 1.0) / 25 if any(away) else math.sqrt(variance) / 30
                assert mean + variance * teams.slope[team] == pytest.approx(exact, abs=near), (ranks, away)
                if not any(away):
                    spread = math.sqrt(((grid[team] - exact) ** 2 * observed).sum() / observed.sum())
                    after = math.sqrt(variance + variance**2 * teams.curvature[team])
                    assert after == pytest.approx(spread, abs=near), ranks


def test_where_known_teams_contradict_the_order_the_others_still_learn_from_each_other():
    two, four = Teams.of(2), Teams.of(4)
    two.mean[:], two.variance[:], two.size[:] = [0.4, -0.3], [1.5, 2.0], [1.0, 1.0]
    four.mean[:], four.variance[:], four.size[:] = [0.0, 0.4, -0.3, 0.0], [0.0, 1.5, 2.0, 0.0], [0.0, 1.0, 1.0, 0.0]
    learn(two, (0, 1), 0, 2, 0.8)
    learn(four, (0, 1, 2, 3), 0, 4, 0.8)
    assert four.slope == pytest.approx([0.0, *two.slope, 0.0], abs=1e-9)
    assert four.curvature == pytest.approx([0.0, *two.curvature, 0.0], abs=1e-9)


def test_draws_without_a_margin_with_known_teams_on_both_sides_make_all_known():
    teams = Teams.of(4)
    teams.mean[:], teams.variance[:] = [0.0, 3.0, -2.0, 0.0], [0.0, 1.5, 2.0, 0.0]
    assert learn(teams, (0, 0, 0, 0), 0, 4, 0.0) < MOST_SWEEPS
    for team in (1, 2):
        mean, variance = teams.mean[team], teams.variance[team]
        assert mean + variance * teams.slope[team] == pytest.approx(0.0, abs=1e-6)
        assert variance + variance**2 * teams.curvature[team] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_no_message_is_ever_more_than_a_number():
    """At surprising results, for well-known teams, at any scale."""
    rng = random.Random(5)
    messages = ("slope", "curvature", "up_precision", "up_shift", "down_precision", "down_shift")
    for _ in range(600):
        teams, scale = Teams.of(rng.randrange(3, 7)), 10 ** rng.uniform(-3, 6)
        count = len(teams.mean)
        for team in range(count):
            fraction_played = rng.choice((0.0, 0.0, 1.0, 1.0, 1.0, 10 ** rng.uniform(-12, 0)))
            teams.mean[team] = fraction_played * rng.gauss(0, scale)
            teams.variance[team] = fraction_played**2 * 10 ** rng.uniform(-6, 4)
            teams.size[team] = float(rng.randrange(3))
        ranks = tuple(rng.randrange(count) for _ in range(count))
        learn(teams, ranks, 0, count, rng.choice((0.0, 0.001, 0.5, scale)))
        assert np.isfinite([getattr(teams, name) for name in messages]).all()
        for curvature, variance in zip(teams.curvature, teams.variance, strict=True):
            assert -1 - 1e-9 <= curvature * variance <= 1e-12


@pytest.mark.parametrize("name", ["trueskill", "trueskill_through_time", "trueskill2"])
def test_a_player_between_two_teams_without_players_keeps_their_skill(name):
    system = create(name)
    ann, bob, cid, dan = (PlayerId(player) for player in ("ann", "bob", "cid", "dan"))
    system.rate(Match(teams=((ann,), (bob,), (cid,)), ranks=(1, 0, 2), fraction_played={bob: 0.0, cid: 0.0}))
    assert system.skill(ann) == system.skill(dan)
    assert system.rate(Match(teams=((ann,), (dan,)), ranks=(0, 1))).prediction.wins[0] == pytest.approx(0.5, abs=0.1)
