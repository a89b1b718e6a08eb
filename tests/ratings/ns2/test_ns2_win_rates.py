"""F: win rates of the plus side by map and size, however one-sided they are."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from equipoise.ratings.ns2.system import NS2
from equipoise.ratings.system import Match
from tests.ratings.ns2.samples import SIDES, ns2, whole
from tests.ratings.samples import people

ANN = people(1)[0]


def chance(system: NS2, match: Match) -> float:
    return system.predict(match).wins[0]


def test_even_teams_are_predicted_as_win_rates_smoothed_towards_those_of_all_other_rounds():
    system = ns2(constant_rate=0.0, adagrad_rate=0.0, prior_rounds=10.0)
    for size, name, won, count in (
        (2, "ns2_veil", 10, 40),
        (9, "ns2_veil", 4, 5),
        (2, "ns2_tram", 5, 15),
        (2, "", 3, 5),
    ):
        for number in range(count):
            system.rate(whole(size, size, outcome=float(number < won), map=name))
    everywhere = (10 + 4 + 5 + 3 + 5) / (40 + 5 + 15 + 5 + 10)
    without_veil, without_tram = (5 + 3 + 5) / (15 + 5 + 10), (10 + 4 + 3 + 5) / (40 + 5 + 5 + 10)
    small = (10 + 10 * (4 + 10 * without_veil) / (5 + 10)) / (40 + 10)
    large = (4 + 10 * (10 + 10 * without_veil) / (40 + 10)) / (5 + 10)
    assert chance(system, whole(2, 2)) == pytest.approx(everywhere)
    assert chance(system, whole(2, 2, map="ns2_veil")) == pytest.approx(small)
    assert chance(system, whole(9, 9, map="ns2_veil")) == pytest.approx(large)
    assert chance(system, whole(9, 9, map="ns2_tram")) == pytest.approx((5 + 10 * without_tram) / (15 + 10))
    assert chance(system, whole(2, 2, map="ns2_veil", sides=SIDES[::-1])) == pytest.approx(1 - small)
    assert chance(system, whole(2, 2, map="ns2_veil", sides=())) == 0.5
    assert chance(system, whole(2, 2, map="ns2_never_played")) == pytest.approx(everywhere)


def test_twenty_rounds_won_of_twenty_are_smoothed_once():
    system = ns2(constant_rate=0.0, adagrad_rate=0.0)
    for _ in range(20):
        system.rate(whole(2, 2, map="ns2_veil"))
    assert [chance(system, whole(2, 2, map=name)) for name in ("ns2_veil", "")] == pytest.approx([0.75, 0.75])


def test_a_size_is_large_above_sixteen_players_weighted_by_their_time_and_rounded():
    system = ns2(constant_rate=0.0, adagrad_rate=0.0)
    system.rate(whole(8, 8, map="ns2_veil"))
    system.rate(whole(9, 8, map="ns2_veil"))
    crowd = whole(9, 9, map="ns2_veil")
    system.rate(replace(crowd, fraction_played=dict.fromkeys(crowd.teams[0], 0.1)))
    for fraction_played in (0.4, 0.6):
        system.rate(replace(whole(9, 8, map="ns2_veil"), fraction_played={ANN: fraction_played}))
    assert system.shared()["map:ns2_veil"] == [[5, 5], [3, 3], [2, 2]]


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_a_side_that_never_wins_on_a_map_is_no_certainty(outcome):
    system = ns2(constant_rate=0.0, adagrad_rate=0.0)
    for _ in range(1000):
        system.rate(whole(2, 2, outcome, map="ns2_veil"))
    assert abs(outcome - chance(system, whole(2, 2, map="ns2_veil"))) == pytest.approx(10 / 1020)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_with_hardly_a_prior_a_side_that_never_wins_is_still_predicted_and_rated(outcome):
    system = ns2(prior_rounds=0.001)
    for size in (2, 9):
        for name in ("ns2_veil", "ns2_tram"):
            for _ in range(300):
                rated = system.rate(whole(size, size, outcome, map=name))
    assert abs(outcome - rated.prediction.wins[0]) < 1e-12
    assert all(math.isfinite(change.after) for change in rated.changes)


@pytest.mark.parametrize("won", [0.0, 1e17])
def test_counts_that_do_not_add_up_are_read_as_near_as_they_can_be(won):
    """A store may hold more rounds of a map than of all, by rounding or otherwise."""
    system = ns2(prior_rounds=0.001)
    system.restore_shared("all", [won, 1e17])
    system.restore_shared("map:ns2_veil", [[won, 1.5e17]] * 3 if won == 0.0 else [[won, 1e17]] * 3)
    assert abs(chance(system, whole(1, 1, map="ns2_veil")) - (won > 0)) < 1e-12
