"""Visits: the browser that asks for a page, how a page is declared, what its handler is given, and what it answers.

A page reads what a route of `/v1` answers: its handler calls that route's own through `Visit.request`. Each file of
pages has its pages from top to bottom, as the files of `web` have their routes; `site.TABLE` holds them all.

A form needs its token beside the browser's cookie. It is made of the cookie's id, which no other site knows, so nothing
is kept for it. Before a login the cookie has an id of no login: the form of the login is guarded by the same means, and
the login makes a new id, so that one which somebody else has planted in the browser is worth nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from aiohttp import web
from msgspec import structs

from equipoise.errors import ScriptError
from equipoise.web.logins import LONGEST_SECONDS, PREFIX
from equipoise.web.public import published
from equipoise.web.requests import host_of
from equipoise.web.routes import Caller, Request, Role, Services


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser that asks for a page, as far as its answer depends on it."""

    id: str
    """What its cookie holds: the id of a login that lasts, is over, or never was; empty: it has no cookie."""
    peer: str
    """Its address."""
    local: bool
    """It calls from this machine, or through a tunnel that ends here."""
    secure: bool
    """It calls over TLS."""
    cookie: str
    """The name of its cookie."""
    prefix: str
    """The path below which it finds the daemon behind a proxy; empty: at the top."""
    from_elsewhere: bool
    """A link on another site has led here: the cookie, which is SameSite=Strict, is not sent then."""

    @classmethod
    def of(cls, request: web.Request) -> Browser:
        """Return the browser that has sent this request."""
        prefix = request.get(PREFIX, "")
        # A browser has one jar for all ports of a name: without the port, two tunnels would log each other out.
        port = host_of(request).rpartition("]")[2].partition(":")[2]
        name = f"equipoise-{port}" if port else "equipoise"
        if request.secure:
            name = f"__Secure-{name}" if prefix else f"__Host-{name}"
        return cls(
            id=request.cookies.get(name, ""),
            peer=request.remote or "",
            local=request.remote in ("127.0.0.1", "::1"),
            secure=request.secure,
            cookie=name,
            prefix=prefix,
            from_elsewhere=request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"),
        )

    def set_cookie(self, response: web.StreamResponse) -> None:
        """Have it keep its id for as long as a login may last, or with none forget it."""
        response.set_cookie(
            self.cookie,
            self.id,
            path=self.prefix or "/",
            max_age=int(LONGEST_SECONDS) if self.id else 0,
            httponly=True,
            samesite="Strict",
            secure=self.secure,
        )


def form_token(name: str) -> str:
    """Return the token in the forms of a browser whose cookie holds this id."""
    return hmac.new(name.encode("utf-8", "surrogateescape"), b"form", hashlib.sha256).hexdigest() if name else ""


def check_form(form: Mapping[str, str], name: str) -> None:
    """403: a form must come with the token that belongs to the browser's cookie."""
    if not name:
        message = "your browser sent no cookie with this form, and nothing was done: allow cookies for this page"
        raise ScriptError("form", message, status=403)
    token = form.get("csrf", "").encode("utf-8", "surrogateescape")
    if not hmac.compare_digest(token, form_token(name).encode()):
        message = "this form is older than your login, and nothing was done: load its page again"
        raise ScriptError("form", message, status=403)


Fields = TypeVar("Fields", bound=msgspec.Struct)
Answered = TypeVar("Answered", bound=msgspec.Struct)
Result = TypeVar("Result")

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
    path: Mapping[str, str]
    query: Any = None
    """A value of the page's `query` type; None where the page has none."""
    form: Mapping[str, str] = field(default_factory=dict)
    """Fields of a form that was sent; empty for GET."""
    gone: Callable[[], bool] = lambda: False
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

    @property
    def kept(self) -> dict[str, object]:
        """The parameters that were given, without the place in the list: the next part of the list has them too."""
        fields = {entry.name: entry.default for entry in structs.fields(self.query) if entry.name != "before"}
        values = {name: getattr(self.query, name) for name in fields}
        return {name: value for name, value in values.items() if value != fields[name]}

    def since_hours(self) -> Any:
        """Return this page's query with its `hours`, which no route has, as the `since` of its route."""
        if self.query.hours is None:
            return self.query
        return structs.replace(self.query, since=self.services.clock.epoch() - self.query.hours * HOUR)

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
        fields = {name: value for name, value in query.items() if value is not None}
        return f"{self.browser.prefix}/{path}{'?' if fields else ''}{urlencode(fields)}"


async def attempted(work: Awaitable[Result], *codes: str) -> tuple[Result | None, ScriptError | None]:
    """Return what the work gives, or its refusal with one of these codes; any other one is raised."""
    try:
        return await work, None
    except ScriptError as error:
        if error.code not in codes:
            raise
        return None, error


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
