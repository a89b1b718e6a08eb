"""Elo against its formulas, computed here by other means, and against the laws it must keep."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from statistics import NormalDist

import pytest

from equipoise.ratings.elo.system import Elo
from equipoise.ratings.system import Match, ranks_of
from tests.ratings.samples import ANN, BOB, CID, DAN, duel, random_matches, seeded


@pytest.mark.parametrize("gap", [0.0, 37.5, -200.0, 800.0])
def test_the_chance_has_the_odds_of_any_base_and_scale_or_is_that_of_two_normal_performances(gap):
    for params, expected in (
        ({"base": 3.0, "scale": 250.0}, 1 / (1 + 3 ** (-gap / 250))),
        ({"form": "gaussian", "beta": 150.0}, NormalDist(0, 150 * math.sqrt(2)).cdf(gap)),
    ):
        system = seeded(Elo.create(**params), ann=1000 + gap, bob=1000)
        assert system.predict(duel("ann", "bob")).wins[0] == pytest.approx(expected, abs=1e-12)


def test_a_team_is_the_mean_of_its_players_whatever_its_size():
    system = seeded(Elo.create(), ann=1700, bob=1500, cid=1600)
    assert system.predict(Match(teams=((ANN, BOB), (CID,)))).wins == (0.5, 0.5)


def test_everybody_on_a_team_moves_alike():
    changes = Elo.create().rate(Match(teams=((ANN, BOB), (CID, DAN)), ranks=(0, 1))).changes
    assert [change.after - change.before for change in changes] == [16, 16, -16, -16]


def test_the_side_that_is_favoured_is_better_by_its_advantage_and_only_by_name():
    system = seeded(Elo.create(side_advantage=60.0, favoured_side="red"), ann=1500, bob=1560)
    plain = duel("ann", "bob")
    assert system.predict(replace(plain, sides=("red", "blue"))).wins == (0.5, 0.5)
    ahead = system.predict(plain).wins[1]
    assert system.predict(replace(plain, sides=("blue", "green"))).wins[1] == ahead
    assert system.predict(replace(plain, sides=("blue", "red"))).wins[1] > ahead


def test_winners_and_losers_have_factors_of_their_own_and_a_draw_has_none():
    changes = {}
    for outcome in (1.0, 0.5):
        system = seeded(Elo.create(win_factor=1.5, loss_factor=0.5), ann=1600, bob=1500)
        expected = system.predict(duel("ann", "bob")).wins[0]
        changes[outcome] = [c.after - c.before for c in system.rate(duel("ann", "bob", outcome)).changes]
    assert changes[1.0] == pytest.approx([48 * (1 - expected), -16 * (1 - expected)])
    assert changes[0.5] == pytest.approx([32 * (0.5 - expected), 32 * (expected - 0.5)])


def test_a_margin_multiplies_k_by_its_power():
    match = replace(duel("ann", "bob"), points=(7.0, 4.0))
    assert Elo.create(margin_power=0.5).rate(match).changes[0].after == 1500 + 16 * 2
    assert Elo.create(margin_power=0.5).rate(duel("ann", "bob")).changes[0].after == 1516


def test_a_margin_may_be_the_score_and_the_change_still_names_the_result():
    match = replace(duel("ann", "bob"), points=(80.0, 70.0))
    change = Elo.create(margin_scale=20.0).rate(match).changes[0]
    assert change.after == pytest.approx(1500 + 32 * (1 / (1 + math.exp(-0.5)) - 0.5))
    assert change.score == 1.0


def test_newcomers_move_faster_and_settle():
    system = Elo.create(newcomer=2.0, newcomer_rounds=10.0)
    system.seed(BOB, rounds=20)
    ann, bob = system.rate(duel("ann", "bob")).changes
    assert ann.after == pytest.approx(1500 + 16 * 3)
    assert bob.after == pytest.approx(1500 - 16 * (1 + 2 * math.exp(-2)))


def test_weight_and_share_of_a_match_multiply_the_change():
    match = replace(duel("ann", "bob"), weight=0.5, fraction_played={ANN: 0.25})
    assert [change.after for change in Elo.create().rate(match).changes] == [1502, 1492]


def test_points_are_neither_made_nor_lost():
    system = Elo.create(margin_power=0.4, side_advantage=30.0)
    rng = random.Random(1)
    for match in random_matches(seed=1, count=300, players=30, size=4):
        system.rate(replace(match, points=(float(rng.randrange(5)), 2.0), sides=("home", "away")))
    assert sum(player.rating for player in system.players.values()) == pytest.approx(30 * 1500, abs=1e-8)


def test_a_match_against_an_empty_team_has_a_result():
    change = Elo.create().rate(Match(teams=((ANN,), ()), ranks=ranks_of(1.0))).changes
    assert [each.after for each in change] == [1516]
