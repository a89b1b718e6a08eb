"""The table of all routes, those of the public port, and /openapi.json, which is made from either.

msgspec makes the schemas from the structs that requests are decoded with and answers are made of. What it does not say
is added: what a property means, which properties an answer always has, and constants where it writes a list of one.
What a property means is in the docstring under its field.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from msgspec import inspect

import equipoise
from equipoise.web import (
    administration,
    evenness,
    players,
    pools,
    predictions,
    privacy,
    rosters,
    rounds,
    scripts,
    servers,
)
from equipoise.web.public import PARTS, public_type
from equipoise.web.routes import ANYBODY, Answer, Request, Route, Routes
from equipoise.wire import orders, scalars

Schema = dict[str, Any]

REFUSED: dict[int, tuple[str, tuple[str, ...]]] = {
    400: ("No HTTP request, no JSON, or a form that cannot be read", ("json", "payload", "form", "charset", "http")),
    401: ("No secret, or an unknown one", ("credentials",)),
    403: ("Not for this caller, or called by a page of another site", ("role", "server", "pool", "origin")),
    404: ("No such path, server or pool", ("not_found", "elsewhere")),
    408: ("The body did not arrive in time", ("timeout",)),
    409: (
        "Not possible now; or an older batch",
        ("refused", "changed", "stale", "several", "waits", "configuration", "rcon", "present"),
    ),
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
"""The meaning of each status of a refusal, and the codes in its answer."""
IN_PATH: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "minLength": 1, "description": "A season's name", "examples": ["Winter 2026"]},
    "map": {"type": "string", "minLength": 1, "description": "A map's name", "examples": ["koth_harvest_final"]},
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

WORDS: Mapping[str, str] = {
    "a": "Players on side A: RED, Marines.",
    "b": "Players on side B: BLU, Aliens.",
    "bench": "Players who sit out.",
    "id": "The player: a SteamID64, or `bot:<userid>`.",
    "kind": "Names the kind.",
    "map": "The map's name.",
    "name": "Their last known name.",
    "order": "The order's id.",
    "pool": "The rating population.",
    "round": "The round's id, unique on its server.",
    "server": "The game server's name in the configuration.",
    "sides": "The game's words for sides A and B.",
    "visible": "The rating may be shown.",
}
"""The meaning of words that are the same wherever they stand: a field of such a name may go without a docstring."""

routes = Routes()
_lock = Lock()


@routes.add("GET", "/openapi.json", "This document", ANYBODY)
async def described(_: Request) -> Answer:
    """The OpenAPI description of the table."""
    return Answer(await asyncio.to_thread(_locked_document))


def _locked_document() -> bytes:
    """Return the document, which takes 90 ms of the processor: made once, however many ask for it at the same time."""
    with _lock:
        return _cached_document()


@cache
def _cached_document() -> bytes:
    return document(TABLE)


TABLE: tuple[Route, ...] = (
    *scripts.routes,
    *rounds.routes,
    *pools.routes,
    *players.routes,
    *privacy.routes,
    *predictions.routes,
    *evenness.routes,
    *servers.routes,
    *rosters.routes,
    *administration.routes,
    *routes,
)
"""Every route of the daemon."""


PUBLIC: tuple[Route, ...] = tuple(
    replace(
        route,
        path=route.path.replace("/admin/", "/public/"),
        roles=frozenset(),
        reply=public_type(route.reply),
        reply_example=None,
    )
    for route in TABLE
    if route.handler
    in {
        *(servers.show_servers, rosters.show_roster, pools.show_pools, players.show_top, pools.show_seasons),
        *(pools.show_season, evenness.list_maps, evenness.show_evenness, players.show_player, rounds.list_rounds),
        rounds.show_round,
    }
)
"""The routes for anybody, on a port of their own: `published` makes their answers."""


def document(table: Sequence[Route]) -> bytes:
    """Return the OpenAPI 3.1 description of these routes, as JSON text."""
    requests = [part for route in table for part in (route.body, route.query) if part is not None]
    replies = [*(route.reply for route in table if route.reply is not None), orders.Refusal]
    references, components = schemas(requests, replies)
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        paths.setdefault(route.plain_path, {})[route.method.lower()] = _operation(route, references, components)
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


def _operation(route: Route, references: Mapping[Any, Schema], components: Mapping[str, Schema]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.handler.__name__,
        # The first noun of the path: clients that are generated have a module of each tag.
        "tags": [route.path.removeprefix("/v1").removeprefix("/admin").split("/")[1].removesuffix(".json")],
        "summary": route.summary,
        "description": f"For: {', '.join(sorted(route.roles)) or 'everybody'}.",
        "security": [{"secret": []}] if route.roles else [],
        "parameters": [*_in_path(route), *_in_query(route, references, components)],
        "responses": {"200": _reply(route, references), **_refusals(route, references)},
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _bodies(route, references)}
    return operation


def _in_path(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "enum": words.split("|")} if words else IN_PATH[name],
        }
        for name, words in re.findall(r"{(\w+)(?::([^}]*))?}", route.path)
    ]


def _in_query(route: Route, references: Mapping[Any, Schema], components: Mapping[str, Schema]) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    schema = components[references[route.query]["$ref"].rpartition("/")[2]]
    needs = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in needs, "schema": part}
        for name, part in schema["properties"].items()
    ]


def _bodies(route: Route, references: Mapping[Any, Schema]) -> dict[str, Any]:
    bodies: dict[str, Any] = {"application/json": {"schema": references[route.body], "example": route.body_example}}
    if route.form:
        fields = {"secret": {"type": "string"}, "data": {"type": "string", "contentMediaType": "application/json"}}
        schema = {"type": "object", "required": list(fields), "properties": fields}
        bodies["application/x-www-form-urlencoded"] = {"schema": schema}
    return bodies


def _reply(route: Route, references: Mapping[Any, Schema]) -> dict[str, Any]:
    text = {} if route.media_type == "application/json" else {"type": "string"}
    content = {"schema": text if route.reply is None else references[route.reply]}
    if route.reply_example is not None:
        content["example"] = route.reply_example
    return {"description": "Done", "content": {route.media_type: content}}


def _refusals(route: Route, references: Mapping[Any, Schema]) -> dict[str, Any]:
    statuses = {500, 503} if route in PUBLIC else {400, 403, 408, 413, 415, 417, 421, 500}
    if route.roles:
        statuses |= {401, 429, 503}
    if route.body or route.query or "{" in route.path:
        statuses |= {404, 409, 422}
    if route.path.endswith("/rcon"):
        statuses |= {502}
    return {str(status): _refusal(*REFUSED[status], references) for status in sorted(statuses)}


def _refusal(text: str, codes: Sequence[str], references: Mapping[Any, Schema]) -> dict[str, Any]:
    example = {"ok": False, "error": {"code": codes[0], "message": "…"}}
    content = {"schema": references[orders.Refusal], "example": example}
    words = ", ".join(f"`{code}`" for code in codes)
    return {"description": f"{text}. Codes: {words}.", "content": {"application/json": content}}


def schemas(requests: Sequence[type], replies: Sequence[type]) -> tuple[dict[type, Schema], dict[str, Schema]]:
    """Return a reference to each type of requests and replies, and all components by name."""
    types = [*requests, *replies]
    references, components = msgspec.json.schema_components(
        types, schema_hook=scalars.schema, ref_template="#/components/schemas/{name}"
    )
    whole_of = {public: whole for whole, public in PARTS.items()}
    of_all, of_requests = _kinds(_walk(types)), _kinds(_walk(requests))
    in_unions = {
        member.cls
        for part in _walk(types)
        if isinstance(part, inspect.UnionType)
        for member in part.types
        if isinstance(member, inspect.StructType)
    }
    for name, kind in of_all.items():
        component = components[name]
        fields = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else ()
        names = {field.encode_name: field.name for field in fields}
        for written, schema in component["properties"].items():
            schema.setdefault("description", meaning(whole_of.get(kind, kind), names.get(written, written)))
        if name not in of_requests:
            # All but the fields that are left out while they have no value: msgspec writes defaults too.
            left_out = {field.encode_name for field in fields if field.default is msgspec.UNSET}
            component["required"] = [written for written in component["properties"] if written not in left_out]
        elif kind not in in_unions and issubclass(kind, msgspec.Struct) and "required" in component:
            # A tag tells the structs of a union apart; where there is no union it may be left out.
            tag = kind.__struct_config__.tag_field
            component["required"] = [written for written in component["required"] if written != tag]
    for component in components.values():
        _write_constants(component)
        _write_tuples(component)
    return dict(zip(types, references, strict=True)), components


def _walk(types: Iterable[type]) -> Iterator[inspect.Type]:
    """Yield every type that these are made of, each struct once."""
    seen: set[type] = set()
    left: list[inspect.Type] = list(inspect.multi_type_info(types))
    while left:
        part = left.pop()
        if isinstance(part, inspect.StructType | inspect.DataclassType):
            if part.cls in seen:
                continue
            seen.add(part.cls)
        left += _parts(part)
        yield part


def _parts(kind: inspect.Type) -> Iterable[inspect.Type]:
    match kind:
        case inspect.StructType() | inspect.DataclassType():
            return (field.type for field in kind.fields)
        case inspect.UnionType():
            return kind.types
        case inspect.TupleType():
            return kind.item_types
        case inspect.VarTupleType() | inspect.ListType():
            return (kind.item_type,)
        case inspect.DictType():
            return (kind.value_type,)
        case inspect.Metadata():
            return (kind.type,)
        case _:
            return ()


def _kinds(types: Iterable[inspect.Type]) -> dict[str, type]:
    """Return the structs and dataclasses among these, by name."""
    return {
        kind.cls.__name__: kind.cls for kind in types if isinstance(kind, inspect.StructType | inspect.DataclassType)
    }


def _write_constants(component: Schema) -> None:
    """Write a list of one value as a constant: generators make an enumeration of it, and some cannot for booleans."""
    for schema in component.get("properties", {}).values():
        if len(schema.get("enum", ())) == 1:
            (schema["const"],) = schema.pop("enum")
            schema["type"] = "boolean" if isinstance(schema["const"], bool) else "string"
            schema.pop("default", None)


def _write_tuples(part: Any) -> None:
    """Write a tuple of so many items as a list of so many: few generators know lists that say each item's type."""
    if isinstance(part, dict):
        if "prefixItems" in part:
            kinds = part.pop("prefixItems")
            part["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
        part = [*part.values()]
    if isinstance(part, list):
        for inner in part:
            _write_tuples(inner)


def meaning(kind: type, field: str) -> str:
    """Return what a field of a struct or dataclass means, as one line; empty when that is said nowhere.

    The docstring may stand in a base class.
    """
    for base in kind.__mro__:
        if text := _docstrings(base.__module__).get(base.__name__, {}).get(field):
            return " ".join(text.split())
    return WORDS.get(field, "")


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings under the fields of a module's classes. Python drops them: they are in the source alone."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not module.startswith("equipoise.") or file is None:
        return {}
    tree = ast.parse(Path(file).read_text("utf-8"))
    return {node.name: dict(_under_fields(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _under_fields(kind: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in zip(kind.body, kind.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, text
