"""Published values, each with its source in its entry."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from tests.ratings.vectors.adapters import ADAPTERS, compute

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "tests" / "data" / "ratings.json"
COLLECTED = ROOT.parent / "shared" / "vectors" / "ratings.json"


APPROXIMATE = {"ttt-margin-7.217": 2e-7}
"""Printed with more digits than the source's own Φ⁻¹ has: the exact value is 2.29958153, beyond the entry's 1e-7."""


def entries() -> list[dict[str, Any]]:
    """The entries in this repository, and all collected ones beside a checkout that has them."""
    found: dict[str, dict[str, Any]] = {}
    for path in (SHIPPED, COLLECTED):
        if path.exists():
            found |= {entry["id"]: entry for entry in json.loads(path.read_text())}
    return [entry for entry in found.values() if entry["model"] in ADAPTERS]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["id"])
def test_a_published_value_is_reproduced(entry):
    computed = compute(entry["model"], entry["params"], entry["input"])
    for name, expected in entry["expected"].items():
        if isinstance(expected, str):  # a remark
            continue
        tolerance = entry["tolerance"]
        within = tolerance.get(name, tolerance.get("default")) if isinstance(tolerance, dict) else tolerance
        within = max(within, APPROXIMATE.get(entry["id"], 0.0))
        assert flat(picked(computed[name], expected)) == nearly(flat(expected), within)


def test_every_model_we_have_is_measured_by_a_published_value():
    assert {entry["model"] for entry in entries()} == set(ADAPTERS)


UNKNOWN = [
    ("elo", {}, {"ra": 1500, "rb": 1500, "score_a": 1}),  # by which K?
    ("gaussian_elo", {"beta": 200}, {"teams": [[25, 30], [25, 25]], "ranks": [0, 1]}),
    ("world_football_elo", {"K": 20}, {"ra": 630, "rb": 500, "goal_diff_abs": 0, "W_a": 1}),
    ("world_football_elo", {"K": 21}, {"ra": 630, "rb": 500, "goal_diff_abs": 1, "W_a": 1}),
    ("fifa_men", {"start": 1000}, {"games": [{"opp": 1000, "W": 1, "I": 10, "home": True}]}),
    ("glicko", {"c": 0}, {"rating": 1500, "opponents": []}),
    ("gaussian", {}, {"a": [0, 1], "b": [2, 3], "op": "convolve"}),
    ("gaussian", {}, {"a": [2, 3], "b": [0, 1], "op": "div"}),  # not a normal
    ("trueskill", {}, {"teams": [[[25, 8]], [[25, 8]]], "weights": [[1, 1], [1]]}),
    ("ttt_history", {}, {"composition": [[["a"], ["b"]]], "priors": {"a": [25, 8], "b": [20, 8]}}),
]
"""Entries in no form that is known, or with values that no match has."""


@pytest.mark.parametrize(("model", "params", "given"), UNKNOWN, ids=range(len(UNKNOWN)))
def test_an_entry_in_an_unknown_form_is_refused(model, params, given):
    with pytest.raises(ValueError, match=r"."):
        compute(model, params, given)


def test_teams_without_ranks_are_in_order():
    teams = [[[25, 8], [20, 5]], [[30, 2]], [[22, 6]]]
    plain = compute("trueskill", {}, {"teams": teams})
    assert plain["ratings"] == compute("trueskill", {}, {"teams": teams, "ranks": [0, 1, 2]})["ratings"]
    plain = compute("ttt_game", {"beta": 4}, {"teams": teams})
    assert plain == compute("ttt_game", {"beta": 4}, {"teams": teams, "result": [2, 1, 0]})


def test_a_history_without_results_is_won_by_the_first():
    given = {"composition": [[["a"], ["b"]], [["b"], ["c"]]], "times": [1, 4]}
    assert compute("ttt_history", {}, given) == compute("ttt_history", {}, given | {"results": [[1, 0], [1, 0]]})


def test_the_forward_pass_does_not_depend_on_later_matches():
    params, games = {"mu": 0, "sigma": 6, "beta": 1, "gamma": 2}, [[["a"], ["b"]], [["a"], ["c"]], [["b"], ["a"]]]
    whole = compute("ttt_history", params, {"composition": games, "times": [1, 2, 5]})["first_pass"]
    begun = compute("ttt_history", params, {"composition": games[:1], "times": [1]})["after_convergence"]
    assert {name: whole[name] for name in begun} == {name: pytest.approx(skill) for name, skill in begun.items()}


def test_who_is_the_better_of_two_teams_by_the_closed_form():
    given = {"teams": [[[38, 3], [30, 4]], [[44, 2]]]}
    better = 1 - NormalDist(38 + 30 - 44, math.sqrt(3**2 + 4**2 + 2**2 + 3 * 5**2)).cdf(0)
    assert compute("trueskill", {"beta": 5}, given)["win_probability"] == pytest.approx(better)


@pytest.mark.parametrize(
    ("ranks", "ann", "bob"),
    [((0, 1), (29.080637, 6.450603), (18.804298, 4.804578)), ((0, 0), (22.911971, 5.081503), (20.611831, 4.661369))],
)
def test_a_weight_may_be_above_one_also_where_there_are_draws(ranks, ann, bob):
    """Values of the package `trueskill` 0.4.5, which stops a draw's steps early."""
    params = {"mu": 25, "sigma": 25 / 3, "beta": 25 / 6, "tau": 25 / 300, "draw_probability": 0.25}
    given = {"teams": [[[25, 8]], [[20, 5], [26, 3]]], "ranks": ranks, "weights": [[2.0], [1.5, 0.5]]}
    found = compute("trueskill", params, given)["ratings"]
    assert found[0][0] == pytest.approx(ann, abs=3e-6)
    assert found[1][0] == pytest.approx(bob, abs=3e-6)


