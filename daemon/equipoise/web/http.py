"""aiohttp's HTTP server, with JSON for what it refuses before the application sees a request.

Its parser answers a malformed request line, header or chunk with a line of plain text, and its router an `Expect` that
it does not know. A script finds no `ok` in either.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from equipoise.errors import ScriptError
from equipoise.web.refusals import Refusals

log = logging.getLogger(__name__)


class RequestHandler(web.RequestHandler):
    """aiohttp's protocol of one connection."""

    __slots__ = ("_refusals",)

    def __init__(self, server: web.Server, refusals: Refusals, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._refusals = refusals

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the parser could not read, and close the connection: where the next request begins is unknown."""
        if request.writer.output_size > 0:
            raise ConnectionError("a part of another answer was sent")
        if isinstance(exc, HttpProcessingError):
            # The parser's texts quote the request over several lines, with a mark below the wrong byte.
            error = ScriptError("http", f"this is no HTTP request: {exc.message.splitlines()[0]}", status=400)
        elif isinstance(exc, UnicodeError):
            # aiohttp quotes an unknown `Expect`, and cannot when it is not Unicode.
            error = ScriptError("http", "a header is not Unicode", status=400)
        else:
            log.error("a request failed", exc_info=exc)
            error = ScriptError("internal", "the daemon failed on this; its log says how", status=status)
        return self._refused(request, error)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer; one that aiohttp made by itself becomes JSON."""
        if isinstance(resp, web.HTTPException):
            # A caller whose `Expect` was refused may send the body all the same, or leave it out.
            resp = self._refused(request, ScriptError("http", resp.text or resp.reason, status=resp.status))
        return await super().finish_response(request, resp, start_time)

    def _refused(self, request: web.BaseRequest, error: ScriptError) -> web.Response:
        """The refusal, after which the connection is closed."""
        self._refusals.record(request, error, b"")
        response = self._refusals.answer(error)
        response.force_close()
        return response
