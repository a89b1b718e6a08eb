"""/openapi.json describes every route, and every reference in it leads somewhere."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, cast

from equipoise.web.openapi import document, plain_path
from equipoise.web.routes import Asked
from equipoise.web.table import TABLE, described
from tests.web.daemon import Daemon

DOCUMENT: dict[str, Any] = json.loads(document(TABLE))


def test_every_route_is_in_it_with_its_roles() -> None:
    known = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert known == {(route.method, plain_path(route)) for route in TABLE}
    for route in TABLE:
        operation = DOCUMENT["paths"][plain_path(route)][route.method.lower()]
        assert operation["summary"] == route.summary
        assert bool(operation["security"]) == bool(route.roles)
        assert ("requestBody" in operation) == (route.body is not None)
        named = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", plain_path(route)))


def test_every_reference_leads_somewhere() -> None:
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT)))
    assert references <= DOCUMENT["components"]["schemas"].keys()


def test_every_kind_of_event_and_order_is_described() -> None:
    properties = [schema.get("properties", {}) for schema in DOCUMENT["components"]["schemas"].values()]
    kinds = {each["kind"]["enum"][0] for each in properties if "enum" in each.get("kind", {})}
    assert {"hello", "round_ended", "heartbeat", "assign", "tell"} <= kinds


def test_the_running_daemon_serves_it(untouched: Daemon) -> None:
    assert untouched.call("GET", "/openapi.json", who="guest").body == DOCUMENT


def test_it_is_written_once_however_often_it_is_asked_for() -> None:
    asked = cast(Asked, None)
    first, second = asyncio.run(described(asked)), asyncio.run(described(asked))
    assert first.body is second.body
