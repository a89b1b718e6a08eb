"""The site: a request for a page from its checks to its HTML, static files, and refusals as people read them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from equipoise.errors import ScriptError
from equipoise.page import login, profiles, records, wall
from equipoise.page.rendering import html, static_files
from equipoise.page.visits import Browser, Download, Elsewhere, Page, Reply, Shown, Visit, check_form
from equipoise.web.refusals import CALLER
from equipoise.web.requests import (
    FORM,
    Respond,
    bearer,
    check_content_type,
    check_credentials,
    check_role,
    connection_of,
    read_body,
)
from equipoise.web.rosters import Watch, watch
from equipoise.web.routes import READERS, Caller, Request, Role, Services, Stream, in_router

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every page."""
YEAR = 31_536_000
LONG = 16_384
"""Letters from which a page is packed."""
FOR_PROGRAMS = ("/v1/", "/healthz", "/metrics", "/openapi.json")
"""Paths that programs ask for; everything else is a page."""
NOBODY = Caller("viewer", "")
Exported = Callable[[str | None], AsyncGenerator[bytes, None]]
"""Returns the lines of an export of one pool, or of all."""

TABLE: tuple[Page, ...] = (
    *login.pages,
    *profiles.pages,
    *records.pages,
    *wall.pages,
)
"""Every page."""


class PageSite:
    """The pages of a daemon."""

    def __init__(self, current: Callable[[], Services], exported: Exported) -> None:
        self._current, self._exported = current, exported

    def add_to(self, app: web.Application) -> None:
        """Add all pages, and the files that they refer to."""
        for page in TABLE:
            app.router.add_route(page.method, in_router(page.path), self._responding(page))
        app.router.add_route("GET", "/live", self._live)
        app.router.add_route("GET", "/export", self._export)
        app.router.add_route("GET", "/static/{name}", send_static)

    def _responding(self, page: Page) -> Respond:
        seconds = self._current().metrics.seconds.labels(f"{page.method} {page.path}")

        async def respond(request: web.Request) -> web.StreamResponse:
            start = time.perf_counter()
            visit = await self._visit(page.roles, request)
            if page.roles and visit.caller is NOBODY:
                if page.method == "POST":
                    await read_body(request)  # a socket that is closed with bytes unread is reset
                reply: Reply = login.first(visit, request)
            else:
                visit = await _checked(page, request, visit)
                reply = await page.handler(visit)
            response = await self._answer(reply, visit)
            seconds.observe(time.perf_counter() - start)
            return response

        return respond

    async def _answer(self, reply: Reply, visit: Visit) -> web.Response:
        """Return what a handler answered as the browser gets it."""
        if reply.cookie is not None:
            visit = replace(visit, browser=replace(visit.browser, id=reply.cookie))
        if isinstance(reply, Elsewhere):
            response = web.Response(status=303, headers={**HEADERS, "Location": reply.location})
        elif isinstance(reply, Download):
            headers = {
                "Content-Type": reply.content_type,
                "Content-Disposition": f'attachment; filename="{reply.name}"',
            }
            response = web.Response(body=reply.body, headers={**HEADERS, **headers})
        else:
            text = await html(reply, visit)
            response = web.Response(text=text, status=reply.status, content_type="text/html", charset="utf-8")
            if len(text) > LONG:
                response.enable_compression()  # where the browser takes it
            response.headers.update(HEADERS)
        if reply.cookie is not None:
            visit.browser.set_cookie(response)
        return response

    async def _live(self, request: web.Request) -> web.StreamResponse:
        """Send what changes on servers, as `/v1/live` does, for as long as the browser is logged in."""
        visit = await self._reader(request)

        def allowed() -> bool:
            entry = self._current().login(visit.browser.id)
            return bearer(request) is not None or (entry is not None and entry[1] == visit.caller)

        inner = Request.of(request, visit.services, visit.caller, None, query_of(request, Watch))
        # A browser says what it had last only when it comes again.
        inner = replace(inner, last_event=inner.last_event or request.query.get("since", ""))
        return await (await watch(inner, allowed)).send(request)

    async def _export(self, request: web.Request) -> web.StreamResponse:
        """Send the public pages as files, a JSON value in each line: their names, then each file."""
        await self._reader(request)
        return await Stream(self._exported(request.query.get("pool")), "application/x-ndjson").send(request)

    async def _reader(self, request: web.Request) -> Visit:
        """Return the visit of who may read everything; ScriptError 401, 403."""
        visit = await self._visit(READERS, request)
        if visit.caller is NOBODY:
            raise ScriptError("credentials", "you are not logged in any more", status=401)
        return visit

    async def _visit(self, roles: frozenset[Role], request: web.Request) -> Visit:
        """Return the visit of who has asked, without what they have sent; ScriptError 401, 403."""
        services, browser, secret = self._current(), Browser.of(request), bearer(request)
        if secret is not None or (roles and not browser.id and not for_a_person(request)):
            caller = check_credentials(services.callers, secret)
        else:
            caller = await _logged_in(services, browser)
        if caller is not NOBODY:
            connection_of(request).prove(caller.who)
            request[CALLER] = caller
            if roles:
                check_role(caller, roles)
        return _empty_visit(services, caller, browser, request)

    async def refusal(self, request: web.Request, error: ScriptError) -> web.Response | None:
        """Return a refusal as a page; None: a program has asked."""
        if request.path.startswith(FOR_PROGRAMS) or not for_a_person(request):
            return None
        services, browser = self._current(), Browser.of(request)
        caller = request.get(CALLER) or await _logged_in(services, browser)
        visit = _empty_visit(services, caller, browser, request)
        if request.path == "/login":
            return await self._answer(login.again(visit, request.query.get("next"), error), visit)
        shown = Shown("refusal.html", "Not possible", {"error": error}, error.status)
        return await self._answer(shown, visit)


