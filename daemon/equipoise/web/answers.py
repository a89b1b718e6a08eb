"""Answers as they go out: bytes with a status, a content type and the headers that all have."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as it goes out: body, status and content type."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    refusal: str | None = None
    """The error's code, when the answer is a refusal; it is counted."""

    def response(self) -> web.Response:
        """With the headers that every answer has."""
        return web.Response(body=self.body, status=self.status, headers={**HEADERS, "Content-Type": self.content_type})
