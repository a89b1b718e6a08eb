"""TrueSkill Through Time: a past that converges, whatever the order of the sweeps, and goes on without being redone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import create, fit
from equipoise.ratings.history import History
from equipoise.ratings.parts.gaussian_replay import room_for
from equipoise.ratings.system import Match, ranks_of
from equipoise.ratings.trueskill.fit import append
from equipoise.ratings.trueskill.smoothing import Timeline
from equipoise.ratings.trueskill.smoothing_formulas import build
from equipoise.ratings.trueskill.through_time import TrueSkillThroughTime
from equipoise.ratings.validation import DAY
from tests.ratings.samples import ANN, BOB, CID, duel, people, random_matches
from tests.ratings.trueskill.brute_force import many_teams, phi

MOST = 100_000


def through_time(**params: object) -> TrueSkillThroughTime:
    return TrueSkillThroughTime.create(**params)


def timeline(matches: list[Match], tolerance: float = 1e-9, *, compiled: bool = True, **params: object) -> Timeline:
    """With these matches, not settled yet."""
    made = Timeline(through_time(**params).constants, tolerance, build(compiled=compiled))
    made.append(History.of(matches))
    return made


def messages(settled: Timeline) -> np.ndarray:
    """All there is to be settled."""
    names = ("forward", "forward_shift", "backward", "backward_shift", "likelihood", "likelihood_shift")
    return np.array([settled.graph.nodes[name] for name in names])


@pytest.mark.parametrize("draw_probability", [0.0, 0.2])
def test_one_forward_pass_is_the_online_system(draw_probability):
    matches = list(many_teams(seed=1, count=150, players=15))
    online = through_time(draw_probability=draw_probability)
    for match in matches:
        online.rate(match)
    past = timeline(matches, draw_probability=draw_probability)
    assert not past.settle(1).converged
    beliefs = past.beliefs()
    assert beliefs.keys() == online.players.keys()
    for player, belief in beliefs.items():
        held = online.players[player]
        assert belief.mu == pytest.approx(held.mu, abs=1e-6)
        assert belief.variance == pytest.approx(held.variance, rel=1e-6)
        assert (belief.rounds, belief.last_played) == (held.rounds, held.last_played)


def test_plain_and_compiled_sweeps_settle_alike():
    matches = list(many_teams(seed=2, count=60, players=15))
    compiled, plain = timeline(matches), timeline(matches, compiled=False)
    assert compiled.settle(MOST).converged
    assert plain.settle(MOST).converged
    np.testing.assert_allclose(messages(compiled), messages(plain), rtol=1e-6, atol=1e-9)
    assert compiled.log_evidence() == pytest.approx(plain.log_evidence(), rel=1e-9)


def test_when_it_has_converged_a_fresh_start_of_every_match_moves_nothing():
    settled = timeline(list(random_matches(seed=3, count=400, players=25, size=2)), 1e-9)
    assert settled.settle(MOST).converged
    before = messages(settled)
    settled.graph.stale[:] = True
    again = settled.settle(MOST)
    assert again.converged
    np.testing.assert_allclose(messages(settled), before, rtol=1e-7, atol=1e-9)


def test_the_common_level_of_all_players_settles_as_well_as_their_differences():
    """What a plain sweep comes by slowest: without the common step this history takes hundreds of sweeps."""
    matches = list(random_matches(seed=4, count=2000, players=100, size=1))
    settled, slow = timeline(matches, 1e-7), timeline(matches, 1e-12)
    convergence = settled.settle(MOST)
    assert convergence.converged
    assert convergence.iterations < 40
    sweeps, moved = slow.kernels.settle(slow.graph, room_for(slow.graph.matches), MOST, False, slow.sweeping)
    assert sweeps > 100
    assert moved == 0
    for player in people(100):
        np.testing.assert_allclose(settled.curve(player).means, slow.curve(player).means, rtol=0, atol=1e-6)


def test_sweeps_that_do_not_suffice_are_reported():
    past = timeline(list(random_matches(seed=5, count=300, players=30, size=1)))
    convergence = past.settle(3)
    assert (convergence.converged, convergence.iterations) == (False, 3)
    assert convergence.gradient > 1e-9


def test_a_history_appended_in_parts_ends_as_in_one():
    matches = list(many_teams(seed=6, count=200, players=20))
    whole, parts = through_time(tolerance=1e-9), through_time(tolerance=1e-9)
    assert fit(whole, matches).converged
    assert fit(parts, matches[:120]).converged
    for begin in range(120, 200, 16):
        assert append(parts, History.of(matches[begin : begin + 16])).converged
    for player, belief in whole.players.items():
        assert parts.players[player].mu == pytest.approx(belief.mu, abs=1e-6)
        assert parts.players[player].variance == pytest.approx(belief.variance, rel=1e-6)
        assert parts.players[player].rounds == belief.rounds


def test_an_appended_match_leaves_alone_what_it_does_not_reach():
    here = list(random_matches(seed=7, count=300, players=30, size=1))
    past = timeline(here, 1e-6)
    past.settle(MOST)
    before = messages(past)
    past.append(History.of([duel("ann", "bob")]))
    assert past.settle(MOST).converged
    np.testing.assert_array_equal(messages(past)[:, :-2], before)
    assert past.curve(ANN).means[0] > 25 > past.curve(BOB).means[0]


def test_a_later_win_over_a_champion_makes_the_past_better():
    """Ann beats Bob; that Bob was good shows only afterwards."""
    system = through_time()
    fit(system, [duel("ann", "bob")])
    alone = system.skill(ANN)
    append(system, History.of(duel("bob", f"rival{number}") for number in range(10)))
    assert system.skill(ANN) > alone + 1


def test_two_matches_of_two_players_settle_as_a_sum_over_all_skills_says():
    """Two skills, no drift, two results: expectation propagation against a grid, within its own error."""
    system = through_time(gamma=0, draw_probability=0, mu=0, sigma=2, beta=1, tolerance=1e-9)
    assert fit(system, [duel("ann", "bob"), duel("ann", "bob")]).converged
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


def test_matches_of_one_time_are_of_one_skill():
    matches = [replace(duel(a, b), started_at=DAY) for a, b in (("ann", "bob"), ("bob", "cid"), ("cid", "ann"))]
    past = timeline(matches, gamma=1.25, draw_probability=0)
    past.settle(MOST)
    curve = past.curve(ANN)
    assert curve.times.tolist() == [DAY, DAY]
    assert curve.means == pytest.approx([25, 25], abs=1e-6)
    assert curve.deviations[0] == pytest.approx(curve.deviations[1], abs=1e-9)


def test_the_log_evidence_of_one_match_is_that_of_its_prediction():
    system = through_time(draw_probability=0.2)
    past = timeline([duel("ann", "bob", 0.5)], draw_probability=0.2)
    past.settle(MOST)
    assert past.log_evidence() == pytest.approx(math.log(system.predict(duel("ann", "bob")).draw))


def test_a_fit_begins_anew_and_live_matches_go_on_from_it():
    system = through_time()
    fit(system, random_matches(seed=8, count=50, players=10, size=2))
    assert fit(system, [duel("ann", "bob")]).converged
    fitted = system.skill(ANN)
    system.rate(duel("ann", "cid"))
    assert system.skill(ANN) > fitted
    assert system.summary(ANN).rounds == 2
    assert system.summary(CID).rounds == 1


def test_a_fit_of_nothing_or_of_nobody_has_converged():
    assert fit(through_time(), []).converged
    past = timeline([Match(((), ()), (0, 1))], compiled=False)
    assert past.settle(MOST).converged


def test_shares_count_in_the_past_as_they_do_live():
    match = Match(((ANN, CID), (BOB,)), ranks_of(1.0), fraction_played={CID: 0.25})
    live, fitted = through_time(), through_time()
    live.rate(match)
    fit(fitted, [match])
    for player in (ANN, BOB, CID):
        assert fitted.skill(player) == pytest.approx(live.skill(player), rel=1e-9)
        assert fitted.uncertainty(player) == pytest.approx(live.uncertainty(player), rel=1e-9)


def test_a_curve_of_a_stranger_is_refused_by_name():
    with pytest.raises(RatingError, match="nobody"):
        timeline([duel("ann", "bob")]).curve(PlayerId("nobody"))


@pytest.mark.parametrize(("params", "name"), [({"gamma": -1}, "gamma"), ({"period_days": 0}, "period_days")])
def test_a_parameter_that_makes_no_sense_is_refused_by_name(params, name):
    with pytest.raises(RatingError, match=name):
        create("trueskill_through_time", **params)
