"""/openapi.json, made from the table of routes and the structs that requests are decoded with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

import equipoise
from equipoise.web.components import schemas
from equipoise.web.examples import EXAMPLES
from equipoise.web.routes import Route
from equipoise.wire import orders

REFUSED: dict[int, tuple[str, tuple[str, ...]]] = {
    400: ("No HTTP request, no JSON, or a form that cannot be read", ("json", "payload", "form", "charset", "http")),
    401: ("No secret, or an unknown one", ("credentials",)),
    403: ("Not for this caller, or called by a page of another site", ("role", "server", "pool", "origin")),
    404: ("No such path, server or pool", ("not_found",)),
    408: ("The body did not arrive in time", ("timeout",)),
    409: ("Not possible now; or an older batch", ("refused", "stale", "several", "waits", "configuration", "rcon")),
    413: ("More than 256 KiB", ("size",)),
    415: ("Neither JSON nor, where it is allowed, a form; or a packed body", ("content_type", "encoding")),
    417: ("An `Expect` other than 100-continue", ("http",)),
    421: ("The Host header names no address of this daemon", ("host",)),
    422: (
        "A field is missing, unknown, or has a wrong value",
        (
            "schema",
            "twice",
            "spans",
            "counts",
            "commander",
            "unstorable",
            "dry_run",
            "rating",
            "players",
            "stranger",
            "split",
            "command",
        ),
    ),
    429: ("A wrong secret, after many others from this address", ("throttled",)),
    500: ("A fault of the daemon", ("internal",)),
    502: ("The game server does not answer", ("game_server",)),
    503: ("Busy, or the store does not answer: send it again", ("busy", "unavailable")),
}
"""What each status of a refusal means, and the codes in its answer."""
IN_PATH: dict[str, dict[str, Any]] = {
    "id": {
        "type": "string",
        "minLength": 1,
        "description": "A SteamID64, STEAM_0:…, [U:1:…], the address of a profile, or a name that only one player has",
        "examples": ["76561197960287930", "STEAM_0:0:11101"],
    },
    "pool": {"type": "string"},
    "round": {"type": "string"},
    "server": {"type": "string"},
}


def document(table: Sequence[Route]) -> bytes:
    """The OpenAPI 3.1 description of these routes, as JSON text."""
    asked = [part for route in table for part in (route.body, route.query) if part is not None]
    answered = [*(route.reply for route in table if route.reply is not None), orders.Refusal]
    named, components = schemas(asked, answered)
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        paths.setdefault(plain_path(route), {})[route.method.lower()] = _operation(route, named, components)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Equipoise",
                "version": equipoise.__version__,
                "description": "The daemon that makes game servers fair. What each message means: docs/protocol.md.",
                "license": {"name": "MIT", "identifier": "MIT"},
            },
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
        "operationId": route.answer.__name__,
        "tags": [route.answer.__module__.rpartition(".")[2]],
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
    bodies: dict[str, Any] = {"application/json": {"schema": named[route.body], **_example(route.body)}}
    if route.form:
        fields = {"secret": {"type": "string"}, "data": {"type": "string", "contentMediaType": "application/json"}}
        schema = {"type": "object", "required": list(fields), "properties": fields}
        bodies["application/x-www-form-urlencoded"] = {"schema": schema}
    return bodies


def _content(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    plain = {} if route.media_type == "application/json" else {"type": "string"}
    content = {"schema": plain if route.reply is None else named[route.reply], **_example(route.reply)}
    return {"description": "Done", "content": {route.media_type: content}}


def _example(kind: Any) -> dict[str, Any]:
    return {"example": EXAMPLES[kind]} if kind in EXAMPLES else {}


def _refusals(route: Route, named: dict[Any, Any]) -> dict[str, Any]:
    statuses = {400, 403, 408, 413, 415, 417, 421, 500}
    if route.roles:
        statuses |= {401, 429, 503}
    if route.body or route.query or "{" in route.path:
        statuses |= {404, 409, 422}
    if route.path.endswith("/rcon"):
        statuses |= {502}
    return {str(status): _refusal(*REFUSED[status], named) for status in sorted(statuses)}


def _refusal(text: str, codes: Sequence[str], named: dict[Any, Any]) -> dict[str, Any]:
    content = {"schema": named[orders.Refusal], "example": {"ok": False, "error": {"code": codes[0], "message": "…"}}}
    known = ", ".join(f"`{code}`" for code in codes)
    return {"description": f"{text}. Codes: {known}.", "content": {"application/json": content}}
