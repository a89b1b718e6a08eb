"""A route: what is sent, what is answered, and for whom. The table of them feeds the router and /openapi.json."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from equipoise.errors import ScriptError
from equipoise.web.callers import Caller, Role
from equipoise.web.services import Services

SCRIPTS: frozenset[Role] = frozenset({"script"})
READERS: frozenset[Role] = frozenset({"viewer", "admin"})
ADMINS: frozenset[Role] = frozenset({"admin"})
WRITERS: frozenset[Role] = SCRIPTS | ADMINS
ANYBODY: frozenset[Role] = SCRIPTS | READERS


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that passed all checks of its envelope."""

    services: Services
    caller: Caller
    body: Any
    """Of the route's `body`; None where it has none."""
    query: Any
    """Of the route's `query`; None where it has none."""
    path: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that is encoded already."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    refusal: str | None = None
    """Its error's code, when it says ok:false."""


Answer = Callable[[Asked], Awaitable[msgspec.Struct | Answered]]


@dataclass(frozen=True, slots=True)
class Route:
    """One line of the table."""

    method: str
    path: str
    summary: str
    roles: frozenset[Role]
    """Empty: open to everybody."""
    answer: Answer
    reply: Any
    """The type of the answer; None where it is text."""
    body: Any = None
    query: Any = None
    form: bool = False
    """Also as a form, with fields `secret` and `data`."""


def refused(code: str, message: str, path: str | None = None) -> ScriptError:
    """A request that cannot be done as the daemon stands."""
    return ScriptError(code, message, path=path, status=409)
