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
        "responses": {"200": _content(route, named), "default": _refusal(named)},
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
            "schema": {"type": "string", **({"enum": words.split("|")} if words else {})},
        }
        for name, words in found
    ]


def _in_query(route: Route, named: dict[Any, Any], components: dict[str, Any]) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    schema = components[named[route.query]["$ref"].rpartition("/")[2]]
    return [{"name": name, "in": "query", "schema": part} for name, part in schema["properties"].items()]


def _bodies(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    bodies: dict[str, Any] = {"application/json": {"schema": named[route.body]}}
    if route.form:
        fields = {"secret": {"type": "string"}, "data": {"type": "string", "contentMediaType": "application/json"}}
        schema = {"type": "object", "required": list(fields), "properties": fields}
        bodies["application/x-www-form-urlencoded"] = {"schema": schema}
    return bodies


def _content(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    if route.reply is None:
        return {"description": "As it says"}
    return {"description": "Done", "content": {"application/json": {"schema": named[route.reply]}}}


def _refusal(named: dict[Any, Any]) -> dict[str, Any]:
    return {"description": "Refused", "content": {"application/json": {"schema": named[orders.Refusal]}}}
