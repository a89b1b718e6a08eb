"""Published values, each with its source in its entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ratings.vectors.adapters import ADAPTERS, compute

APPROXIMATE = {"ttt-margin-7.217": 2e-7}
"""Printed with more digits than the source's own Φ⁻¹ has: the exact value is 2.29958153, beyond the entry's 1e-7."""


ENTRIES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "ratings.json").read_text())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["id"])
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
    assert {entry["model"] for entry in ENTRIES} == set(ADAPTERS)


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
