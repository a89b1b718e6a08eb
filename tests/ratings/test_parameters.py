"""Numbers are what their parameter declares; another type is refused with the parameter's name, in every system."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, Field, fields, replace
from typing import Any

import numpy as np
import pytest

from equipoise.core.model import PlayerId
from equipoise.errors import RatingError
from equipoise.ratings import SYSTEMS, create
from equipoise.ratings.system import System
from tests.ratings.samples import duel, whole_parameters

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


def rated(system: System[Any], matches: range) -> list[float]:
    """The ratings of three players after each of these matches."""
    people = ("ann", "bob", "cid", "ann")
    after = []
    for number in matches:
        match = duel(*people[number % 3 : number % 3 + 2], outcome=number % 2)
        match = replace(match, started_at=1.7e9 + 9e4 * number, points=tuple(1.0 - rank for rank in match.ranks))
        after += [change.after for change in system.rate(match).changes]
    return after


def restored(system: System[Any]) -> System[Any]:
    """A system with the same parameters that goes on from what a store keeps of this one."""
    other = type(system)(system.params)
    if system.sequential:
        other.restore_snapshot(system.snapshot())
    for key, part in json.loads(json.dumps(system.shared())).items():
        other.restore_shared(key, part)
    for player in () if system.sequential else ("ann", "bob", "cid"):
        other.restore(PlayerId(player), json.loads(json.dumps(system.state(PlayerId(player)))))
    return other


WHOLE = [(name, key, value) for name in SYSTEMS for key, value in whole_parameters(name).items()]


@pytest.mark.parametrize(("name", "key", "value"), WHOLE)
def test_a_number_that_is_written_whole_is_the_same_number(name: str, key: str, value: int) -> None:
    whole, plain = create(name, **{key: value}), create(name, **{key: float(value)})
    assert (type(getattr(whole.params, key)), whole.params) == (float, plain.params)

    assert rated(whole, range(4)) == rated(plain, range(4))
    assert rated(restored(whole), range(4, 8)) == rated(restored(plain), range(4, 8))


def test_there_is_a_whole_number_for_all_but_a_few_parameters() -> None:
    """So that the test above has something to test."""
    assert len(WHOLE) > 90
    assert {"trueskill", "trueskill2", "elo", "ns2", "joint"} <= {name for name, *_ in WHOLE}


@pytest.mark.parametrize("value", [8.0, np.float64(8.0), np.float32(8.0), np.int64(8)])
def test_a_count_may_be_written_with_a_point_or_come_from_numpy(value: object) -> None:
    params = create("synelo", k_max=value, theta=value).params
    assert [repr(params.k_max), repr(params.theta)] == ["8", "8.0"]
    base = create("teamskill_k", settings={"shadow_rounds": value, "sigma": value}).params
    assert repr(base.settings) == "{'shadow_rounds': 8, 'sigma': 8.0}"
    modes = create("trueskill2", modes={"koth": {"beta2": value}}).params.modes
    assert repr(modes) == "{'koth': {'beta2': 8.0}}"


@pytest.mark.parametrize("value", [8.5, np.float64(8.5), math.nan, math.inf, True, np.True_, "8", 10**400, -(10**400)])
def test_what_is_no_count_is_refused_by_name(value: object) -> None:
    with pytest.raises(RatingError, match=r"^k_max: .* is not a whole number"):
        create("synelo", k_max=value)
    with pytest.raises(RatingError, match=r"^settings.shadow_rounds: .* is not a whole number"):
        create("teamskill_k", settings={"shadow_rounds": value})


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_number_is_told_to_be_a_count_or_none_by_its_declaration(name: str) -> None:
    for parameter in fields(create(name).params):
        if "low" in parameter.metadata:
            assert parameter.type in ("int", "float", "float | None")
