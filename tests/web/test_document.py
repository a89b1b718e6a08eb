"""docs/protocol.md lists exactly the routes, the error codes and the fields that the web has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest

import equipoise
from equipoise.web.messages.splits import SplitsAsked
from equipoise.web.openapi import plain_path
from equipoise.web.table import TABLE

DOCUMENT = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    section = DOCUMENT.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert table
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table[0].splitlines()[2:]]


def test_the_routes_and_who_may_use_them() -> None:
    documented = {(route.strip("`"), frozenset(roles.split(", "))) for route, roles, _ in rows("Routes")}
    assert documented == {
        (f"{route.method} {plain_path(route)}", frozenset(route.roles or {"everybody"})) for route in TABLE
    }


@pytest.mark.slow
def test_the_codes_of_refusals() -> None:
    documented = {code for row in rows("Checks, in this order") for code in re.findall(r"`(\w+)`", row[0])}
    assert documented == raised() | {"stale", "http", "method"}


def raised() -> set[str]:
    """Every code that a refusal is made with anywhere in the daemon."""
    found = set()
    for path in Path(equipoise.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
            if called and node.func.id in ("ScriptError", "refused") and isinstance(node.args[0], ast.Constant):
                found.add(node.args[0].value)
    return found


def test_what_a_question_for_splits_may_say() -> None:
    documented = {name for row in rows("`POST /v1/splits`") for name in re.findall(r"`(\w+\?)`", row[0])}
    assert documented == {f"{field.name}?" for field in msgspec.structs.fields(SplitsAsked)}
    (example,) = re.findall(r"```json\n(\{\"ratings\".*?\})\n```", DOCUMENT)
    assert msgspec.json.decode(example, type=SplitsAsked)
