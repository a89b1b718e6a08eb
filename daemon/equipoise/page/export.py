"""The public pages as files: each page under a name of its own, with links that lead to the other files.

Links are relative, so that the folder works at any place of a website, and from a disk. What has no file has no link:
older rounds, and players who are not on the leaderboard.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import posixpath
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path

import msgspec

from equipoise.errors import FileError, ScriptError
from equipoise.files import Folder
from equipoise.page.fairness import MapsAsked
from equipoise.page.history import HistoryAsked
from equipoise.page.profiles import EXPORTED, BoardAsked, PlayerAsked, SeasonAsked
from equipoise.page.public_site import NO_ROBOTS, PAGES, PublicSite
from equipoise.page.rendering import html, static_files
from equipoise.page.visits import Shown
from equipoise.web.evenness import Weeks
from equipoise.web.maps import Recent, list_maps
from equipoise.web.players import BesidePlayer, show_top
from equipoise.web.pools import show_seasons
from equipoise.web.rounds import HistoryFilter, list_rounds
from equipoise.web.routes import Services
from equipoise.web.servers import Some

ROUNDS = 500
"""The newest, which have pages of their own."""
LINK = re.compile(r' (href|src)="(/[^"]*)"')
PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""What of an address goes into the name of a file as it is: disks do not keep all others apart."""

log = logging.getLogger(__name__)


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
            removed = await asyncio.to_thread(folder.finish)
        except OSError as error:
            message = f"{error.filename or folder.path}: the public pages were not exported: {error.strerror}"
            raise FileError(message) from None
        log.info("%s: the public pages were exported, and %d files removed", folder.path, removed)

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
            for word, query in (("players", BoardAsked(pool=pool)), ("maps", MapsAsked(pool=pool))):
                file = _file(word if first else f"{word}-of-{_plain(pool)}")
                plan.add(f"/{word}", query, link(word, pool=pool), *([link(word)] if first else []), file=file)
            for player in (await visit.ask(show_top, BesidePlayer(limit=EXPORTED), pool=pool)).players:
                file = _file("players", player.id, *([pool] if several else []))
                addresses = link("players", player.id, pool=pool), link("players", player.id)
                plan.add("/players/{id}", PlayerAsked(pool=pool), *addresses, file=file, id=player.id)
            for season in (await visit.ask(show_seasons, pool=pool)).seasons:
                where = {"pool": pool, "name": season.name}
                plan.add("/seasons/{pool}/{name}", SeasonAsked(), link("seasons", *where.values()), **where)
            for each in (await visit.ask(list_maps, Recent(), pool=pool)).maps:
                where = {"pool": pool, "map": each.map}
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
