"""SynElo against its formulas, computed here by other means, and against the laws it must keep."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal, localcontext

import pytest

from equipoise.ratings.synelo.formulas import SynEloPlayer, k_factor
from equipoise.ratings.system import Match
from tests.ratings.samples import ANN, BOB, CID, Naive, duel, people, random_matches, seeded, steady, synelo


@pytest.mark.parametrize(
    ("k_max", "theta"), [(1, 400), (2, 400), (3, 800), (4, 800), (5, 1200), (6, 1200), (12, 2400), (16, 3200)]
)
def test_theta_is_400_times_the_floored_median_of_the_team_sizes(k_max, theta):
    assert synelo(k_max=k_max).params.scale == theta


def test_an_explicit_theta_wins():
    assert synelo(k_max=12, theta=1000.0).params.scale == 1000


@pytest.mark.parametrize(("theta", "gap"), [(400, 100), (400, -100), (2400, 96), (173.71779, 400), (2400, 7000)])
def test_the_win_probability_is_the_logistic_of_base_e_of_the_difference_of_sums(theta, gap):
    with localcontext() as context:
        context.prec = 40
        expected = 1 / (1 + (-Decimal(gap) / Decimal(theta)).exp())
    system = seeded(synelo(theta=theta), ann=10000 + gap, bob=7000, cid=3000)
    prediction = system.predict(Match(((ANN,), (BOB, CID))))
    assert prediction.wins[0] == pytest.approx(float(expected), abs=1e-15)
    assert sum(prediction.wins) + prediction.draw == 1


@pytest.mark.parametrize("window", [2, 5, 6])
def test_every_round_follows_the_formulas_in_forty_digits(window):
    system = synelo(k_max=1, window=window, rounding="none")
    history: list[tuple[Decimal, Decimal, Decimal]] = []
    rating = other = Decimal(1000)
    rng = random.Random(window)
    with localcontext() as context:
        context.prec = 40
        for _ in range(40):
            outcome = rng.choice((1.0, 1.0, 0.5, 0.0))
            probability = 1 / (1 + (-(rating - other) / 400).exp())
            k = _k_in_decimals(history[-window:], rating)
            rating = max(Decimal(100), rating + k * (Decimal(outcome) - probability))
            history.append((rating, probability, Decimal(outcome)))
            changes = system.rate(duel("ann", "bob", outcome)).changes
            assert changes[0].after == pytest.approx(float(rating), abs=1e-9)
            other = Decimal(changes[1].after)


def _k_in_decimals(window: list[tuple[Decimal, Decimal, Decimal]], rating: Decimal) -> Decimal:
    compression = (-((rating - 1000) ** 2) / (2 * Decimal(400) ** 2)).exp()
    if len(window) < 2:
        return 2 + 70 * compression
    n, m = len(window), len(window) // 2
    ratings = [after for after, _, _ in window]
    mean = sum(ratings) / n
    velocity = abs(sum(ratings[-m:]) / m - sum(ratings[:m]) / m) / 72
    excess = abs(sum(o for _, _, o in window) / n - sum(e for _, e, _ in window) / n) / Decimal("0.1")
    volatility = (sum((value - mean) ** 2 for value in ratings) / n).sqrt() / 72
    score = min(Decimal(1), velocity / 4 + excess / 4 + volatility / 2)
    return 2 + 70 * score * compression


@pytest.mark.slow
@pytest.mark.parametrize(("rounding", "tolerance"), [("bankers", 0.0), ("none", 1e-9)])
@pytest.mark.parametrize(("window", "rounds"), [(500, 1400), (7, 400), (8, 400), (2, 100)])
def test_windows_recomputed_from_scratch_give_the_same_ratings(window, rounds, rounding, tolerance):
    system = synelo(window=window, k_max=2, rounding=rounding)
    naive = {player: Naive(system.params, 1000.0) for player in people(5)}
    for match in random_matches(seed=rounds, count=rounds, players=5, size=2):
        for change in system.rate(match).changes:
            mine = naive[change.player]
            mine.play(change.expected, change.score)
            assert change.after == pytest.approx(mine.rating, rel=0, abs=tolerance)
            assert system.uncertainty(change.player) == pytest.approx(mine.convergence(), rel=0, abs=tolerance)


def test_a_wild_past_leaves_no_trace_in_the_sums_of_unrounded_ratings():
    system = synelo(window=20, rounding="none", excess_weight=0.0)
    for number in range(30):
        system.seed(ANN, rating=49_999.9 - 1000.7 * number)
        system.rate(duel("ann", "bob"))
    system.seed(ANN, rating=100)
    for _ in range(50):
        system.rate(duel("ann", "bob", 0.0))
    assert system.skill(ANN) == 100
    assert system.uncertainty(ANN) == 0.0


@pytest.mark.parametrize(
    ("rating", "won", "lost"),
    [(1000, 1000, 1000), (1001, 1002, 1000), (1002, 1002, 1002), (1003, 1004, 1002)],
)
def test_half_points_round_to_the_even_rating(rating, won, lost):
    system = seeded(steady(1), ann=rating, bob=rating)
    assert [change.after for change in system.rate(duel("ann", "bob")).changes] == [won, lost]


def test_unrounded_ratings_keep_their_half_points():
    system = steady(1, rounding="none")
    assert [change.after for change in system.rate(duel("ann", "bob")).changes] == [1000.5, 999.5]


def test_who_played_a_part_of_a_round_moves_as_all_others_or_by_that_part_of_k():
    match = replace(duel("ann", "bob"), fraction_played={ANN: 5 / 200, BOB: 1.0})
    for late, ann in (("full", 36.0), ("share", 36.0 * 5 / 200)):
        system = synelo(late=late, rounding="none")
        assert [change.after - change.before for change in system.rate(match).changes] == pytest.approx([ann, -36.0])


def test_no_rating_falls_below_the_floor():
    system = seeded(steady(72), ann=110, bob=110)
    assert system.rate(duel("ann", "bob")).changes[1].after == 100


def test_the_fiftieth_round_alone_caps_a_rating_at_2200():
    system = seeded(steady(72), ann=2300, bob=2300)
    system.seed(ANN, rounds=48)
    after = [system.rate(duel("ann", "bob")).changes[0].after]
    system.seed(ANN, rating=2300)
    after.append(system.rate(duel("ann", "bob")).changes[0].after)
    system.seed(ANN, rating=2300)
    after.append(system.rate(duel("ann", "bob")).changes[0].after)
    assert after[1] == 2200
    assert after[0] > 2300 < after[2]


def test_at_the_defaults_the_shadow_cap_is_out_of_reach():
    """50 rounds at the largest K, each a complete surprise, from the highest rating before: 1997 is the most."""
    system, highest = synelo(), 1000
    for _ in range(50):
        reachable = range(100, highest + 1)
        highest = max(round(rating + k_factor(SynEloPlayer(rating), system.constants)) for rating in reachable)
    assert highest == 1997 < system.params.shadow_cap
