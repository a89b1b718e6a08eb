"""The whole-history fit ends at a fixed point of the printed update, and finds the skills that made a history."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from equipoise.core.model import PlayerId, Role
from equipoise.errors import RatingError
from equipoise.ratings import fit, replay
from equipoise.ratings.history import Floats, History
from equipoise.ratings.ns2 import fit as ns2_fit
from equipoise.ratings.ns2.environment import Environment, no_rounds
from equipoise.ratings.ns2.fit import Posterior, maximum
from equipoise.ratings.ns2.formulas import intercept
from equipoise.ratings.ns2.replay import environment_arrays, index
from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match, Span, ranks_of
from tests.ratings.ns2.dense import most_probable
from tests.ratings.ns2.posted import Recovered
from tests.ratings.ns2.samples import SIDES, busy_matches, ns2, whole
from tests.ratings.ns2.simulated import MAPS, World, simulated
from tests.ratings.samples import duel, people, random_matches


@pytest.mark.parametrize("start", [0.05, 50.0, -3.0])
def test_it_converges_from_where_the_printed_step_diverges(start):
    """k = 2, θ = 1, s = 0.05: the printed update goes to 19.05 and on to -∞."""
    matches = list(random_matches(seed=2, count=100, players=8, size=2))
    system, ordinary = ns2(shape=2.0, scale=1.0), ns2(shape=2.0, scale=1.0)
    for player in people(8):
        system.seed(player, rating=400 * start)
    assert fit(system, matches).converged
    fit(ordinary, matches)
    skills = [system.skill(player) for player in people(8)]
    assert skills == pytest.approx([ordinary.skill(player) for player in people(8)], abs=1e-4)
    assert min(skills) > 0


# The same by other means.


def busy() -> list[Match]:
    """Rounds, some of them without time played, which do not count for their map either."""
    matches = list(busy_matches(seed=3, count=200, players=12))
    idle = [
        match for match in matches if all(s.end == s.start for p in match.spans.values() for s in p) and match.spans
    ]
    return matches + [replace(match, map="ns2_idle", sides=SIDES, seconds=900.0) for match in idle]


@pytest.mark.slow
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"commander_field_share": 0.5, "commander_shape": 12.0, "large_above": 6, "prior_rounds": 5.0, "shape": 3.0},
        {"shape": 2.0, "scale": 1.0},
    ],
)
def test_it_is_the_most_probable_of_all_by_a_dense_newton_as_well(params, warm):
    matches, system = busy(), ns2(median_rounds=9, **params)
    for match in matches[: 150 * warm]:
        system.rate(match)
    ended = fit(system, matches)
    assert (ended.converged, ended.gradient) == (True, pytest.approx(0, abs=1e-8))
    dense = most_probable(matches, system.params)
    for player in people(12):
        state = system.state(player)
        found = [state["skill"], state["offset"], state["commander"], state["squares"], state["commander_squares"]]
        expected = [dense.values[name, player] for name in "sox"] + [dense.squares[name, player] for name in "sx"]
        assert found == pytest.approx(expected, abs=1e-8)
        assert state["rounds"] == dense.rounds[player]


MAPS_OF_ALL_SIZES = {"ns2_summit": 0.5, "ns2_veil": -0.4, "ns2_tram": 1.2, "": 0.1}


def ordinary(seed: int, count: int, maps: dict[str, float]) -> list[Match]:
    """Rounds of one length, small and large, some with commanders, with results drawn from the model."""
    rng, matches = random.Random(seed), list[Match]()
    skill = {player: rng.gammavariate(6, 0.5) for player in people(20)}
    for _ in range(count):
        size, name, sides = rng.choice((2, 9)), rng.choice(list(maps)), rng.choice((SIDES, SIDES[::-1]))
        chosen = rng.sample(people(20), 2 * size)
        a, b = tuple(chosen[:size]), tuple(chosen[size:])
        log_odds = (sum(skill[p] for p in a) - sum(skill[p] for p in b)) / (2 * size)
        log_odds += maps[name] * (1 if sides == SIDES else -1)
        won = rng.random() < 1 / (1 + math.exp(-log_odds))
        spans = {each[0]: (Span(team, 0, 1200, Role.COMMANDER),) for team, each in enumerate((a, b))}
        known = spans if rng.random() < 0.5 else {}
        matches.append(Match((a, b), ranks_of(float(won)), seconds=1200.0, sides=sides, map=name, spans=known))
    return matches


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [("ns2_summit", "ns2_veil", "ns2_tram", ""), ("ns2_summit", "ns2_veil"), ("ns2_veil",), ("",)]
)
def test_after_a_fit_rounds_are_predicted_as_the_fit_has_them(names):
    matches, system = ordinary(4, 200, {name: MAPS_OF_ALL_SIZES[name] for name in names}), ns2()
    fit(system, matches)
    found = [system.predict(match).wins[0] for match in matches]
    np.testing.assert_allclose(found, most_probable(matches, system.params).chances, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_a_map_that_one_side_always_wins_is_predicted_as_near_as_counts_can_say():
    matches = ordinary(5, 200, {"ns2_summit": 0.5, "ns2_veil": -0.4}) + ordinary(6, 12, {"ns2_tram": 50.0})
    system = ns2()
    assert fit(system, matches).converged
    found = np.array([system.predict(match).wins[0] for match in matches])
    exact = np.array([match.map != "ns2_tram" for match in matches])
    expected = most_probable(matches, system.params).chances
    np.testing.assert_allclose(found[exact], expected[exact], rtol=0, atol=1e-8)
    assert 0.01 < np.abs(found - expected).max() < 0.1
    maps = [part for key, part in system.shared().items() if key.startswith("map:")]
    assert all(0.0 <= won <= played for part in maps for won, played in part)
    assert [there for there, _, _ in maps] == [pytest.approx(np.add(small, large)) for _, small, large in maps]
    assert system.shared()["all"] == pytest.approx(sum(np.array(there) for there, _, _ in maps))


def test_what_counts_can_say_of_a_map_does_not_depend_on_where_its_fit_began():
    matches = ordinary(6, 300, {f"ns2_{number}": 0.2 * (number % 7 - 3) for number in range(30)})
    cold, warm = ns2(prior_rounds=100.0), ns2(prior_rounds=100.0)
    replay(warm, History.of(matches[:200]))
    for system in (cold, warm):
        assert fit(system, matches).converged
    for match in matches:
        assert cold.predict(match).wins[0] == pytest.approx(warm.predict(match).wins[0], abs=1e-7)


def posterior_of(system: NS2, history: History) -> Posterior:
    matches, facts = index(system, history)
    places = np.zeros(len(system.environment.arrays.wins))
    environment = environment_arrays(Environment(no_rounds(9)))._replace(wins=places, rounds=places.copy())
    return Posterior.of(system, matches, facts, environment, len(history.players))


# What it leaves in the system.


@pytest.mark.parametrize("names", [("ns2_summit", "ns2_veil", "ns2_tram", ""), ("ns2_summit", "ns2_veil", "ns2_tram")])
def test_a_second_fit_starts_where_the_first_ended(names):
    matches = ordinary(4, 200, {name: MAPS_OF_ALL_SIZES[name] for name in names})
    system = ns2()
    assert fit(system, matches).iterations > 3
    before = {player: system.state(player) for player in system.players}
    assert fit(system, matches).iterations == 0
    assert {player: system.state(player)["skill"] for player in before} == {p: s["skill"] for p, s in before.items()}


def test_a_fit_that_does_not_converge_reports_it_and_changes_nothing(monkeypatch):
    matches, system = list(busy_matches(seed=4, count=100, players=12)), ns2()
    for match in matches[:50]:
        system.rate(match)
    states, shared = {player: system.state(player) for player in people(12)}, system.shared()
    monkeypatch.setattr(ns2_fit, "ITERATIONS", 1)
    ended = fit(system, matches)
    assert (ended.iterations, ended.converged) == (1, False)
    assert {player: system.state(player) for player in people(12)} == states
    assert system.shared() == shared


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_with_hardly_a_prior_a_fit_of_one_sided_maps_converges_from_what_was_rated(outcome):
    matches = [whole(2, 2, outcome, map=name) for name in ("ns2_veil", "ns2_tram")] * 300
    system, cold = ns2(prior_rounds=0.001), ns2(prior_rounds=0.001)
    replay(system, History.of(matches))
    assert fit(system, matches).converged
    assert fit(cold, matches).converged
    assert system.skill(people(1)[0]) == pytest.approx(cold.skill(people(1)[0]), abs=1e-3)
    assert abs(outcome - system.predict(matches[0]).wins[0]) < 1e-4


def test_rounds_times_and_lengths_are_those_of_rating_one_by_one():
    matches = list(busy_matches(seed=5, count=200, players=12))
    rated, fitted = ns2(), ns2()
    replay(rated, History.of(matches))
    fit(fitted, matches)
    for player in rated.players:
        for fact in ("rounds", "last_played"):
            assert fitted.state(player)[fact] == rated.state(player)[fact]
    assert fitted.median_seconds == rated.median_seconds
    played, found = (
        {key: [pair[1] for pair in part] for key, part in system.shared().items() if key.startswith("map:")}
        for system in (rated, fitted)
    )
    assert played
    assert found == played


def test_players_who_are_not_in_the_history_stay_as_they_are():
    system = ns2()
    stranger = PlayerId("zed")
    system.seed(stranger, rating=1234, rounds=5)
    before = system.state(stranger)
    fit(system, [duel("ann", "bob")])
    assert system.state(stranger) == before


def test_a_system_goes_on_rating_after_a_fit_and_survives_the_store():
    system, other = ns2(), ns2()
    matches = list(busy_matches(seed=6, count=200, players=12))
    fit(system, matches[:150])
    for player in system.players:
        other.restore(player, system.state(player))
    for key, part in system.shared().items():
        other.restore_shared(key, part)
    assert [system.rate(match) for match in matches[150:]] == [other.rate(match) for match in matches[150:]]


def test_a_history_of_nothing_is_fitted_at_once():
    assert fit(ns2(), []).converged


def test_a_match_that_is_not_over_is_refused_and_nothing_changes():
    system = ns2()
    with pytest.raises(RatingError, match="not over"):
        fit(system, [replace(whole(1, 1), ranks=())])
    assert not system.players


# Recovery.


@pytest.fixture(scope="module")
def recovered():
    rng = np.random.default_rng(1)
    system = ns2()
    world = World.drawn(rng, 60, system.params)
    history = simulated(rng, world, matches=20_000, size=4)
    assert fit(system, history).converged
    states = [system.state(player) for player in history.players]
    found = np.array([[state[name] for state in states] for name in ("skill", "offset", "commander")])
    environment = system.environment
    maps = [intercept(environment.maps[name], False, environment.arrays, system.params.prior_rounds) for name in MAPS]
    covariance = _covariance(system, history)
    deviations = np.sqrt(np.diag(covariance))
    # A map's F and the mean of all offsets are separated by the priors alone: only their sum can be known.
    sums = np.zeros((len(MAPS), len(covariance)))
    sums[:, 60:120] = 1 / 60
    sums[:, 180] = 1.0
    for number, row in enumerate(sums):
        row[181 + 3 * number : 183 + 3 * number] = 1.0
    of_maps = np.sqrt(np.diag(sums @ covariance @ sums.T))
    return {
        "skill": Recovered(found[0], deviations[:60], world.skill),
        "offset": Recovered(found[1], deviations[60:120], world.offset),
        "commander": Recovered(found[2], deviations[120:180], world.commander),
        "maps": Recovered(np.array(maps) + found[1].mean(), of_maps, world.maps),
    }


def _covariance(system: NS2, history: History) -> Floats:
    """Covariance of all unknowns, from the curvature of the posterior at its maximum."""
    posterior = posterior_of(system, history)
    found, _ = maximum(posterior, np.full(len(posterior.precision), 1.0))
    log_odds = posterior.log_odds(found)
    chance = 1.0 / (1.0 + np.exp(-log_odds))
    rows = np.zeros((len(log_odds), len(found)))
    for unknown, column in enumerate(np.eye(len(found))):
        rows[:, unknown] = posterior.log_odds(column)
    curvature = rows.T @ (rows * (chance * (1.0 - chance))[:, None]) + np.diag(posterior.precision)
    gamma = posterior.precision == 0.0
    curvature[gamma, gamma] += (posterior.shape - 1.0) / found[gamma] ** 2
    return np.linalg.inv(curvature)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "correlation", "least", "most"),
    [("skill", 0.96, 0.6, 1.4), ("offset", 0.6, 0.6, 1.4), ("commander", 0.98, 0.6, 1.4), ("maps", 0.99, 0.27, 1.82)],
)
def test_a_fit_finds_the_skills_that_the_history_was_drawn_from_within_the_errors_that_the_curvature_predicts(
    recovered, what, correlation, least, most
):
    """With four maps only, the mean square is from 0.27 to 1.82 in 98 of 100 cases."""
    assert recovered[what].correlation > correlation
    assert least < recovered[what].in_deviations < most
