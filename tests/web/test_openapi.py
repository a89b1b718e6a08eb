"""/openapi.json and docs/protocol.md describe exactly the routes, the error codes and the fields that the web has."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec import inspect

import equipoise
from equipoise.web.openapi import PUBLIC, REFUSED, TABLE, WORDS, _cached_document, _walk, described, document
from equipoise.web.pools import SplitsAsked
from equipoise.web.public import PARTS, WHOLE, public_type
from equipoise.web.routes import Request, Route
from equipoise.wire.codec import decode_as
from tests.web.daemon import Daemon

DOCUMENT: dict[str, Any] = json.loads(document(TABLE))
OF_PUBLIC: dict[str, Any] = json.loads(document(PUBLIC))
PROTOCOL = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()


def test_every_route_is_in_it_with_its_roles() -> None:
    known = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert known == {(route.method, route.plain_path) for route in TABLE}
    for route in TABLE:
        operation = DOCUMENT["paths"][route.plain_path][route.method.lower()]
        assert operation["summary"] == route.summary
        assert bool(operation["security"]) == bool(route.roles)
        assert ("requestBody" in operation) == (route.body is not None)
        named = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", route.plain_path))


@pytest.mark.parametrize("described", [DOCUMENT, OF_PUBLIC])
def test_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(described)))
    assert references <= described["components"]["schemas"].keys()


def test_every_kind_of_event_and_order_is_described() -> None:
    properties = [schema.get("properties", {}) for schema in DOCUMENT["components"]["schemas"].values()]
    kinds = {each["kind"]["const"] for each in properties if "const" in each.get("kind", {})}
    assert {"hello", "round_ended", "heartbeat", "assign", "tell"} <= kinds


@pytest.mark.slow
def test_the_running_daemon_serves_it(untouched: Daemon) -> None:
    assert untouched.call("GET", "/openapi.json", who="guest").body == DOCUMENT


def test_it_is_written_once_and_off_the_loop_however_many_ask_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []
    others_ran = threading.Event()
    loop: asyncio.AbstractEventLoop
    begun: asyncio.Event

    def noted(table: Sequence[Route]) -> bytes:
        threads.append(threading.current_thread().name)
        loop.call_soon_threadsafe(begun.set)
        assert others_ran.wait(60), "the loop ran nothing else meanwhile"
        return document(table)

    async def main() -> set[int]:
        nonlocal loop, begun
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        asked = cast(Request, None)
        asking = asyncio.gather(*(described(asked) for _ in range(8)))
        await begun.wait()
        others_ran.set()
        return {id(answer.body) for answer in await asking}

    monkeypatch.setattr("equipoise.web.openapi.document", noted)
    _cached_document.cache_clear()
    assert len(asyncio.run(main())) == 1
    assert len(threads) == 1
    assert threads != [threading.current_thread().name]


@pytest.mark.parametrize("described", [DOCUMENT, OF_PUBLIC])
def test_every_property_says_what_it_means(described: dict[str, Any]) -> None:
    silent = [
        f"{name}.{field}"
        for name, schema in described["components"]["schemas"].items()
        for field, each in schema.get("properties", {}).items()
        if len(each.get("description", "")) < 3
    ]
    assert silent == []


def test_each_word_that_needs_no_docstring_is_the_name_of_a_property() -> None:
    fields = {field for schema in DOCUMENT["components"]["schemas"].values() for field in schema.get("properties", {})}
    assert WORDS.keys() <= fields


def test_what_is_always_sent_is_required_and_what_may_be_left_out_is_not() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert set(schemas["Reply"]["required"]) == set(schemas["Reply"]["properties"]) - {"cache"}
    assert set(schemas["Refusal"]["required"]) == {"ok", "error"}
    assert "dropped" not in schemas["Batch"]["required"]
    for operation in operations():
        (content,) = operation["responses"]["200"]["content"].values()
        if reference := content["schema"].get("$ref"):
            answer = schemas[reference.rpartition("/")[2]]
            assert "ok" in answer["required"]
            assert answer["properties"]["ok"]["const"] is True


def test_no_public_answer_has_a_part_that_is_not_public() -> None:
    types = [public_type(answer) for answer in (*PARTS, *WHOLE)]
    inside = {part.cls for part in _walk(types) if isinstance(part, inspect.StructType | inspect.DataclassType)}
    assert inside >= {*types}
    assert inside & PARTS.keys() == set()


def test_every_operation_has_a_name_of_its_own() -> None:
    ids = [operation["operationId"] for operation in operations()]
    assert len(set(ids)) == len(ids)


def test_every_body_has_an_example_that_the_daemon_would_take() -> None:
    assert [route.path for route in TABLE if (route.body is None) != (route.body_example is None)] == []
    for route in TABLE:
        for kind, example in ((route.body, route.body_example), (route.reply, route.reply_example)):
            if example is not None:
                decode_as(json.dumps(example).encode(), kind)


def test_the_codes_of_each_status_are_those_of_the_protocol() -> None:
    named = {(code, status) for status, (_, codes) in REFUSED.items() for code in codes if code != "http"}
    documented = set()
    for codes, statuses, _ in rows("Checks, in this order"):
        several = re.findall(r"`(\w+)`", codes)
        numbers = [int(status) for status in statuses.split(", ") if status.isdigit()]
        documented |= set(zip(several, numbers * len(several) if len(numbers) == 1 else numbers, strict=False))
    assert named == documented - {("method", 405)}


def operations() -> list[dict[str, Any]]:
    return [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]


def numbers_asked_for() -> list[tuple[str, str, dict[str, Any]]]:
    """The path, the name and the schema of every number in a query."""
    found = []
    for path, methods in DOCUMENT["paths"].items():
        for parameter in methods.get("get", {}).get("parameters", ()):
            schema = parameter["schema"]
            plain = next(
                (each for each in schema.get("anyOf", [schema]) if each.get("type") in ("integer", "number")), None
            )
            if parameter["in"] == "query" and plain is not None:
                found.append((path, parameter["name"], plain))
    return found


def test_every_number_of_a_query_that_the_document_allows_is_taken(untouched: Daemon) -> None:
    asked = numbers_asked_for()
    assert {name for _, name, _ in asked} == {"limit", "before", "after", "since", "until", "rounds", "days"}
    assert len(asked) >= 13
    for path, name, schema in asked:
        low, high = int(schema["minimum"]), int(schema["maximum"])
        filled = path.format(id="76561197960287930", pool="main", server="arena-1", map="arena_well", name="x")
        for value, fits in ((low, True), (high, True), (low - 1, False), (high + 1, False), (2**63, False)):
            answer = untouched.call(
                "GET", f"{filled}?{name}={value}" + ("&text=x" if path.endswith("/players") else "")
            )
            assert (answer.code != "schema") == fits, (path, name, value, answer.body)
            assert answer.status < 500


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading."""
    section = PROTOCOL.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert table
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in table[0].splitlines()[2:]]


def test_the_routes_and_who_may_use_them() -> None:
    documented = {(route.strip("`"), frozenset(roles.split(", "))) for route, roles, _ in rows("Routes")}
    assert documented == {
        (f"{route.method} {route.plain_path}", frozenset(route.roles or {"everybody"})) for route in TABLE
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
    (example,) = re.findall(r"```json\n(\{\"ratings\".*?\})\n```", PROTOCOL)
    assert msgspec.json.decode(example, type=SplitsAsked)
