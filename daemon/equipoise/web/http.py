"""aiohttp's HTTP server, with JSON for what it refuses before the application sees a request.

Its parser answers a malformed request line, header or chunk with a line of plain text, and its router an `Expect` that
it does not know. A script finds no `ok` in either.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from equipoise.errors import ScriptError

Refuse = Callable[[ScriptError, str], web.Response]
"""Makes, logs and counts a refusal; the text is the route's name."""

log = logging.getLogger(__name__)


class RequestHandler(web.RequestHandler):
    """aiohttp's protocol of one connection."""

    __slots__ = ("_refuse",)

    def __init__(self, server: web.Server, refuse: Refuse, **options: Any) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._refuse = refuse

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
        response = self._refuse(error, "unknown")
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer; one that aiohttp made by itself becomes JSON."""
        if isinstance(resp, web.HTTPException):
            resp = self._refuse(ScriptError("http", resp.text or resp.reason, status=resp.status), "unknown")
            # A caller whose `Expect` was refused may send the body all the same, or leave it out.
            resp.force_close()
        return await super().finish_response(request, resp, start_time)


class Server(web.Server):
    """Makes a `RequestHandler` for every connection that is accepted."""

    def __init__(self, application: web.Server, refuse: Refuse, **options: Any) -> None:
        super().__init__(application.request_handler, request_factory=application.request_factory)
        self._refuse = refuse
        self._options = options

    def __call__(self) -> RequestHandler:
        """The protocol of a new connection."""
        return RequestHandler(self, self._refuse, **self._options)
