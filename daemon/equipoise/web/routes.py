"""Types of the table of routes, which feeds the router and /openapi.json."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from equipoise.errors import ScriptError
from equipoise.web.answers import Answered, Streamed
from equipoise.web.callers import Caller, Role
from equipoise.web.services import Services

SCRIPTS: frozenset[Role] = frozenset({"script"})
READERS: frozenset[Role] = frozenset({"viewer", "admin"})
ADMINS: frozenset[Role] = frozenset({"admin"})
WRITERS: frozenset[Role] = SCRIPTS | ADMINS
ANYBODY: frozenset[Role] = SCRIPTS | READERS


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that passed all checks of `web.guards`."""

    services: Services
    caller: Caller
    body: Any
    """A value of the route's `body` type; None where the route has none."""
    query: Any
    """A value of the route's `query` type; None where the route has none."""
    path: Mapping[str, str]
    gone: Callable[[], bool]
    """Whether the caller has hung up."""


Answer = Callable[[Asked], Awaitable[msgspec.Struct | Answered | Streamed]]


@dataclass(frozen=True, slots=True)
class Route:
    """One route: its handler, the types it takes and returns, and who may call it."""

    method: str
    path: str
    summary: str
    roles: frozenset[Role]
    """Empty: no credentials are needed."""
    answer: Answer
    reply: Any
    """The type of the answer; None where it is text."""
    body: Any = None
    query: Any = None
    media_type: str = "application/json"
    form: bool = False
    """Also as a form, with fields `secret` and `data`."""


def refused(code: str, message: str, path: str | None = None) -> ScriptError:
    """409: the request is valid, but not possible now."""
    return ScriptError(code, message, path=path, status=409)
