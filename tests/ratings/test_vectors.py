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
        tolerance = entry["tolerance"]
        within = tolerance[name] if isinstance(tolerance, dict) else tolerance
        assert flat(computed[name]) == pytest.approx(flat(expected), rel=0, abs=within)


def test_every_model_we_have_is_measured_by_a_published_value():
    assert {entry["model"] for entry in entries()} == set(ADAPTERS)


def flat(value: Any) -> list[Any]:
    """Numbers of nested lists in order."""
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list | tuple) else [value]
