"""The public site: pages and answers that anybody may read, on a port where there is nothing else, or as files.

What was made is kept for a while and sent to all who ask. One answer is made at a time, and before the next one the
site rests as long as that took: rounds come first, however many ask. Who would have to wait for long is told to come
again.

As files each page has a name of its own, with links that lead to the other files. Links are relative, so that the
folder works at any place of a website, and from a disk. What has no file has no link: older rounds, and players who are
not on the leaderboard.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import posixpath
import re
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from html import unescape
from pathlib import Path

import msgspec
from aiohttp import web

from equipoise.errors import EquipoiseError, FileError, ScriptError
from equipoise.files import Folder
from equipoise.page.profiles import BoardAsked, PlayerAsked
from equipoise.page.records import HistoryAsked, MapsAsked
from equipoise.page.rendering import html, sentence, static_files
from equipoise.page.site import HEADERS, NOBODY, TABLE, query_of, send_static
from equipoise.page.visits import Browser, Elsewhere, Page, Reply, Shown, Visit
from equipoise.web.evenness import Recent, Weeks, list_maps
from equipoise.web.logins import PREFIX, seen_through
from equipoise.web.openapi import PUBLIC, document
from equipoise.web.players import BesidePlayer, show_top
from equipoise.web.pools import BehindPlace, show_seasons
from equipoise.web.public import published
from equipoise.web.requests import Respond, connection_of
from equipoise.web.rounds import HistoryFilter, list_rounds
from equipoise.web.routes import MOST_LINES, Request, Route, Services, in_router
from equipoise.web.servers import Some
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
            app.router.add_get(in_router(page.path), self._serving(page.path, page.query, partial(self._page, page)))
        for route in PUBLIC:
            app.router.add_get(
                in_router(route.path), self._serving(route.path, route.query, partial(self._answer, route))
            )
        app.router.add_get("/v1/public/openapi.json", self._described)
        app.router.add_get("/static/{name}", send_static)
        app.router.add_get("/robots.txt", self._robots)
        return app

    def visit(
        self, services: Services, here: str, path: dict[str, str], query: object, *, prefix: str = "", exported: bool
    ) -> Visit:
        """Return a visit of anybody."""
        browser = Browser("", "", local=False, secure=False, cookie="", prefix=prefix, from_elsewhere=False)
        site, indexed = self._title, self.indexed
        return Visit(
            services, NOBODY, browser, here, path, query, public=True, exported=exported, site=site, indexed=indexed
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
        make = partial(_page_refusal, error, visit)
        return self._sent(request, await self.found(("refused", error.status, visit.browser.prefix), make))

    async def _page(self, page: Page, request: web.Request, query: object, seconds: int) -> Made:
        path, prefix = dict(request.match_info), request.get(PREFIX, "")
        visit = self.visit(self._current(), request.path, path, query, prefix=prefix, exported=False)
        try:
            return await _made(await page.handler(visit), visit, seconds)
        except EquipoiseError as error:
            return await _page_refusal(_sayable(error), visit)

    async def _answer(self, route: Route, request: web.Request, query: object, seconds: int) -> Made:
        services = self._current()
        inner = Request(services, NOBODY, None, query, dict(request.match_info), lambda: False)
        try:
            answer = published(await route.handler(inner), services)
        except EquipoiseError as error:
            return _json_refusal(_sayable(error))
        return whole(msgspec.json.encode(answer), 200, "application/json", seconds)

    async def _described(self, request: web.Request) -> web.Response:
        async def make() -> Made:
            return whole(await asyncio.to_thread(document, PUBLIC), 200, "application/json", SECONDS)

        return self._sent(request, await self.found(request.path, make))

    def _serving(
        self,
        path: str,
        kind: type[msgspec.Struct] | None,
        make: Callable[[web.Request, object, int], Awaitable[Made]],
    ) -> Respond:
        """Return what sends the kept answer to a query of this kind, else the one that is made for it."""
        seconds = LIVE_SECONDS if path in LIVE else SECONDS

        async def respond(request: web.Request) -> web.StreamResponse:
            try:
                query = None if kind is None else query_of(request, kind)
            except ScriptError as error:
                return await self._refusal(request, error)
            key = (request.get(PREFIX, ""), request.path, query)
            return self._sent(request, await self.found(key, partial(make, request, query, seconds)))

        return respond

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
                answer = await make()
            except Exception:
                log.exception("a public page failed")
                raise ScriptError("internal", "this failed: try again later", status=500) from None
            finally:
                rest = min(time.perf_counter() - start, LONGEST_REST)
                asyncio.get_running_loop().call_later(rest, self._turn.release)
            self._keep(key, answer)
            return answer
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
    assert isinstance(reply, Shown), "no public page is a file of its own"
    text = await html(reply, visit)
    return whole(text.encode(), reply.status, "text/html; charset=utf-8", seconds)


def _sayable(error: EquipoiseError) -> ScriptError:
    """Return a refusal without what only operators should read, such as where a file lies."""
    if isinstance(error, ScriptError) and error.status in (404, 409, 422):
        return error
    return ScriptError("unavailable", "this is not possible at the moment: try again later", status=503)


async def _page_refusal(error: ScriptError, visit: Visit) -> Made:
    refusal = ScriptError("not_found", "There is no such page here.", status=404) if error.status == 404 else error
    shown = Shown("refusal.html", "Not possible", {"error": refusal}, error.status)
    return await _made(shown, visit, LIVE_SECONDS)


def _text(error: ScriptError) -> Made:
    return whole(f"{sentence(error.message)}\n".encode(), error.status, "text/plain; charset=utf-8", LIVE_SECONDS)


def _json_refusal(error: ScriptError) -> Made:
    body = encode_refusal(error.code, error.message, error.path)
    return whole(body, error.status, "application/json", LIVE_SECONDS)


# The public pages as files.

ROUNDS = 500
"""The newest, which have pages of their own."""
LINK = re.compile(r' (href|src)="(/[^"]*)"')
PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""What of an address goes into the name of a file as it is: disks do not keep all others apart."""


