"""The public site: pages and answers that anybody may read, on a port where there is nothing else.

What was made is kept for a while and sent to all who ask. One answer is made at a time, and before the next one the
site rests as long as that took: rounds come first, however many ask. Who would have to wait for long is told to come
again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial

import msgspec
from aiohttp import web

from equipoise.errors import EquipoiseError, ScriptError
from equipoise.page.access import Browser
from equipoise.page.rendering import html, sentence
from equipoise.page.site import HEADERS, NOBODY, TABLE, query_of, send_static
from equipoise.page.visits import Elsewhere, Page, Reply, Visit
from equipoise.page.visits import Shown as ShownPage
from equipoise.web.openapi import PUBLIC, document
from equipoise.web.proxies import PREFIX, seen_through
from equipoise.web.public import published
from equipoise.web.requests import Respond, connection_of
from equipoise.web.routes import Request, Route, Services, in_router
from equipoise.wire import encode_refusal

PAGES = tuple(page for page in TABLE if page.public)
LIVE_SECONDS, SECONDS = 30, 300
"""For which a page or answer about game servers, and any other one, is good."""
LIVE = ("/", "/servers/{server}", "/v1/public/servers", "/v1/public/servers/{server}/roster")
MOST_KEPT, MOST_BYTES = 4000, 16_000_000
MOST_WAITING = 32
"""Answers that wait to be made."""
LONGEST_REST = 2.0
NO_ROBOTS = "User-agent: *\nDisallow: /\n"
ANY_ROBOT = "User-agent: *\nDisallow:\n"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Made:
    """An answer that is kept."""

    body: bytes
    status: int
    content_type: str
    seconds: int
    """For which it is good."""
    until: float
    """The same, by the event loop's clock."""
    etag: str
    location: str | None = None


Make = Callable[[], Awaitable[Made]]


