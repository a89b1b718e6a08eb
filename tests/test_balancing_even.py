"""How even teams are known to be: strangers are not, whatever their mean prediction."""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist, fmean
from typing import Any

import pytest

from equipoise.balancing import answer, chance, distance
from equipoise.core.asks import AskChance
from equipoise.core.events import ChanceFound
from equipoise.core.model import Context, Mode, PlayerId
from equipoise.core.rules import VoteRules
from equipoise.core.votes import is_even
from equipoise.ratings import SYSTEMS, create

KOTH = Context(Mode.KOTH, "koth_viaduct")
SIX = tuple(PlayerId(str(76561198000000000 + n)) for n in range(6))
OTHERS = tuple(PlayerId(str(76561198000000100 + n)) for n in range(6))
QUESTION = AskChance(1, KOTH, SIX, OTHERS, SIX[0])
KNOWING = {"glicko", "glicko2", "joint", "trueskill", "trueskill2", "trueskill_through_time"}
"""Systems that know a deviation; `teamskill_*` know that of their base."""


def trueskill(sigma: float, lead: float = 0.0) -> Any:
    """Twelve players of this deviation; those of side A are better by `lead`."""
    system = create("trueskill", draw_probability=0.0)
    for players, mu in ((SIX, 25.0 + lead), (OTHERS, 25.0)):
        for player in players:
            system.seed(player, mu=mu, sigma=sigma)
    return system


def found(system: Any) -> ChanceFound:
    answered = answer(QUESTION, system)
    assert isinstance(answered, ChanceFound)
    return answered


def test_systems_with_deviations_say_so() -> None:
    live = {name for name in SYSTEMS if create(name).live}
    knowing = {name for name in live if found(create(name)).distance is not None}
    assert {name for name in knowing if not name.startswith("teamskill")} == KNOWING
    assert found(create("teamskill_k", base="trueskill")).distance is not None
    assert found(create("teamskill_k", base="elo")).distance is None


@pytest.mark.parametrize("name", sorted(KNOWING))
def test_strangers_are_predicted_at_a_half_and_are_not_even(name: str) -> None:
    strangers = found(create(name))
    assert strangers.chance == pytest.approx(0.5)
    assert strangers.distance is not None
    assert strangers.distance > 0.15
    assert not is_even(strangers, VoteRules())


def test_a_system_without_deviations_is_believed() -> None:
    assert is_even(found(create("synelo")), VoteRules())


def test_well_known_players_of_equal_skill_are_even_and_those_of_unequal_skill_are_not() -> None:
    assert is_even(found(trueskill(0.5)), VoteRules())
    assert not is_even(found(trueskill(0.5, lead=1.0)), VoteRules())


@pytest.mark.parametrize("sigma", [0.01, 0.5, 1.0, 3.0, 25 / 3, 100.0])
@pytest.mark.parametrize("lead", [0.0, 0.3, 1.5])
def test_the_expected_distance_is_that_of_players_drawn_at_random(sigma: float, lead: float) -> None:
    random, noise = Random(7), math.sqrt(12) * 25 / 6
    drawn = [random.gauss(6 * lead, math.sqrt(12) * sigma) for _ in range(20_000)]
    expected = fmean(abs(NormalDist().cdf(difference / noise) - 0.5) for difference in drawn)
    assert distance(trueskill(sigma, lead), KOTH, SIX, OTHERS) == pytest.approx(expected, abs=0.02)


def test_for_known_players_it_is_the_distance_of_the_prediction() -> None:
    system = trueskill(0.01, lead=1.0)
    assert distance(system, KOTH, SIX, OTHERS) == pytest.approx(chance(system, KOTH, SIX, OTHERS) - 0.5, abs=0.01)


@pytest.mark.parametrize("name", ["glicko", "trueskill"])
def test_sides_of_different_sizes_are_as_far_from_even_as_they_are_predicted(name: str) -> None:
    system = create(name)
    for player in (*SIX, *OTHERS):
        system.seed(player, **({"rd": 5.0} if name == "glicko" else {"sigma": 0.05}))
    predicted = chance(system, KOTH, SIX, OTHERS[:5])
    assert distance(system, KOTH, SIX, OTHERS[:5]) == pytest.approx(abs(predicted - 0.5), abs=0.01)
