"""People who come in the evening."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from equipoise.core.model import PlayerId
from equipoise.lab.models import Model
from equipoise.lab.simulation.population import STRANGER_STAYS, Evenings, Regulars, Scenario, Visits
from equipoise.lab.simulation.run import simulate

EVENING = Scenario().evening


def evenings(count: int, seed: int = 1, **numbers: float) -> tuple[Evenings, list[list[set[PlayerId]]]]:
    """A population, and who was on the server in each round of each evening."""
    population = Evenings(Scenario(attendance=Visits.EVENINGS, **numbers), Random(seed))  # type: ignore[arg-type]
    found, here = list[list[set[PlayerId]]](), set[PlayerId]()
    for number in range(1, count * EVENING + 1):
        population.pause(number)
        if population.opens(number):
            here = {person.id for person in population.opening()}
            found.append([])
        population.pass_round(number, set(here))
        before, within = population.leaving(set(here))
        here -= {person.id for person in before}
        here |= {person.id for person in population.coming(set(here))}
        assert len(here) <= population.scenario.slots
        found[-1].append(set(here))
        here -= {person.id for person in within}
    return population, found


def test_an_evening_begins_with_few_is_full_in_the_middle_and_empties_at_its_end() -> None:
    _, found = evenings(12)
    sizes = [fmean(len(evening[number]) for evening in found) for number in range(EVENING)]
    assert 3 < sizes[0] < 12
    assert fmean(sizes[40:60]) > 17.5
    assert sizes[-1] < fmean(sizes[40:60]) - 5


def test_regulars_come_on_most_evenings_and_strangers_on_one() -> None:
    population, found = evenings(20, turnover=0.0)
    first = population.scenario.people
    came: dict[PlayerId, int] = {}
    for evening in found:
        for player in set().union(*evening):
            came[player] = came.get(player, 0) + 1
    known = {person.id for person in population.people[:first]}
    often = [came.get(player, 0) / len(found) for player in known]
    assert sum(share > 0.4 for share in often) == pytest.approx(0.6 * first, abs=8)
    assert sum(share < 0.3 for share in often) > 0.2 * first
    strangers = [evenings for player, evenings in came.items() if player not in known]
    assert len(strangers) > 200
    assert set(strangers) == {1}


def test_strangers_stay_shortly_and_those_who_know_the_server_long() -> None:
    population, found = evenings(20, turnover=0.0, people=30)
    known = {person.id for person in population.people[:30]}
    rounds = [sum(player in here for here in evening) for evening in found for player in set().union(*evening) & known]
    others = [sum(player in here for here in evening) for evening in found for player in set().union(*evening) - known]
    assert fmean(others) == pytest.approx(STRANGER_STAYS, rel=0.15)
    assert fmean(rounds) > 2 * fmean(others)


def test_skill_drifts_in_the_days_between() -> None:
    population = Evenings(Scenario(drift=0.1, people=2000, attendance=Visits.EVENINGS), Random(1))
    before = [person.skill for person in population.people]
    days = population.pause(EVENING + 1)
    changes = [person.skill - old for person, old in zip(population.people, before, strict=True)]
    assert fmean(change**2 for change in changes) == pytest.approx(0.1**2 * days * 0.2, rel=0.1)
    assert population.pause(1) == population.pause(EVENING) == 0


def test_friends_spend_the_evening_together() -> None:
    population, found = evenings(6, parties=4)
    parties = [{person.id for person in population.people if person.party == number} for number in range(4)]
    shared = [party & here for evening in found for here in evening for party in parties]
    assert all(each in parties or not each for each in shared)
    assert any(shared)


@pytest.mark.world
def test_days_pass_on_the_clock_that_ratings_see() -> None:
    scenario = Scenario(rounds=2 * EVENING, slots=12, people=30, attendance=Visits.EVENINGS)
    once = simulate(scenario, Model("synelo"))
    assert once.rated > 150
    assert once == simulate(scenario, Model("synelo"))
    assert once.bench is not None
    other = simulate(scenario, Model("trueskill"))
    assert other.bench is not None
    assert (other.rated, other.bench.share) == (once.rated, once.bench.share)


def here_of(population: Regulars, rounds: int) -> list[set[PlayerId]]:
    """Who is on the server in each round."""
    found, here = [], set[PlayerId]()
    for number in range(1, rounds + 1):
        if population.opens(number):
            here = {person.id for person in population.opening()}
        population.pass_round(number, set(here))
        before, within = population.leaving(set(here))
        here -= {person.id for person in before}
        here |= {person.id for person in population.coming(set(here))}
        found.append(set(here))
        here -= {person.id for person in within}
    return found


def test_regulars_are_there_from_the_first_round_to_the_last() -> None:
    scenario = Scenario(attendance=Visits.REGULARS, people=13, slots=13, turnover=0.0, evening=60)
    population = Regulars(scenario, Random(1))
    everybody = {person.id for person in population.people}
    assert here_of(population, 180) == [everybody] * 180


def test_strangers_take_the_places_that_regulars_leave_free() -> None:
    population = Regulars(Scenario(attendance=Visits.REGULARS, people=12, slots=24, turnover=0.0), Random(1))
    everybody = {person.id for person in population.people}
    found = here_of(population, 300)
    assert all(everybody <= here and len(here) <= 24 for here in found)
    assert fmean(len(here) for here in found[20:100]) == pytest.approx(12 + 12 * 0.6, abs=1.5)
    assert len(set().union(*found) - everybody) > 100


def test_a_regular_who_goes_for_good_is_replaced_while_the_others_play() -> None:
    population = Regulars(Scenario(attendance=Visits.REGULARS, people=20, slots=20, turnover=0.5), Random(1))
    found = here_of(population, 100)
    assert fmean(map(len, found)) > 18.5
    gone = found[0] - found[-1]
    assert len(set().union(*found)) == pytest.approx(20 + 50, abs=15)
    assert len(gone) > 10
    assert gone <= {person.id for person in (*population.people, *population.gone)}
    assert not gone & {person.id for person in population.people}
