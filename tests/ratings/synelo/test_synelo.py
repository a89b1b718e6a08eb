"""SynElo against its formulas, computed here by other means, and against the laws it must keep."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from decimal import Decimal, localcontext

import pytest

from equipoise.core.model import PlayerId
from equipoise.ratings.synelo.formulas import SynEloPlayer, k_factor
from equipoise.ratings.synelo.system import SynElo
from equipoise.ratings.system import Change, Match
from tests.ratings.samples import ANN, BOB, CID, DAN, Naive, duel, people, random_matches, seeded, steady, synelo

# The formulas.


@pytest.mark.parametrize(
    ("k_max", "theta"), [(1, 400), (2, 400), (3, 800), (4, 800), (5, 1200), (6, 1200), (12, 2400), (16, 3200)]
)
def test_theta_is_400_times_the_floored_median_of_the_team_sizes(k_max, theta):
    assert synelo(k_max=k_max).params.scale == theta


def test_an_explicit_theta_wins():
    assert synelo(k_max=12, theta=1000.0).params.scale == 1000


@pytest.mark.parametrize(("theta", "gap"), [(400, 100), (400, -100), (2400, 96), (173.71779, 400), (2400, 7000)])
def test_the_win_probability_is_the_logistic_of_base_e(theta, gap):
    with localcontext() as context:
        context.prec = 40
        expected = 1 / (1 + (-Decimal(gap) / Decimal(theta)).exp())
    system = seeded(synelo(theta=theta), ann=10000 + gap, bob=10000)
    prediction = system.predict(duel("ann", "bob"))
    assert prediction.wins[0] == pytest.approx(float(expected), abs=1e-15)
    assert sum(prediction.wins) + prediction.draw == 1


def test_a_hundred_points_at_theta_400_are_56_percent_not_elos_64():
    system = seeded(synelo(theta=400), ann=1100, bob=1000)
    assert system.predict(duel("ann", "bob")).wins[0] == pytest.approx(0.562, abs=5e-4)


def test_newcomers_move_by_half_of_k_max_in_an_even_first_round():
    changes = synelo().rate(duel("ann", "bob")).changes
    assert changes == (
        Change(ANN, team=0, before=1000, after=1036, rounds=1, expected=0.5, score=1.0),
        Change(BOB, team=1, before=1000, after=964, rounds=1, expected=0.5, score=0.0),
    )


def test_the_second_round_is_still_rated_with_full_convergence_score_and_compressed_k():
    system = synelo(k_max=1)
    system.rate(duel("ann", "bob"))
    with localcontext() as context:
        context.prec = 40
        probability = 1 / (1 + (Decimal(-72) / 400).exp())
        k = 2 + 70 * (-(Decimal(36) ** 2) / (2 * Decimal(400) ** 2)).exp()
        after = 1036 + k * (1 - probability)
    change = system.rate(duel("ann", "bob")).changes[0]
    assert change.expected == pytest.approx(float(probability), abs=1e-15)
    assert change.after == round(after) == 1069


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


def replayed_naively(system: SynElo, rounds: int, tolerance: float) -> None:
    naive = {player: Naive(system.params, 1000.0) for player in people(5)}
    for match in random_matches(seed=rounds, count=rounds, players=5, size=2):
        for change in system.rate(match).changes:
            mine = naive[change.player]
            mine.play(change.expected, change.score)
            assert change.after == pytest.approx(mine.rating, rel=0, abs=tolerance)
            assert system.uncertainty(change.player) == pytest.approx(mine.convergence(), rel=0, abs=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(("window", "rounds"), [(500, 1400), (7, 400), (8, 400), (2, 100)])
def test_windows_recomputed_from_scratch_give_exactly_the_same_ratings(window, rounds):
    replayed_naively(synelo(window=window, k_max=2), rounds, tolerance=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("window", "rounds"), [(500, 1400), (7, 400), (8, 400)])
def test_unrounded_ratings_stay_within_a_billionth_of_windows_recomputed_from_scratch(window, rounds):
    replayed_naively(synelo(window=window, k_max=2, rounding="none"), rounds, tolerance=1e-9)


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


# What the rules decide.


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


def test_a_favourite_with_the_least_k_drifts_down_under_rounding():
    system = seeded(steady(2, k_max=1), ann=1555, bob=1000)
    won, lost = (system.rate(duel("ann", "bob", outcome)).changes[0] for outcome in (1.0, 0.0))
    assert (won.expected, won.after - won.before) == (pytest.approx(0.8, abs=1e-3), 0)
    assert lost.after - lost.before == -2


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


def test_a_low_rating_passes_the_fiftieth_round_uncapped():
    system = synelo()
    system.seed(ANN, rounds=49)
    assert system.rate(duel("ann", "bob")).changes[0].after == 1036


def test_the_prediction_is_of_the_lineup_and_not_of_the_participants():
    system = seeded(synelo(), ann=1500, bob=1300, cid=1200, dan=700)
    match = Match(teams=((ANN,), (DAN, CID)), ranks=(0, 1), lineup=((ANN, BOB), (CID,)))
    rated = system.rate(match)
    assert rated.prediction.wins[0] == pytest.approx(1 / (1 + math.exp(-(1500 + 1300 - 1200) / 2400)))
    assert [change.player for change in rated.changes] == [ANN, DAN, CID]
    assert {change.expected for change in rated.changes[1:]} == {rated.prediction.wins[1]}
    assert BOB in system
    assert system.summary(BOB).rounds == 0


def test_bots_and_strangers_are_in_the_lineup_with_the_initial_rating():
    system = seeded(synelo(initial=1200.0), ann=1000)
    match = Match(teams=((ANN,), (BOB,)), lineup=((ANN, PlayerId("bot:7")), (BOB,)))
    assert system.predict(match).wins[0] == pytest.approx(1 / (1 + math.exp(-1000 / 2400)))
    assert BOB not in system


def test_skills_at_the_start_make_the_prediction_but_not_the_rating_before_the_match():
    system = seeded(synelo(), ann=1500, bob=900)
    match = replace(duel("ann", "bob"), skill_at_start={ANN: 1000.0})
    rated = system.rate(match)
    assert rated.prediction.wins[0] == pytest.approx(1 / (1 + math.exp(-100 / 2400)))
    assert rated.changes[0].before == 1500


def test_a_draw_between_equals_changes_no_rating():
    assert [change.after for change in synelo().rate(duel("ann", "bob", 0.5)).changes] == [1000, 1000]


def test_a_draw_brings_unequals_closer():
    changes = seeded(synelo(), ann=1300, bob=900).rate(duel("ann", "bob", 0.5)).changes
    assert changes[0].after < 1300
    assert changes[1].after > 900


def test_a_player_is_visible_once_no_shadow_round_is_missing():
    system = synelo(shadow_rounds=2)
    summaries = []
    for _ in range(2):
        system.rate(replace(duel("ann", "bob"), started_at=1e9))
        summaries.append(system.summary(ANN))
    assert [(summary.rounds, summary.visible, summary.missing) for summary in summaries] == [
        (1, False, 1),
        (2, True, 0),
    ]
    assert summaries[1].last_played == 1e9


def test_a_player_is_stale_after_thirty_days_without_a_rated_round():
    system = synelo()
    day = 86400.0
    assert not system.stale(1e9, now=1e9 + 30 * day)
    assert system.stale(1e9, now=1e9 + 30 * day + 1)
    assert not system.stale(None, now=1e9)


def test_a_hundredth_of_win_probability_is_96_points_at_theta_2400():
    system = seeded(synelo(), ann=1096, bob=1000)
    assert system.gap(0.01, size=12) == pytest.approx(96)
    assert system.predict(duel("ann", "bob")).wins[0] == pytest.approx(0.51, abs=1e-5)


# Laws.


def test_more_players_are_favoured_over_fewer_equals():
    match = Match(teams=((ANN, BOB), (CID,)))
    assert synelo().predict(match).wins[0] > 0.5
