"""Published values, each with its source in its entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ratings.vectors import ADAPTERS, compute

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "tests" / "data" / "ratings.json"
COLLECTED = ROOT.parent / "shared" / "vectors" / "ratings.json"


APPROXIMATE = {"ttt-margin-7.217": 2e-7}
"""Printed with more digits than the source's own Φ⁻¹ has: the exact value is 2.29958153, beyond the entry's 1e-7."""


def entries() -> list[dict[str, Any]]:
    """Ours and, beside a checkout that has them, all that were collected; of the models we have."""
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


def nearly(expected: list[Any], within: float) -> Any:
    """The same names, or numbers that are near enough."""
    named = any(isinstance(leaf, str) for leaf in expected)
    return expected if named else pytest.approx(expected, rel=0, abs=within)


def picked(computed: Any, expected: Any) -> Any:
    """Of what is computed by name, what is expected by name."""
    return {name: computed[name] for name in expected} if isinstance(expected, dict) else computed


def flat(value: Any) -> list[Any]:
    """Numbers of nested lists and tables in order."""
    value = list(value.values()) if isinstance(value, dict) else value
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list | tuple) else [value]
