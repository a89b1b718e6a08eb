"""The experiments measure what the findings say they measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bench.findings import anchoring, between, compression, converging, feedback, rounding, swaps, theta, throwing
from bench.findings.people import Round, balanced_rounds, crowd, player, random_rounds
from bench.findings.table import compared, figure
from equipoise.lab.models import Model
from equipoise.lab.simulation.population import Scenario
from equipoise.lab.simulation.run import simulate
from equipoise.ratings.history import Floats
from equipoise.ratings.quality import logistic


def test_random_teams_win_as_often_as_their_skills_say() -> None:
    rng = np.random.default_rng(1)
    skills = crowd(rng, people=10)
    history = random_rounds(skills, 20_000, 3, rng)
    sides = skills[history.members.reshape(-1, 2, 3)].sum(axis=2)
    expected = 1 / (1 + np.exp(sides[:, 1] - sides[:, 0]))
    won = 1.0 - history.ranks[0::2]
    for low, high in pairwise((0.2, 0.4, 0.5, 0.6, 0.8)):
        inside = (expected >= low) & (expected < high)
        assert abs(float((won - expected)[inside].mean())) < 4 * 0.5 / math.sqrt(inside.sum())


def test_no_player_is_twice_in_a_random_round() -> None:
    rng = np.random.default_rng(1)
    for round in random_rounds(crowd(rng, people=9), 50, 4, rng).members.reshape(-1, 8):
        assert len(set(round.tolist())) == 8


def test_teams_are_balanced_by_what_the_system_has_learnt() -> None:
    rng = np.random.default_rng(1)
    system = Model("synelo").make()
    for number, rating in enumerate((1600, 1500, 1400, 1300, 1200, 1000)):
        system.seed(player(number), rating=rating, rounds=100)
    (one,) = balanced_rounds(system, np.zeros(6), 1, 3, rng)
    assert abs(one.predicted - 0.5) < 0.005
    assert one.true == 0.5


@pytest.mark.slow
def test_a_thrower_costs_the_own_side_two_log_odds() -> None:
    rng, never = np.random.default_rng(1), Model.of("synelo:k_factor_min=0,k_factor_max=0.001")
    played = list(balanced_rounds(never.make(), np.zeros(4), 1000, 2, rng, lambda number, here: (0,)))
    won = sum(one.won(0) or 0.0 for one in played) / 1000
    assert won == pytest.approx(1 / (1 + math.exp(2)), abs=0.04)


def test_a_player_who_does_not_play_has_no_score_and_no_chance() -> None:
    one = Round((0,), (1,), 0.5, 0.75, 1.0, ())
    assert (one.won(0), one.won(1), one.won(2)) == (1.0, 0.0, None)
    assert (one.chance(0), one.chance(1), one.chance(2)) == (0.75, 0.25, None)


def test_thrown_rounds_are_left_out_when_asked() -> None:
    rounds = [Round((0,), (9,), 0.5, 0.5, 0.0, (0,)), Round((8,), (0,), 0.5, 0.5, 0.0, ())]
    assert throwing.share_won(rounds) == 0.5
    assert throwing.share_won(rounds, thrown=False) == 1.0


def test_the_drift_by_rounding_is_that_of_the_arithmetic() -> None:
    # K = 2, P = 0.8: a win is +0.4 and rounds to 0, a loss is -1.6 and rounds to -2.
    assert rounding.drift(2.0, 0.8) == pytest.approx(-0.4)
    # K = 2, P = 0.7: a win is +0.6 and rounds to 1, a loss is -1.4 and rounds to -1.
    assert rounding.drift(2.0, 0.7) == pytest.approx(0.4)


def test_the_compressed_k_is_that_of_the_formula() -> None:
    assert compression.k_factor(400.0, 1000.0) == 72.0
    assert compression.k_factor(400.0, 2200.0) == pytest.approx(2 + 70 * math.exp(-4.5))


def test_an_anchor_costs_the_pool_with_one_star_its_even_teams() -> None:
    assert anchoring.imbalances([4000, 1010, 1005, 1003, 1002, 1000], 2) == (0, 2985, True)


def test_one_swap_that_evens_the_sides_is_found_by_both() -> None:
    before, moves, left, fewest, same, close, more = swaps.measured([400, 300, 200, 100])
    assert (before, moves, left, fewest, same, close, more) == (400, 2, 0, 2, 0, 2, False)


def look(order: float = 0.0, places: Sequence[float] = ()) -> converging.Look:
    return converging.Look(order, np.array(places), miss=0.0, favourite=0.5, best=0.5)


def test_a_goal_is_reached_when_it_first_is_or_never() -> None:
    run = [look(order) for order in (0.5, 0.85, 0.7, 0.85)]
    assert converging.first(run, 0.8) == 2 * converging.CHUNK
    assert converging.first(run, 0.9) == math.inf


def test_places_moved_are_counted_up_and_down_over_a_hundred_rounds() -> None:
    between = [look(places=(9, 9))] * (converging.HUNDRED - 1)
    assert converging.moved([look(places=(0, 5)), *between, look(places=(3, 4))]) == 2


def test_a_sample_holds_true_chances_and_not_results() -> None:
    skills = np.array([1.0, 0.5, 0.0, -0.5, *([0.0] * 20)])
    seats = np.array([[0, 1, *range(4, 14), 2, 3, *range(14, 24)]])
    seen = converging.look(skills, list(-skills), seats, np.array([0.5]))
    true = 1 / (1 + math.exp(-2))  # the sums are 1.5 and -0.5
    assert seen.order == pytest.approx(-1)
    assert seen.miss == pytest.approx((true - 0.5) ** 2)
    assert seen.favourite == pytest.approx(true)
    assert seen.places[:2].tolist() == [23, 22]


@pytest.mark.slow
def test_a_prediction_counts_half_of_the_draws() -> None:
    still = Model.of("trueskill:sigma=0.001,tau=0,draw_probability=0.5")
    rounds = converging.in_random_teams(np.zeros(60), np.random.default_rng(1), model=still)
    assert next(rounds).miss == pytest.approx(0, abs=1e-6)


def test_systems_are_compared_on_the_same_seeds() -> None:
    first, second = compared([[(10.0,), (20.0,), (40.0,)], [(11.0,), (21.0,), (41.0,)]], [".1f"])
    assert first == ["23.3 ± 8.8"]
    assert second == ["+1.0 ± 0.0"]


def test_a_number_has_a_typographic_minus_and_a_rounded_zero_has_none() -> None:
    assert figure(-0.1234, ".1%") == "−12.3 %"
    assert figure(-0.001, "+.2f") == "+0.00"


def test_tables_without_random_draws_are_in_the_document_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    document = (Path(__file__).parents[2] / "docs" / "findings.md").read_text()
    rounding.drifts()
    compression.factors()
    drifts, factors = (part.strip() for part in capsys.readouterr().out.split("\n\n") if part.startswith("|"))
    assert drifts in document
    assert factors in document


def test_no_skills_near_those_of_the_yardstick_are_more_likely() -> None:
    rng = np.random.default_rng(1)
    sides = rng.permuted(np.tile([1.0, 1.0, -1.0, -1.0, 0.0], (200, 1)), axis=1)
    scores = (rng.random(200) < logistic(sides @ np.array([0.5, 0.2, 0.0, -0.2, -0.5]))).astype(float)

    def likelihood(skills: Floats) -> float:
        fitted = np.log(logistic((2 * scores - 1) * (sides @ skills))).sum()
        return float(fitted - (skills**2).sum() / 2 / 0.25**2)

    best = converging.most_likely(sides, scores, np.zeros(5), spread=0.25)
    for step in rng.normal(0, 0.01, (50, 5)):
        assert likelihood(best + step) < likelihood(best)


def test_a_scale_that_is_twice_too_small_is_proposed_to_double() -> None:
    rng = np.random.default_rng(1)
    history = random_rounds(crowd(rng, spread=0.5), 20_000, 6, rng)
    skills = crowd(np.random.default_rng(1), spread=0.5)
    sides = skills[history.members.reshape(-1, 2, 6)].sum(axis=2)
    overconfident = logistic(2 * (sides[:, 0] - sides[:, 1]))
    assert theta.proposal(history, overconfident, 400.0, slice(None)) == pytest.approx(800, rel=0.05)


@pytest.mark.slow
def test_a_system_that_never_learns_reaches_the_targeted_brier_score() -> None:
    never = Model.of(feedback.SYSTEMS["synelo that never learns"])
    summary = simulate(Scenario(rounds=60, people=30, slots=10, stalemates=0), never)
    assert summary.quality is not None
    assert summary.quality.brier.value == pytest.approx(0.25, abs=1e-4)


@pytest.mark.slow
def test_the_bench_alone_leaves_sides_uneven_that_the_fewest_swaps_even_out() -> None:
    alone, swapped = (between.Run(13, 1, solve, rounds=120).summary.equalised for solve in between.RULES.values())
    assert alone is not None
    assert swapped is not None
    assert alone.even.value + 0.1 < swapped.even.value
    assert alone.reassigned < 0.02 < swapped.reassigned
