"""Weng-Lin: its step against derivatives of what each model says, and its chances. Golden values: `test_vectors.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import NormalDist

import pytest

from equipoise.ratings.system import Match
from equipoise.ratings.weng_lin.formulas import KAPPA
from equipoise.ratings.weng_lin.system import WengLin
from tests.ratings.samples import ANN, BOB, CID, DAN

PHI = NormalDist().cdf
BETA, EPSILON = 3.0, 0.7
MEANS, DEVIATIONS = (24.0, 30.0, 21.0, 27.0), (8.0, 2.0, 5.0, 3.0)
LONE = ((ANN,), (BOB,), (CID,), (DAN,))
MODELS = ("plackett_luce", "bradley_terry", "thurstone_mosteller")


def lone(**params: object) -> WengLin:
    """Four players of known means and deviations, who change by matches alone."""
    system = WengLin.create(beta=BETA, epsilon=EPSILON, **{"tau": 0.0, **params})
    for (player,), mean, deviation in zip(LONE, MEANS, DEVIATIONS, strict=True):
        system.seed(player, mu=mean, sigma=deviation)
    return system


def chosen(means: Sequence[float], ranks: Sequence[int]) -> float:
    """Log probability of the order by Plackett-Luce; those who share a place share the choice."""
    c = math.sqrt(sum(deviation**2 + BETA**2 for deviation in DEVIATIONS))
    return sum(
        (mean / c - math.log(sum(math.exp(other / c) for other, o in zip(means, ranks, strict=True) if o >= rank)))
        / ranks.count(rank)
        for mean, rank in zip(means, ranks, strict=True)
    )


def pair(model: str, wide: float, means: Sequence[float], one: int, other: int, ranks: Sequence[int]) -> float:
    """Log probability of the order of two teams; `wide` multiplies c."""
    c = wide * math.sqrt(DEVIATIONS[one] ** 2 + DEVIATIONS[other] ** 2 + 2 * BETA**2)
    x = (means[one] - means[other]) / c * (1 if ranks[one] <= ranks[other] else -1)
    drawn, e = ranks[one] == ranks[other], EPSILON / c
    if model == "bradley_terry":
        won = 1 / (1 + math.exp(-x))
        return math.log(won) / 2 + math.log(1 - won) / 2 if drawn else math.log(won)
    return math.log(PHI(e - x) - PHI(-e - x) if drawn else PHI(x - e))


def slopes(chance: Callable[[Sequence[float]], float], team: int) -> tuple[float, float]:
    """First and second derivative of a log probability by the mean of a team, by differences."""
    h, means = 1e-3, list(MEANS)
    low, middle, high = (chance([*means[:team], means[team] + d, *means[team + 1 :]]) for d in (-h, 0.0, h))
    return (high - low) / (2 * h), (high - 2 * middle + low) / h**2


@pytest.mark.parametrize("ranks", [(0, 1, 2, 3), (2, 0, 3, 1), (1, 1, 0, 2), (0, 0, 0, 0)])
@pytest.mark.parametrize("neighbours", [0, 1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_a_step_is_made_of_the_derivatives_of_the_models_chance(model, neighbours, ranks):
    system = lone(model=model, neighbours=neighbours)
    system.rate(Match(LONE, ranks))
    order, wide = sorted(range(4), key=lambda team: ranks[team]), 2 if model.startswith("th") and neighbours else 1
    for team, (mean, deviation) in enumerate(zip(MEANS, DEVIATIONS, strict=True)):
        slope = damped = 0.0
        if model == "plackett_luce":
            slope, bend = slopes(lambda means: chosen(means, ranks), team)
            damped = bend * deviation / math.sqrt(sum(each**2 + BETA**2 for each in DEVIATIONS))
        else:
            place, reach = order.index(team), neighbours or 4
            others = [o for o in order if o != team and abs(order.index(o) - place) <= reach]
            for other in others:
                one, bend = slopes(lambda means, t=team, o=other: pair(model, wide, means, t, o, ranks), team)
                parts = len(others) if neighbours else 1
                slope += one / parts
                c = wide * math.sqrt(deviation**2 + DEVIATIONS[other] ** 2 + 2 * BETA**2)
                damped += bend * deviation / c / parts
        (player,) = LONE[team]
        assert system.skill(player) == pytest.approx(mean + deviation**2 * slope, abs=1e-4)
        left = max(KAPPA, 1 + deviation**2 * damped)
        assert system.uncertainty(player) == pytest.approx(deviation * math.sqrt(left), abs=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_the_chances_of_many_teams_are_those_of_two_when_the_others_are_hopeless(model):
    system = WengLin.create(model=model, tau=0.0)
    for (player,), mean in zip(LONE, (25.0, 28.0, -1e6, -1e6), strict=True):
        system.seed(player, mu=mean, sigma=4.0)
    four, two = system.predict(Match(LONE)), system.predict(Match(LONE[:2]))
    assert sum(four.wins) + four.draw == pytest.approx(1.0)
    assert four.wins[2:] == (pytest.approx(0.0), pytest.approx(0.0))
    if model != "plackett_luce":  # its c² is the sum of all
        assert four.wins[0] == pytest.approx(two.wins[0])


def test_the_chance_of_two_teams_is_the_one_that_the_step_believes():
    """So that a prediction is right where ratings have settled: openskill's Φ is surer than the step."""
    system = lone(model="bradley_terry")
    c = math.sqrt(DEVIATIONS[0] ** 2 + DEVIATIONS[1] ** 2 + 2 * BETA**2)
    chance = system.predict(Match(LONE[:2])).wins[0]
    assert chance == pytest.approx(1 / (1 + math.exp((MEANS[1] - MEANS[0]) / c)))
    system.rate(Match(LONE[:2], (1, 0)))
    assert MEANS[0] - system.skill(ANN) == pytest.approx(DEVIATIONS[0] ** 2 / c * chance)


