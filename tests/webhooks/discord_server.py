"""Discord's webhooks as a real HTTP server on this machine, written from Discord's documentation fact by fact.

Sources are pages of github.com/discord/discord-api-docs at c98d64bc, below `developers/`: resources/webhook.mdx (W),
resources/message.mdx (M), topics/rate-limits.mdx (R), topics/opcodes-and-status-codes.mdx (C), reference.mdx (F). What
they leave open is said where it stands.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

LIMIT, PERIOD = 5, 2.0
"""Requests in a period of seconds. R: limits differ and change."""
LONGEST = 2000
"""W: the message contents, up to 2000 characters. Which characters is left open: here UTF-16's, the strictest."""
MENTION = re.compile(r"(?<!\\)<@!?(\d+)>")
"""F, Message Formatting: a user."""
TOKEN = "aToken-1"


@dataclass
class Discord:
    """Its webhooks by number, and what came by them."""

    clock: Callable[[], float]
    tokens: dict[str, str] = field(default_factory=lambda: {"1": TOKEN, "2": TOKEN})
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[float, str, str]] = field(default_factory=list)
    """When, method and path of every request."""
    answers: list[int] = field(default_factory=list)
    """The status of every answer."""
    notified: list[str] = field(default_factory=list)
    """Users who were mentioned so that they hear of it."""
    parsed: list[list[str]] = field(default_factory=list)
    """What each message had parsed for mentions."""
    trouble: Callable[[], int] = lambda: 0
    """The status of a server error (C: 5xx, these are rare); 0: none."""
    delay: float = 0.0
    """Seconds before an answer."""
    overall: float = 0.0
    """Until when the machine's address is over the global limit."""
    elsewhere: str = ""
    """Where a redirect leads to; empty: there is none."""
    port: int = 0
    _began: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    """By rate limit the beginning of its period, and the requests in it."""

    def url(self, number: str = "1", token: str = TOKEN, query: str = "") -> str:
        return f"http://127.0.0.1:{self.port}/api/webhooks/{number}/{token}{query}"

    @property
    def contents(self) -> list[str]:
        return [message["content"] for message in self.messages.values()]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Answer any request."""
        self.requests.append((self.clock(), request.method, request.path))
        answer = self._answer(request, await request.read())
        if self.delay:
            await asyncio.sleep(self.delay)
        self.answers.append(answer.status)
        return answer

    def _answer(self, request: web.Request, raw: bytes) -> web.Response:
        if self.elsewhere:
            return web.Response(status=308, headers={"Location": self.elsewhere})
        if status := self.trouble():
            return web.Response(status=status, text="<html>error</html>")
        # F: clients must say `DiscordBot ($url, $versionNumber)`, or they may be blocked by Cloudflare.
        if not re.match(r"DiscordBot \(.+, .+\)", request.headers.get("User-Agent", "")):
            return web.Response(status=403, text="<html>error code: 1010</html>")
        if self.clock() < self.overall:
            wait = self.overall - self.clock()
            # R, example of a global limit.
            body = {"message": "You are being rate limited.", "retry_after": wait, "global": True}
            headers = {"Retry-After": f"{int(wait) + 1}", "X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}
            return web.json_response(body, status=429, headers=headers)
        match = re.fullmatch(r"/api(?:/v\d+)?/webhooks/(\d+)/([\w-]+)(?:/messages/(\d+))?", request.path)
        if match is None:
            return web.json_response({"message": "404: Not Found", "code": 0}, status=404)
        number, token, message = match.groups()
        # R: a webhook is a top-level resource, and limits may depend on the method.
        limited = self._limit((number, request.method))
        return self._of_webhook(request, number, token, message, raw) if limited is None else limited

    def _limit(self, bucket: tuple[str, str]) -> web.Response | None:
        now = self.clock()
        began, count = self._began.get(bucket, (now, 0))
        if now - began >= PERIOD:
            began, count = now, 0
        self._began[bucket] = began, count + 1
        after = began + PERIOD - now
        if count < LIMIT:
            return None
        # R, example of a user's limit.
        body = {"message": "You are being rate limited.", "retry_after": after, "global": False}
        headers = {"Retry-After": f"{int(after) + 1}", "X-RateLimit-Scope": "user"}
        return web.json_response(body, status=429, headers=headers)

    def _of_webhook(
        self, request: web.Request, number: str, token: str, message: str | None, raw: bytes
    ) -> web.Response:
        # C: 10015 Unknown webhook, 50027 Invalid webhook token provided, 10008 Unknown message. That the first and the
        # last come with 404, and the second with 401, is left open there, and follows from what these statuses mean.
        if number not in self.tokens:
            return web.json_response({"message": "Unknown Webhook", "code": 10015}, status=404)
        if token != self.tokens[number]:
            return web.json_response({"message": "Invalid Webhook Token", "code": 50027}, status=401)
        if request.content_type != "application/json":  # F: else 50035
            return _invalid("Content-Type")
        try:
            body = json.loads(raw)
        except ValueError:
            return web.json_response({"message": "The request body contains invalid JSON.", "code": 50109}, status=400)
        if (refusal := _refused(body.get("content", ""))) is not None:
            return refusal
        return self._taken(request, number, message, body)

    def _taken(self, request: web.Request, number: str, message: str | None, body: dict[str, Any]) -> web.Response:
        content = body["content"]
        # M: without the field webhooks parse users, with `parse` what that names. W: also at an edit, without regard
        # to what the request said that made the message.
        self.parsed.append(body.get("allowed_mentions", {"parse": ["users"]})["parse"])
        if "users" in self.parsed[-1]:
            self.notified += MENTION.findall(content)
        if request.method == "PATCH":
            if message not in self.messages:
                return web.json_response({"message": "Unknown Message", "code": 10008}, status=404)
            self.messages[message]["content"] = content
            return web.json_response(self.messages[message])
        assert (request.method, message) == ("POST", None)
        made = {"id": f"{900 + len(self.messages)}{number}", "content": content, "webhook_id": number}
        while made["id"] in self.messages:
            made["id"] += "0"
        self.messages[made["id"]] = made
        # W: a message or 204, by `wait`. F: booleans of a query are True, true or 1.
        return (
            web.json_response(made) if request.query.get("wait") in ("True", "true", "1") else web.Response(status=204)
        )


def _refused(content: str) -> web.Response | None:
    if not content:  # W: one of content, embeds, … must be there
        return web.json_response({"message": "Cannot send an empty message", "code": 50006}, status=400)
    return _invalid("content") if len(content.encode("utf-16-le")) // 2 > LONGEST else None


def _invalid(key: str) -> web.Response:
    """F, Error Messages."""
    errors = {key: {"_errors": [{"code": "INVALID", "message": "Invalid."}]}}
    return web.json_response({"code": 50035, "errors": errors, "message": "Invalid Form Body"}, status=400)


@asynccontextmanager
async def discord(clock: Callable[[], float]) -> AsyncIterator[Discord]:
    """The server on a free port, for as long as the context lasts."""
    server = Discord(clock)
    async with listening(server.serve) as server.port:
        yield server


@asynccontextmanager
async def listening(serve: Callable[[web.Request], Any]) -> AsyncIterator[int]:
    """Any HTTP server on a free port, whose end waits for no answer."""
    runner = web.ServerRunner(web.Server(serve, access_log=None, handler_cancellation=True), shutdown_timeout=0.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
