"""Visits: how a page is declared, what its handler is given, and what it answers.

A page reads what a route of `/v1` answers: its handler calls that route's own through `Visit.request`. Each file of
pages has its pages from top to bottom, as the files of `web` have their routes; `site.TABLE` holds them all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from equipoise.errors import ScriptError
from equipoise.page.access import Browser, form_token
from equipoise.web.public import published
from equipoise.web.routes import Caller, Paged, Request, Role, Services

Fields = TypeVar("Fields", bound=msgspec.Struct)
Answered = TypeVar("Answered", bound=msgspec.Struct)
Asked = TypeVar("Asked", bound=Paged)

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A person's request for a page, after its checks."""

    services: Services
    caller: Caller
    """Who is logged in; on the public pages and before a login a viewer without a name."""
    browser: Browser
    here: str
    """The path of this page, without the prefix."""
    query: Any
    """A value of the page's `query` type; None where the page has none."""
    path: Mapping[str, str]
    form: Mapping[str, str]
    """Fields of a form that was sent; empty for GET."""
    gone: Callable[[], bool]
    """Whether the person has gone away."""
    public: bool = False
    """On the public pages, where there is no caller."""
    exported: bool = False
    """Written to a file, which answers no question."""
    site: str = "Equipoise"
    """What the whole of the pages is called."""
    indexed: bool = True
    """Search engines may list it."""

    @property
    def csrf(self) -> str:
        """The token that each form sends back; empty where the browser has no cookie."""
        return form_token(self.browser.id)

    @property
    def admin(self) -> bool:
        """Whether orders and edits are offered."""
        return self.caller.role == "admin"

    def request(self, query: Any = None, body: Any = None, **path: str) -> Request:
        """Return the request of a route that answers a question of this page.

        `query` and `body` are values of the route's own types; `path` replaces parts of the page's path.
        """
        return Request(self.services, self.caller, body, query, {**self.path, **path}, self.gone)

    async def ask(self, handler: Callable[[Request], Awaitable[Answered]], query: Any = None, **path: str) -> Answered:
        """Return what a route answers: on the public pages the public part of it."""
        return self.told(await handler(self.request(query, **path)))

    def told(self, answer: Answered) -> Answered:
        """Return what this person may know of an answer: on the public pages the public part of it."""
        return published(answer, self.services) if self.public else answer

    def asked_of(self, route: type[Asked]) -> Asked:
        """Return this page's query, which has `hours` beside the fields of a route's, as the route's own."""
        known = {name: getattr(self.query, name) for name in route.__struct_fields__}
        if self.query.hours is not None:
            known["since"] = self.services.clock.epoch() - self.query.hours * HOUR
        return route(**known)

    def fields(self, kind: type[Fields]) -> Fields:
        """Return the form as a value of a type, without fields that were left empty; ScriptError 422."""
        values = {name: value for name, value in self.form.items() if value and name != "csrf"}
        try:
            return msgspec.convert(values, kind, strict=False)
        except msgspec.ValidationError as error:
            raise ScriptError("schema", f"in the form: {error}") from None

    def link(self, *parts: str, **query: object) -> str:
        """Return the address of a page, each part quoted; parameters that are None are left out.

        >>> visit.link("players", "76561197960265729", pool="main")  # doctest: +SKIP
        '/players/76561197960265729?pool=main'
        """
        path = "/".join(quote(part, safe="") for part in parts)
        asked = {name: value for name, value in query.items() if value is not None}
        return f"{self.browser.prefix}/{path}{'?' if asked else ''}{urlencode(asked)}"


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as a template and what stands in it."""

    template: str
    title: str
    """What the browser's tab says; the name of the program follows it."""
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    cookie: str | None = None
    """The id that the browser keeps from now on; empty: none; None: the one that it has."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another page instead, which the browser goes to."""

    location: str
    """An address that `Visit.link` made."""
    cookie: str | None = None
    """As that of a page that is shown."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the browser keeps."""

    name: str
    body: bytes
    content_type: str
    cookie: str | None = None
    """As that of a page that is shown."""


Reply = Shown | Elsewhere | Download
Handler = Callable[[Visit], Awaitable[Reply]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its path, who may see it, and its handler."""

    method: str
    path: str
    roles: frozenset[Role]
    """Empty: no login is needed."""
    handler: Handler
    query: type[msgspec.Struct] | None
    public: bool
    """It is among the public pages too."""


class Pages(list[Page]):
    """The pages of one file, in its order."""

    def add(
        self,
        method: str,
        path: str,
        roles: frozenset[Role],
        *,
        query: type[msgspec.Struct] | None = None,
        public: bool = False,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Return the decorator that adds the handler below it."""

        def register(handler: AnyHandler) -> AnyHandler:
            self.append(Page(method, path, roles, handler, query, public))
            return handler

        return register
