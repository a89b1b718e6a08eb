"""Glicko and Glicko-2 beyond their worked examples: periods, absence, teams, laws."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from equipoise.errors import RatingError
from equipoise.ratings import create
from equipoise.ratings.glicko.system import Glicko, Glicko2
from equipoise.ratings.system import Match
from tests.ratings.samples import ANN, BOB, CID, DAN, duel, random_matches

DAY = 86_400.0
BOTH = pytest.mark.parametrize("name", ["glicko", "glicko2"])
Q = math.log(10) / 400


def at(match: Match, days: float) -> Match:
    return replace(match, started_at=days * DAY)


def chance(lead: float, *deviations: float) -> float:
    """Expected score of a lead in points between players of these deviations, as in the first paper."""
    g = 1 / math.sqrt(1 + 3 * (Q * math.hypot(*deviations) / math.pi) ** 2)
    return 1 / (1 + 10 ** (-g * lead / 400))


@BOTH
def test_the_order_of_the_matches_of_a_period_makes_no_difference(name):
    matches = [duel("ann", "bob"), duel("cid", "ann"), duel("bob", "cid", 0.5), duel("ann", "dan", 0.0)]
    forward, backward = create(name), create(name)
    for system, order in ((forward, matches), (backward, matches[::-1])):
        for match in order:
            system.rate(at(match, 0.5))
    for player in (ANN, BOB, CID, DAN):
        assert forward.skill(player) == pytest.approx(backward.skill(player), abs=1e-6)
        assert forward.uncertainty(player) == pytest.approx(backward.uncertainty(player), abs=1e-6)


@BOTH
def test_a_new_period_uses_the_present_ratings_of_opponents(name):
    same, next_day = create(name), create(name)
    for system, days in ((same, 0.9), (next_day, 1.1)):
        system.rate(at(duel("ann", "bob"), 0.1))
        system.rate(at(duel("cid", "bob"), days))
    assert same.skill(CID) == pytest.approx(same.skill(ANN))
    assert next_day.skill(CID) < next_day.skill(ANN)


@BOTH
def test_where_every_match_is_a_period_the_hour_makes_no_difference(name):
    systems = [create(name, periods="match") for _ in range(2)]
    for system, days in zip(systems, (0.0, 0.6), strict=True):
        system.rate(at(duel("ann", "bob"), days))
        system.rate(at(duel("ann", "cid"), 0.7))
    assert systems[0].skill(ANN) == systems[1].skill(ANN)


@BOTH
def test_matches_of_unknown_time_are_periods_of_their_own(name):
    untimed, timed = create(name), create(name, periods="match")
    for match in random_matches(seed=1, count=50, players=6, size=1):
        untimed.rate(replace(match, started_at=None))
        timed.rate(replace(match, started_at=None))
    assert {player: untimed.skill(player) for player in untimed.players} == {
        player: timed.skill(player) for player in timed.players
    }


def test_absence_adds_c_squared_a_period_up_to_a_newcomers_deviation():
    for days, rd in ((1, math.hypot(50, 34.6)), (4, math.hypot(50, 2 * 34.6)), (1000, 350)):
        system = Glicko.create()
        system.seed(ANN, rd=50, last_played=0.0)
        system.seed(BOB, rd=30, last_played=days * DAY)
        system.seed(BOB, rating=1700)
        prediction = system.predict(at(duel("ann", "bob"), days))
        assert prediction.wins[0] == pytest.approx(chance(-200, rd, 30), abs=1e-12)


@pytest.mark.parametrize("volatility", [0.01, 0.2])
def test_absence_from_glicko2_adds_the_players_own_volatility_for_all_periods_but_the_one_that_is_rated(volatility):
    system = Glicko2.create()
    system.seed(ANN, rd=50, volatility=volatility, last_played=0.0)
    system.seed(BOB, rating=1700, rd=30, last_played=100 * DAY)
    rd = math.hypot(50, math.sqrt(99) * volatility / Q)
    assert system.predict(at(duel("ann", "bob"), 100)).wins[0] == pytest.approx(chance(-200, rd, 30), abs=1e-12)


@pytest.mark.parametrize("days", [5.0, None])
def test_the_match_after_one_of_unknown_time_is_in_a_new_period(days):
    system = Glicko.create()
    system.seed(ANN, rd=50)
    system.seed(BOB, rd=30)
    system.rate(duel("ann", "cid"))
    later = duel("ann", "bob") if days is None else at(duel("ann", "bob"), days)
    lead, rd = system.skill(ANN) - 1500, math.hypot(system.uncertainty(ANN), 34.6)
    assert lead > 1
    assert system.predict(later).wins[0] == pytest.approx(chance(lead, rd, 30), abs=1e-12)


@BOTH
def test_absence_never_lowers_a_deviation(name):
    """The seed of 400 is above the 350 of a newcomer."""
    system = create(name)
    system.seed(ANN, rd=400, last_played=0.0)
    system.seed(BOB, rating=1700, rd=30, last_played=100 * DAY)
    later = at(duel("ann", "bob"), 100)
    assert system.predict(later).wins[0] == pytest.approx(chance(-200, 400, 30), abs=1e-12)


@BOTH
def test_a_seed_includes_the_information_of_the_period_so_far(name):
    played, fresh = create(name), create(name)
    played.rate(at(duel("ann", "cid"), 0.1))
    facts = {"rating": 1600.0, "rd": 80.0}
    if name == "glicko2":
        facts["volatility"] = 0.05
    for system in (played, fresh):
        system.seed(ANN, **facts)
        system.rate(at(duel("ann", "bob"), 0.2))
    assert played.skill(ANN) == pytest.approx(fresh.skill(ANN), abs=1e-9)
    assert played.uncertainty(ANN) == pytest.approx(fresh.uncertainty(ANN), abs=1e-9)


@pytest.mark.parametrize(("rd", "gap", "tau"), [(350, 0, 0.5), (40, 900, 0.3), (40, -900, 1.2), (30, -4000, 1.0)])
def test_a_new_volatility_is_where_the_papers_f_is_zero(rd, gap, tau):
    system = Glicko2.create(tau=tau)
    system.seed(ANN, rating=1500 + gap, rd=rd)
    system.seed(BOB, rating=1500, rd=40)
    system.rate(duel("ann", "bob", 1.0))
    phi2 = (rd * Q) ** 2
    g = 1 / math.sqrt(1 + 3 * (40 * Q / math.pi) ** 2)
    expected = 1 / (1 + math.exp(-g * gap * Q))
    v = 1 / (g**2 * expected * (1 - expected))
    delta2 = (v * g * (1 - expected)) ** 2

    def f(x: float) -> float:
        e = math.exp(x)
        return e * (delta2 - phi2 - v - e) / (2 * (phi2 + v + e) ** 2) - (x - math.log(0.06**2)) / tau**2

    low, high = -30.0, 30.0  # f falls through its only zero
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    assert system.held(ANN).volatility == pytest.approx(math.exp(low / 2), rel=1e-9)


@BOTH
def test_a_team_meets_a_composite_opponent_and_each_moves_by_their_own_deviation(name):
    system = create(name)
    for player, rating, rd in ((ANN, 1700, 50), (BOB, 1300, 200), (CID, 1500, 80), (DAN, 1500, 80)):
        system.seed(player, rating=rating, rd=rd)
    match = Match(teams=((ANN, BOB), (CID, DAN)), ranks=(0, 1))
    assert system.predict(match).wins == (0.5, 0.5)
    moved = {change.player: change.after - change.before for change in system.rate(match).changes}
    assert moved[BOB] > 10 * moved[ANN] > 0
    assert moved[CID] == moved[DAN] < 0


@BOTH
def test_a_team_of_alike_players_moves_as_one_of_them_would(name):
    one, many = create(name), create(name)
    single = one.rate(duel("ann", "bob")).changes
    team = many.rate(Match(teams=((ANN, CID), (BOB, DAN)), ranks=(0, 1))).changes
    assert [team[0].after, team[1].after] == pytest.approx([single[0].after] * 2)
    assert team[2].after == pytest.approx(single[1].after)


@BOTH
def test_half_a_match_gives_half_the_information(name):
    system = create(name)
    system.rate(replace(duel("ann", "bob"), weight=0.5))
    whole = create(name)
    whole.rate(duel("ann", "bob"))
    part = create(name)
    part.rate(replace(duel("ann", "bob"), fraction_played={ANN: 0.5}))
    assert system.held(ANN).information == pytest.approx(whole.held(ANN).information / 2)
    assert (part.skill(ANN), part.skill(BOB)) == (system.skill(ANN), whole.skill(BOB))


@BOTH
def test_a_player_is_restored_in_the_middle_of_a_period(name):
    system, other = create(name), create(name)
    system.rate(at(duel("ann", "bob"), 0.2))
    for player in (ANN, BOB):
        other.restore(player, system.state(player))
    later = at(duel("ann", "bob", 0.0), 0.4)
    assert system.rate(later) == other.rate(later)
    with pytest.raises(RatingError, match=f"ann: not a {name} state"):
        other.restore(ANN, {"rating": 1500})
