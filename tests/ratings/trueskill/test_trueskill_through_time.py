"""TrueSkill Through Time: a past that converges, whatever the order of the sweeps, and goes on without being redone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise import ratings
from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings.history import History
from equipoise.ratings.parameters import DAY
from equipoise.ratings.replays import allocate_sides
from equipoise.ratings.system import Match
from equipoise.ratings.trueskill.fit import Smoother
from equipoise.ratings.trueskill.fit_formulas import build
from equipoise.ratings.trueskill.system import TrueSkillThroughTime
from tests.ratings.samples import ANN, BOB, CID, duel, people, random_matches
from tests.ratings.trueskill.brute_force import many_teams, phi

MOST = 100_000


def through_time(**params: object) -> TrueSkillThroughTime:
    return TrueSkillThroughTime.create(**params)


def smoother(matches: list[Match], tolerance: float = 1e-9, *, compiled: bool = True, **params: object) -> Smoother:
    """A smoother of these matches before its first sweep."""
    made = Smoother(through_time(**params).constants, tolerance, build(compiled=compiled))
    made.append(History.of(matches))
    return made


def messages(settled: Smoother) -> np.ndarray:
    """All messages of a smoother."""
    names = ("forward", "forward_shift", "backward", "backward_shift", "likelihood", "likelihood_shift")
    return np.array([settled.graph.nodes[name] for name in names])


@pytest.mark.slow
@pytest.mark.compiles
@pytest.mark.parametrize("draw_probability", [0.0, 0.2])
def test_one_forward_pass_is_the_online_system(draw_probability):
    matches = list(many_teams(seed=1, count=150, players=15))
    online = through_time(draw_probability=draw_probability)
    for match in matches:
        online.rate(match)
    past = smoother(matches, draw_probability=draw_probability)
    assert not past.run(1).converged
    fitted = past.skills()
    assert fitted.keys() == online.players.keys()
    for player, skill in fitted.items():
        held = online.players[player]
        assert skill.mu == pytest.approx(held.mu, abs=1e-6)
        assert skill.variance == pytest.approx(held.variance, rel=1e-6)
        assert (skill.rounds, skill.last_played) == (held.rounds, held.last_played)


@pytest.mark.compiles
@pytest.mark.slow
def test_plain_and_compiled_sweeps_settle_alike():
    matches = list(many_teams(seed=2, count=60, players=15))
    compiled, plain = smoother(matches), smoother(matches, compiled=False)
    assert compiled.run(MOST).converged
    assert plain.run(MOST).converged
    np.testing.assert_allclose(messages(compiled), messages(plain), rtol=1e-6, atol=1e-9)
    assert compiled.log_evidence() == pytest.approx(plain.log_evidence(), rel=1e-9)


def test_when_it_has_converged_a_fresh_start_of_every_match_moves_nothing():
    settled = smoother(list(random_matches(seed=3, count=400, players=25, size=2)), 1e-9)
    assert settled.run(MOST).converged
    before = messages(settled)
    settled.graph.stale[:] = True
    again = settled.run(MOST)
    assert again.converged
    np.testing.assert_allclose(messages(settled), before, rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_the_common_level_of_all_players_settles_as_well_as_their_differences():
    """Plain sweeps find the common level slowest: without `shift_level` this history takes hundreds of them."""
    matches = list(random_matches(seed=4, count=2000, players=100, size=1))
    settled, slow = smoother(matches, 1e-7), smoother(matches, 1e-12)
    convergence = settled.run(MOST)
    assert convergence.converged
    assert convergence.iterations < 40
    sweeps, moved = slow.kernels.sweeps(slow.graph, allocate_sides(slow.graph.matches), MOST, False, slow.sweeping)
    assert sweeps > 100
    assert moved == 0
    for player in people(100):
        np.testing.assert_allclose(settled.curve(player).means, slow.curve(player).means, rtol=0, atol=1e-6)


def test_sweeps_that_do_not_suffice_are_reported():
    past = smoother(list(random_matches(seed=5, count=300, players=30, size=1)))
    convergence = past.run(3)
    assert (convergence.converged, convergence.iterations) == (False, 3)
    assert convergence.gradient > 1e-9


def test_a_history_appended_in_parts_ends_as_in_one():
    matches = list(many_teams(seed=6, count=200, players=20))
    whole, parts = through_time(tolerance=1e-9), smoother(matches[:120])
    assert ratings.fit(whole, matches).converged
    assert parts.run(MOST).converged
    for begin in range(120, 200, 16):
        parts.append(History.of(matches[begin : begin + 16]))
        assert parts.run(MOST).converged
    skills = parts.skills()
    assert skills.keys() == whole.players.keys()
    for player, skill in whole.players.items():
        assert skills[player].mu == pytest.approx(skill.mu, abs=1e-6)
        assert skills[player].variance == pytest.approx(skill.variance, rel=1e-6)
        assert skills[player].rounds == skill.rounds


def test_an_appended_match_leaves_alone_what_it_does_not_reach():
    here = list(random_matches(seed=7, count=300, players=30, size=1))
    past = smoother(here, 1e-6)
    past.run(MOST)
    before = messages(past)
    past.append(History.of([duel("ann", "bob")]))
    assert past.run(MOST).converged
    np.testing.assert_array_equal(messages(past)[:, :-2], before)
    assert past.curve(ANN).means[0] > 25 > past.curve(BOB).means[0]


def test_two_matches_of_two_players_settle_as_a_sum_over_all_skills_says():
    """Two skills, no drift, two results: expectation propagation against a grid, within its own error."""
    system = through_time(gamma=0, draw_probability=0, mu=0, sigma=2, beta=1, tolerance=1e-9)
    assert ratings.fit(system, [duel("ann", "bob"), duel("ann", "bob")]).converged
    x = np.linspace(-16, 16, 801)
    a, b = np.meshgrid(x, x, indexing="ij")
    density = np.exp(-(a * a + b * b) / 8) * phi((a - b) / math.sqrt(2)) ** 2
    mean = (a * density).sum() / density.sum()
    assert system.skill(ANN) == pytest.approx(mean, abs=0.1)
    assert system.skill(BOB) == pytest.approx(-mean, abs=0.1)


@pytest.mark.parametrize("period_days", [0.5, 1, 7])
def test_beliefs_widen_with_the_periods_between_matches(period_days):
    system = through_time(gamma=0.5, period_days=period_days, beta=1000)
    for day in (0, 1, 101):
        system.rate(replace(duel("ann", "bob"), started_at=day * DAY))
    assert system.uncertainty(ANN) ** 2 == pytest.approx((25 / 3) ** 2 + 101 / period_days * 0.25, rel=1e-3)


def test_where_a_time_is_unknown_one_period_has_passed():
    system = through_time(gamma=0.5, beta=1000)
    system.rate(duel("ann", "bob"))
    system.rate(duel("ann", "bob"))
    assert system.uncertainty(ANN) ** 2 == pytest.approx((25 / 3) ** 2 + 0.25, rel=1e-3)


def test_the_log_evidence_of_one_match_is_that_of_its_prediction():
    system = through_time(draw_probability=0.2)
    past = smoother([duel("ann", "bob", 0.5)], draw_probability=0.2)
    past.run(MOST)
    assert past.log_evidence() == pytest.approx(math.log(system.predict(duel("ann", "bob")).draw))


def test_a_fit_begins_anew_and_live_matches_go_on_from_it():
    system = through_time()
    ratings.fit(system, random_matches(seed=8, count=50, players=10, size=2))
    assert ratings.fit(system, [duel("ann", "bob")]).converged
    fitted = system.skill(ANN)
    system.rate(duel("ann", "cid"))
    assert system.skill(ANN) > fitted
    assert system.summary(ANN).rounds == 2
    assert system.summary(CID).rounds == 1


def test_a_fit_without_matches_or_players_has_converged():
    assert ratings.fit(through_time(), []).converged
    past = smoother([Match(((), ()), (0, 1))], compiled=False)
    assert past.run(MOST).converged


def test_a_player_who_is_only_in_a_lineup_has_no_skill_and_no_curve():
    past = smoother([replace(duel("ann", "bob"), lineup=((ANN,), (BOB, CID)))])
    past.run(MOST)
    assert set(past.skills()) == {ANN, BOB}
    for name in (CID, PlayerId("stranger")):
        with pytest.raises(RatingError, match=name):
            past.curve(name)
