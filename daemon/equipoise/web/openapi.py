"""/openapi.json, made from the table of routes and the structs that requests are decoded with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

import equipoise
from equipoise.web.routes import Route
from equipoise.wire import orders, scalars

REF = "#/components/schemas/{name}"

REFUSED = {
    400: "No HTTP request, no JSON, or a form that cannot be read",
    401: "No secret, or an unknown one",
    403: "Not for this caller, or called by a page of another site",
    404: "No such path, server or pool",
    408: "The body did not arrive in time",
    409: "Not possible now; or an older batch",
    413: "More than 256 KiB",
    415: "Neither JSON nor, where it is allowed, a form; or a packed body",
    417: "An `Expect` other than 100-continue",
    421: "The Host header names no address of this daemon",
    422: "A field is missing, unknown, or has a wrong value",
    429: "A wrong secret, after many others from this address",
    500: "A fault of the daemon",
    503: "Busy, or the store does not answer: send it again",
}
"""Statuses of refusals; docs/protocol.md has the codes that go with them."""
IN_PATH: dict[str, dict[str, Any]] = {
    "id": scalars.Player.schema,
    "pool": {"type": "string"},
    "round": {"type": "string"},
    "server": {"type": "string"},
}


def document(table: Sequence[Route]) -> bytes:
    """The OpenAPI 3.1 description of these routes, as JSON text."""
    types = [part for route in table for part in (route.body, route.query, route.reply) if part is not None]
    schemas, components = msgspec.json.schema_components(
        [*types, orders.Refusal], schema_hook=scalars.schema, ref_template=REF
    )
    named = dict(zip((*types, orders.Refusal), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        paths.setdefault(plain_path(route), {})[route.method.lower()] = _operation(route, named, components)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Equipoise", "version": equipoise.__version__},
            "paths": paths,
            "components": {
                "schemas": components,
                "securitySchemes": {"secret": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def plain_path(route: Route) -> str:
    """The path without the router's patterns: `/servers/{server}/{action:on|off}` → `/servers/{server}/{action}`."""
    return re.sub(r"{(\w+):[^}]*}", r"{\1}", route.path)


def _operation(route: Route, named: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "description": f"For: {', '.join(sorted(route.roles)) or 'everybody'}.",
        "security": [{"secret": []}] if route.roles else [],
        "parameters": [*_in_path(route), *_in_query(route, named, components)],
        "responses": {"200": _content(route, named), **_refusals(route, named)},
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _bodies(route, named)}
    return operation


def _in_path(route: Route) -> list[dict[str, Any]]:
    found = re.findall(r"{(\w+)(?::([^}]*))?}", route.path)
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "enum": words.split("|")} if words else IN_PATH[name],
        }
        for name, words in found
    ]


def _in_query(route: Route, named: dict[Any, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    schema = components[named[route.query]["$ref"].rpartition("/")[2]]
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": part}
        for name, part in schema["properties"].items()
    ]


def _bodies(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    bodies: dict[str, Any] = {"application/json": {"schema": named[route.body]}}
    if route.form:
        fields = {"secret": {"type": "string"}, "data": {"type": "string", "contentMediaType": "application/json"}}
        schema = {"type": "object", "required": list(fields), "properties": fields}
        bodies["application/x-www-form-urlencoded"] = {"schema": schema}
    return bodies


def _content(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    schema = {} if route.reply is None else named[route.reply]
    return {"description": "Done", "content": {route.media_type: {"schema": schema}}}


def _refusals(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    statuses = {400, 403, 408, 413, 415, 417, 421, 500}
    if route.roles:
        statuses |= {401, 429, 503}
    if route.body or route.query or "{" in route.path:
        statuses |= {404, 409, 422}
    content = {"application/json": {"schema": named[orders.Refusal]}}
    return {str(status): {"description": REFUSED[status], "content": content} for status in sorted(statuses)}
