"""Kernels are compiled with all functions they call, and the cache key covers all of them."""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import NamedTuple, cast

import pytest

from equipoise.ratings.elo import formulas as elo_kernel
from equipoise.ratings.parts.compiling import compiled, reachable

HALF = 0.5


class Pair(NamedTuple):
    first: float
    second: float


def halved(x: float) -> float:
    return HALF * x


def thirded(x: float) -> float:
    return x / 3.0


def halved_twice(x: float) -> float:
    return halved(halved(x))


def entry(x: float) -> float:
    return halved_twice(x) + 1.0


def first_of(pair: Pair) -> float:
    return pair.first


def test_a_kernel_is_compiled_with_all_that_it_calls_however_deep_and_with_the_constants_that_those_read():
    functions, constants = reachable(cast(FunctionType, entry))
    assert functions == {"entry": entry, "halved_twice": halved_twice, "halved": halved}
    assert constants == {"HALF": 0.5}
    names = reachable(cast(FunctionType, elo_kernel.replay))[0].keys()
    assert {"win_probability", "lineup_sums", "within_limit"} <= names  # also from other modules


def test_a_replacement_is_called_for_a_function_and_its_own_callees_are_found():
    functions, _ = reachable(cast(FunctionType, entry), {"halved_twice": thirded})
    assert functions == {"entry": entry, "halved_twice": thirded}
    assert compiled(entry, instead={"halved_twice": thirded})(6.0) == 3.0


def both(x: float) -> float:
    return halved(x) + elsewhere(x)


def elsewhere(x: float) -> float:
    return halved(x)


def test_one_name_that_means_two_things_in_two_modules_is_refused():
    other_module = {"elsewhere": FunctionType(elsewhere.__code__, {"halved": thirded}), "halved": halved}
    with pytest.raises(AssertionError, match="halved means two things in the kernel both"):
        reachable(FunctionType(both.__code__, other_module))


def test_what_a_kernel_calls_is_part_of_the_name_it_is_cached_by(monkeypatch):
    """A change of another module's function, or of its constant, must not leave old machine code in use."""
    plain, other = compiled(entry), compiled(entry, instead={"halved": thirded})
    assert (plain(8.0), other(9.0)) == (3.0, 2.0)
    names = {plain.__qualname__, other.__qualname__, compiled(entry).__qualname__}
    assert len(names) == 2
    monkeypatch.setitem(globals(), "HALF", 0.25)
    changed = compiled(entry)
    assert changed.__qualname__ not in names
    assert changed(16.0) == 2.0


SOURCE = """
from typing import NamedTuple
class Pair(NamedTuple):
    first: float
    second: float
def first_of(pair: "Pair") -> float:
    return pair.first
"""


def test_machine_code_of_a_kernel_or_of_its_arguments_is_not_read_after_these_moved_to_another_module(
    tmp_path, monkeypatch
):
    """What numba has stored names the modules of both: after an upgrade they may be gone."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("kernel_before", "kernel_after"):
        (tmp_path / f"{name}.py").write_text(SOURCE)
    before, after = (importlib.import_module(name) for name in ("kernel_before", "kernel_after"))
    names = {compiled(module.first_of).py_func.__qualname__ for module in (before, after)}
    assert len(names) == 2


def test_machine_code_is_cached_separately_by_its_options():
    options = ({"fastmath": {"contract", "nnan"}}, {"fastmath": {"nnan", "contract"}}, {"fastmath": {"contract"}}, {})
    names = [compiled(halved, **each).py_func.__qualname__ for each in options]
    assert names[0] == names[1]
    assert len({*names, compiled(entry).__qualname__, compiled(entry, inline="all").__qualname__}) == 5


def test_the_order_of_a_named_tuples_fields_is_part_of_the_name(monkeypatch):
    before = compiled(first_of).__qualname__
    monkeypatch.setitem(globals(), "Pair", NamedTuple("Pair", [("second", float), ("first", float)]))
    assert compiled(first_of).__qualname__ != before
