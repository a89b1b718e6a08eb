"""The counts of simulated players say as much of their skill as the scenario says, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.lab.simulation.outcome_model import CLASSES, CountsModel
from equipoise.lab.simulation.population import Person, Scenario
from equipoise.ratings.history import Floats


def crowd(scenario: Scenario, size: int) -> dict[PlayerId, Person]:
    rng = Random(5)
    players = [PlayerId(f"p{number}") for number in range(size)]
    return {player: Person(player, rng.gauss(0, scenario.spread)) for player in players}


def rates(scenario: Scenario, people: Mapping[PlayerId, Person], rounds: int) -> Floats:
    """Shape (people, rounds, 4): counts per minute, relative to what the classes they played make in the mean."""
    rng, counted = Random(6), CountsModel(scenario)
    found = np.zeros((len(people), rounds, 4))
    for number in range(rounds):
        seconds = rng.uniform(60, 240)
        drawn = counted.drawn(number, dict.fromkeys(people, seconds), people)
        for place, player in enumerate(people):
            did = drawn[player]
            usual = np.zeros(4)
            for name, time in did.classes.items():
                each = CLASSES[name]
                usual += np.array([*each[:3], each.kills + each.assists / 2 + each.points]) * time / 60
            found[place, number] = np.array([did.kills, did.deaths, did.assists, did.points]) / usual
    return found


def correlation(found: Floats, skills: Floats) -> float:
    """Of the best sum of the four rates in one round with skill."""
    rows, wanted = found.reshape(-1, 4), np.repeat(skills, found.shape[1])
    rows = np.column_stack([rows, np.ones(len(rows))])
    fitted = rows @ np.linalg.lstsq(rows, wanted, rcond=None)[0]
    return float(np.corrcoef(fitted, wanted)[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("r", [0.2, 0.35, 0.6])
def test_the_counts_of_one_round_correlate_with_skill_as_the_scenario_says(r: float) -> None:
    scenario = Scenario(scores=r)
    people = crowd(scenario, 200)
    skills = np.array([person.skill for person in people.values()])
    assert correlation(rates(scenario, people, 60), skills) == pytest.approx(r, abs=0.03)


@pytest.mark.slow
def test_an_offset_lasts_and_is_as_large_as_the_scenario_says() -> None:
    """Over many rounds the noise averages out: what is left of the score is skill and offset, of equal variance."""
    scenario = Scenario(scores=0.6, score_offset=1.0)
    people, counted = crowd(scenario, 200), CountsModel(scenario)
    skills = np.array([person.skill for person in people.values()])
    offsets = np.array([counted.habits(player).offset for player in people])
    assert offsets.std() == pytest.approx(scenario.spread, rel=0.15)
    early, late = (part.mean(axis=1) @ [1, -1, 1, 1] for part in np.split(rates(scenario, people, 100), 2, axis=1))
    assert np.corrcoef(early, late)[0, 1] > 0.9
    assert np.corrcoef(early, skills + offsets)[0, 1] > 0.9
    assert np.corrcoef(early, skills)[0, 1] == pytest.approx(0.5**0.5, abs=0.12)


def test_rates_differ_by_class_more_than_by_skill() -> None:
    scenario = Scenario(scores=0.35)
    people = crowd(scenario, 60)
    model, seconds = CountsModel(scenario), dict.fromkeys(people, 120.0)
    drawn = [one for number in range(30) for one in model.drawn(number, seconds, people).values()]
    kills = {name: [one.kills for one in drawn if tuple(one.classes) == (name,)] for name in ("medic", "demoman")}
    assert np.mean(kills["demoman"]) > 4 * np.mean(kills["medic"])


def test_everybody_plays_a_few_classes_for_all_their_time() -> None:
    scenario = Scenario(scores=0.35)
    people, counted = crowd(scenario, 1), CountsModel(scenario)
    (player,) = people
    drawn = [counted.drawn(number, {player: 100.0}, people)[player] for number in range(300)]
    played = [name for one in drawn for name in one.classes]
    assert set(played) == set(counted.habits(player).classes)
    assert played.count(counted.habits(player).classes[0]) > len(played) / 2
    assert all(sum(one.classes.values()) == pytest.approx(100.0) for one in drawn)
    assert any(len(one.classes) == 2 for one in drawn)


def test_what_a_player_does_in_a_round_does_not_depend_on_the_others() -> None:
    scenario = Scenario(scores=0.35)
    people = crowd(scenario, 4)
    first, *_, last = people
    everybody = CountsModel(scenario).drawn(7, dict.fromkeys(people, 90.0), people)
    alone = CountsModel(scenario).drawn(7, {last: 90.0}, people)
    assert alone == {last: everybody[last]}
    assert everybody[first] != everybody[last]


def test_a_player_who_was_on_no_side_did_nothing() -> None:
    scenario = Scenario(scores=0.35)
    people = crowd(scenario, 1)
    (player,) = people
    counts = CountsModel(scenario).drawn(1, {player: 0.0}, people)[player]
    assert (counts.kills, counts.deaths, counts.assists, counts.points, counts.classes) == (0, 0, 0, 0, {})
