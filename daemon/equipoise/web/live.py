"""The live stream: what changes on servers, as server-sent events, for pages and other programs.

GET /v1/live.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from equipoise.service.live import Reader
from equipoise.web.players import concealed_from, without_ids
from equipoise.web.routes import READERS, Ask, Request, Routes, Stream

routes = Routes()


class Watch(Ask, frozen=True):
    """The servers that a reader follows."""

    server: str | None = None
    """Only this server."""


@routes.add(
    "GET",
    "/v1/live",
    "What changes on servers, as server-sent events",
    READERS,
    query=Watch,
    media_type="text/event-stream",
)
async def watch(request: Request, allowed: Callable[[], bool] = lambda: True) -> Stream:
    """Every server, then every change; `allowed`: whether the caller may still read, asked now and then."""
    live, server = request.services.live, request.query.server
    reader = Reader(
        who=request.caller.who,
        cut=request.cut,
        allowed=allowed,
        server=None if server is None else request.services.host(server).server,
        last=live.last_of(request.last_event),
    )
    return Stream(_concealing(live.read(reader), request), "text/event-stream", endless=True)


async def _concealing(pieces: AsyncGenerator[bytes, None], request: Request) -> AsyncGenerator[bytes, None]:
    async with aclosing(pieces):
        async for piece in pieces:
            yield without_ids(piece, await concealed_from(request))
