"""Teams without players perform 0, for certain: what others learn by them, and that no rating is lost."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import numpy as np
import pytest

from equipoise import ratings
from equipoise.core.model import PlayerId
from equipoise.ratings import create, replay
from equipoise.ratings.history import History
from equipoise.ratings.parts.team_order import MOST_SWEEPS, Teams, learn, log_evidence
from equipoise.ratings.system import Match
from equipoise.ratings.trueskill2.system import TrueSkill2
from tests.ratings.trueskill.brute_force import performances

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


def orders(count: int) -> Iterator[tuple[int, ...]]:
    """All orders of teams, with ties, as ranks from 0 on."""
    for ranks in itertools.product(range(count), repeat=count):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield ranks


def matches(count: int) -> list[Match]:
    """Every order of teams of one, any of which may be empty or have fraction 0; no player plays twice."""
    made = []
    for ranks, idle in itertools.product(orders(count), itertools.product((False, True), repeat=count)):
        away = sum(ranks) % 2 == 0
        players = [PlayerId(f"{len(made)}.{team}") for team in range(count)]
        teams = tuple(() if none and away else (player,) for player, none in zip(players, idle, strict=True))
        fraction_played = {player: 0.0 for player, none in zip(players, idle, strict=True) if none and not away}
        made.append(Match(teams, ranks, fraction_played=fraction_played))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEMS)
def test_every_order_of_teams_with_and_without_players_leaves_numbers(name):
    for count in SYSTEMS[name]:
        system, history = create(name.split()[0], **PARAMS.get(name, {})), matches(count)
        for match in history:
            rated = system.rate(match)
            found = [*rated.prediction.wins, *(change.after for change in rated.changes)]
            assert np.isfinite(found).all(), match
            for player in match.fraction_played:
                assert system.skill(player) == system.skill(PlayerId("stranger")), match
        if isinstance(system, TrueSkill2):
            assert system.stuck == 0


@pytest.mark.slow
def test_every_order_of_teams_is_replayed_as_it_is_rated():
    for name, counts in (("trueskill", (3, 4)), ("trueskill_through_time", (3,))):
        live, bulk = create(name), create(name)
        history = [match for count in counts for match in matches(count)]
        rated = [live.rate(match) for match in history]
        replayed = replay(bulk, History.of(history))
        after = [change.after for each in rated for change in each.changes]
        np.testing.assert_allclose(replayed.after, after, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(replayed.wins, [win for each in rated for win in each.prediction.wins], atol=1e-9)


def test_a_fit_of_all_those_orders_is_rating_them():
    """No player plays twice: there is no later match to correct an earlier one."""
    online, fitted = (create("trueskill_through_time") for _ in range(2))
    history = matches(3)
    rated = [online.rate(match) for match in history]
    assert ratings.fit(fitted, history).converged
    for change in (change for each in rated for change in each.changes):
        assert fitted.skill(change.player) == pytest.approx(online.skill(change.player), abs=1e-6)
        assert fitted.uncertainty(change.player) == pytest.approx(online.uncertainty(change.player), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"quit_related": 0.5, "quit_margin": -0.5, "kill_own": 0.3}])
def test_a_fit_of_trueskill_2_by_all_those_orders_leaves_numbers(params):
    system, history = create("trueskill2", **params), matches(3)
    assert ratings.fit(system, history).converged
    for player in (player for match in history for side in match.teams for player in side):
        assert math.isfinite(system.skill(player))
        assert system.uncertainty(player) > 0


PLAYED, AWAY = (0.4, 1.5), (0.0, 0.0)


def test_beside_known_teams_the_others_learn_what_a_sum_over_performances_says():
    """Where no performances have that order, they learn nothing from teams that are known."""
    unit = 0.8
    for away in itertools.product((False, True), repeat=3):
        if not any(away):
            continue
        known = [AWAY if none else PLAYED for none in away]
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
            assert (log_evidence(teams, ranks, 0, 3, unit) > -math.inf) is bool(density.sum() > 0), (ranks, away)
            for team, (mean, variance) in enumerate(known):
                exact = (grid[team] * observed).sum() / observed.sum() if observed.sum() > 0 else mean
                assert mean + variance * teams.slope[team] == pytest.approx(exact, abs=0.04), (ranks, away)


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