async def _logged_in(services: Services, browser: Browser) -> Caller:
    """Return who is logged in by the browser; nobody, without a login."""
    entry = services.login(browser.id)
    if entry is None or services.logins is None:
        return NOBODY
    login_id, caller = entry
    await services.logins.use(login_id, services.clock.epoch())
    return caller


def _empty_visit(services: Services, caller: Caller, browser: Browser, request: web.Request) -> Visit:
    def gone() -> bool:
        return request.transport is None or request.transport.is_closing()

    return Visit(services, caller, browser, request.path, dict(request.match_info), gone=gone)


async def _checked(page: Page, request: web.Request, visit: Visit) -> Visit:
    """Return the visit with what was sent; ScriptError of the first check that it fails."""
    form: Mapping[str, str] = {}
    if page.method == "POST":
        check_content_type(request, form=True)
        form = await read_form(request)
        # A program that sends its token needs no other one: no browser does that by itself.
        if bearer(request) is None:
            check_form(form, visit.browser.id)
    return replace(visit, form=form, query=None if page.query is None else query_of(request, page.query))


def for_a_person(request: web.Request) -> bool:
    """Whether the answer is read by a person."""
    return "text/html" in request.headers.get("Accept", "")


async def read_form(request: web.Request) -> Mapping[str, str]:
    """Return the fields of a form; ScriptError 415, 422."""
    if request.content_type != FORM:
        raise ScriptError("content_type", f"send {FORM}", status=415)
    try:
        pairs = parse_qsl((await read_body(request)).decode(), keep_blank_values=True, max_num_fields=1000)
    except ValueError as error:
        raise ScriptError("form", f"this is no form: {error}", status=400) from None
    return dict(pairs)


def query_of(request: web.Request, kind: type[msgspec.Struct]) -> object:
    """Return the parameters of a request for a page; ScriptError 422."""
    # A form sends a field that was left empty, too; and other sites append words of their own to an address.
    values = {name: request.query[name] for name in kind.__struct_encode_fields__ if request.query.get(name)}
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ScriptError("schema", f"in the address: {error}") from None


async def send_static(request: web.Request) -> web.Response:
    """Send a file that pages refer to, under the version that they name; 404 for any other name."""
    file = static_files().get(request.match_info["name"])
    if file is None:
        raise web.HTTPNotFound
    fresh = request.query.get("v") == file.version
    headers = {
        **HEADERS,
        "Cache-Control": f"public, max-age={YEAR}, immutable" if fresh else "no-cache",
        "ETag": f'"{file.version}"',
    }
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    return web.Response(body=file.body, headers={**headers, "Content-Type": file.content_type})