def test_for_two_teams_plackett_luce_is_bradley_terry():
    for ranks in ((0, 1), (0, 0), (1, 0)):
        one, other = lone(), lone(model="bradley_terry")
        for system in (one, other):
            system.rate(Match(((ANN, BOB), (CID, DAN)), ranks))
        assert [one.skill(p) for (p,) in LONE] == pytest.approx([other.skill(p) for (p,) in LONE])
        assert [one.uncertainty(p) for (p,) in LONE] == pytest.approx([other.uncertainty(p) for (p,) in LONE])


@pytest.mark.parametrize(("limited", "grows"), [(False, True), (True, False)])
def test_a_deviation_grows_by_playing_only_where_it_may(limited, grows):
    system = lone(tau=3.0, limit_sigma=limited)
    system.rate(Match(LONE[:2], (1, 0)))
    assert (system.uncertainty(BOB) > DEVIATIONS[1]) is grows
    assert system.uncertainty(ANN) < DEVIATIONS[0]


def test_who_played_half_counts_half_and_who_did_not_play_learns_nothing():
    match = Match(((ANN, BOB), (CID,)), (0, 1), fraction_played={ANN: 0.5, BOB: 0.0})
    system, alone = lone(), lone()
    system.rate(match)
    alone.seed(ANN, mu=MEANS[0] / 2, sigma=DEVIATIONS[0] / 2)
    alone.rate(replace(match, teams=((ANN,), (CID,)), fraction_played={}))
    assert (system.skill(BOB), system.uncertainty(BOB)) == (MEANS[1], DEVIATIONS[1])
    assert system.skill(ANN) / 2 == pytest.approx(alone.skill(ANN))
    assert system.uncertainty(ANN) / 2 == pytest.approx(alone.uncertainty(ANN))
    assert system.skill(CID) == pytest.approx(alone.skill(CID))


@pytest.mark.parametrize("model", MODELS)
def test_a_surprise_of_any_size_leaves_numbers(model):
    system = lone(model=model)
    system.seed(ANN, mu=1e6, sigma=1e-3)
    for teams, ranks in ((LONE, (3, 0, 1, 2)), (LONE[:2], (1, 0)), (LONE[:2], (0, 0)), (((ANN,), (), ()), (1, 0, 0))):
        assert all(math.isfinite(change.after) for change in system.rate(Match(teams, ranks)).changes)
    assert system.uncertainty(ANN) > 0