def test_a_newcomer_is_shown_with_nothing():
    assert compute("trueskill", {"mu": 1000, "sigma": 200}, {"mu": 1000, "sigma": 200})["exposure"] == 0
    assert compute("trueskill", {}, {"rating": [40, 2]})["exposure"] == 34


def test_games_of_glicko_one_after_the_other_are_periods_of_one_game():
    params, games = {"c": 63.2}, [[1400, 30, 1], [1550, 100, 0], [1700, 300, 0]]
    rating, deviation = 1500, 200
    for game in games:
        after = compute("glicko", params, {"r": rating, "rd": deviation, "games": [game]})
        rating, deviation = after["r_new"], after["rd_new"]
    apart = compute("glicko", params | {"sequential": True}, {"r": 1500, "rd": 200, "games": games})
    assert (apart["r_new"], apart["rd_new"]) == (pytest.approx(rating), pytest.approx(deviation))
    assert apart["r_new"] < compute("glicko", params, {"r": 1500, "rd": 200, "games": games})["r_new"] - 1


@pytest.mark.parametrize("model", ["glicko", "glicko2"])
def test_two_players_are_rated_as_each_is_against_a_stranger(model):
    own, other, params = [1600, 300, 0.06], [1500, 50, 0.07], {"c": 30} if model == "glicko" else {"tau": 0.5}
    both = compute(model, params, {"p1": own, "p2": other, "score1": 0.5})
    for name, (me, you) in (("p1", (own, other)), ("p2", (other, own))):
        given = {"r": me[0], "rd": me[1], "sigma": me[2], "games": [[*you[:2], 0.5]]}
        alone = compute(model, params, given)
        assert both[name] == pytest.approx([alone["r_new"], alone["rd_new"]])


@pytest.mark.parametrize(("op", "sign"), [("logproductnorm", 1), ("logrationorm", -1)])
def test_a_product_and_a_quotient_of_normals_have_the_returned_integral(op, sign):
    a, b = NormalDist(1, 2), NormalDist(3, 4)
    integral = sum(a.pdf(x / 100) * b.pdf(x / 100) ** sign / 100 for x in range(-4000, 4000))
    said = compute("gaussian", {}, {"a": [1, 2], "b": [3, 4], "op": op})["value"]
    assert said == pytest.approx(math.log(integral), abs=1e-9)


def nearly(expected: list[Any], within: float) -> Any:
    """Whether words are equal, and numbers equal within the tolerance."""
    named = any(isinstance(leaf, str) for leaf in expected)
    return expected if named else pytest.approx(expected, rel=0, abs=within)


def picked(computed: Any, expected: Any) -> Any:
    """The computed values that the entry expects, by name."""
    return {name: computed[name] for name in expected} if isinstance(expected, dict) else computed


def flat(value: Any) -> list[Any]:
    """Numbers of nested lists and tables in order."""
    value = list(value.values()) if isinstance(value, dict) else value
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list | tuple) else [value]
