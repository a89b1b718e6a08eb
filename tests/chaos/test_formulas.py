"""The driver's own SynElo: published values, and what its source says in words."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.formulas import Parameters, Player, Population, convergence, k_factor, win_probability
from tests.chaos.rules import is_rated, teams_of

pytestmark = pytest.mark.rig

VECTORS = Path(__file__).parents[1] / "data" / "ratings.json"


def test_every_published_value_of_synelo_comes_out() -> None:
    entries = [entry for entry in json.loads(VECTORS.read_text()) if entry["model"] == "synelo"]
    assert entries
    for entry in entries:
        assert entry["input"].keys() == {"k_max"}, "a vector of another form: the driver has to be checked by it too"
        assert [Parameters(k_max=each).theta for each in entry["input"]["k_max"]] == entry["expected"]["theta"]


def test_the_win_probability_is_logistic_with_base_e() -> None:
    assert win_probability(2400.0, 2400.0) == pytest.approx(math.e / (1 + math.e), abs=1e-15)
    assert win_probability(-300.0, 400.0) + win_probability(300.0, 400.0) == 1.0


def test_newcomers_move_by_half_of_the_largest_k() -> None:
    population = Population(Parameters())
    changes = population.rate(population.predict({"a": ["1"], "b": ["2"]}, {}), {"a": ["1"], "b": ["2"]}, 1.0)
    assert {name: change.after for name, change in changes.items()} == {"1": 1036.0, "2": 964.0}


def test_the_convergence_score_is_the_weighted_sum_of_drift_excess_and_deviation() -> None:
    p = Parameters()
    steady = [(1000.0, 0.5, 0.5)] * 10
    assert convergence(steady, p) == 0.0
    assert convergence([(1000.0, 0.5, 0.55)] * 10, p) == pytest.approx(0.25 * 0.5)
    drifting = [*[(1000.0, 0.5, 0.5)] * 5, *[(1036.0, 0.5, 0.5)] * 5]
    assert convergence(drifting, p) == pytest.approx(0.25 * 36 / 72 + 0.5 * 18 / 72)
    assert k_factor(Player(1000.0, 10, steady), p) == 2.0
    assert k_factor(Player(1400.0), p) == pytest.approx(2 + 70 * math.exp(-0.5))


def test_a_rating_is_rounded_half_to_even_and_capped_once_at_the_end_of_the_shadow() -> None:
    population = Population(Parameters(shadow_rounds=2, shadow_cap=1050, k_factor_min=5, k_factor_max=5))
    assert population.rate(0.5, {"a": ["1"], "b": []}, 1.0)["1"].after == 1002.0
    population.players["1"].rating = 1100.0
    change = population.rate(0.5, {"a": ["1"], "b": []}, 1.0)["1"]
    assert (change.after, change.visible) == (1050.0, True)
    population.players["1"].rating = 1100.0
    assert population.rate(0.5, {"a": ["1"], "b": []}, 1.0)["1"].after == 1102.0


def test_participants_fought_and_stand_where_they_were_longest() -> None:
    def played(player: str, side: str, red: float, blu: float, *, fought: bool = True) -> dict[str, object]:
        return {"id": player, "side": side, "seconds": {"red": red, "blu": blu}, "fought": fought}

    event: dict[str, Any] = {
        "lineup": [{"id": "1", "side": "red"}, {"id": "2", "side": "blu"}, {"id": "bot:3", "side": "blu"}],
        "players": [
            played("1", "red", 5, 4),
            played("2", "blu", 5, 5),
            played("4", "red", 1, 9),
            played("5", "red", 9, 0, fought=False),
            played("bot:3", "blu", 0, 9),
        ],
    }
    assert teams_of(event) == {"a": ["1"], "b": ["2", "4"]}
    assert is_rated(event)
    assert not is_rated(event | {"partial": True})
    assert not is_rated(event | {"waiting": True})
    assert not is_rated(event | {"lineup": [{"id": "1", "side": "red"}, {"id": "bot:3", "side": "blu"}]})
    assert not is_rated(event | {"players": event["players"][:1]})
