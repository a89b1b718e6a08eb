"""The site: a request for a page from its checks to its HTML, static files, and refusals as people read them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from equipoise.errors import ScriptError
from equipoise.page import actions, fairness, oversight, wall
from equipoise.page.rendering import html, static_files
from equipoise.page.visits import Elsewhere, Page, Shown, Visit
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
from equipoise.web.routes import Caller, Services

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
FOR_PROGRAMS = ("/v1/", "/healthz", "/metrics", "/openapi.json")
"""Paths that programs ask for; everything else is a page."""
NOBODY = Caller("viewer", "")

TABLE: tuple[Page, ...] = (*wall.pages, *actions.pages, *fairness.pages, *oversight.pages)
"""Every page."""


class PageSite:
    """The pages of a daemon."""

    def __init__(self, current: Callable[[], Services]) -> None:
        self._current = current

    def add_to(self, app: web.Application) -> None:
        """Add all pages, and the files that they refer to."""
        for page in TABLE:
            app.router.add_route(page.method, page.path, self._responding(page))
        app.router.add_route("GET", "/static/{name}", send_static)

    def _responding(self, page: Page) -> Respond:
        seconds = self._current().metrics.seconds.labels(f"{page.method} {page.path}")

        async def respond(request: web.Request) -> web.StreamResponse:
            start = time.perf_counter()
            visit = await self._checked(page, request)
            response = await answer(await page.handler(visit), visit)
            seconds.observe(time.perf_counter() - start)
            return response

        return respond

    async def _checked(self, page: Page, request: web.Request) -> Visit:
        """Return the visit; ScriptError of the first check that it fails."""
        services = self._current()
        caller = NOBODY
        if page.roles:
            caller = check_credentials(services.callers, bearer(request))
            connection_of(request).prove(caller.who)
            request[CALLER] = caller
            check_role(caller, page.roles)
        form: Mapping[str, str] = {}
        if page.method == "POST":
            check_content_type(request, form=True)
            form = await read_form(request)
        return Visit(
            services=services,
            caller=caller,
            csrf="",
            prefix="",
            here=request.path,
            query=None if page.query is None else _query(request, page.query),
            path=dict(request.match_info),
            form=form,
            gone=lambda: request.transport is None or request.transport.is_closing(),
        )

    async def refusal(self, request: web.Request, error: ScriptError) -> web.Response | None:
        """Return a refusal as a page; None: a program has asked."""
        if request.path.startswith(FOR_PROGRAMS) or "text/html" not in request.headers.get("Accept", ""):
            return None
        visit = Visit(self._current(), NOBODY, "", "", request.path, None, {}, {}, lambda: False)
        shown = Shown("refusal.html", "Not possible", {"error": error}, error.status)
        return await answer(shown, visit)


async def answer(reply: Shown | Elsewhere, visit: Visit) -> web.Response:
    """Return what a handler answered as the browser gets it."""
    if isinstance(reply, Elsewhere):
        return web.Response(status=303, headers={**HEADERS, "Location": reply.location})
    # A long list takes tens of milliseconds, in which game servers are answered.
    text = await asyncio.to_thread(html, reply, visit)
    return web.Response(text=text, status=reply.status, content_type="text/html", charset="utf-8", headers=HEADERS)


async def read_form(request: web.Request) -> Mapping[str, str]:
    """Return the fields of a form; ScriptError 415, 422."""
    if request.content_type != FORM:
        raise ScriptError("content_type", f"send {FORM}", status=415)
    try:
        pairs = parse_qsl((await read_body(request)).decode(), keep_blank_values=True, max_num_fields=1000)
    except ValueError as error:
        raise ScriptError("form", f"this is no form: {error}", status=400) from None
    return dict(pairs)


def _query(request: web.Request, kind: type[msgspec.Struct]) -> object:
    # A form sends a field that was left empty, too.
    values = {name: value for name, value in request.query.items() if value}
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
