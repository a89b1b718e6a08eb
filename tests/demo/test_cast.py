"""Who wins is drawn from true skill alone, and the evening's plan holds for every length."""

from __future__ import annotations

import math
from itertools import combinations
from random import Random
from statistics import fmean

import pytest

from equipoise.core.model import Side
from equipoise.demo.arena_evening import Incident, koth_rounds, plan
from equipoise.demo.evening import LEAST_ROUNDS, MOST, cast, draw_winner, random_favourite, win_probability


@pytest.mark.parametrize("lead", [0.0, 300.0, -800.0, 2400.0])
def test_outcomes_follow_the_logistic_of_the_skill_sums(lead: float) -> None:
    rng, draws = Random(11), 20_000
    won = sum(draw_winner(rng, [1000.0, 1200.0 + lead], [900.0, 1300.0], 800.0) is Side.A for _ in range(draws))

    expected = 1 / (1 + math.exp(-lead / 800.0))
    error = math.sqrt(expected * (1 - expected) / draws)
    assert abs(won / draws - expected) < 4 * error


def test_the_smurf_is_the_last_of_a_cast_and_better_than_everybody() -> None:
    *regulars, smurf = cast(Random(3), MOST)

    assert smurf.skill > max(person.skill for person in regulars)
    assert len({person.id for person in [*regulars, smurf]}) == MOST
    assert len({person.name for person in [*regulars, smurf]}) == MOST


def test_random_teams_are_the_mean_over_all_teams_there_could_be() -> None:
    skills = [400.0, 900.0, 1000.0, 1300.0, 2100.0]
    splits = list(combinations(skills, 2))
    odds = [win_probability(red, set(skills) - set(red), 800.0) for red in splits]

    found = random_favourite(Random(4), skills, 2, 800.0, samples=20_000)

    assert found == pytest.approx(fmean(max(one, 1 - one) for one in odds), abs=0.005)


@pytest.mark.parametrize("rounds", [*range(LEAST_ROUNDS, 60), 100, 1000])
def test_every_incident_is_planned_in_order_before_the_map_changes(rounds: int) -> None:
    arena = rounds - koth_rounds(rounds)
    planned = plan(arena)
    happened = [(incident, number) for number in sorted(planned) for incident in planned[number]]
    assert [incident for incident, _ in happened] == list(Incident)
    assert 2 <= min(planned) <= max(planned) <= arena - 1
    when = dict(happened)
    assert when[Incident.RETURN] > when[Incident.WALK_OUT], "who leaves in a round returns in a later one"
