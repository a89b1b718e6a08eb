"""Answers as they go out: bytes with a status, a content type and the headers that all have."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

import msgspec
from aiohttp import web

from equipoise.errors import StoreError

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}

STALLED_SECONDS = 60.0
"""How long a caller may leave a piece of a long answer unread."""

log = logging.getLogger(__name__)


class Ok(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every answer that is no refusal."""

    ok: Literal[True] = True
    """Whether the request was accepted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it goes out: body, status and content type."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    refusal: str | None = None
    """The error's code, when the answer is a refusal; it is counted."""

    def response(self) -> web.Response:
        """Return the response of aiohttp, with the headers that every answer has."""
        return web.Response(body=self.body, status=self.status, headers={**HEADERS, "Content-Type": self.content_type})


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is too long for memory: it is made while it goes out."""

    pieces: AsyncGenerator[bytes, None]
    content_type: str

    async def send(self, request: web.Request) -> web.StreamResponse:
        """Send it. An error before the first piece is raised; after it, the answer ends without its last chunk.

        That is how the caller knows that something is missing.
        """
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": self.content_type})
        response.enable_chunked_encoding()
        async with aclosing(self.pieces) as pieces:
            piece: bytes | None = await anext(pieces)
            await response.prepare(request)
            try:
                while piece is not None:
                    async with asyncio.timeout(STALLED_SECONDS):
                        await response.write(piece)
                    piece = await anext(pieces, None)
                await response.write_eof()
            except (StoreError, TimeoutError, ConnectionError) as error:
                log.warning("an answer was not sent to its end: %s", error or "its caller does not read")
                if request.transport is not None:
                    request.transport.abort()
        return response