class Exported(msgspec.Struct, frozen=True):
    """A file of the export."""

    file: str
    """Its name below the folder, with strokes."""
    text: str


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    """The page's, as it is declared."""
    parts: dict[str, str]
    query: object
    here: str
    file: str


@dataclass(slots=True)
class _Plan:
    """The pages that become files."""

    entries: list[_Entry] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """By address as links have it."""

    def add(self, path: str, query: object, *addresses: str, file: str | None = None, **parts: str) -> None:
        """Add a page, with all addresses by which links lead to it; the first who takes an address has it."""
        file = file or _file(path.split("/")[1], *parts.values())
        self.entries.append(_Entry(path, parts, query, addresses[0].partition("?")[0], file))
        for address in addresses:
            self.files.setdefault(address, file)


class Export:
    """The public pages of a daemon as files."""

    def __init__(self, site: PublicSite, current: Callable[[], Services]) -> None:
        self._site, self._current = site, current
        self.busy = False
        self.folder: Path | None = None
        """Where the job writes; None: there is none."""

    async def run(self) -> None:
        """Write them into the folder. FileError: it cannot be written."""
        if self.folder is None:
            return
        folder = Folder(self.folder)
        try:
            async with aclosing(self.pages(None)) as pages:
                async for page in pages:
                    if isinstance(page, list):
                        await asyncio.to_thread(folder.begin, page)
                    else:
                        await asyncio.to_thread(folder.write, page.file, page.text.encode())
            leftovers = await asyncio.to_thread(folder.finish)
        except OSError as error:
            message = f"{error.filename or folder.path}: the public pages were not exported: {error.strerror}"
            raise FileError(message) from None
        log.info("%s: the public pages were exported, and %d files removed", folder.path, leftovers)

    def last(self) -> float | None:
        """Return when the folder was last written, seconds since the epoch; None: never."""
        try:
            return None if self.folder is None else (self.folder / Folder.LIST).stat().st_mtime
        except OSError:
            return None

    async def lines(self, pool: str | None) -> AsyncGenerator[bytes, None]:
        """Yield the same as lines of JSON, for the command that writes them elsewhere."""
        async with aclosing(self.pages(pool)) as pages:
            async for page in pages:
                yield msgspec.json.encode({"files": page} if isinstance(page, list) else page) + b"\n"

    async def pages(self, pool: str | None) -> AsyncGenerator[list[str] | Exported, None]:
        """Yield the names of all files, then each file, of one pool or of all. ScriptError 409: one is under way."""
        services = _of_pool(self._current(), pool)
        if self.busy:
            raise ScriptError("refused", "another export is under way: try again when it is done", status=409)
        self.busy = True
        try:
            plan = await self._planned(services)
            static = {f"static/{name}": file for name, file in static_files().items() if not name.endswith(".js")}
            robots = {} if self._site.indexed else {"robots.txt": NO_ROBOTS}
            yield [entry.file for entry in plan.entries] + [*static, *robots]
            for entry in plan.entries:
                start = time.perf_counter()
                text = await self._text(services, entry, plan)
                took = time.perf_counter() - start
                yield Exported(entry.file, text)
                await asyncio.sleep(took)  # rounds come first
            for name, file in static.items():
                yield Exported(name, file.body.decode())
            for name, text in robots.items():
                yield Exported(name, text)
        finally:
            self.busy = False

    async def _text(self, services: Services, entry: _Entry, plan: _Plan) -> str:
        page = next(page for page in PAGES if page.path == entry.path)
        visit = self._site.visit(services, entry.here, entry.parts, entry.query, exported=True)
        try:
            shown = await page.handler(visit)
            assert isinstance(shown, Shown), entry
        except ScriptError as error:  # it has gone since the plan was made
            shown = Shown("refusal.html", "Not possible", {"error": error}, error.status)
        text = await html(shown, visit)

        def relative(match: re.Match[str]) -> str:
            address = unescape(match[2])
            file = address.partition("?")[0][1:] if address.startswith("/static/") else plan.files.get(address)
            if file is None:
                return ""
            return f' {match[1]}="{posixpath.relpath(file, posixpath.dirname(entry.file) or ".")}"'

        return LINK.sub(relative, text)

    async def _planned(self, services: Services) -> _Plan:
        plan, pools = _Plan(), sorted(services.pools)
        visit = self._site.visit(services, "/", {}, None, exported=True)
        link = visit.link
        plan.add("/", Some(), link(), file="index.html")
        for server in services.hosts:
            plan.add("/servers/{server}", None, link("servers", server), server=server)
        for pool in pools:
            # The first pool's lists are those that links without a pool lead to.
            first, several = pool == pools[0], len(pools) > 1
            for word, query in (("players", BoardAsked(pool=pool, limit=MOST_LINES)), ("maps", MapsAsked(pool=pool))):
                file = _file(word if first else f"{word}-of-{_plain(pool)}")
                plan.add(f"/{word}", query, link(word, pool=pool), *([link(word)] if first else []), file=file)
            for player in (await visit.ask(show_top, BesidePlayer(limit=MOST_LINES), pool=pool)).players:
                file = _file("players", player.id, *([pool] if several else []))
                addresses = link("players", player.id, pool=pool), link("players", player.id)
                plan.add("/players/{id}", PlayerAsked(pool=pool), *addresses, file=file, id=player.id)
            for season in (await visit.ask(show_seasons, pool=pool)).seasons:
                where = {"pool": pool, "name": season.name}
                plan.add(
                    "/seasons/{pool}/{name}", BehindPlace(limit=MOST_LINES), link("seasons", *where.values()), **where
                )
            for line in (await visit.ask(list_maps, Recent(), pool=pool)).maps:
                where = {"pool": pool, "map": line.map}
                plan.add("/maps/{pool}/{map}", Recent(), link("maps", *where.values()), **where)
            plan.add("/pools/{pool}", Weeks(), link("pools", pool), *([] if several else [link("pools")]), pool=pool)
        if len(pools) > 1:
            plan.add("/pools", None, link("pools"))
        plan.add("/rounds", HistoryAsked(limit=ROUNDS), link("rounds"))
        for its in (await visit.ask(list_rounds, HistoryFilter(limit=ROUNDS))).rounds:
            where = {"server": its.server, "round": its.round}
            plan.add("/rounds/{server}/{round}", None, link("rounds", *where.values()), **where)
        return plan


def _of_pool(services: Services, pool: str | None) -> Services:
    """Return the services as if there were only this pool; ScriptError 404."""
    if pool is None:
        return services
    hosts = {name: host for name, host in services.hosts.items() if host.pool.name == pool}
    return replace(services, pools={pool: services.pool(pool)}, hosts=hosts)


def _file(*parts: str) -> str:
    """Return the name of a page's file.

    >>> _file("servers", "arena-1"), _file("maps", "main", "workshop/../cp_Ä")
    ('servers/arena-1.html', 'maps/main/workshop-cp_-97aaca8e.html')
    """
    return "/".join(map(_plain, parts)) + ".html"


def _plain(part: str) -> str:
    if PLAIN.fullmatch(part):
        return part
    words = re.sub(r"[^a-z0-9_]+", "-", part.lower())[:40].strip("-")
    return f"{words or 'x'}-{hashlib.sha256(part.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
