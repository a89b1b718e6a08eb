"""A parameter of the wrong type is refused with its name and its type, in every system."""

from __future__ import annotations

import math
from dataclasses import MISSING, Field, fields
from typing import Any

import pytest

from equipoise.errors import RatingError
from equipoise.ratings import SYSTEMS, create

WRONG: list[object] = [3, -1.5, math.nan, math.inf, True, None, "x", [], [3], {}, {"a": 1}, {"a": None}, {1: 2}]


def default_of(parameter: Field[Any]) -> object:
    return parameter.default if parameter.default_factory is MISSING else parameter.default_factory()


def fits(value: object, default: object) -> bool:
    """Whether a value has the type of the default; it may still be out of range."""
    if default is None:
        return value is None or fits(value, 0.0)
    if isinstance(default, float):
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    if isinstance(default, tuple):
        return isinstance(value, list)
    return type(value) is type(default)


def refusal(name: str, parameter: str, value: object) -> str | None:
    """The reason for which a parameter is refused; empty if it is accepted."""
    try:
        create(name, **{parameter: value})
    except RatingError as refused:
        return str(refused)
    return None


WANTED = {
    float: "a number",
    int: "a whole number",
    str: "is not text",
    dict: "a table",
    tuple: "a list",
    bool: "true or false",
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_parameter_of_the_wrong_type_is_refused_by_name_and_type(name: str) -> None:
    accepted, unclear = [], []
    for parameter in fields(create(name).params):
        default = default_of(parameter)
        wanted = WANTED[float if default is None else type(default)]
        for value in WRONG:
            if fits(value, default):
                continue
            said = refusal(name, parameter.name, value)
            if said is None:
                accepted.append((parameter.name, value))
            elif not said.startswith(f"{parameter.name}: ") or wanted not in said:
                unclear.append((parameter.name, value, said))
    assert (accepted, unclear) == ([], [])


@pytest.mark.parametrize("name", SYSTEMS)
def test_any_value_of_a_parameter_is_taken_or_refused_by_name(name: str) -> None:
    unclear = []
    for parameter in fields(create(name).params):
        for value in [*WRONG, 10**400, {"a": {"b": []}}, ["x"], [math.nan], {"base": "elo"}]:
            said = refusal(name, parameter.name, value)
            if said is not None and parameter.name not in said:
                unclear.append((parameter.name, value, said))
    assert unclear == []


@pytest.mark.parametrize(
    ("name", "params", "reason"),
    [
        ("elo", {"favoured_side": 1}, "favoured_side: 1 is not text"),
        ("teamskill_k", {"settings": 3}, "settings: 3 is not a table"),
        ("teamskill_k", {"base": []}, r"base: \[\] is not text"),
        ("teamskill_k", {"settings": {"mu": "big"}}, "settings.mu: 'big' is not a number"),
        ("trueskill2", {"modes": 3}, "modes: 3 is not a table"),
        ("trueskill2", {"modes": {"koth": 1}}, "modes.koth: 1 is not a table"),
        ("trueskill2", {"modes": {"koth": {"tau2": "x"}}}, "modes.koth: tau2: 'x' is not a number"),
        *((name, {of_ours: 3}, f"{of_ours}: no such parameter") for name in SYSTEMS for of_ours in ("name", "cls")),
    ],
)
def test_a_refusal_is_one_line(name: str, params: dict[str, Any], reason: str) -> None:
    with pytest.raises(RatingError, match=reason):
        create(name, **params)