class PublicSite:
    """The public pages and answers of a daemon."""

    def __init__(self, current: Callable[[], Services]) -> None:
        self._current = current
        self._title, self.indexed = "Equipoise", False
        self._kept: OrderedDict[Hashable, Made] = OrderedDict()
        self._bytes = 0
        self._making: dict[Hashable, asyncio.Task[Made]] = {}
        self._turn = asyncio.Semaphore(1)

    def use(self, title: str, *, indexed: bool) -> None:
        """Call the pages so from now on, and let search engines list them or not."""
        self._title, self.indexed = title, indexed
        self._kept.clear()
        self._bytes = 0

    def application(self) -> web.Application:
        """Return all public pages and routes, and nothing else."""
        app = web.Application(middlewares=[self._answer_everything])
        for page in PAGES:
            app.router.add_get(in_router(page.path), self._page(page))
        for route in PUBLIC:
            app.router.add_get(in_router(route.path), self._route(route))
        app.router.add_get("/v1/public/openapi.json", self._described)
        app.router.add_get("/static/{name}", send_static)
        app.router.add_get("/robots.txt", self._robots)
        return app

    def visit(
        self, services: Services, here: str, path: dict[str, str], query: object, *, prefix: str = "", exported: bool
    ) -> Visit:
        """Return a visit of anybody."""
        browser = Browser("", "", local=False, secure=False, cookie="", prefix=prefix, from_elsewhere=False)
        return Visit(
            services,
            NOBODY,
            browser,
            here,
            query,
            path,
            {},
            lambda: False,
            public=True,
            exported=exported,
            site=self._title,
            indexed=self.indexed,
        )

    @web.middleware
    async def _answer_everything(self, request: web.Request, handler: Respond) -> web.StreamResponse:
        services = self._current()
        connection_of(request).begin_request()
        if services.proxies:
            request = seen_through(request, services.proxies)
        await services.precedence.give_way()
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = await self._refusal(request, ScriptError("not_found", error.reason, status=error.status))
            if "Allow" in error.headers:
                response.headers["Allow"] = error.headers["Allow"]
        except ScriptError as error:  # there is no room, or no way, to make a page of it
            response = self._sent(request, _text(error) if _is_page(request) else _json_refusal(error))
        if not self.indexed:
            response.headers["X-Robots-Tag"] = "noindex, nofollow"
        if not request.content.is_eof():
            response.force_close()
        return response

    async def _refusal(self, request: web.Request, error: ScriptError) -> web.Response:
        if not _is_page(request):
            return self._sent(request, _json_refusal(error))
        visit = self.visit(self._current(), request.path, {}, None, prefix=request.get(PREFIX, ""), exported=False)

        async def make() -> Made:
            return await _page_refusal(error, visit)

        return self._sent(request, await self.found(("refused", error.status, visit.browser.prefix), make))

    def _page(self, page: Page) -> Respond:
        seconds = LIVE_SECONDS if page.path in LIVE else SECONDS

        async def respond(request: web.Request) -> web.StreamResponse:
            services, prefix = self._current(), request.get(PREFIX, "")
            path = dict(request.match_info)

            async def make(query: object) -> Made:
                visit = self.visit(services, request.path, path, query, prefix=prefix, exported=False)
                try:
                    return await _made(await page.handler(visit), visit, seconds)
                except EquipoiseError as error:
                    return await _page_refusal(_sayable(error), visit)

            return await self._served(request, page.query, prefix, make)

        return respond

    def _route(self, route: Route) -> Respond:
        seconds = LIVE_SECONDS if route.path in LIVE else SECONDS

        async def respond(request: web.Request) -> web.StreamResponse:
            services, path = self._current(), dict(request.match_info)

            async def make(query: object) -> Made:
                asked = Request(services, NOBODY, None, query, path, lambda: False)
                try:
                    answer = published(await route.handler(asked), services)
                except EquipoiseError as error:
                    return _json_refusal(_sayable(error))
                return whole(msgspec.json.encode(answer), 200, "application/json", seconds)

            return await self._served(request, route.query, "", make)

        return respond

    async def _described(self, request: web.Request) -> web.Response:
        async def make() -> Made:
            return whole(await asyncio.to_thread(document, PUBLIC), 200, "application/json", SECONDS)

        return self._sent(request, await self.found(request.path, make))

    async def _served(
        self,
        request: web.Request,
        kind: type[msgspec.Struct] | None,
        prefix: str,
        make: Callable[[object], Awaitable[Made]],
    ) -> web.Response:
        """Send what is kept for a query of this kind, else what is made for it."""
        try:
            query = None if kind is None else query_of(request, kind)
        except ScriptError as error:
            return await self._refusal(request, error)
        return self._sent(request, await self.found((prefix, request.path, query), partial(make, query)))

    async def _robots(self, request: web.Request) -> web.Response:
        text = ANY_ROBOT if self.indexed else NO_ROBOTS
        return web.Response(text=text, headers={"Cache-Control": f"public, max-age={SECONDS}"})

    # What is kept, and what is made.

    async def found(self, key: Hashable, make: Make) -> Made:
        """Return what is kept under a key, else what is made; all who ask meanwhile get the same.

        ScriptError 503: too many wait; 500: it failed.
        """
        kept = self._kept.get(key)
        if kept is not None and kept.until > asyncio.get_running_loop().time():
            self._kept.move_to_end(key)
            return kept
        task = self._making.get(key)
        if task is None:
            if len(self._making) >= MOST_WAITING:
                raise ScriptError("busy", "too many ask at once: try again in a moment", status=503)
            task = self._making[key] = asyncio.create_task(self._make(key, make))
        # Shielded: who asked first may go away, and others wait for it too.
        return await asyncio.shield(task)

    async def _make(self, key: Hashable, make: Make) -> Made:
        try:
            await self._turn.acquire()
            start = time.perf_counter()
            try:
                made = await make()
            except Exception:
                log.exception("a public page failed")
                raise ScriptError("internal", "this failed: try again later", status=500) from None
            finally:
                rest = min(time.perf_counter() - start, LONGEST_REST)
                asyncio.get_running_loop().call_later(rest, self._turn.release)
            self._keep(key, made)
            return made
        finally:
            del self._making[key]

    def _keep(self, key: Hashable, made: Made) -> None:
        if (old := self._kept.pop(key, None)) is not None:
            self._bytes -= len(old.body)
        self._kept[key] = made
        self._bytes += len(made.body)
        while len(self._kept) > MOST_KEPT or self._bytes > MOST_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.body)

    def _sent(self, request: web.Request, made: Made) -> web.Response:
        headers = {**HEADERS, "Cache-Control": f"public, max-age={made.seconds}", "ETag": made.etag}
        if not _is_page(request):
            headers["Access-Control-Allow-Origin"] = "*"
        if made.status >= 500:
            headers |= {"Retry-After": "2", "Cache-Control": "no-store"}
        if made.location is not None:
            headers["Location"] = made.location
        tags = {tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")}
        if made.status == 200 and (made.etag in tags or "*" in tags):
            return web.Response(status=304, headers=headers)
        return web.Response(body=made.body, status=made.status, headers={**headers, "Content-Type": made.content_type})


def _is_page(request: web.Request) -> bool:
    return not request.path.startswith("/v1/")


def whole(body: bytes, status: int, content_type: str, seconds: int, location: str | None = None) -> Made:
    """Return an answer as it is kept, good for so many seconds from now."""
    until = asyncio.get_running_loop().time() + seconds
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    return Made(body, status, content_type, seconds, until, etag, location)


async def _made(reply: Reply, visit: Visit, seconds: int) -> Made:
    if isinstance(reply, Elsewhere):
        return whole(b"", 303, "text/plain; charset=utf-8", seconds, reply.location)
    assert isinstance(reply, ShownPage), "no public page is a file of its own"
    text = await html(reply, visit)
    return whole(text.encode(), reply.status, "text/html; charset=utf-8", seconds)


def _sayable(error: EquipoiseError) -> ScriptError:
    """Return a refusal without what only operators should read, such as where a file lies."""
    if isinstance(error, ScriptError) and error.status in (404, 409, 422):
        return error
    return ScriptError("unavailable", "this is not possible at the moment: try again later", status=503)


async def _page_refusal(error: ScriptError, visit: Visit) -> Made:
    said = ScriptError("not_found", "There is no such page here.", status=404) if error.status == 404 else error
    shown = ShownPage("refusal.html", "Not possible", {"error": said}, error.status)
    return await _made(shown, visit, LIVE_SECONDS)


def _text(error: ScriptError) -> Made:
    return whole(f"{sentence(error.message)}\n".encode(), error.status, "text/plain; charset=utf-8", LIVE_SECONDS)


def _json_refusal(error: ScriptError) -> Made:
    body = encode_refusal(error.code, error.message, error.path)
    return whole(body, error.status, "application/json", LIVE_SECONDS)
